#include "judge/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/thread_pool.h"
#include "judge/answers.h"
#include "judge/emulate.h"
#include "judge/emulate_gate.h"
#include "judge/judge_finding.h"
#include "judge/line_profile.h"
#include "judge/policy.h"
#include "ptx/verifier.h"
#include "task/mutants.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using Result = LintRow::Result;

// LINT0001 the baseline is not right, LINT0002 an input does not matter, LINT0003 a mutant passes, LINT0004 `skip` names no
// mutant, LINT0005 the baseline's error is beyond what the rule allows without it, LINT0006 an output is constant, LINT0007 a
// further baseline is not right.
class Linter {
 public:
  Linter(const task::Task& task, const LintOptions& options, const Parts& parts)
      : task_(task), options_(options), parts_(parts) {
    report_.task = task.name;
  }

  LintReport run() {
    if (!make() || !run_baseline()) return std::move(report_);
    further_baselines();
    own_error();
    constant_outputs();
    sensitivity();
    output_mutants();
    ptx_mutants();
    unknown_skips();
    return std::move(report_);
  }

 private:
  void row(Result result, std::string what, std::string detail) {
    report_.rows.push_back({result, std::move(what), std::move(detail)});
  }

  void fail(const char* code, std::string what, std::string detail, std::string hint) {
    base::Finding finding = judge_finding(code, Severity::error, fmt::format("{}: {}", what, detail), std::move(hint));
    finding.place.file = task_.file.string();
    report_.findings.push_back(std::move(finding));
    row(Result::failed, std::move(what), std::move(detail));
  }

  bool stop(const base::Findings& findings) {
    report_.findings.insert(report_.findings.end(), findings.begin(), findings.end());
    row(Result::failed, "baseline", findings.empty() ? "" : findings.front().message);
    return false;
  }

  bool make() {
    auto target = judged_target(task_, std::nullopt);
    if (!target) return stop(target.findings());
    auto baseline = read_baseline(task_, *target, {});
    if (!baseline) return stop(baseline.findings());
    baseline_ = std::move(*baseline);
    auto prepared = prepare(task_, baseline_, {options_.seed, options_.threads, parts_.engine, parts_.reference});
    if (!prepared) return stop(prepared.findings());
    prepared_ = std::move(*prepared);
    for (const auto& one : prepared_.cases) {
      auto plan = launch::resolve(baseline_.plan, baseline_.module, one.data.binding);
      if (!plan) return stop(plan.findings());
      plans_.push_back(std::move(*plan));
    }
    return true;
  }

  // With every checker, like a candidate; then once more without, for its outputs.
  bool run_baseline() {
    auto gate = run_emulate_gate(
        {prepared_, baseline_, baseline_.module, plans_, options_.seed, options_.threads, parts_.engine});
    if (gate.outcome || gate.status != record::GateStatus::passed) {
      fail("LINT0001", "baseline", gate.outcome ? gate.outcome_reason : gate.reason,
           "mend the kernel, its plan or the reference");
      report_.findings.insert(report_.findings.end(), gate.findings.begin(), gate.findings.end());
      return false;
    }
    row(Result::ok, "baseline", gate.reason);
    runs_.resize(plans_.size());
    base::parallel_for(runs_.size(), options_.threads,
                       [&](size_t i) { runs_[i] = run(baseline_.module, plans_[i], i, 0); });
    return true;
  }

  // A speed-up is quoted against the strongest baseline: none may be strong because it breaks the task's rules.
  void further_baselines() {
    for (size_t i = 1; i < task_.baselines.size(); ++i) {
      const std::string what = "baseline " + task_.baselines[i].file;
      auto rival = read_rival(task_, i, baseline_.target, {});
      auto gate = rival ? judged(*rival) : refused("cannot be read", rival.findings());
      if (!gate.outcome && gate.status == record::GateStatus::passed) {
        row(Result::ok, what, gate.reason);
        continue;
      }
      fail("LINT0007", what, gate.outcome ? gate.outcome_reason : gate.reason,
           "mend the kernel or its plan, or take the baseline out");
      report_.findings.insert(report_.findings.end(), gate.findings.begin(), gate.findings.end());
    }
  }

  static EmulateResult refused(std::string why, base::Findings findings) {
    EmulateResult gate;
    gate.status = record::GateStatus::failed;
    gate.reason = std::move(why);
    gate.findings = std::move(findings);
    return gate;
  }

  // As a candidate would be, for the target that it is made for: the first baseline's says nothing of it.
  EmulateResult judged(const Baseline& rival) const {
    auto broken = check_policy(rival.module, task_, rival.module.target, initialised_bytes(baseline_.module));
    std::erase_if(broken, [](const auto& finding) { return finding.severity != Severity::error; });
    if (!broken.empty()) return refused("breaks a rule", std::move(broken));
    std::vector<launch::ResolvedPlan> plans;
    for (const auto& one : prepared_.cases) {
      auto plan = launch::resolve(rival.plan, rival.module, one.data.binding);
      if (!plan) return refused("its plan does not fit a case", plan.findings());
      plans.push_back(std::move(*plan));
    }
    return run_emulate_gate(
        {prepared_, baseline_, rival.module, plans, options_.seed, options_.threads, parts_.engine});
  }

