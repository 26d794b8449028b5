#include "judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <span>

#include "base/file.h"
#include "gpu/worker_client.h"
#include "judge/answers.h"
#include "judge/assemble_gate.h"
#include "judge/emulate_gate.h"
#include "judge/estimate_timed.h"
#include "judge/execute_gate.h"
#include "judge/judge_finding.h"
#include "judge/judge_state.h"
#include "judge/line_profile.h"
#include "judge/policy.h"
#include "judge/sass_check.h"
#include "judge/slowness.h"
#include "judge/time_gate.h"
#include "judge/unchecked.h"
#include "ptx/codes.h"
#include "ptx/mend.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using record::GateName;
using record::GateStatus;
using record::OutcomeName;

std::string first_message(const base::Findings& findings) {
  for (const auto& finding : findings) {
    if (finding.severity == Severity::error) return finding.message;
  }
  return findings.empty() ? "" : findings.front().message;
}

void append(base::Findings& to, const base::Findings& from) { to.insert(to.end(), from.begin(), from.end()); }

// Milliseconds since it was made, added to a gate when it goes.
class GateClock {
 public:
  explicit GateClock(record::Gate& gate) : gate_(gate) {}
  ~GateClock() {
    gate_.milliseconds += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  record::Gate& gate_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// One candidate on its way through the gates. Every step says whether the next one may follow.
class Judgement {
 public:
  Judgement(const task::Task& task, const record::Candidate& candidate, const JudgeOptions& options,
            const Assemblers& assemblers)
      : task_(task), candidate_(candidate), options_(options), assemblers_(assemblers) {
    verdict_.task = task.name;
  }

  record::Verdict take() && { return std::move(verdict_); }
  record::Gate& gate(GateName name) { return verdict_.gate(name); }
  const isa::Target& target() const { return target_; }
  bool wants(GateName name) const { return options_.until >= name; }

  // Trouble of the machine or the task, said in `name` and never held against the candidate.
  void trouble(GateName name, const base::Findings& findings) {
    append(gate(name).findings, findings);
    end(name, OutcomeName::infrastructure, first_message(findings));
  }

  bool choose_target() {
    auto target = judged_target(task_, options_.target);
    if (!target) {
      trouble(GateName::check, target.findings());
      return false;
    }
    target_ = *target;
    verdict_.target = target_.name();
    return true;
  }

  // Parse and verify. What ptxas makes of the text decides whether an error is the candidate's or the table's.
  bool check_text() {
    auto checked = ptx::check_with_fixes(candidate_.ptx, options_.ptx_file);
    if (std::count(task_.allow.begin(), task_.allow.end(), "state"))  // then it is no fault to warn of
      for (auto& finding : checked.findings)
        if (finding.code == ptx::spelling(ptx::Code::kept_state)) finding.severity = Severity::note;
    append(gate(GateName::check).findings, checked.findings);
    if (checked.ok()) {
      module_ = std::move(checked.module);
      return true;
    }
    if (!known_lax(checked.findings) && ptxas_takes_it(checked.module)) {
      gate(GateName::check)
          .findings.push_back(judge_finding("JDG0004", Severity::error,
                                            "check and ptxas disagree: ptxas takes this text",
                                            "not shown to be the candidate's fault: please report the text"));
      end(GateName::check, OutcomeName::infrastructure, "check and ptxas disagree: " + first_message(checked.findings));
      return false;
    }
    auto errors = std::count_if(checked.findings.begin(), checked.findings.end(),
                                [](const auto& f) { return f.severity == Severity::error; });
    end(GateName::check, OutcomeName::malformed,
        fmt::format("{} error{}; the first: {}", errors, errors == 1 ? "" : "s", first_message(checked.findings)));
    return false;
  }

  bool check_policy_and_plan(const Baseline& baseline, const std::vector<KnownText>& known,
                             const base::Findings& notes) {
    baseline_ = &baseline;
    auto plan = candidate_.plan ? launch::read_plan(*candidate_.plan, options_.plan_file)
                                : base::Result<launch::Plan>(baseline.plan);
    if (!plan) {
      append(gate(GateName::check).findings, plan.findings());
      end(GateName::check, OutcomeName::malformed, "the plan is malformed: " + first_message(plan.findings()));
      return false;
    }
    plan_ = std::move(*plan);
    append(gate(GateName::check).findings, likeness(module_, baseline.module, known));
    append(gate(GateName::check).findings, notes);
    return obeys(check_policy(module_, task_, target_,
                              std::max(initialised_bytes(baseline.module), constant_bytes(baseline.module))));
  }

  // The plan for every case and timed size, and what the brief demands of module and launches.
  bool check_launches(const PreparedTask& prepared) {
    prepared_ = &prepared;
    verdict_.oracle = prepared.oracle;
    for (const task::CaseData* data : all_data()) {
      auto resolved = launch::resolve(plan_, module_, data->binding);
      if (!resolved) {
        append(gate(GateName::check).findings, resolved.findings());
        end(GateName::check, OutcomeName::malformed,
            fmt::format("the plan does not fit at {}: {}", data->what.label(), first_message(resolved.findings())));
        return false;
      }
      bool timed = plans_.size() >= prepared.cases.size();
      plans_.push_back(std::move(*resolved));
      if (!obeys(check_scratch(plans_.back(), timed ? kScratchOfTimedSize : kScratchOfCase))) return false;
    }
    return obeys(check_constraints(module_, plans_, options_.constraints));
  }

  void check_passed() { gate(GateName::check).status = GateStatus::passed; }

  bool assemble() {
    std::vector<launch::ResolvedPlan> theirs;
    for (const task::CaseData* data : all_data()) {
      auto resolved = launch::resolve(baseline_->plan, baseline_->module, data->binding);
      if (!resolved) break;
      theirs.push_back(std::move(*resolved));
    }
    AssembleInput input{candidate_.ptx, options_.ptx_file,    module_,    plan_, plans_, theirs,
                        *baseline_,     options_.constraints, assemblers_};
    AssembleResult result = run_assemble_gate(input);
    verdict_.resources = std::move(result.resources);
    verdict_.code_digest = std::move(result.code_digest);
    cubin_ = std::move(result.cubin);
    return took(GateName::assemble, result);
  }

  bool emulate(const EmulateInput& input) {
    append(gate(GateName::emulate).findings, prepared_->findings);
    EmulateResult result = run_emulate_gate(input);
    verdict_.cases = std::move(result.cases);
    verdict_.unexecuted_lines = std::move(result.unexecuted_lines);
    checked_ = std::move(result.profile);
    verdict_.profile = line_profile(module_, result.in_step, "all cases, in step");
    return took(GateName::emulate, result);
  }

  bool execute(const PreparedTask& prepared, gpu::Runner& runner) {
    ExecuteResult result = run_execute_gate({prepared, candidate_.ptx, options_.ptx_file, module_, plans_, assemblers_,
                                             runner, gate(GateName::emulate).status == GateStatus::passed,
                                             base::data_home() / "suspects", target_});
    return took(GateName::execute, result);
  }

  // The machine code of a candidate that has come this far, read while other gates run.
  void begin_sass(const std::optional<toolchain::Tool>& nvdisasm) {
    if (!options_.sass || !nvdisasm || cubin_.empty()) return;
    std::vector<std::string> entries;
    for (const auto& one : verdict_.resources) entries.push_back(one.entry);
    sass_.start(*nvdisasm, std::move(cubin_), std::move(entries));
  }
  void count(const CountJob& job, const Baseline& baseline, uint32_t sm) {
    auto& findings = gate(GateName::time).findings;
    if (sm == 0 || !job) {
      findings.push_back(judge_finding("JDG0048", Severity::note, "no counters: no GPU of this machine executed it"));
      return;
    }
    CountResult result =
        count_both({task_, candidate_.ptx, module_, plan_, baseline, assemblers_, sm, target_, options_.seed, job});
    append(findings, result.findings);
    verdict_.counters = std::move(result.counters);
  }
  void end_sass() {
    auto outcome = sass_.take();
    if (!outcome) return;
    auto& findings = gate(GateName::assemble).findings;
    if (!outcome->trouble.empty())
      findings.push_back(
          judge_finding("JDG0047", Severity::note, "the machine code was not read: " + outcome->trouble));
    append(findings, compare_with_sass(module_, outcome->facts, options_.ptx_file));
    verdict_.sass = std::move(outcome->facts);
  }

  bool time(Judge::State& state, gpu::Runner& runner) {
    auto oracle = state.oracle(prepared_->task);
    if (!oracle) {
      trouble(GateName::time, oracle.findings());
      return false;
    }
    const Rivals& rivals = state.rivals(task_, target_);
    append(gate(GateName::time).findings, rivals.findings);
    std::vector<const Baseline*> baselines{baseline_};
    for (const auto& rival : rivals.baselines) baselines.push_back(&rival);
    TimeResult result =
        run_time_gate({*prepared_, baselines, candidate_.ptx, options_.ptx_file, module_,
                       std::span(plans_).subspan(prepared_->cases.size()), assemblers_, runner, oracle->get(),
                       state.inputs, state.calibrations(runner.hello().device, gate(GateName::time).findings),
                       fmt::format("{}|{}", key_of(task_, target_), options_.seed), options_.seed,
                       state.parts.own_calibration_seconds, target_});
    verdict_.timing = std::move(result.timing);
    return took(GateName::time, result);
  }

  // The candidate's time and the baseline's, by the engine's counts. That there is none is a note, not a failure.
  void estimate(const base::Result<TimedEstimate>& theirs, const base::Result<TimedEstimate>& own) {
    const base::Result<TimedEstimate>* failed = !theirs ? &theirs : !own ? &own : nullptr;
    if (failed) {
      for (base::Finding finding : failed->findings()) {
        finding.severity = Severity::note;
        gate(GateName::time).findings.push_back(std::move(finding));
      }
      return;
    }
    verdict_.estimate = own->whole;
    verdict_.baseline_estimate = theirs->whole;
    // Where the work is at the real sizes says more than the cases, most of which are small.
    verdict_.profile = line_profile(module_, own->profile, kTimedCtas);
    verdict_.baseline_profile = line_profile(baseline_->module, theirs->profile, kTimedCtas);
    verdict_.estimated_speedup = estimated_speedup(task_, *theirs, *own);
    const GateStatus timed = gate(GateName::time).status;  // a stopwatch compares at the timed sizes itself
    if (gate(GateName::emulate).status == GateStatus::passed && timed != GateStatus::passed &&
        timed != GateStatus::failed)
      append(gate(GateName::time).findings, unchecked_when_timed({*prepared_, module_, plan_, checked_, *own}));
  }

  // What it does more of than the baseline, where it is no faster.
  void explain() { append(gate(GateName::time).findings, explain_slowness(verdict_, module_, *baseline_)); }

  void skip(GateName name, std::string reason) {
    if (!wants(name)) return;
    gate(name).status = GateStatus::skipped;
    gate(name).reason = std::move(reason);
  }

  // No effect: the later gates have nothing to find out.
  void skip_after_assemble() {
    for (GateName name : {GateName::emulate, GateName::execute, GateName::time}) skip(name, verdict_.reason);
  }

  // Every gate that ran has passed.
  void passed() {
    std::string ran, skipped;
    for (const auto& one : verdict_.gates) {
      std::string& list = one.status == GateStatus::passed ? ran : skipped;
      if (one.status != GateStatus::passed && one.status != GateStatus::skipped) continue;
      if (!list.empty()) list += ", ";
      list += name_of(one.name);
    }
    verdict_.outcome = OutcomeName::unverified;
    verdict_.reason = fmt::format("passed {}{}{}", ran, skipped.empty() ? "" : "; skipped ", skipped);
  }

  const ptx::Module& module() const { return module_; }
  const launch::Plan& plan() const { return plan_; }
  const std::vector<toolchain::Resources>& resources() const { return verdict_.resources; }
  const std::vector<launch::ResolvedPlan>& plans() const { return plans_; }
  OutcomeName outcome() const { return verdict_.outcome; }

 private:
  void end(GateName name, OutcomeName outcome, std::string reason) {
    gate(name).status = GateStatus::failed;
    verdict_.outcome = outcome;
    verdict_.reason = std::move(reason);
  }

  bool obeys(const base::Findings& findings) {
    append(gate(GateName::check).findings, findings);
    if (!base::has_error(findings)) return true;
    end(GateName::check, OutcomeName::rejected, first_message(findings));
    return false;
  }

  template <class GateResult>
  bool took(GateName name, const GateResult& result) {
    append(gate(name).findings, result.findings);
    gate(name).status = result.status;
    gate(name).reason = result.reason;
    if (!result.outcome) return true;
    verdict_.outcome = *result.outcome;
    verdict_.reason = result.outcome_reason;
    return false;
  }

  // Of the cases, then of the timed sizes: the order of plans_.
  std::vector<const task::CaseData*> all_data() const {
    std::vector<const task::CaseData*> all;
    if (!prepared_) return all;
    for (const auto& one : prepared_->cases) all.push_back(&one.data);
    for (const auto& one : prepared_->timed) all.push_back(&one);
    return all;
  }

  // Every error is a form of the table's closed list that ptxas takes although PTX has none such: no disagreement.
  static bool known_lax(const base::Findings& findings) {
    return std::all_of(findings.begin(), findings.end(), [](const base::Finding& f) {
      return f.severity != Severity::error || ptx::ptxas_is_laxer(f.code);
    });
  }

  bool ptxas_takes_it(const ptx::Module& module) const {
    const toolchain::Tool* ptxas = assemblers_.taking(module.version);
    if (!ptxas) return false;
    toolchain::AssembleOptions how;
    how.target = module.target.sm ? module.target : target_;
    return toolchain::assemble(*ptxas, candidate_.ptx, options_.ptx_file, how).ok();
  }

  const task::Task& task_;
  const record::Candidate& candidate_;
  const JudgeOptions& options_;
  const Assemblers& assemblers_;
  record::Verdict verdict_;
  isa::Target target_;
  ptx::Module module_;
  launch::Plan plan_;
  const Baseline* baseline_ = nullptr;
  const PreparedTask* prepared_ = nullptr;
  analysis::Profile checked_;  // of the cases on the engine
  std::vector<launch::ResolvedPlan> plans_;
  std::string cubin_;
  SassReading sass_;
};

// The gates in order. `state` gives what is known of the task; `judgement` holds what comes of the candidate.
void judge_in_order(Judge::State& state, const task::Task& task, const JudgeOptions& options, Judgement& judgement) {
  const PreparedTask* prepared = nullptr;
  {
    GateClock clock(judgement.gate(GateName::check));
    if (!judgement.choose_target() || !judgement.check_text()) return;
  }
  const auto& read = state.baseline(task, judgement.target());
  if (!read) return judgement.trouble(GateName::check, read.findings());
  const Baseline* baseline = &*read;
  {
    GateClock clock(judgement.gate(GateName::check));
    if (!judgement.check_policy_and_plan(*baseline, state.known(), state.notes_on(task, *baseline))) return;
  }
  // Baseline and cases belong to the task: their time is no gate's.
  const auto& cases = state.cases(task, *baseline, options);
  bool unjudgeable = !cases && cases.findings().front().code == "JDG0010";
  if (!cases && !unjudgeable) return judgement.trouble(GateName::check, cases.findings());
  {
    GateClock clock(judgement.gate(GateName::check));
    if (cases) prepared = &*cases;
    if (prepared && !judgement.check_launches(*prepared)) return;
    judgement.check_passed();
  }
  if (judgement.wants(GateName::assemble)) {
    GateClock clock(judgement.gate(GateName::assemble));
    if (!judgement.assemble()) {
      if (judgement.outcome() == OutcomeName::same) judgement.skip_after_assemble();
      return;
    }
  }
  if (judgement.wants(GateName::emulate)) {
    GateClock clock(judgement.gate(GateName::emulate));
    if (!options.emulate) {
      judgement.skip(GateName::emulate, "not asked for");
    } else if (!prepared) {
      judgement.skip(GateName::emulate, first_message(cases.findings()));
    } else if (!judgement.emulate({*prepared, *baseline, judgement.module(), judgement.plans(), options.seed,
                                   options.threads, state.parts.engine})) {
      return;
    }
  }
  judgement.begin_sass(state.parts.nvdisasm);
  uint32_t sm = 0;  // of the GPU that executed it
  if (judgement.wants(GateName::execute)) {
    GateClock clock(judgement.gate(GateName::execute));
    if (!prepared) {
      judgement.skip(GateName::execute, first_message(cases.findings()));
    } else if (!state.gpus.with([&](const GpuResult& gpu) {
                 if (gpu) {
                   sm = (*gpu)->hello().sm;
                   return judgement.execute(*prepared, **gpu);
                 }
                 judgement.skip(GateName::execute, first_message(gpu.findings()));
                 return true;
               })) {
      return;
    }
  }
  bool decided = false;
  if (judgement.gate(GateName::execute).status != GateStatus::passed) {
    judgement.skip(GateName::time, judgement.gate(GateName::execute).reason);
  } else if (judgement.wants(GateName::time)) {
    GateClock clock(judgement.gate(GateName::time));
    decided = !state.gpus.with([&](const GpuResult& gpu) {
      if (gpu) return judgement.time(state, **gpu);
      judgement.skip(GateName::time, first_message(gpu.findings()));
      return true;
    });
  }
  if (options.counters) judgement.count(state.parts.count, *baseline, sm);
  if (decided) return;
  judgement.passed();
  if (!prepared || prepared->timed.empty() || !judgement.wants(GateName::time)) return;
  judgement.estimate(state.baseline_estimate(task, *baseline, prepared->timed),
                     estimate_timed({task, prepared->timed, judgement.module(), judgement.plan(), judgement.resources(),
                                     judgement.target(), 1, state.parts.engine}));
  judgement.explain();
}

}  // namespace

Parts installed_parts(const std::filesystem::path& shipped) {
  Parts parts;
  parts.engine = [] { return simt::make_simt_engine(); };
  parts.reference = [](const task::Task& task) { return task::make_reference_oracle(task); };
  parts.assemblers = installed_assemblers();
  parts.nvdisasm = toolchain::installed().nvdisasm;
  parts.gpus = {[]() -> GpuResult {
    auto worker = gpu::Worker::start({});
    if (!worker) return worker.findings();
    return std::unique_ptr<gpu::Runner>(std::move(*worker));
  }};
  parts.calibrations = {base::data_home()};
  if (!shipped.empty()) parts.calibrations.push_back(shipped);
  return parts;
}

Judge::Judge(Parts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Judge::~Judge() = default;

record::Verdict Judge::judge(const task::Task& task, const record::Candidate& candidate, const JudgeOptions& options) {
  Judgement judgement(task, candidate, options, state_->parts.assemblers);
  try {
    judge_in_order(*state_, task, options, judgement);
    judgement.end_sass();
  } catch (const std::exception& error) {
    judgement.trouble(GateName::check,
                      {judge_finding("JDG0001", Severity::error, fmt::format("the judge failed: {}", error.what()),
                                     "not the candidate's fault: please report it")});
  }
  return std::move(judgement).take();
}

base::Findings Judge::preparation(const task::Task& task, const JudgeOptions& options) {
  auto target = judged_target(task, options.target);
  if (!target) return target.findings();
  const auto& read = state_->baseline(task, *target);
  if (!read) return read.findings();
  const auto& cases = state_->cases(task, *read, options);
  if (cases) return cases->findings;
  base::Findings findings = cases.findings();
  // Another engine, or a GPU, may know more.
  if (findings.front().code == "JDG0010") findings.front().severity = base::Severity::warning;
  return findings;
}

base::Result<const Baseline*> Judge::baseline(const task::Task& task, const isa::Target& target) {
  const auto& made = state_->baseline(task, target);
  if (!made) return made.findings();
  return &*made;
}

std::optional<gpu::Hello> Judge::gpu() {
  return state_->gpus.with(
      [](const GpuResult& gpu) { return gpu ? std::optional<gpu::Hello>((*gpu)->hello()) : std::nullopt; });
}

std::optional<isa::Target> Judge::gpu_target(const task::Task& task) {
  uint32_t sm = state_->gpus.with([](const GpuResult& gpu) { return gpu ? (*gpu)->hello().sm : 0; });
  if (sm == 0) return std::nullopt;
  for (const auto& name : task.targets) {
    if (auto target = isa::target_named(name); target && target->sm == sm) return target;
  }
  return isa::target_named(fmt::format("sm_{}", sm));
}

base::Result<isa::Target> judged_target(const task::Task& task, const std::optional<isa::Target>& wanted) {
  if (wanted) return *wanted;
  if (!task.targets.empty()) {
    if (auto target = isa::target_named(task.targets.front())) return *target;
  }
  return judge_finding("JDG0003", Severity::error,
                       fmt::format("the task '{}' names no target that is known", task.name),
                       "say which with --target");
}

}  // namespace ptxlab::judge
