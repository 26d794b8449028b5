#include "judge/execute_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <semaphore>
#include <vector>

#include "judge/judge_finding.h"
#include "judge/second_opinion.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using record::GateStatus;
using record::OutcomeName;

// Poisons differ in every bit, and neither is a small number, 0 or a NaN in any type.
constexpr uint8_t kPoisons[] = {0xa5, 0x5a};
// A case takes microseconds on a GPU and its transfer milliseconds: what is still running then never ends.
constexpr std::chrono::seconds kLimit(20);
// After this many cases that fault or hang the rest is not run: each may cost the limit and a new worker.
constexpr size_t kFaultsMost = 2;
// Cases that are compared at a time, while the GPU goes on: a comparison takes several times as long as an execution.
constexpr ptrdiff_t kComparers = 6;

class Gate {
 public:
  explicit Gate(const ExecuteInput& input) : input_(input) {}

  ExecuteResult run() {
    if (!make_code()) return std::move(result_);
    size_t count = input_.prepared.cases.size();
    for (size_t i = 0; i < count && faulted_ < kFaultsMost && !result_.outcome; ++i) run_case_of(i);
    for (auto& compared : comparing_) {
      auto wrong = compared.get();  // all of them: none may outlive the gate
      if (wrong && !result_.outcome) note_wrong(std::move(*wrong));
    }
    if (!result_.outcome) decide(count);
    return std::move(result_);
  }

 private:
  std::string label(size_t i) const { return input_.prepared.cases[i].data.what.label(); }

  bool make_code() {
    const toolchain::Tool* ptxas = input_.assemblers.taking(input_.module.version);
    code_ = std::string(input_.ptx);
    if (!ptxas) return true;
    how_.target = target_on_gpu(input_.module.target, input_.runner.hello().sm, input_.target);
    auto assembled = toolchain::assemble(*ptxas, input_.ptx, input_.file, how_);
    if (assembled) {
      code_ = std::move(assembled->cubin);
      assembler_ = fmt::format("ptxas {} -O{}", ptxas->version, how_.optimise);
      return true;
    }
    result_.status = GateStatus::skipped;
    result_.reason = fmt::format("it does not assemble for the {} that is here ({}): {}", input_.runner.hello().device,
                                 how_.target.name(), assembled.findings().front().message);
    return false;
  }

  // Nothing outlives a launch in such a module: to load it anew would only take time.
  bool stateless() const {
    const auto& variables = input_.module.variables;
    return std::none_of(variables.begin(), variables.end(),
                        [](const ptx::Variable& variable) { return variable.space == isa::Space::global; });
  }
  bool keeps_state() const {
    const auto& allow = input_.prepared.task.allow;
    return std::find(allow.begin(), allow.end(), "state") != allow.end();
  }

  gpu::Job job_of(size_t i, uint8_t poison) const {
    gpu::Job job;
    job.code = code_;
    job.plan = input_.plans[i];
    job.poison = poison;
    job.keep_module = stateless() || (poison != kPoisons[0] && !keeps_state());
    const auto& inputs = input_.prepared.cases[i].data.inputs;
    for (size_t b = 0; b < job.plan.buffers.size(); ++b) {
      job.contents.emplace_back();
      if (b < inputs.size()) job.contents.back().assign(inputs[b].begin(), inputs[b].end());
    }
    return job;
  }

  // A fault, a hang or a dead worker is tried once more, in the fresh worker that it leaves behind: only what happens twice
  // is the candidate's.
  std::optional<gpu::Done> ask(const gpu::Job& job, size_t i) {
    std::string first;
    for (int attempt = 0; attempt < 2; ++attempt) {
      auto done = input_.runner.run(job, kLimit);
      std::string what;
      if (done && done->end != gpu::Done::End::faulted) {
        if (attempt > 0) {
          note(Severity::warning, "JDG0031", fmt::format("case {}: {}; not again in a fresh worker", label(i), first),
               "a race, uninitialised memory, or trouble of this machine");
          ++unsteady_;
        }
        return std::move(*done);
      }
      if (done) {
        what = done->message;
      } else if (done.findings().front().code == "GPU0004" || done.findings().front().code == "GPU0005") {
        what = done.findings().front().message;
      } else {
        trouble(done.findings().front().message);
        return std::nullopt;
      }
      if (attempt == 0) first = what;
    }
    ++faulted_;
    note(Severity::error, "JDG0030", fmt::format("case {}: on the GPU: {}", label(i), first),
         "the CPU engine's checkers name the line where they see it too");
    if (first_fault_.empty()) first_fault_ = fmt::format("{}: {}", label(i), first);
    return std::nullopt;
  }

