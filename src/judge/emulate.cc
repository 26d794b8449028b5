#include "judge/emulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "checkers/registry.h"
#include "judge/judge_finding.h"
#include "judge/line_profile.h"

namespace ptxlab::judge {
namespace {

using launch::ResolvedBuffer;

constexpr const char* kBudgetCode = "RUN0007";  // the engine's: the budget of thread instructions is spent

// The buffers of one run in memory; index by the plan's buffer.
std::vector<size_t> lay_out(simt::Memory& memory, const launch::ResolvedPlan& plan, const task::CaseData& data) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const ResolvedBuffer& buffer = plan.buffers[i];
    bool writable = buffer.role != ResolvedBuffer::Role::in;
    indices.push_back(memory.allocate(buffer.name, buffer.bytes, buffer.init, writable));
    if (i >= data.inputs.size() || data.inputs[i].empty()) continue;
    auto& allocation = memory.allocation(indices.back());
    std::copy(data.inputs[i].begin(), data.inputs[i].end(), allocation.data.begin());
  }
  return indices;
}

void collect(CaseRun& run, const simt::Memory& memory, const std::vector<size_t>& indices,
             const launch::ResolvedPlan& plan, const task::CaseData& data) {
  size_t count = data.binding.buffers.size();
  run.outputs.resize(count);
  run.defined.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const auto& allocation = memory.allocation(indices[i]);
    switch (plan.buffers[i].role) {
      case ResolvedBuffer::Role::out:
      case ResolvedBuffer::Role::inout:
        run.outputs[i].assign(allocation.data.begin(), allocation.data.end());
        run.defined[i] = allocation.defined;
        break;
      case ResolvedBuffer::Role::in:
        if (!std::equal(allocation.data.begin(), allocation.data.end(), data.inputs[i].begin(), data.inputs[i].end()))
          run.modified.push_back(plan.buffers[i].name);
        break;
      case ResolvedBuffer::Role::scratch: break;
    }
  }
}

void append(base::Findings& to, base::Findings from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// What makes two findings the same: code and place; without a place the message with every number as '#'.
std::string key_of(const base::Finding& finding) {
  std::string key =
      fmt::format("{}|{}|{}|{}", finding.code, finding.place.file, finding.place.line, finding.place.column);
  if (finding.place.line > 0) return key;
  for (char c : finding.message) {
    bool digit = c >= '0' && c <= '9';
    if (!digit) {
      key += c;
    } else if (key.back() != '#') {
      key += '#';
    }
  }
  return key;
}

uint64_t base_of(const CaseOptions& options) {
  return options.driver_addresses ? simt::kDriverBase : simt::kBufferBase;
}

// One run of a plan's launches by a loaded program; `run` takes what they report.
void run_launches(simt::Program& program, const launch::ResolvedPlan& plan, const std::vector<size_t>& indices,
                  simt::Memory& memory, const CaseOptions& options, std::span<simt::Observer* const> watching,
                  CaseRun& run) {
  simt::RunOptions how;
  how.check = simt::CheckLevel::defined;
  how.seed = options.seed;
  how.budget = options.budget;
  how.random_rounding = options.random_rounding;
  how.count_sectors = options.checkers;
  how.run_apart = options.run_apart;
  run.completed = true;
  for (const auto& launch : plan.launches) {
    auto report = program.run(launch, indices, memory, how, watching);
    append(run.findings, std::move(report.findings));
    run.profile.add(report.profile);
    run.thread_instructions += report.thread_instructions;
    run.inexact = run.inexact || report.inexact;
    run.supported = run.supported && report.supported;
    run.completed = run.completed && report.completed;
    if (!run.completed || !run.supported) break;
  }
  run.endless =
      std::any_of(run.findings.begin(), run.findings.end(), [](const auto& f) { return f.code == kBudgetCode; });
}

// The runs that the program has behind it. False: one of them did not end, and `run` says why.
bool run_earlier(simt::Program& program, const CaseOptions& options, CaseRun& run) {
  for (const EarlierRun& one : options.earlier) {
    simt::Memory memory(options.seed, base_of(options));
    std::vector<size_t> indices = lay_out(memory, *one.plan, *one.data);
    CaseRun before;
    run_launches(program, *one.plan, indices, memory, options, {}, before);
    if (!before.faulted() && before.supported) continue;
    run = std::move(before);
    run.completed = false;
    return false;
  }
  return true;
}

}  // namespace

CaseRun run_case(simt::Engine& engine, const ptx::Module& module, const launch::ResolvedPlan& plan,
                 const task::CaseData& data, const CaseOptions& options) {
  CaseRun run;
  auto program = engine.load(module, launch::entries_of(plan));
  if (!program) {
    run.supported = false;
    run.findings = program.findings();
    return run;
  }
  simt::Memory memory(options.seed, base_of(options));
  std::vector<size_t> indices = lay_out(memory, plan, data);
  if (auto wrong = simt::set_symbols(**program, plan, indices, memory); !wrong.empty()) {
    run.supported = wrong.front().code != "RUN0001";
    run.findings = std::move(wrong);
    return run;
  }
  if (!run_earlier(**program, options, run)) return run;
  std::vector<std::unique_ptr<simt::Observer>> observers;
  if (options.checkers) {
    for (const auto& checker : checkers::all_checkers()) observers.push_back(checker.make());
  }
  std::vector<simt::Observer*> watching;
  for (const auto& observer : observers) watching.push_back(observer.get());
  run_launches(**program, plan, indices, memory, options, watching, run);
  for (const auto& observer : observers) {
    run.doings.resize(run.findings.size());
    append(run.findings, observer->findings());
    for (auto& doing : observer->doings()) run.doings.push_back(std::move(doing));
  }
  run.doings.resize(run.findings.size());
  collect(run, memory, indices, plan, data);
  return run;
}

std::vector<uint32_t> unexecuted_lines(const ptx::Module& module, const analysis::Profile& profile) {
  std::vector<uint32_t> result;
  for (const auto& one : line_profile(module, profile, {}).lines)
    if (one.warps == 0) result.push_back(one.line);
  return result;
}

base::Findings merge_findings(const std::vector<base::Findings>& findings, const std::vector<std::string>& labels) {
  struct Merged {
    base::Finding first;
    size_t label;                      // of the first case
    std::set<std::string_view> cases;  // a case may have run under two schedules
  };
  std::map<std::string, size_t> index;
  std::vector<Merged> merged;
  for (size_t i = 0; i < findings.size(); ++i) {
    for (const auto& finding : findings[i]) {
      auto [at, fresh] = index.emplace(key_of(finding), merged.size());
      if (fresh) merged.push_back({finding, i, {}});
      merged[at->second].cases.insert(labels[i]);
    }
  }
  base::Findings result;
  for (auto& one : merged) {
    one.first.message += one.cases.size() == 1
                             ? fmt::format(" (case {})", labels[one.label])
                             : fmt::format(" (case {} and {} more)", labels[one.label], one.cases.size() - 1);
    result.push_back(std::move(one.first));
  }
  return result;
}

}  // namespace ptxlab::judge
