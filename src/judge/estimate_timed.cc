#include "judge/estimate_timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "estimate/cost.h"
#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

// Registers a thread where ptxas was not asked.
constexpr int kGuessedRegisters = 32;
constexpr uint64_t kBudget = 400'000'000;  // thread instructions of the few CTAs of one launch

base::Finding impossible(std::string why) {
  return judge_finding("JDG0020", base::Severity::error, "no estimate of the time: " + std::move(why));
}

uint64_t ctas_of(const launch::ResolvedLaunch& launch) {
  return uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

std::vector<uint32_t> first_middle_last(uint64_t ctas) {
  std::set<uint32_t> some{0, static_cast<uint32_t>(ctas / 2), static_cast<uint32_t>(ctas - 1)};
  return {some.begin(), some.end()};
}

// One launch's counts with what the cost model asks beside them.
struct Counted {
  analysis::FunctionProfile profile;
  estimate::LaunchCost cost;
};

class SizeRun {
 public:
  SizeRun(const EstimateInput& input, const task::CaseData& data) : input_(input), data_(data) {}

  base::Result<record::Estimate> run() {
    auto plan = launch::resolve(input_.plan, input_.module, data_.binding);
    if (!plan) return plan.findings();
    auto engine = input_.engine();
    auto program = engine->load(input_.module, launch::entries_of(*plan));
    if (!program) return impossible(program.findings().front().message);
    // Zeros everywhere, all of them defined: pages that no CTA touches are never made.
    simt::Memory memory(input_.seed);
    std::vector<size_t> buffers;
    for (const auto& buffer : plan->buffers) {
      buffers.push_back(memory.allocate(buffer.name, buffer.bytes, launch::ResolvedBuffer::Init::data));
    }
    std::vector<Counted> counted(plan->launches.size());
    for (size_t i = 0; i < counted.size(); ++i) {
      auto findings = count(**program, *plan, plan->launches[i], buffers, memory, counted[i]);
      if (!findings.empty()) return findings;
    }
    std::vector<estimate::LaunchCost> costs;
    for (auto& one : counted) {
      one.cost.counts = &one.profile;
      costs.push_back(one.cost);
    }
    return estimate::cost(costs, input_.target);
  }

 private:
  base::Findings count(simt::Program& program, const launch::ResolvedPlan& plan, const launch::ResolvedLaunch& launch,
                       const std::vector<size_t>& buffers, simt::Memory& memory, Counted& counted) const {
    uint64_t ctas = ctas_of(launch);
    if (ctas == 0 || ctas > UINT32_MAX) return {impossible(fmt::format("a grid of {} CTAs", ctas))};
    simt::RunOptions how;
    how.check = simt::CheckLevel::bounds;
    how.seed = input_.seed;
    how.budget = kBudget;
    how.memory_budget = ~uint64_t{0};
    how.ctas = first_middle_last(ctas);
    how.count_sectors = true;
    auto report = program.run(launch, buffers, memory, how, {});
    if (!report.completed || !report.supported) {
      return {impossible(report.findings.empty() ? "its CTAs do not run alone" : report.findings.front().message)};
    }
    for (auto& function : report.profile.functions) {
      if (function.function == launch.entry) counted.profile = std::move(function);
    }
    counted.cost.entry = input_.module.function(launch.entry);
    counted.cost.ctas_run = how.ctas.size();
    counted.cost.ctas_total = ctas;
    counted.cost.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    counted.cost.registers = kGuessedRegisters;
    counted.cost.shared_bytes = static_cast<int>(launch.shared_bytes);
    for (const auto& resources : input_.resources) {
      if (resources.entry != launch.entry) continue;
      counted.cost.registers = resources.registers;
      counted.cost.shared_bytes += resources.shared;
    }
    std::set<uint32_t> touched;
    for (const auto& pointer : launch.pointers) touched.insert(pointer.buffer);
    for (uint32_t buffer : touched) counted.cost.footprint_bytes += plan.buffers[buffer].bytes;
    return {};
  }

  const EstimateInput& input_;
  const task::CaseData& data_;
};

}  // namespace

namespace {

base::Result<TimedEstimate> estimate_sizes(const EstimateInput& input) {
  if (input.timed.empty()) return impossible("the task has no timed sizes");
  TimedEstimate result;
  double weights = 0, heaviest = -1;
  for (size_t i = 0; i < input.timed.size(); ++i) {
    auto one = SizeRun(input, input.timed[i]).run();
    if (!one) return one.findings();
    double weight = input.task.time[i].weight;
    if (weight > heaviest) {
      heaviest = weight;
      double so_far = result.whole.nanoseconds;
      result.whole = *one;
      result.whole.nanoseconds = so_far;
    }
    result.whole.nanoseconds += weight * one->nanoseconds;
    weights += weight;
    result.nanoseconds.push_back(one->nanoseconds);
  }
  if (weights > 0) result.whole.nanoseconds /= weights;
  return result;
}

}  // namespace

base::Result<TimedEstimate> estimate_timed(const EstimateInput& input) {
  try {
    return estimate_sizes(input);
  } catch (const std::exception& error) {
    return impossible(fmt::format("the engine failed: {}", error.what()));  // as out of memory
  }
}

double estimated_speedup(const task::Task& task, const TimedEstimate& baseline, const TimedEstimate& candidate) {
  double sum = 0, weights = 0;
  for (size_t i = 0; i < baseline.nanoseconds.size() && i < candidate.nanoseconds.size(); ++i) {
    sum += task.time[i].weight * std::log(baseline.nanoseconds[i] / candidate.nanoseconds[i]);
    weights += task.time[i].weight;
  }
  return weights > 0 ? std::exp(sum / weights) : 1;
}

}  // namespace ptxlab::judge
