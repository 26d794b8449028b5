#include "judge/emulate_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/random.h"
#include "base/thread_pool.h"
#include "checkers/order_dependence.h"
#include "checkers/remark.h"
#include "judge/diagnosis.h"
#include "judge/emulate.h"
#include "judge/judge_finding.h"
#include "judge/policy.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using record::GateStatus;
using record::OutcomeName;

// A candidate may do this many times the baseline's work before it counts as endless, and at least this much of it.
constexpr uint64_t kBudgetFactor = 64, kBudgetLeast = 20'000'000, kBudgetMost = 2'000'000'000;
// Cases that take no more thread instructions than this run under a second schedule too, and as a later launch.
constexpr uint64_t kSecondScheduleMost = 2'000'000;
// A candidate's races may be met this many times as often as those of the user's own kernel that excuse them: how often
// depends on the order of warps and on widths.
constexpr uint64_t kOwnFactor = 4;
// After this many endless cases the rest is not run: each costs its whole budget.
constexpr int kEndlessMost = 2;

// The same inputs but for a word of each that may be any: one taken from the inputs of another seed. Numbers that
// somebody may use as indices in an order stay.
task::CaseData with_a_word_changed(const task::Task& task, const task::CaseData& data, uint64_t seed) {
  task::Case what = data.what;
  what.seed += 0x5bd1e995;
  auto other = task::make_case(task, what);
  task::CaseData changed = data;
  if (!other) return changed;
  for (size_t b = 0; b < changed.inputs.size(); ++b) {
    const task::Argument* argument = task.argument(data.binding.buffers[b].name);
    auto& bytes = changed.inputs[b];
    if (!argument || bytes.empty() || bytes.size() != other->inputs[b].size()) continue;
    const task::Fill* fill = argument->fills.empty() ? nullptr : &argument->fills.front();
    if (fill && (fill->name == "permutation" || fill->name == "offsets" || fill->name == "spd")) continue;
    auto width = static_cast<size_t>(
        argument->record() ? argument->field_bytes : static_cast<uint64_t>(std::max(1, isa::bytes_of(argument->type))));
    size_t at = base::Random(seed + b).below(bytes.size() / width) * width;
    std::copy_n(other->inputs[b].begin() + static_cast<ptrdiff_t>(at), width,
                bytes.begin() + static_cast<ptrdiff_t>(at));
  }
  return changed;
}

std::string first_error(const base::Findings& findings) {
  for (const auto& finding : findings) {
    if (finding.severity == Severity::error) return finding.message;
  }
  return "did not run to its end";
}

// What became of one case.
struct Ran {
  std::vector<CaseRun> runs;  // one a schedule
  CaseVerdict verdict;
  bool done = false;
  std::string trouble;  // the engine itself failed

  const CaseRun* fault() const {
    auto at = std::find_if(runs.begin(), runs.end(), [](const CaseRun& run) { return run.faulted(); });
    return at == runs.end() ? nullptr : &*at;
  }
  const CaseRun* unsupported() const {
    auto at = std::find_if(runs.begin(), runs.end(), [](const CaseRun& run) { return !run.supported; });
    return at == runs.end() ? nullptr : &*at;
  }
  bool endless() const {
    return std::any_of(runs.begin(), runs.end(), [](const CaseRun& run) { return run.endless; });
  }
};

// Errors by code and what they are about: how often they were met.
std::map<std::pair<std::string, std::string>, uint64_t> doings_of(const CaseRun& run) {
  std::map<std::pair<std::string, std::string>, uint64_t> out;
  for (size_t i = 0; i < run.findings.size(); ++i)
    if (run.findings[i].severity == Severity::error)
      out[{run.findings[i].code, run.doings[i].about}] += run.doings[i].times;
  return out;
}

}  // namespace

void excuse_what_the_own_kernel_does(const CaseRun& own, CaseRun& run) {
  const auto theirs = doings_of(own), mine = doings_of(run);
  for (size_t i = 0; i < run.findings.size(); ++i) {
    base::Finding& finding = run.findings[i];
    if (finding.severity != Severity::error) continue;
    const std::pair key{finding.code, run.doings[i].about};
    const auto at = theirs.find(key);
    if (at == theirs.end() || mine.at(key) > kOwnFactor * at->second) continue;
    finding.severity = Severity::warning;
    finding.message += "; your own kernel does so too";
  }
}

namespace {

class Gate {
 public:
  explicit Gate(const EmulateInput& input)
      : input_(input), ran_(input.prepared.cases.size()), written_(written_variables(input.module)) {}

  EmulateResult run() {
    std::atomic<int> endless{0};
    base::parallel_for(ran_.size(), input_.threads, [&](size_t i) {
      if (endless >= kEndlessMost) return;
      try {
        run_case_of(i);
      } catch (const std::exception& error) {
        ran_[i].trouble = error.what();
      }
      if (ran_[i].endless()) ++endless;
    });
    if (stopped_by_trouble() || stopped_by_lack()) return std::move(result_);
    collect();
    decide();
    explain();
    return std::move(result_);
  }