  // Runs the case; what came out is compared while the GPU goes on to the next.
  void run_case_of(size_t i) {
    ++ran_;
    std::vector<gpu::Done> executions;
    for (uint8_t poison : kPoisons) {
      gpu::Job job = job_of(i, poison);
      auto done = ask(job, i);
      if (!done) return;
      if (done->end == gpu::Done::End::unlaunched) return not_launched(*done, job, i);
      if (done->end != gpu::Done::End::executed) return trouble(done->message);
      if (!stayed_inside(*done, job, i)) return;
      done->contents.resize(input_.prepared.cases[i].data.binding.buffers.size());  // scratch is nobody's answer
      executions.push_back(std::move(*done));
    }
    comparers_.acquire();
    comparing_.push_back(std::async(std::launch::async, [this, i, executions = std::move(executions)]() mutable {
      auto wrong = compare(i, executions);
      comparers_.release();
      return wrong;
    }));
  }

  struct Wrong {
    size_t number = 0;  // of the case
    CaseVerdict verdict;
    uint8_t poison = 0;
    gpu::Done done;
  };

  // The first execution that is wrong. On a thread of its own: changes nothing here.
  std::optional<Wrong> compare(size_t i, std::vector<gpu::Done>& executions) const {
    for (size_t n = 0; n < executions.size(); ++n) {
      if (n > 0 && executions[n].contents == executions[0].contents) continue;  // nothing to compare anew
      CaseVerdict verdict = compare_case(input_.prepared.task, input_.prepared.cases[i], as_run(executions[n], i));
      if (verdict.right) continue;
      if (n > 0) verdict.summary += ", at a second launch of the same module and on another poison";
      return Wrong{i, std::move(verdict), kPoisons[n], std::move(executions[n])};
    }
    return std::nullopt;
  }

  void note_wrong(Wrong wrong) {
    if (blames_assembler(job_of(wrong.number, wrong.poison), wrong.done, wrong.number, wrong.verdict.summary)) return;
    ++wrong_;
    const auto& findings = wrong.verdict.findings;
    result_.findings.insert(result_.findings.end(), findings.begin(), findings.end());
    if (first_wrong_.empty()) first_wrong_ = fmt::format("{}: {}", label(wrong.number), wrong.verdict.summary);
  }

  // True where the engine was right and another assembly of the text is right too: nothing is held against the candidate then.
  bool blames_assembler(const gpu::Job& job, const gpu::Done& done, size_t i, const std::string& summary) {
    if (!input_.right_on_engine || assembler_.empty()) return false;
    // Both executions, as here: what is right at the first launch only is no better by another assembler.
    auto is_right = [&](const std::string& cubin) -> std::optional<bool> {
      for (uint8_t poison : kPoisons) {
        gpu::Job again = job_of(i, poison);
        again.code = cubin;
        auto other = input_.runner.run(again, kLimit);
        if (!other || other->end != gpu::Done::End::executed) return std::nullopt;
        if (!other->overruns.empty()) return false;
        if (!compare_case(input_.prepared.task, input_.prepared.cases[i], as_run(*other, i)).right) return false;
      }
      return true;
    };
    SecondOpinion opinion =
        ask_others(other_assemblies(input_.assemblers, input_.ptx, input_.file, input_.module, how_), is_right);
    if (!opinion.suspect()) return false;
    std::string story =
        fmt::format("On {} case {} comes out wrong: {}.", input_.runner.hello().device, label(i), summary);
    std::string hint = "not shown to be the candidate's fault";
    if (!input_.suspects.empty()) {
      auto folder = write_suspect(
          {std::string(input_.ptx), assembler_, code_, opinion, story, job.plan, job.contents, done.contents},
          input_.suspects);
      hint = folder ? "what its makers need to see it: " + folder->string() : folder.findings().front().message;
    }
    std::string right = fmt::format("{}", fmt::join(opinion.right, ", "));
    note(Severity::error, "JDG0033",
         fmt::format("assembler suspect: case {} is right on the engine and by {}, wrong by {}", label(i), right,
                     assembler_),
         hint);
    result_.status = GateStatus::failed;
    result_.outcome = OutcomeName::infrastructure;
    result_.outcome_reason =
        fmt::format("assembler suspect: {} makes wrong code of this text, {} does not", assembler_, right);
    return true;
  }

