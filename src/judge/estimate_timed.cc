#include "judge/estimate_timed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "estimate/cost.h"
#include "estimate/data_dependence.h"
#include "judge/judge_finding.h"
#include "judge/trace_recorder.h"

namespace ptxlab::judge {
namespace {

constexpr uint64_t kBudget = 400'000'000;   // thread instructions of one CTA
constexpr uint64_t kEnoughSteps = 300'000;  // warp instructions of one launch's CTAs: no further ones are run
constexpr uint64_t kFewCtas = 5;            // launches of so few are run whole

base::Finding impossible(std::string why) {
  return judge_finding("JDG0020", base::Severity::error, "no estimate of the time: " + std::move(why));
}

uint64_t ctas_of(const launch::ResolvedLaunch& launch) {
  return uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

struct Sample {
  uint32_t cta = 0;
  bool edge = false;
};

// The middle first, then a quarter and three quarters of the way in every dimension, so that none of them lies on an edge
// of the grid; then the two ends.
std::vector<Sample> sample(const launch::Dim3& grid) {
  uint64_t all = uint64_t{grid[0]} * grid[1] * grid[2];
  std::vector<Sample> samples;
  if (all <= kFewCtas) {
    for (uint32_t c = 0; c < all; ++c) samples.push_back({c, false});
    return samples;
  }
  auto at = [&](uint64_t quarters) {
    uint64_t x = grid[0] * quarters / 4, y = grid[1] * quarters / 4, z = grid[2] * quarters / 4;
    return static_cast<uint32_t>((z * grid[1] + y) * grid[0] + x);
  };
  samples = {{at(2), false}, {at(1), false}, {at(3), false}, {0, true}, {static_cast<uint32_t>(all - 1), true}};
  return samples;
}

// One launch's trace with what the cost model asks beside it.
struct Traced {
  estimate::LaunchTrace trace;
  estimate::LaunchCost cost;
};

class PlanRun {
 public:
  explicit PlanRun(const PlanInput& input) : input_(input) {}

  // `profile`, where given, takes the counts of the CTAs that run.
  base::Result<record::Estimate> run(analysis::Profile* profile = nullptr) {
    profile_ = profile;
    const auto& plan = input_.plan;
    auto engine = input_.engine();
    auto program = engine->load(input_.module, launch::entries_of(plan));
    if (!program) return impossible(program.findings().front().message);
    // Zeros everywhere, all of them defined: pages that no CTA touches are never made.
    simt::Memory memory(input_.seed);
    std::vector<size_t> buffers;
    for (const auto& buffer : plan.buffers) {
      buffers.push_back(memory.allocate(buffer.name, buffer.bytes, launch::ResolvedBuffer::Init::data));
    }
    if (auto wrong = simt::set_symbols(**program, plan, buffers, memory); !wrong.empty())
      return impossible(wrong.front().message);
    bool depends = estimate::depends_on_data(input_.module);
    if (depends && input_.fill) lazy_.emplace(plan, memory, buffers, input_.fill);
    std::vector<Traced> traced(plan.launches.size());
    for (size_t i = 0; i < traced.size(); ++i) {
      auto findings = trace(**program, plan.launches[i], buffers, memory, traced[i]);
      if (!findings.empty()) return findings;
    }
    std::vector<estimate::LaunchCost> costs;
    for (auto& one : traced) {
      one.cost.trace = &one.trace;
      costs.push_back(one.cost);
    }
    auto made = estimate::cost(costs, input_.target);
    if (depends && !input_.fill)
      made.assumptions.emplace_back("all inputs are zero, though the kernel's addresses or branches depend on them");
    return made;
  }

 private:
  void describe(const launch::ResolvedLaunch& launch, estimate::LaunchCost& cost) const {
    cost.module = &input_.module;
    cost.entry = launch.entry;
    cost.threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
    cost.shared_bytes = static_cast<int>(launch.shared_bytes);
    for (const auto& resources : input_.resources)
      if (resources.entry == launch.entry) cost.resources = resources;
  }

  // Sizes of what an access may touch, and what earlier launches have left in L2.
  void prepare(const simt::Memory& memory, estimate::LaunchTrace& trace) {
    trace.functions = number_statements(input_.module);
    uint64_t all = 0;
    for (size_t b = 0; b < memory.count(); ++b) {
      auto& buffer = trace.buffers.emplace_back();
      buffer.bytes = memory.allocation(b).bytes;
      buffer.in_l2 = b < touched_.size() && touched_[b];
      if (buffer.in_l2) all += buffer.bytes;
    }
    double half = estimate::hardware_of(input_.target).l2_mb * (1 << 20) / 2;
    if (static_cast<double>(all) > half)
      for (auto& buffer : trace.buffers) buffer.in_l2 = false;
    for (const auto& variable : input_.module.variables)
      trace.buffers.push_back({.bytes = std::max<uint64_t>(variable.bytes(), 1)});
  }

  void remember(const estimate::LaunchTrace& trace) {
    touched_.resize(std::max(touched_.size(), trace.buffers.size()));
    for (size_t b = 0; b < trace.buffers.size(); ++b)
      if (trace.buffers[b].cold_read + trace.buffers[b].cold_written) touched_[b] = true;
  }

  base::Findings trace(simt::Program& program, const launch::ResolvedLaunch& launch, const std::vector<size_t>& buffers,
                       simt::Memory& memory, Traced& made) {
    uint64_t ctas = ctas_of(launch);
    if (ctas == 0 || ctas > UINT32_MAX) return {impossible(fmt::format("a grid of {} CTAs", ctas))};
    describe(launch, made.cost);
    made.trace.ctas_total = ctas;
    prepare(memory, made.trace);
    estimate::Tracer tracer(made.trace, estimate::shares_of(made.cost, input_.target),
                            estimate::steps_worth_keeping(made.cost, input_.target));
    TraceRecorder recorder(input_.module, made.trace, tracer, static_cast<uint32_t>(memory.count()));
    simt::Observer* observers[] = {&recorder};
    auto warps = static_cast<uint32_t>((made.cost.threads + 31) / 32);
    uint64_t steps = 0;
    for (const auto& one : sample(launch.grid)) {
      if (steps > kEnoughSteps) break;
      simt::RunOptions how;
      how.check = simt::CheckLevel::bounds;
      how.seed = input_.seed;
      how.budget = kBudget;
      how.memory_budget = ~uint64_t{0};
      how.count_sectors = profile_ != nullptr;
      how.ctas = {one.cta};
      if (lazy_) lazy_->settle(program, launch, one.cta, kBudget);
      tracer.begin_cta(warps, one.edge);
      auto report = program.run(launch, buffers, memory, how, observers);
      if (!report.completed || !report.supported) {
        return {impossible(report.findings.empty() ? "its CTAs do not run alone" : report.findings.front().message)};
      }
      steps += made.trace.ctas.back().steps;
      if (profile_) profile_->add(report.profile);
    }
    remember(made.trace);
    // The first of the launch comes first, the last last.
    auto& taken = made.trace.ctas;
    if (taken.size() >= 4 && taken[3].edge) std::rotate(taken.begin(), taken.begin() + 3, taken.begin() + 4);
    return {};
  }

  const PlanInput& input_;
  std::optional<LazyBuffers> lazy_;
  analysis::Profile* profile_ = nullptr;
  std::vector<bool> touched_;  // by buffer: an earlier launch of the plan read or wrote it
};

base::Result<record::Estimate> estimate_size(const EstimateInput& input, const task::CaseData& data,
                                             analysis::Profile& profile) {
  auto plan = launch::resolve(input.plan, input.module, data.binding);
  if (!plan) return plan.findings();
  return PlanRun(
             {input.module, *plan, input.resources, input.target, input.seed, input.engine, fill_of(input.task, data)})
      .run(&profile);
}

std::string sizes_text(const task::Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

base::Result<TimedEstimate> estimate_sizes(const EstimateInput& input) {
  if (input.timed.empty()) return impossible("the task has no timed sizes");
  TimedEstimate result;
  double weights = 0, heaviest = -1, sum = 0;
  for (size_t i = 0; i < input.timed.size(); ++i) {
    auto one = estimate_size(input, input.timed[i], result.profile);
    if (!one) return one.findings();
    double share = input.task.time[i].weight * one->nanoseconds;
    if (share > heaviest) {
      heaviest = share;
      result.whole = *one;
      result.whole.size_ns = one->nanoseconds;
      if (input.timed.size() > 1) result.whole.size = sizes_text(input.timed[i].what.sizes);
    }
    sum += share;
    weights += input.task.time[i].weight;
    result.nanoseconds.push_back(one->nanoseconds);
    result.l2_bytes.push_back(one->l2_bytes);
  }
  result.whole.nanoseconds = sum;
  if (weights > 0) result.whole.nanoseconds /= weights;
  return result;
}

}  // namespace

base::Result<record::Estimate> estimate_plan(const PlanInput& input) {
  try {
    return PlanRun(input).run();
  } catch (const std::exception& error) {
    return impossible(fmt::format("the engine failed: {}", error.what()));  // as out of memory
  }
}

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
