#include "estimate/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/cfg.h"
#include "analysis/liveness.h"
#include "estimate/lowering.h"
#include "estimate/sm.h"

namespace ptxlab::estimate {
namespace {

constexpr int kGuessedRegisters = 32;
constexpr double kSectorBytes = 32;
constexpr uint64_t kMostSteps = 400'000;  // replayed by the model for one launch
constexpr double kFetchBeyondL0 = 0.1;    // cycles more an instruction, where a loop does not fit the scheduler's cache
constexpr double kFetchBeyondL1 = 1;      // and where it does not fit the SM's
constexpr double kHotAtomicCycles = 1;    // of L2, for one lane at one address
constexpr double kBusy = 0.7;             // a resource this busy is what bounds
constexpr double kUncertainty = 0.06;     // of the ratio of two estimates of one task
constexpr double kGuessing = 0.15;        // where registers and with them occupancy are guessed
constexpr double kMachineBytes = 16;      // an instruction

toolchain::Resources resources_of(const LaunchCost& launch) {
  if (launch.resources) return *launch.resources;
  toolchain::Resources guessed;
  guessed.registers = kGuessedRegisters;
  return guessed;
}

toolchain::Occupancy occupancy_of(const LaunchCost& launch, const isa::Target& target) {
  auto resources = resources_of(launch);
  return toolchain::occupancy(target, launch.threads, resources.registers, launch.shared_bytes + resources.shared);
}

std::vector<LoweredFunction> lower_all(const LaunchCost& launch, const Hardware& h) {
  std::vector<LoweredFunction> functions;
  for (const auto& range : launch.trace->functions) {
    const auto* function = launch.module->function(range.function);
    functions.push_back(function ? lower(*function, h) : LoweredFunction{});
  }
  return functions;
}

// Which part of what sampled CTAs saw first has to come from DRAM: a buffer's bytes come once, what other CTAs ask for
// again is in L2.
double dram_share(uint64_t sectors, const BufferTraffic& buffer, const LaunchTrace& trace) {
  if (sectors == 0 || buffer.in_l2) return 0;
  double all = static_cast<double>(sectors) / static_cast<double>(trace.ctas.size()) *
               static_cast<double>(trace.ctas_total) * kSectorBytes;
  return std::min(1., static_cast<double>(buffer.bytes) / all);
}

class LaunchEstimate {
 public:
  LaunchEstimate(const LaunchCost& launch, const isa::Target& target)
      : launch_(launch), target_(target), h_(hardware_of(target)), trace_(*launch.trace) {}

  record::Estimate make() {
    occupancy_ = occupancy_of(launch_, target_);
    functions_ = lower_all(launch_, h_);
    prepare();
    run();
    describe();
    return std::move(estimate_);
  }

 private:
  double active_sms() const {
    return static_cast<double>(std::min<uint64_t>(trace_.ctas_total, static_cast<uint64_t>(h_.sms)));
  }

  void prepare() {
    task_.functions = functions_;
    task_.trace = &trace_;
    task_.hardware = &h_;
    task_.resident = std::max(1, occupancy_.ctas);
    double most = h_.l2_bytes_cycle;
    task_.dram_bytes_cycle = std::min(most, h_.dram_gbs / active_sms() / h_.clock_ghz);
    task_.l2_bytes_cycle = std::min(most, h_.l2_gbs / active_sms() / h_.clock_ghz);
    uint64_t touched = 0;
    for (const auto& buffer : trace_.buffers) {
      task_.cold_share.push_back(dram_share(buffer.cold_read, buffer, trace_));
      task_.write_share.push_back(dram_share(buffer.cold_written, buffer, trace_));
      if (buffer.cold_read) touched += buffer.bytes;
    }
    task_.reread_share = static_cast<double>(touched) <= h_.l2_mb * (1 << 20) ? 0 : 1;
    task_.fetch_cycles_l0 = kFetchBeyondL0;
    task_.fetch_cycles_l1 = kFetchBeyondL1;
    auto resources = resources_of(launch_);
    double slots = 0;
    for (const auto& f : functions_)
      if (f.function && (f.function->name == launch_.entry || !f.function->entry)) slots += f.slots;
    if (resources.code_bytes && slots > 0)
      task_.code_bytes_slot =
          std::clamp(static_cast<double>(resources.code_bytes) / slots, kMachineBytes / 2, kMachineBytes * 4);
    spills(resources);
  }

  // ptxas says how many bytes it spills, not where: where registers are scarce.
  void spills(const toolchain::Resources& resources) {
    double words = (resources.spill_loads + resources.spill_stores) / 4.;
    if (words <= 0) return;
    for (uint32_t f = 0; f < functions_.size(); ++f) {
      if (!functions_[f].function || functions_[f].function->name != launch_.entry) continue;
      analysis::Cfg cfg(*functions_[f].function);
      analysis::Liveness live(*functions_[f].function, cfg);
      for (uint32_t b = 0; b < live.pressure().size(); ++b)
        if (live.pressure()[b] >= 0.9 * live.peak()) task_.spill_blocks.emplace_back(f, b);
    }
    if (task_.spill_blocks.empty()) return;
    task_.spill_words = words / static_cast<double>(task_.spill_blocks.size());
    double bytes = static_cast<double>(resources.stack) * launch_.threads * task_.resident;
    double l1 = static_cast<double>(h_.l1_kb) * 1024 -
                static_cast<double>(task_.resident) * (launch_.shared_bytes + resources.shared);
    task_.spill_l2_share = bytes > 0 ? std::clamp(1 - std::max(l1, 0.) / bytes, 0., 1.) : 0;
  }