  bool stayed_inside(const gpu::Done& done, const gpu::Job& job, size_t i) {
    if (done.overruns.empty()) return true;
    const auto& overrun = done.overruns.front();
    const auto& buffer = job.plan.buffers.at(overrun.buffer);
    std::string what = fmt::format("{} bytes written beyond '{}' ({} bytes), the first at {}", overrun.bytes,
                                   buffer.name, buffer.bytes, overrun.offset);
    note(Severity::error, "JDG0032", fmt::format("case {}: on the GPU: {}", label(i), what), "");
    ++faulted_;
    if (first_fault_.empty()) first_fault_ = fmt::format("{}: {}", label(i), what);
    return false;
  }

  // The driver says no before anything of the launch runs, each time alike.
  void not_launched(const gpu::Done& done, const gpu::Job& job, size_t i) {
    const auto& launches = job.plan.launches;
    std::string which = done.launch < launches.size() ? fmt::format(" (`{}`)", launches[done.launch].entry) : "";
    std::string what = fmt::format("launch {}{} is not taken: {}", done.launch + 1, which, done.message);
    note(Severity::error, "JDG0034", fmt::format("case {}: on the GPU: {}", label(i), what),
         "what a launch asks for must be there on the GPU that runs it");
    ++faulted_;
    if (first_fault_.empty()) first_fault_ = fmt::format("{}: {}", label(i), what);
  }

  CaseRun as_run(const gpu::Done& done, size_t i) const {
    CaseRun run;
    run.completed = true;
    const auto& inputs = input_.prepared.cases[i].data.inputs;
    size_t count = input_.prepared.cases[i].data.binding.buffers.size();
    run.outputs.resize(count);
    run.defined.resize(count);  // empty: everywhere
    for (size_t b = 0; b < count && b < done.contents.size(); ++b) {
      const auto& now = done.contents[b];
      if (input_.plans[i].buffers[b].role != launch::ResolvedBuffer::Role::in) {
        run.outputs[b].assign(now.begin(), now.end());
      } else if (now.size() != inputs[b].size() || std::memcmp(now.data(), inputs[b].data(), now.size()) != 0) {
        run.modified.push_back(input_.plans[i].buffers[b].name);
      }
    }
    return run;
  }

  void note(Severity severity, const char* code, std::string message, std::string hint) {
    result_.findings.push_back(judge_finding(code, severity, std::move(message), std::move(hint)));
  }

  void trouble(const std::string& why) {
    result_.status = GateStatus::failed;
    result_.outcome = OutcomeName::infrastructure;
    result_.outcome_reason = "the GPU worker: " + why;
  }

  void decide(size_t count) {
    std::string of = fmt::format("of {} case{}", count, count == 1 ? "" : "s");
    if (ran_ < count) of += fmt::format(" ({} not run)", count - ran_);
    result_.status = faulted_ + wrong_ > 0 ? GateStatus::failed : GateStatus::passed;
    result_.reason = fmt::format("{} {} right on {}", ran_ - faulted_ - wrong_, of, input_.runner.hello().device);
    if (faulted_ > 0) {
      result_.outcome = OutcomeName::faulted;
      result_.outcome_reason = fmt::format("on the GPU {} {} faulted; the first is {}", faulted_, of, first_fault_);
    } else if (wrong_ > 0) {
      result_.outcome = OutcomeName::wrong;
      result_.outcome_reason =
          fmt::format("on the GPU {} {} came out wrong; the first is {}", wrong_, of, first_wrong_);
    } else if (unsteady_ > 0) {
      result_.status = GateStatus::failed;
      result_.outcome = OutcomeName::unstable;
      result_.outcome_reason = fmt::format("on the GPU {} {} faulted at the first try only", unsteady_, of);
    }
  }

  const ExecuteInput& input_;
  std::string code_;
  toolchain::AssembleOptions how_;
  std::string assembler_;  // empty: the driver's own compiler
  ExecuteResult result_;
  size_t ran_ = 0, faulted_ = 0, wrong_ = 0, unsteady_ = 0;
  std::string first_fault_, first_wrong_;
  std::counting_semaphore<> comparers_{kComparers};
  std::vector<std::future<std::optional<Wrong>>> comparing_;  // in the order of the cases; last, so that it goes first
};

}  // namespace

ExecuteResult run_execute_gate(const ExecuteInput& input) { return Gate(input).run(); }

}  // namespace ptxlab::judge
