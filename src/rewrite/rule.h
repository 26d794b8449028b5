// A rule rewrites one candidate into another that computes the same, faster where it is lucky. Each rule is a file of
// its own; rules.cc lists them. A rule looks before it leaps: what it cannot show to be safe it refuses, and says why.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/target.h"
#include "launch/plan.h"
#include "ptx/module.h"
#include "record/record.h"
#include "task/task.h"

namespace ptxlab::rewrite {

// What is rewritten, and what the rewriting may rely on.
struct Subject {
  const ptx::Module* module = nullptr;  // passed ptx::check
  const launch::Plan* plan = nullptr;
  const task::Task* task = nullptr;  // null: nothing is known, so floating-point results may not change
  isa::Target target;
  record::Constraints constraints;
};

// One way to apply a rule: "4 elements" and such. `name` is short and goes into the candidate's name.
struct Choice {
  std::string name;
  int64_t value = 0;
};

struct Rewritten {
  std::string ptx;
  std::string plan;  // empty: as it was
  std::string idea;  // one line
  std::string name;  // "vectorise-4"
};

// What a rule works at: a proposal of few candidates shows something of each.
enum class Family : uint8_t {
  mapping,     // which thread does which element
  loops,       // what is done at a time, and what once
  arithmetic,  // fewer or cheaper instructions
  memory,      // how accesses pass the caches
  launch,      // CTAs, registers and occupancy
};

class Rule {
 public:
  virtual ~Rule() = default;
  virtual Family family() const = 0;
  virtual std::string_view name() const = 0;
  virtual std::string_view description() const = 0;  // one line: what it changes
  // In the order worth trying; empty where the rule has nothing to say about this subject.
  virtual std::vector<Choice> choices(const Subject& subject) const = 0;
  // Findings RW....: why the rule does not apply; severity note, since that is no fault of anybody.
  virtual base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const = 0;
};

// Every rule there is. To add one, write its file and name it in rules.cc.
std::span<const Rule* const> all_rules();
const Rule* rule_named(std::string_view name);

// Why a rule refuses, as a finding that Result accepts: an error for the result, a note for the reader of a proposal.
base::Finding refusal(std::string code, std::string message, std::string hint = "");

// May results of floating-point arithmetic change within the task's tolerance? No where any output has to be exact.
bool may_change_rounding(const Subject& subject);

// Finds the launched entries: names in the module, in the plan's order, each once.
std::vector<std::string> launched_entries(const Subject& subject);

}  // namespace ptxlab::rewrite