  CaseRun run(const ptx::Module& module, const launch::ResolvedPlan& plan, size_t i, uint64_t budget) const {
    auto engine = parts_.engine();
    CaseOptions how;
    how.seed = options_.seed;
    how.checkers = budget > 0;
    if (budget > 0) how.budget = budget;
    return run_case(*engine, module, plan, prepared_.cases[i].data, how);
  }

  // By rule (b) as it stands without the baseline's own error in it.
  void own_error() {
    if (!task_.reference) return;
    size_t beyond = 0;
    std::string first;
    for (size_t i = 0; i < runs_.size(); ++i) {
      const auto& one = prepared_.cases[i];
      for (const auto& answer : one.answers) {
        if (answer.nothing) continue;
        const auto bytes = task::gather(task::output_view(task_, answer.output), runs_[i].outputs[answer.buffer]);
        auto compared = task::compare(prepared_.task, one.data, answer.output, bytes, answer.expected, answer.indices);
        if (compared.right) continue;
        if (beyond++ == 0) first = fmt::format("{}: {}", one.data.what.label(), compared.summary);
      }
    }
    if (beyond == 0) return row(Result::ok, "error budget", "the baseline keeps to it");
    fail("LINT0005", "error budget",
         fmt::format("the baseline is beyond it in {} cases; the first is {}", beyond, first),
         "a more exact baseline, or more terms in the tolerance, with the reason");
  }

  // Of the elements of one case, or, where there is one alone, from case to case.
  void constant_outputs() {
    for (const auto& answer : prepared_.cases.front().answers) {
      const task::View view = task::output_view(task_, answer.output);
      const auto width = static_cast<size_t>(isa::bytes_of(view.type));
      bool varies = false, single = true;
      std::set<std::vector<uint8_t>> seen;
      for (const CaseRun& one : runs_) {
        const auto bytes = task::gather(view, one.outputs[answer.buffer]);
        single = single && bytes.size() == width;
        varies = varies || (bytes.size() > width &&
                            !std::equal(bytes.begin() + static_cast<ptrdiff_t>(width), bytes.end(), bytes.begin()));
        if (single) seen.insert(bytes);
      }
      if (varies || (single && seen.size() > 1)) {
        row(Result::ok, "output " + answer.output, "varies");
      } else {
        fail("LINT0006", "output " + answer.output, "has the same value everywhere in every case",
             single ? "inputs that lead to another value" : "sizes and fills that tell elements apart");
      }
    }
  }

  // Does another content of the input change any output of any case?
  void sensitivity() {
    size_t buffer = 0;
    for (const auto& argument : task_.arguments) {
      if (!argument.buffer()) continue;
      size_t index = buffer++;
      if (argument.kind == task::Argument::Kind::out) continue;
      std::string what = "input " + argument.name;
      bool matters = false;
      for (size_t i = 0; i < prepared_.cases.size() && !matters; ++i) matters = changes_output(i, index);
      if (matters) {
        row(Result::ok, what, "changes an output");
      } else {
        fail("LINT0002", what, "other contents change no output in any case",
             "an input that does not matter can be left unread");
      }
    }
  }

  bool changes_output(size_t i, size_t buffer) const {
    const auto& what = prepared_.cases[i].data.what;
    if (!what.special.empty()) return false;
    task::Case other = what;
    other.seed = what.seed + 0x9e3779b9;
    auto made = task::make_case(task_, other);
    if (!made || made->inputs[buffer] == prepared_.cases[i].data.inputs[buffer]) return false;
    task::CaseData data = prepared_.cases[i].data;
    data.inputs[buffer] = made->inputs[buffer];
    auto engine = parts_.engine();
    CaseOptions how;
    how.seed = options_.seed;
    how.checkers = false;
    return run_case(*engine, baseline_.module, plans_[i], data, how).outputs != runs_[i].outputs;
  }

  bool skipped(const std::string& name) {
    names_.insert(name);
    auto skip = task_.mutant_skips.find(name);
    if (skip == task_.mutant_skips.end()) return false;
    row(Result::skipped, "mutant " + name, skip->second);
    return true;
  }

  void caught_or_not(const std::string& name, size_t tried, size_t caught, const std::string& unit,
                     const std::string& description) {
    std::string what = "mutant " + name;
    if (tried == 0) return row(Result::skipped, what, "nothing here can have this fault");
    if (caught > 0) return row(Result::ok, what, fmt::format("fails in {} of {} {}", caught, tried, unit));
    fail("LINT0003", what, fmt::format("passes in all {} {}: {}", tried, unit, description),
         "inputs or sizes that show it, a tighter tolerance, or a reason under [mutants] skip");
  }