 private:
  std::string label(size_t i) const { return input_.prepared.cases[i].data.what.label(); }

  void run_case_of(size_t i) {
    const PreparedCase& one = input_.prepared.cases[i];
    Ran& ran = ran_[i];
    auto engine = input_.engine();
    CaseOptions how;
    how.seed = input_.seed + 2 * i;
    uint64_t wanted = one.baseline_instructions ? one.baseline_instructions * kBudgetFactor : kBudgetMost;
    how.budget = std::clamp(wanted, kBudgetLeast, kBudgetMost);
    for (int schedule = 0; schedule < 2; ++schedule, ++how.seed) {
      how.run_apart = schedule == 1;
      how.driver_addresses = schedule == 1;
      ran.runs.push_back(run_case(*engine, input_.module, input_.plans[i], one.data, how));
      CaseRun& run = ran.runs.back();
      if (input_.prepared.task.user && run.completed && run.faulted()) excuse(*engine, one, how, run);
      if (!run.supported || run.faulted()) break;
      ran.verdict = compare_case(input_.prepared.task, one, run);
      if (schedule == 1 && !ran.verdict.right) {
        ran.verdict.summary = fmt::format("{}: {}", kOneOrder, ran.verdict.summary);
      }
      if (schedule == 1 && ran.verdict.right) compare_orders(one, ran);
      if (!ran.verdict.right || run.thread_instructions > kSecondScheduleMost) break;
    }
    if (ran.verdict.right && !written_.empty() && ran.runs.size() > 1) repeat(*engine, i, how);
    ran.done = true;
  }

  // What a module keeps in its variables must not change a later answer: the same program runs another case, this case on
  // inputs of which a word or two differ, twice, and then the case itself, at the same addresses.
  void repeat(simt::Engine& engine, size_t i, CaseOptions how) {
    const PreparedCase& one = input_.prepared.cases[i];
    Ran& ran = ran_[i];
    const task::CaseData other = with_a_word_changed(input_.prepared.task, one.data, how.seed);
    if (i > 0) how.earlier.push_back({&input_.plans[i - 1], &input_.prepared.cases[i - 1].data});
    how.earlier.insert(how.earlier.end(), 2, {&input_.plans[i], &other});
    how.run_apart = how.driver_addresses = how.checkers = false;
    CaseRun run = run_case(engine, input_.module, input_.plans[i], one.data, how);
    if (!run.supported || run.endless) return;
    if (run.faulted()) {
      for (auto& finding : run.findings) finding.message += " (in a module that has run before)";
      ran.runs.push_back(std::move(run));
      return;
    }
    CaseVerdict later = compare_case(input_.prepared.task, one, run);
    if (later.right) return;
    later.summary = "right at the first launch, wrong at a later one: " + later.summary;
    later.findings.push_back(judge_finding(
        "JDG0072", Severity::error,
        fmt::format("what '{}' keeps from earlier launches changes the answer", fmt::join(written_, "', '")),
        "state between launches may save work, never change a result"));
    ran.verdict = std::move(later);
  }

  // Both orders came out right; where their bits differ all the same, that is worth a word.
  void compare_orders(const PreparedCase& one, Ran& ran) const {
    const auto& buffers = one.data.binding.buffers;
    for (size_t i = 0; i < buffers.size() && i < ran.runs[0].outputs.size(); ++i) {
      const task::Argument* argument = input_.prepared.task.argument(buffers[i].name);
      if (!argument || ran.runs[0].outputs[i].empty()) continue;
      const auto tolerance = input_.prepared.task.tolerances.find(argument->name);
      if (tolerance != input_.prepared.task.tolerances.end() &&
          tolerance->second.kind == task::Tolerance::Kind::unordered)
        continue;
      auto found = checkers::order_dependence(buffers[i].name, {ran.runs[0].outputs[i], ran.runs[0].defined[i]},
                                              {ran.runs[1].outputs[i], ran.runs[1].defined[i]},
                                              static_cast<uint64_t>(std::max(1, isa::bytes_of(argument->type))));
      if (!found) continue;
      found->severity = Severity::note;  // the tolerance holds both
      ran.verdict.findings.push_back(std::move(*found));
    }
  }

  void excuse(simt::Engine& engine, const PreparedCase& one, const CaseOptions& how, CaseRun& run) const {
    auto plan = launch::resolve(input_.baseline.plan, input_.baseline.module, one.data.binding);
    if (!plan) return;
    CaseRun own = run_case(engine, input_.baseline.module, *plan, one.data, how);
    if (own.completed) excuse_what_the_own_kernel_does(own, run);
  }

  bool stopped_by_trouble() {
    for (size_t i = 0; i < ran_.size(); ++i) {
      if (ran_[i].trouble.empty()) continue;
      result_.findings.push_back(judge_finding(
          "JDG0001", Severity::error, fmt::format("the engine failed in case {}: {}", label(i), ran_[i].trouble)));
    }
    if (result_.findings.empty()) return false;
    result_.status = GateStatus::failed;
    result_.outcome = OutcomeName::infrastructure;
    result_.outcome_reason = result_.findings.front().message;
    return true;
  }

