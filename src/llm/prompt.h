// The question that a model is asked: a template filled with what the brief says and what analysis/ reads off the kernel.
// Nothing else goes in: no expected output, no path of this machine.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "llm/chat.h"
#include "record/record.h"

namespace ptxlab::llm {

// A question, and what it is made of.
struct Filled {
  Question question;
  std::vector<std::string> sections;  // those that say something, in order
  std::vector<std::string> left_out;  // for want of room
  size_t attempts = 0;                // shown
  int64_t tokens = 0;                 // estimated
};

// Mustache templates: one folder for each job (optimize, write, repair, reflect) with system.mustache and user.mustache, which take in
// sections by "{{> name}}" (llm/sections.h). Texts are put in as they are, without HTML escapes.
class Template {
 public:
  // `folder` holds a folder for each job and sections/; or system.mustache and user.mustache themselves, which then are asked
  // whatever the job, with sections/ in it or beside it. Errors: LLM0004, a file is missing or no template.
  static base::Result<Template> read(const std::filesystem::path& folder);

  // Leaves sections out of every question, for ablation. Error: LLM0018, there is no such section or it cannot be left out.
  base::Findings leave_out(const std::vector<std::string>& sections);

  // Fills it in. What has no room within `tokens` tokens by estimate goes in the order of cut_order(). Errors: LLM0005 what has to
  // stay is too long alone, LLM0031 the ask is about no earlier attempt, PTX0xxx the baseline cannot be read.
  base::Result<Filled> fill(const record::Brief& brief, const record::Ask& ask, int64_t tokens) const;
  // The question of the brief's first ask.
  base::Result<Question> fill(const record::Brief& brief, int64_t tokens) const;

 private:
  struct Pair {
    std::string system, user;
  };
  std::string expanded(const std::string& text, const std::set<std::string, std::less<>>& off) const;
  const Pair& pair_of(record::Job job) const;
  std::map<record::Job, Pair> jobs_;
  std::map<std::string, std::string, std::less<>> sections_;
  std::set<std::string, std::less<>> off_;
};

// One for each candidate that is asked for: the i-th by the brief's i-th ask. Errors: those of fill().
base::Result<std::vector<Question>> questions_of(const Template& prompt, const record::Brief& brief, int64_t tokens,
                                                 int count);

// What a program that proposes reads on its stdin (ptxlab.ask/1): the brief as data, and the questions that a model would get, one
// for each candidate that is asked for; "question" is the first.
nlohmann::json ask_json(const record::Brief& brief, const std::vector<Question>& questions, int turn, int count);

}  // namespace ptxlab::llm
