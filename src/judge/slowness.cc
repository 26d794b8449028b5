#include "judge/slowness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/instruction_mix.h"
#include "analysis/registers.h"
#include "estimate/hardware.h"
#include "judge/approximations.h"
#include "judge/judge_finding.h"
#include "record/timing_text.h"

namespace ptxlab::judge {
namespace {

using analysis::MixClass;
using record::LineProfile;

constexpr double kFaster = 1.03;  // beyond this nobody asks why it is slow
constexpr size_t kClasses = static_cast<size_t>(MixClass::kEnd);

// What the engine counted of a kernel, by kinds of instructions.
struct Work {
  uint64_t warps = 0;
  std::array<uint64_t, kClasses> by_class{}, threads{};
  uint64_t sectors = 0, ideal_sectors = 0, passes = 0, ideal_passes = 0;
  uint64_t load_warps = 0, load_threads = 0;  // of loads from global memory
  double access_bytes = 0, access_warps = 0;  // of a thread's accesses to global memory
  double share(MixClass part) const {
    return warps ? static_cast<double>(by_class[static_cast<size_t>(part)]) / static_cast<double>(warps) : 0;
  }
  double lanes_of_loads() const {
    return load_warps ? static_cast<double>(load_threads) / static_cast<double>(load_warps) : 0;
  }
  // Passes lost to bank conflicts, for each instruction issued.
  double conflicts() const {
    return warps ? static_cast<double>(passes - std::min(passes, ideal_passes)) / static_cast<double>(warps) : 0;
  }
  double passes_a_request() const {
    return ideal_passes ? static_cast<double>(passes) / static_cast<double>(ideal_passes) : 1;
  }
  double mean_bytes() const { return access_warps > 0 ? access_bytes / access_warps : 0; }
};

std::map<uint32_t, const ptx::Instruction*> instructions_by_line(const ptx::Module& module) {
  std::map<uint32_t, const ptx::Instruction*> lines;
  for (const auto& function : module.functions)
    for (const auto& statement : function.body)
      if (const auto* instruction = statement.instruction()) lines.try_emplace(instruction->line, instruction);
  return lines;
}

bool global_access(const ptx::Instruction& instruction) {
  const auto opcode = analysis::opcode_of(instruction);
  if (opcode != "ld" && opcode != "ldu" && opcode != "st") return false;
  return analysis::class_of(instruction) == MixClass::global;
}

Work work_of(const LineProfile& profile, const ptx::Module& module) {
  const auto lines = instructions_by_line(module);
  Work work;
  for (const auto& counts : profile.lines) {
    auto at = lines.find(counts.line);
    if (at == lines.end() || counts.warps == 0) continue;
    const auto& instruction = *at->second;
    const auto part = static_cast<size_t>(analysis::class_of(instruction));
    work.warps += counts.warps;
    work.by_class[part] += counts.warps;
    work.threads[part] += counts.threads;
    work.sectors += counts.sectors;
    work.ideal_sectors += counts.ideal_sectors;
    work.passes += counts.passes;
    work.ideal_passes += counts.ideal_passes;
    if (!global_access(instruction)) continue;
    const double bytes = isa::bytes_of(analysis::type_word(instruction)) * analysis::vector_word(instruction);
    work.access_bytes += bytes * static_cast<double>(counts.warps);
    work.access_warps += static_cast<double>(counts.warps);
    if (analysis::opcode_of(instruction) == "st") continue;
    work.load_warps += counts.warps;
    work.load_threads += counts.threads;
  }
  return work;
}

// "line 45 (`ld.global.f32 ...`)" of the candidate: the one that weighs most.
template <class Weight>
std::string worst_line(const LineProfile& profile, const ptx::Module& module, const Weight& weight) {
  const auto lines = instructions_by_line(module);
  const LineProfile::Counts* worst = nullptr;
  for (const auto& counts : profile.lines) {
    auto at = lines.find(counts.line);
    if (at == lines.end()) continue;
    if (weight(counts, *at->second) > 0 &&
        (!worst || weight(counts, *at->second) > weight(*worst, *lines.at(worst->line))))
      worst = &counts;
  }
  return worst ? fmt::format("line {}", worst->line) : "";
}

std::string millions(double value) {
  if (value >= 1e6) return fmt::format("{:.1f} M", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

class Explainer {
 public:
  Explainer(const record::Verdict& verdict, const ptx::Module& module, const Baseline& baseline)
      : v_(verdict), module_(module), baseline_(baseline) {}

  base::Findings run() {
    resources();
    if (v_.estimate && v_.baseline_estimate) {
      occupancy(*v_.estimate, *v_.baseline_estimate);
      if (v_.profile && v_.baseline_profile) {
        own_ = work_of(*v_.profile, module_);
        theirs_ = work_of(*v_.baseline_profile, baseline_.module);
        traffic(*v_.estimate, *v_.baseline_estimate);
        instructions(*v_.estimate, *v_.baseline_estimate);
        lanes();
      }
      approximations();
      where_time_goes(*v_.estimate, *v_.baseline_estimate);
    }
    return std::move(findings_);
  }

 private:
  void say(const char* code, std::string message, std::string hint) {
    findings_.push_back(judge_finding(code, base::Severity::note, std::move(message), std::move(hint)));
  }

  struct Sum {
    uint64_t code = 0;
    int registers = 0, spilled = 0, shared = 0;
  };
  static Sum sum_of(const std::vector<toolchain::Resources>& all) {
    Sum sum;
    for (const auto& one : all) {
      sum.code += one.code_bytes;
      sum.registers = std::max(sum.registers, one.registers);
      sum.spilled += one.spill_stores + one.spill_loads;
      sum.shared = std::max(sum.shared, one.shared);
    }
    return sum;
  }

  void resources() {
    const auto own = sum_of(v_.resources), theirs = sum_of(baseline_.resources);
    if (v_.resources.empty() || baseline_.resources.empty()) return;
    const auto& hardware = estimate::hardware_of(baseline_.target);
    const double cache = hardware.instruction_l0_kb * 1024;
    if (static_cast<double>(own.code) > cache && own.code > 2 * theirs.code) {
      say("JDG0081",
          fmt::format(
              "the machine code has grown from {} to {} bytes, beyond the {:.0f} KB that a scheduler keeps of it{}",
              theirs.code, own.code, hardware.instruction_l0_kb,
              static_cast<double>(own.code) > hardware.instruction_l1_kb * 1024
                  ? fmt::format(" and the {:.0f} KB of an SM", hardware.instruction_l1_kb)
                  : ""),
          "unroll less: loops that do not fit are fetched again with every turn");
    }
    if (own.spilled > theirs.spilled)
      say("JDG0083",
          fmt::format("{} bytes are spilled to local memory, {} by the kernel as it is; {} registers a thread",
                      own.spilled, theirs.spilled, own.registers),
          "keep fewer values alive at once, or allow more registers");
  }

  void occupancy(const record::Estimate& own, const record::Estimate& theirs) {
    if (own.occupancy >= 0.8 * theirs.occupancy) return;
    const auto mine = sum_of(v_.resources), before = sum_of(baseline_.resources);
    std::string by = own.occupancy_limit;
    if (by == "registers") by += fmt::format(": {} a thread, {} before", mine.registers, before.registers);
    say("JDG0082",
        fmt::format("an SM holds {:.0f} % of its warps, {:.0f} % before; limited by {}", 100 * own.occupancy,
                    100 * theirs.occupancy, by),
        "fewer warps hide less waiting: worth it only where each does more at once");
  }

  void traffic(const record::Estimate& own, const record::Estimate& theirs) {
    if (own.sectors > 1.15 * theirs.sectors) {
      const double waste =
          own_.ideal_sectors ? static_cast<double>(own_.sectors) / static_cast<double>(own_.ideal_sectors) : 1;
      const double before =
          theirs_.ideal_sectors ? static_cast<double>(theirs_.sectors) / static_cast<double>(theirs_.ideal_sectors) : 1;
      const bool scattered = waste > 1.1 * before;
      const auto line = worst_line(*v_.profile, module_, [&](const auto& c, const auto&) {
        return scattered ? c.sectors - std::min(c.sectors, c.ideal_sectors) : c.sectors;
      });
      say("JDG0084",
          fmt::format(
              "{} sectors of global memory are asked for, {} before{}; most at {}", millions(own.sectors),
              millions(theirs.sectors),
              scattered ? fmt::format(": {:.1f} times what the bytes would fill, {:.1f} before", waste, before) : "",
              line),
          scattered ? "let neighbouring lanes touch neighbouring addresses" : "read what is used twice once");
    }
    // Counted, not estimated: an estimate's trace may end before the loop that has them.
    if (own_.conflicts() > 0.02 && own_.conflicts() > 1.2 * theirs_.conflicts()) {
      const auto line = worst_line(*v_.profile, module_, [](const auto& c, const auto&) {
        return c.passes - std::min(c.passes, c.ideal_passes);
      });
      say("JDG0085",
          fmt::format("shared memory is passed over {:.1f} times where 1 would do without bank conflicts, {:.1f} times "
                      "before; most at {}",
                      own_.passes_a_request(), theirs_.passes_a_request(), line),
          "pad rows by a word, or XOR the column with the row");
    }
    if (own_.mean_bytes() > 0 && own_.mean_bytes() < 0.8 * theirs_.mean_bytes())
      say("JDG0086",
          fmt::format("accesses to global memory are {:.1f} bytes wide a thread on average, {:.1f} before",
                      own_.mean_bytes(), theirs_.mean_bytes()),
          "keep the wide accesses, and the narrow ones for the tail alone");
  }

  // Kinds of work that count, each scaled from the CTAs that ran to the whole.
  void instructions(const record::Estimate& own, const record::Estimate& theirs) {
    if (own.issue_slots > 1.15 * theirs.issue_slots)
      say("JDG0087",
          fmt::format("{} machine instructions are issued, {} before", millions(own.issue_slots),
                      millions(theirs.issue_slots)),
          "see which loops grew");
    for (MixClass part : {MixClass::special, MixClass::tensor, MixClass::fp64, MixClass::global, MixClass::shared,
                          MixClass::atomic, MixClass::exchange, MixClass::conversion, MixClass::barrier}) {
      const double mine = own_.share(part) * own.issue_slots, before = theirs_.share(part) * theirs.issue_slots;
      // Loads and the like are repeated by whole numbers; of exponentials and roots a kernel has several to begin with.
      const double often = part == MixClass::special ? 1.4 : 1.5;
      if (mine < 0.03 * own.issue_slots || mine < often * before || before == 0) continue;
      const auto line = worst_line(*v_.profile, module_, [&](const auto& c, const ptx::Instruction& i) {
        return analysis::class_of(i) == part ? c.warps : 0;
      });
      say("JDG0088",
          fmt::format("{}: {} instructions instead of {}, {:.1f} times as many, most at {}", analysis::name_of(part),
                      millions(mine), millions(before), mine / before, line),
          "work that stood outside a loop, or that one thread did for all, may now be done by each");
    }
  }

  // Within the tolerance, or it would not be right; but the tolerance is there to be spent on speed.
  void approximations() {
    const auto list = new_approximations(module_, baseline_.module);
    if (list.empty()) return;
    say("JDG0092", fmt::format("approximates where the kernel as it is does not, and is no faster for it: {}", list),
        "the exact instructions cost nothing here: spend the tolerance where it pays");
  }

  void lanes() {
    const double mine = own_.lanes_of_loads(), before = theirs_.lanes_of_loads();
    if (mine == 0 || mine >= 0.8 * before) return;
    const auto line = worst_line(*v_.profile, module_, [](const auto& c, const ptx::Instruction& i) {
      return global_access(i) ? 32 * c.warps - std::min(32 * c.warps, c.threads) : 0;
    });
    say("JDG0089",
        fmt::format("loads from global memory are issued for {:.1f} lanes on average, {:.1f} before; fewest at {}",
                    mine, before, line),
        "a load in a branch is issued once for each way that lanes take");
  }

  void where_time_goes(const record::Estimate& own, const record::Estimate& theirs) {
    if (own.launch_ns > 1.5 * theirs.launch_ns)
      say("JDG0090",
          fmt::format("launches cost {}, {} before", record::microseconds_text(own.launch_ns / 1000),
                      record::microseconds_text(theirs.launch_ns / 1000)),
          "each launch has to win more than it costs");
    auto limit = [](const record::Estimate& e) {
      return e.limits.empty()
                 ? std::string()
                 : fmt::format(", {} alone {}", e.limits[0].name, record::microseconds_text(e.limits[0].value / 1000));
    };
    if (own.bound_by == theirs.bound_by) {
      say("JDG0091",
          fmt::format("the time still goes into {} ({} of {} estimated{})", own.bound_by, own.size,
                      record::microseconds_text(own.size_ns / 1000), limit(own)),
          "what does not lessen that does not help");
      return;
    }
    say("JDG0091",
        fmt::format("the bottleneck has moved and not gone: the time goes into {}{}, before into {}{}", own.bound_by,
                    limit(own), theirs.bound_by, limit(theirs)),
        "");
  }

  const record::Verdict& v_;
  const ptx::Module& module_;
  const Baseline& baseline_;
  Work own_, theirs_;
  base::Findings findings_;
};

}  // namespace

base::Findings explain_slowness(const record::Verdict& verdict, const ptx::Module& module, const Baseline& baseline) {
  // Of the baseline that is compared with, whichever is the strongest: of the others nothing is counted.
  auto speedup = verdict.speedup();
  if (verdict.timing && verdict.timing->first) speedup = verdict.timing->first->speedup;
  if (!speedup || *speedup >= kFaster || !record::is_right(verdict.outcome)) return {};
  return Explainer(verdict, module, baseline).run();
}

}  // namespace ptxlab::judge