  void run() {
    uint64_t busiest = (trace_.ctas_total + static_cast<uint64_t>(h_.sms) - 1) / static_cast<uint64_t>(h_.sms);
    auto resident = static_cast<uint64_t>(task_.resident);
    uint64_t recorded = 1, steps = 1;
    for (const auto& cta : trace_.ctas) {
      recorded += cta.recorded;
      steps += cta.steps;
    }
    double kept = static_cast<double>(recorded) / static_cast<double>(trace_.ctas.size());
    bool two = kept * 4 * static_cast<double>(resident) > static_cast<double>(kMostSteps);
    uint64_t simulated = std::min(busiest, resident * (two ? 2 : 4) + busiest % resident);
    bool edges =
        trace_.ctas.size() >= 3 && trace_.ctas.front().edge && trace_.ctas_total <= static_cast<uint64_t>(h_.sms);
    sm_ = run_sm(task_, simulated, edges);
    double scale = static_cast<double>(steps) / static_cast<double>(recorded);
    double cycles = sm_.cycles + static_cast<double>(busiest - simulated) * sm_.steady_cycles;
    body_ns_ = cycles * scale / h_.clock_ghz;
    per_cta_ = scale / static_cast<double>(sm_.ctas);
    busiest_ = static_cast<double>(busiest);
    // One address of L2 takes one lane's atomic after the other, whoever sends it.
    bool shared = trace_.hottest_shared || (trace_.ctas.size() == 1 && trace_.ctas_total > 1);
    if (trace_.hottest_atomics > 0 && shared) {
      double all = static_cast<double>(trace_.hottest_atomics) / static_cast<double>(trace_.ctas.size()) *
                   static_cast<double>(trace_.ctas_total);
      atomics_ns_ = all * kHotAtomicCycles / h_.clock_ghz;
      body_ns_ = std::max(body_ns_, atomics_ns_ + h_.l2_latency / h_.clock_ghz);
    }
  }

  void limit(std::string name, double ns) {
    if (ns > 0) estimate_.limits.push_back({std::move(name), ns});
  }