  // The engine has no handler for something that the candidate uses: no verdict on the candidate.
  bool stopped_by_lack() {
    for (const Ran& ran : ran_) {
      const CaseRun* run = ran.unsupported();
      if (!run) continue;
      for (base::Finding finding : run->findings) {
        finding.severity = std::min(finding.severity, Severity::warning);
        result_.findings.push_back(std::move(finding));
      }
      result_.status = GateStatus::skipped;
      result_.reason = run->findings.empty() ? "the engine lacks an instruction of it" : run->findings.front().message;
      return true;
    }
    return false;
  }

  void collect() {
    std::vector<base::Findings> findings;
    std::vector<std::string> labels;
    analysis::Profile profile, in_step;  // the second schedule's lanes run apart, which no figure should show
    for (size_t i = 0; i < ran_.size(); ++i) {
      const Ran& ran = ran_[i];
      record::CaseResult made{label(i), false, "not run: other cases did not end"};
      for (const CaseRun& run : ran.runs) {
        findings.push_back(run.findings);
        labels.push_back(made.label);
        profile.add(run.profile);
        if (&run == ran.runs.data()) in_step.add(run.profile);
      }
      findings.push_back(ran.verdict.findings);
      labels.push_back(made.label);
      if (const CaseRun* fault = ran.fault()) {
        made.summary = first_error(fault->findings);
      } else if (ran.done) {
        made.right = ran.verdict.right;
        made.summary = ran.verdict.summary;
      }
      result_.cases.push_back(std::move(made));
    }
    result_.findings = merge_findings(findings, labels);
    for (const auto& remark : checkers::all_remarks()) {
      base::Findings found = remark.of(input_.module, in_step);
      result_.findings.insert(result_.findings.end(), found.begin(), found.end());
    }
    result_.unexecuted_lines = unexecuted_lines(input_.module, profile);
    result_.profile = std::move(profile);
    result_.in_step = std::move(in_step);
  }

  void decide() {
    size_t faulted = 0, wrong = 0, not_run = 0;
    std::string first_fault, first_wrong;
    for (size_t i = 0; i < ran_.size(); ++i) {
      const auto& made = result_.cases[i];
      std::string said = fmt::format("{}: {}", made.label, made.summary);
      if (!ran_[i].done) {
        ++not_run;
      } else if (ran_[i].fault()) {
        if (faulted++ == 0) first_fault = said;
      } else if (!made.right && wrong++ == 0) {
        first_wrong = said;
      }
    }
    std::string of = fmt::format("of {} case{}", ran_.size(), ran_.size() == 1 ? "" : "s");
    if (not_run > 0) of += fmt::format(" ({} not run)", not_run);
    result_.status = faulted + wrong > 0 ? GateStatus::failed : GateStatus::passed;
    if (faulted > 0) {
      result_.outcome = OutcomeName::faulted;
      result_.outcome_reason = fmt::format("{} {} faulted; the first is {}", faulted, of, first_fault);
    } else if (wrong > 0) {
      result_.outcome = OutcomeName::wrong;
      result_.outcome_reason = fmt::format("{} {} came out wrong; the first is {}", wrong, of, first_wrong);
    }
    result_.reason = fmt::format("{} {} right", ran_.size() - faulted - wrong - not_run, of);
  }

  // What the wrong values look like goes first: it says in a word what pages of numbers do not.
  void explain() {
    if (!result_.outcome) return;
    DiagnosisInput known{input_.prepared.task, input_.baseline, {}, result_.findings, false, input_.engine,
                         input_.seed,          &input_.module};
    for (size_t i = 0; i < ran_.size(); ++i) {
      const Ran& ran = ran_[i];
      if (!ran.done || ran.runs.empty() || !ran.runs.front().completed) continue;
      known.cases.push_back(look_at(input_.prepared.task, input_.prepared.cases[i], ran.runs.front()));
      known.cases.back().ctas = most_ctas(input_.plans[i]);
      const auto& binding = input_.prepared.cases[i].data.binding;
      if (auto plan = launch::resolve(input_.baseline.plan, input_.baseline.module, binding))
        known.cases.back().baseline_ctas = most_ctas(*plan);
      known.differs_by_schedule =
          known.differs_by_schedule || (ran.runs.size() > 1 && known.cases.back().right && !ran.verdict.right &&
                                        ran.verdict.summary.starts_with(kOneOrder));
    }
    if (auto found = diagnose(known)) result_.findings.insert(result_.findings.begin(), finding_of(*found));
  }

  static constexpr std::string_view kOneOrder = "right under one order of warps and CTAs, wrong under another";
  const EmulateInput& input_;
  std::vector<Ran> ran_;
  std::vector<std::string> written_;  // the module's variables that outlive a launch
  EmulateResult result_;
};

}  // namespace

EmulateResult run_emulate_gate(const EmulateInput& input) { return Gate(input).run(); }

}  // namespace ptxlab::judge
