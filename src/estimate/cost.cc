#include "estimate/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/cfg.h"
#include "analysis/registers.h"
#include "estimate/hardware.h"

namespace ptxlab::estimate {
namespace {

using analysis::has_word;
using analysis::opcode_of;

constexpr double kSchedulers = 4;  // an SM, on every target known here
constexpr double kSectorBytes = 32;
constexpr double kDependentCycles = 4.5;  // from an arithmetic instruction to one that needs it
constexpr double kCtaStart_ns = 60;       // from a CTA's end to its successor's first instruction

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

double lanes(Pipe pipe, const Hardware& h) {
  switch (pipe) {
    case Pipe::fp32: return h.fp32_lanes;
    case Pipe::integer: return h.int_lanes;
    case Pipe::special: return h.special_lanes;
    case Pipe::memory: return h.memory_lanes;
    case Pipe::fp64: return h.fp64_lanes;
    case Pipe::none:
    case Pipe::control: break;
  }
  return 128;
}

bool global_load(const ptx::Instruction& instruction) {
  auto space = analysis::space_word(instruction);
  return one_of(opcode_of(instruction), {"ld", "ldu", "atom"}) &&
         (space == isa::Space::global || space == isa::Space::generic);
}

// Sums over the CTAs that ran.
struct Totals {
  double issue = 0;               // machine instructions of all warps
  std::array<double, 7> pipes{};  // by Pipe
  double sectors = 0, wavefronts = 0;
  double load_rounds = 0;  // times a warp had to wait for global memory
  double shared_rounds = 0;
};

Totals sum(const LaunchCost& launch) {
  Totals totals;
  const auto& counts = launch.counts->statements;
  analysis::Cfg cfg(*launch.entry);
  for (const auto& block : cfg.blocks()) {
    double rounds = 0, shared = 0;
    for (uint32_t i = block.begin; i < block.end && i < counts.size(); ++i) {
      const auto* instruction = launch.entry->body[i].instruction();
      if (!instruction) continue;
      auto warps = static_cast<double>(counts[i].warps);
      auto each = issue_cost(*instruction);
      totals.issue += warps * each.instructions;
      totals.pipes[static_cast<size_t>(each.pipe)] += warps * each.instructions;
      totals.sectors += static_cast<double>(counts[i].sectors);
      totals.wavefronts += static_cast<double>(counts[i].shared_wavefronts);
      // Loads of one block are taken to be in flight together: ptxas moves them up.
      if (global_load(*instruction))
        rounds = std::max(rounds, warps);
      else if (opcode_of(*instruction) == "ld" && analysis::space_word(*instruction) == isa::Space::shared)
        shared = std::max(shared, warps);
    }
    totals.load_rounds += rounds;
    totals.shared_rounds += shared;
  }
  return totals;
}

}  // namespace

IssueCost issue_cost(const ptx::Instruction& instruction) {
  auto opcode = opcode_of(instruction);
  auto type = analysis::type_word(instruction);
  bool wide = isa::bits_of(type) == 64;
  // ptxas folds these into the instructions that use them.
  if (one_of(opcode, {"cvta", "mov"})) return {Pipe::none, opcode == "mov" ? 0.25 : 0};
  if (opcode == "ld" && analysis::space_word(instruction) == isa::Space::param) return {Pipe::none, 0.5};
  if (one_of(opcode, {"ld", "st", "ldu", "atom", "red", "cp", "prefetch", "shfl", "ldmatrix", "stmatrix"}))
    return {Pipe::memory, 1};
  if (one_of(opcode, {"bra", "brx", "ret", "exit", "bar", "barrier", "membar", "fence", "call", "nanosleep"}))
    return {Pipe::control, 1};
  if (type == isa::Type::f64) return {Pipe::fp64, opcode == "div" || opcode == "sqrt" || opcode == "rcp" ? 12. : 1.};
  if (opcode == "div" || opcode == "rem")
    return isa::is_float(type) ? IssueCost{Pipe::fp32, has_word(instruction, ".approx") ? 2. : 10.}
                               : IssueCost{Pipe::integer, wide ? 70. : 20.};
  if (one_of(opcode, {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"})) return {Pipe::special, 1};
  if (one_of(opcode, {"rcp", "sqrt"})) return {Pipe::special, has_word(instruction, ".approx") ? 1. : 6.};
  if (opcode == "cvt")
    return isa::is_integer(type) && isa::is_integer(analysis::type_word(instruction, 1)) ? IssueCost{Pipe::integer, 0.5}
                                                                                         : IssueCost{Pipe::special, 1};
  if (isa::is_float(type)) return {Pipe::fp32, 1};
  return {Pipe::integer, wide ? 2. : 1.};
}

record::Estimate cost(const LaunchCost& launch, const isa::Target& target) {
  const auto& h = hardware_of(target);
  record::Estimate estimate;
  estimate.nanoseconds = h.launch_ns;
  estimate.bound_by = "launch";
  if (!launch.entry || !launch.counts || launch.ctas_run == 0 || launch.ctas_total == 0) return estimate;
  Totals totals = sum(launch);
  auto run = static_cast<double>(launch.ctas_run), all = static_cast<double>(launch.ctas_total);
  auto occupancy = toolchain::occupancy(target, launch.threads, launch.registers, launch.shared_bytes);
  double resident = std::max(1, occupancy.ctas);
  double warps = std::max(1., std::ceil(launch.threads / 32.));

  // The busiest SM has ceil(all / SMs) CTAs.
  double busiest = std::ceil(all / h.sms);
  double cycles = totals.issue / run / kSchedulers;
  for (size_t pipe = 0; pipe < totals.pipes.size(); ++pipe)
    cycles = std::max(cycles, totals.pipes[pipe] / run * 32 / lanes(static_cast<Pipe>(pipe), h));
  cycles = std::max(cycles, totals.wavefronts / run);
  double issue_ns = busiest * cycles / h.clock_ghz;

  double bytes = totals.sectors * kSectorBytes / run * all;
  double from_dram = launch.footprint_bytes ? std::min(bytes, static_cast<double>(launch.footprint_bytes)) : bytes;
  double memory_ns = std::max(from_dram / h.dram_gbs, bytes / h.l2_gbs);

  double dram_share = bytes > 0 ? from_dram / bytes : 0;
  double load_ns = dram_share * h.dram_latency_ns + (1 - dram_share) * h.l2_latency_ns;
  double chain_ns = totals.load_rounds / run / warps * load_ns +
                    totals.shared_rounds / run / warps * h.shared_latency_ns +
                    totals.issue / run / warps * kDependentCycles / h.clock_ghz;
  double waves = std::max(1., all / (h.sms * resident));
  double latency_ns = waves * (chain_ns + kCtaStart_ns);

  estimate.nanoseconds += std::cbrt(std::pow(issue_ns, 3) + std::pow(memory_ns, 3) + std::pow(latency_ns, 3));
  estimate.issue_slots = totals.issue / run * all;
  estimate.sectors = totals.sectors / run * all;
  estimate.occupancy = occupancy.fraction;
  double most = std::max({issue_ns, memory_ns, latency_ns});
  if (most > h.launch_ns) estimate.bound_by = most == memory_ns ? "memory" : most == issue_ns ? "issue" : "latency";
  return estimate;
}

record::Estimate cost(std::span<const LaunchCost> launches, const isa::Target& target) {
  record::Estimate total;
  double longest = -1;
  for (const auto& launch : launches) {
    auto one = cost(launch, target);
    if (one.nanoseconds > longest) {
      longest = one.nanoseconds;
      total.occupancy = one.occupancy;
      total.bound_by = one.bound_by;
    }
    total.nanoseconds += one.nanoseconds;
    total.issue_slots += one.issue_slots;
    total.sectors += one.sectors;
  }
  return total;
}

}  // namespace ptxlab::estimate