  void describe() {
    auto& e = estimate_;
    auto all = static_cast<double>(trace_.ctas_total);
    e.device = std::string(h_.device);
    e.launch_ns = h_.launch_ns;
    e.uncertainty = launch_.resources ? kUncertainty : kGuessing;
    e.issue_slots = sm_.slots * per_cta_ * all;
    e.dram_bytes = sm_.dram_bytes * per_cta_ * all;
    e.l2_bytes = sm_.l2_bytes * per_cta_ * all;
    e.l1_hit_bytes = sm_.l1_bytes * per_cta_ * all;
    e.sectors = (e.l2_bytes + e.l1_hit_bytes) / kSectorBytes;
    e.bank_conflicts = sm_.conflicts * per_cta_ * all;
    e.scattered_passes = sm_.scattered * per_cta_ * all;
    e.occupancy = occupancy_.fraction;
    e.resident_ctas = occupancy_.ctas;
    e.occupancy_limit = occupancy_.limited_by;
    e.waves = all / (h_.sms * static_cast<double>(task_.resident));
    e.tail = 1 - all / (busiest_ * h_.sms);
    double sm_ns = per_cta_ * busiest_ / h_.clock_ghz;
    limit("DRAM bandwidth", e.dram_bytes / h_.dram_gbs);
    limit("L2 bandwidth", std::max(e.l2_bytes / h_.l2_gbs, sm_.l2_busy * sm_ns));
    limit("load/store unit", sm_.lsu_busy * sm_ns);
    limit("issue slots", sm_.issue_busy * sm_ns);
    if (sm_.fetch_busy > 0) limit("instruction fetch", (sm_.issue_busy + sm_.fetch_busy) * sm_ns);
    for (size_t p = 0; p < kPipes; ++p)
      if (static_cast<Pipe>(p) != Pipe::control)
        limit(fmt::format("{} pipe", name_of(static_cast<Pipe>(p))), sm_.pipe_busy[p] * sm_ns);
    limit("atomics at one address", atomics_ns_);
    std::stable_sort(e.limits.begin(), e.limits.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
    for (size_t s = 0; s < kStalls; ++s)
      if (static_cast<Stall>(s) != Stall::none && sm_.stalls[s] > 0.005 * sm_.warp_cycles)
        e.waits.push_back({std::string(name_of(static_cast<Stall>(s))), sm_.stalls[s] / sm_.warp_cycles});
    std::stable_sort(e.waits.begin(), e.waits.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
    // What is queued when a CTA ends is not waited for by its successor, so a resource's own time is a floor.
    if (!e.limits.empty()) body_ns_ = std::max(body_ns_, e.limits.front().value);
    e.nanoseconds = h_.launch_ns + body_ns_;
    e.bound_by = bound_by();
    if (!launch_.resources)
      e.assumptions.push_back(fmt::format("{} registers a thread, since ptxas was not asked", kGuessedRegisters));
  }

  std::string bound_by() const {
    const auto& e = estimate_;
    if (e.launch_ns > body_ns_) return "launch overhead";
    if (!e.limits.empty() && e.limits.front().value > kBusy * body_ns_) return e.limits.front().name;
    Stall longest = Stall::none;
    double most = -1;
    for (size_t s = 0; s < kStalls; ++s) {
      if (static_cast<Stall>(s) == Stall::none || static_cast<Stall>(s) == Stall::selected) continue;
      if (sm_.stalls[s] > most) {
        most = sm_.stalls[s];
        longest = static_cast<Stall>(s);
      }
    }
    switch (longest) {
      case Stall::dram: return "DRAM latency";
      case Stall::l2: return "L2 latency";
      case Stall::l1: return "L1 latency";
      case Stall::shared: return "shared memory latency";
      case Stall::arithmetic: return "dependent arithmetic";
      case Stall::slow: return "dependent slow instructions";
      case Stall::pipe: return "busy pipes";
      case Stall::queue: return "load/store unit";
      case Stall::barrier: return "barriers";
      case Stall::branch: return "instruction fetch";
      case Stall::fence: return "fences";
      case Stall::none:
      case Stall::selected: break;
    }
    return "issue slots";
  }

  const LaunchCost& launch_;
  isa::Target target_;
  const Hardware& h_;
  const LaunchTrace& trace_;
  toolchain::Occupancy occupancy_;
  std::vector<LoweredFunction> functions_;
  SmTask task_;
  SmResult sm_;
  double body_ns_ = 0, per_cta_ = 0, busiest_ = 1, atomics_ns_ = 0;
  record::Estimate estimate_;
};

void add_parts(std::vector<record::Estimate::Part>& into, const std::vector<record::Estimate::Part>& more) {
  for (const auto& part : more) {
    auto it = std::find_if(into.begin(), into.end(), [&](const auto& p) { return p.name == part.name; });
    if (it == into.end())
      into.push_back(part);
    else
      it->value += part.value;
  }
}

}  // namespace

Tracer::Shares shares_of(const LaunchCost& launch, const isa::Target& target) {
  const auto& h = hardware_of(target);
  auto resources = resources_of(launch);
  auto resident = static_cast<double>(std::max(1, occupancy_of(launch, target).ctas));
  double shared = resident * (launch.shared_bytes + resources.shared);
  double l1 = std::max(h.l1_kb * 1024 - shared, 16. * 1024) / resident;
  double l2 = h.l2_mb * (1 << 20) / resident / h.sms;
  return {static_cast<uint64_t>(l1), static_cast<uint64_t>(l2)};
}

uint64_t steps_worth_keeping(const LaunchCost& launch, const isa::Target& target) {
  auto resident = static_cast<uint64_t>(std::max(1, occupancy_of(launch, target).ctas));
  return std::max<uint64_t>(kMostSteps / 2 / resident, 8'000);
}

record::Estimate cost(const LaunchCost& launch, const isa::Target& target) {
  if (launch.trace && !launch.trace->ctas.empty()) return LaunchEstimate(launch, target).make();
  const auto& h = hardware_of(target);
  record::Estimate empty;
  empty.nanoseconds = empty.launch_ns = h.launch_ns;
  empty.device = std::string(h.device);
  empty.bound_by = "launch overhead";
  empty.uncertainty = kUncertainty;
  return empty;
}

record::Estimate cost(std::span<const LaunchCost> launches, const isa::Target& target) {
  record::Estimate total;
  double longest = -1;
  for (const auto& launch : launches) {
    auto one = cost(launch, target);
    auto so_far = total;
    if (one.nanoseconds > longest) {
      longest = one.nanoseconds;
      total = one;
    }
    total.nanoseconds = so_far.nanoseconds + one.nanoseconds;
    total.launch_ns = so_far.launch_ns + one.launch_ns;
    total.issue_slots = so_far.issue_slots + one.issue_slots;
    total.sectors = so_far.sectors + one.sectors;
    total.dram_bytes = so_far.dram_bytes + one.dram_bytes;
    total.l2_bytes = so_far.l2_bytes + one.l2_bytes;
    total.l1_hit_bytes = so_far.l1_hit_bytes + one.l1_hit_bytes;
    total.bank_conflicts = so_far.bank_conflicts + one.bank_conflicts;
    total.scattered_passes = so_far.scattered_passes + one.scattered_passes;
    total.limits = so_far.limits;
    add_parts(total.limits, one.limits);
  }
  std::stable_sort(total.limits.begin(), total.limits.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  if (launches.size() > 1 && total.launch_ns > total.nanoseconds / 2) total.bound_by = "launch overhead";
  return total;
}

}  // namespace ptxlab::estimate
