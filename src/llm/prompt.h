// The question that a model is asked: a template filled with what the brief says and what analysis/ reads off the kernel.
// Nothing else goes in: no expected output, no path of this machine.
#pragma once
#include <filesystem>
#include <string>

#include "base/result.h"
#include "llm/chat.h"
#include "record/record.h"

namespace ptxlab::llm {

// Two Mustache templates of one folder: system.mustache, user.mustache. Texts are put in as they are, without HTML escapes.
class Template {
 public:
  // Errors: LLM0004, a file is missing or no template.
  static base::Result<Template> read(const std::filesystem::path& folder);

  // Fills it in. Earlier attempts are left out, the least telling first, until the question has at most `tokens` tokens by
  // estimate; the question says how many are missing. Errors: LLM0005 the kernel alone is too long, PTX0xxx the baseline
  // cannot be read.
  base::Result<Question> fill(const record::Brief& brief, int64_t tokens) const;

 private:
  std::string system_, user_;
};

}  // namespace ptxlab::llm