  void output_mutants() {
    for (const auto& mutant : task::output_mutants()) {
      if (skipped(mutant.name)) continue;
      size_t tried = 0, caught = 0;
      for (size_t i = 0; i < runs_.size(); ++i) {
        const auto& one = prepared_.cases[i];
        for (const auto& answer : one.answers) {
          if (answer.nothing) continue;
          const task::View view = task::output_view(task_, answer.output);
          auto bytes = task::gather(view, runs_[i].outputs[answer.buffer]);
          if (!mutant.apply(bytes, view.type, task::shape_of(view, one.data))) continue;
          ++tried;
          caught += !task::compare(prepared_.task, one.data, answer.output, bytes, answer.expected, answer.indices,
                                   answer.baseline_rms)
                         .right;
        }
      }
      caught_or_not(mutant.name, tried, caught, "cases", mutant.description);
    }
  }

  // Whether some case tells the planted module from the baseline. Small cases first; the first that does is enough.
  bool case_catches(const ptx::Module& module) const {
    for (size_t i = 0; i < prepared_.cases.size(); ++i) {
      auto plan = launch::resolve(baseline_.plan, module, prepared_.cases[i].data.binding);
      if (!plan) return true;
      uint64_t budget = std::max<uint64_t>(prepared_.cases[i].baseline_instructions * 16, 1'000'000);
      CaseRun ran = run(module, *plan, i, budget);
      if (!ran.supported) return false;
      if (ran.faulted() || !compare_case(prepared_.task, prepared_.cases[i], ran).right) return true;
    }
    return false;
  }

  // Places of one mutant in order, until one is caught: a place may be harmless, all of them may not.
  // The lines of the entries that the plan launches and of what they may call. Nothing shows a fault elsewhere.
  std::set<uint32_t> launched_lines() const {
    std::set<uint32_t> lines;
    for (const CaseRun& one : runs_)
      for (const auto& counts : line_profile(baseline_.module, one.profile, {}).lines) lines.insert(counts.line);
    return lines;
  }

  void ptx_mutants() {
    const auto& mutants = task::ptx_mutants();
    struct Made {
      size_t tried = 0;
      std::string caught;
    };
    std::vector<Made> made(mutants.size());
    const std::set<uint32_t> lines = launched_lines();
    base::parallel_for(mutants.size(), options_.threads, [&](size_t m) {
      if (task_.mutant_skips.count(mutants[m].name)) return;
      for (const auto& planted : mutants[m].apply(baseline_.module)) {
        if (!lines.count(planted.line)) continue;
        auto checked = ptx::check(planted.text, baseline_.ptx_file);
        if (!checked.ok()) continue;
        ++made[m].tried;
        if (!case_catches(checked.module)) continue;
        made[m].caught = planted.what;
        return;
      }
    });
    for (size_t m = 0; m < mutants.size(); ++m) {
      std::string name = mutants[m].name;
      if (skipped(name)) continue;
      if (!made[m].caught.empty()) {
        row(Result::ok, "mutant " + name, "fails: " + made[m].caught);
      } else {
        caught_or_not(name, made[m].tried, 0, "places", mutants[m].description);
      }
    }
  }

  void unknown_skips() {
    for (const auto& [name, reason] : task_.mutant_skips) {
      if (!names_.count(name))
        fail("LINT0004", "skip " + name, "no mutant has this name", "`ptxlab tasks lint` prints their names");
    }
  }

  const task::Task& task_;
  const LintOptions& options_;
  const Parts& parts_;
  LintReport report_;
  Baseline baseline_;
  PreparedTask prepared_;
  std::vector<launch::ResolvedPlan> plans_;
  std::vector<CaseRun> runs_;
  std::set<std::string> names_;
};

}  // namespace

std::string_view name_of(Result result) {
  switch (result) {
    case Result::ok: return "ok";
    case Result::failed: return "FAILED";
    case Result::skipped: return "skipped";
  }
  return "";
}

LintReport lint(const task::Task& task, const LintOptions& options, const Parts& parts) {
  try {
    return Linter(task, options, parts).run();
  } catch (const std::exception& error) {
    LintReport report;
    report.task = task.name;
    report.findings.push_back(judge_finding("JDG0001", Severity::error, fmt::format("lint failed: {}", error.what())));
    return report;
  }
}

std::string text(const LintReport& report) {
  std::string out = fmt::format("{}: {}\n", report.task, report.ok() ? "ok" : "not fit to judge");
  size_t width = 0;
  for (const auto& row : report.rows) width = std::max(width, row.what.size());
  for (const auto& row : report.rows)
    out += fmt::format("  {:<{}}  {:<7}  {}\n", row.what, width, name_of(row.result), row.detail);
  return out + base::render(report.findings, "");
}

}  // namespace ptxlab::judge
