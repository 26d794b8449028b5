#include "loop/brief.h"

#include <fmt/format.h>

#include "estimate/hardware.h"
#include "task/files.h"

namespace ptxlab::loop {
namespace {

// The device that stands for the target, in the units that people think in; nothing for targets older than any that is known.
std::vector<record::Fact> facts_of(const isa::Target& target) {
  const auto& h = estimate::hardware_of(target);
  if (h.sm > target.sm) return {};
  const auto flops = [&](int lanes) { return h.sms * lanes * 2 * h.clock_ghz / 1000; };  // TFLOP/s, multiply-adds
  return {
      {h.sm == target.sm ? "device" : fmt::format("device, of sm_{} as the nearest that is known", h.sm),
       fmt::format("{}: {} SMs at about {:.2f} GHz", h.device, h.sms, h.clock_ghz)},
      {"memory", fmt::format("{:.0f} GB/s as a copy reaches it, {:.0f} ns until a load that misses all caches is there",
                             h.dram_gbs, h.dram_latency_ns)},
      {"L2",
       fmt::format("{:.0f} MB, {:.0f} GB/s for all SMs together, {:.0f} cycles", h.l2_mb, h.l2_gbs, h.l2_latency)},
      {"L1 and shared memory", fmt::format("{} KB an SM together; {:.0f} cycles from L1, {:.0f} from shared memory",
                                           h.l1_kb, h.l1_latency, h.shared_latency)},
      {"arithmetic",
       fmt::format("a cycle and SM: {} fp32, {} integer, {} special functions, {} conversions, {} pairs of 16-bit "
                   "floats, {} fp64 lanes: {:.0f} TFLOP/s in fp32",
                   h.fp32, h.integer, h.special, h.convert, h.half2, h.fp64, flops(h.fp32))},
      {"tensor cores",
       fmt::format("{:.0f} TFLOP/s of 16-bit products, sums in fp32, as mma reaches them", flops(h.tensor))},
      {"instruction cache",
       fmt::format("{:.0f} KB a scheduler, {:.0f} KB an SM: code of loops beyond it is fetched again "
                   "and again",
                   h.instruction_l0_kb, h.instruction_l1_kb)},
      {"a launch", fmt::format("{:.1f} us for an empty kernel; each further launch costs as much", h.launch_ns / 1000)},
  };
}

}  // namespace

record::Brief make_brief(const task::Task& task, const judge::Baseline& baseline,
                         const record::Constraints& constraints, uint64_t seed) {
  record::Brief brief;
  brief.task = task;
  // What cannot be read is not known; whoever needs the file says so.
  if (auto files = task::file_hashes(task)) brief.task_files = *std::move(files);
  brief.target = baseline.target;
  brief.baseline_ptx = baseline.ptx;
  brief.baseline_plan = baseline.plan_text;
  brief.source = baseline.source;
  brief.baseline_resources = baseline.resources;
  if (const auto& nvdisasm = toolchain::installed().nvdisasm; nvdisasm && !baseline.cubin.empty()) {
    // What it cannot read is left out, as where it is absent.
    if (auto facts = toolchain::sass_facts(*nvdisasm, baseline.cubin)) brief.baseline_sass = std::move(*facts);
  }
  brief.hardware = facts_of(baseline.target);
  brief.constraints = constraints;
  brief.seed = seed;
  return brief;
}

void add_figures(record::Brief& brief, judge::Judge& judge, const judge::JudgeOptions& options) {
  auto figures = judge.baseline_figures(brief.task, options);
  if (!figures) return;
  brief.baseline_profile = std::move(figures->profile);
  brief.baseline_estimate = std::move(figures->estimate);
}

}  // namespace ptxlab::loop
