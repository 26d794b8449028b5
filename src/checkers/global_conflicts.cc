// Global memory is shadowed by pages that are made when first touched. A launch's begin orders all that came before it.
#include "checkers/global_conflicts.h"

#include <fmt/format.h>

#include <tuple>
#include <unordered_map>
#include <utility>

#include "checkers/race_detector.h"
#include "simt/memory.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kBetweenCtas = "CHK0003";
constexpr std::string_view kInsideCta = "CHK0004";
constexpr std::string_view kSameInstruction = "CHK0005";
constexpr std::string_view kNarrowScope = "CHK0006";

std::pair<std::string_view, const char*> kind_of(const Conflict& conflict) {
  switch (conflict.kind) {
    case ConflictKind::same_instruction: return {kSameInstruction, "lanes of one store disagree"};
    case ConflictKind::narrow_scope: return {kNarrowScope, "atomic or strong accesses of too narrow a scope"};
    case ConflictKind::store_store:
    case ConflictKind::store_load:
    case ConflictKind::atomic_plain: break;
  }
  if (conflict.between_ctas) return {kBetweenCtas, "global memory conflict between CTAs"};
  return {kInsideCta, "global memory race inside a CTA"};
}

std::string hint_for(const Conflict& conflict) {
  switch (conflict.kind) {
    case ConflictKind::same_instruction: return "let one lane store, give each lane its own place, or use an atomic";
    case ConflictKind::narrow_scope:
      return "a scope has to take in every thread that uses the place: .gpu for threads of other CTAs, .cluster for "
             "those of one cluster";
    case ConflictKind::atomic_plain: return "make the plain access atomic as well, or move it to another launch";
    case ConflictKind::store_store:
    case ConflictKind::store_load: break;
  }
  if (conflict.between_ctas)
    return "CTAs run in any order: give each CTA its own part, use atomics, hand the data on by a flag (release at "
           ".gpu "
           "scope behind the store, acquire before the load), or split the work into two launches";
  return conflict.same_warp ? "put bar.warp.sync (__syncwarp) or bar.sync (__syncthreads) between the two"
                            : "put bar.sync 0 (__syncthreads) between the two";
}

class GlobalConflicts : public simt::Observer {
 public:
  explicit GlobalConflicts(const ptx::Instruction* left_out)
      : detector_(
            [this](const simt::Access& access, int lane, uint64_t address) { return name(access, lane, address); }) {
    detector_.order().leave_out(left_out);
  }

  std::string_view name() const override { return "conflicts"; }
  uint32_t events() const override { return simt::kAccesses | simt::kAccessValues | simt::kBarriers | simt::kLaunches; }

  void context(const simt::LaunchContext& context) override {
    module_ = context.module;
    memory_ = context.memory;
    if (!module_) return;
    detector_.set_exact(orders_partially(*module_));
    detector_.set_narrow_scopes(has_narrow_scopes(*module_));
  }
  void launch_begin(const launch::ResolvedLaunch& launch) override {
    detector_.launch_begin(launch);
    floor_ = detector_.order().now();
  }
  void launch_end() override { memory_ = nullptr; }
  void cta_begin(const simt::WarpId& id, uint32_t, uint32_t) override { detector_.order().cta_begin(id.cta_linear); }
  void cta_end(const simt::WarpId& id) override { detector_.order().cta_end(id.cta_linear); }
  void barrier(const simt::Barrier& barrier) override { detector_.order().barrier(barrier); }
  void fence(const simt::Issue& issue) override { detector_.order().fence(issue); }
  void access(const simt::Access& access) override;
  base::Findings findings() const override;
  std::vector<simt::Doing> doings() const override {
    std::vector<simt::Doing> out;
    for (const ConflictGroup& group : detector_.groups()) out.push_back(doing_of(group, false));
    return out;
  }

 private:
  bool never_written(uint32_t allocation) const {
    return memory_ && allocation < memory_->count() && !memory_->allocation(allocation).writable;
  }
  Page& page_at(uint64_t number) {
    if (!last_ || last_number_ != number) {
      last_ = &pages_[number];
      last_number_ = number;
    }
    return *last_;
  }
  std::string name(const simt::Access& access, int lane, uint64_t address) const;
  base::Finding describe(const ConflictGroup& group) const;

  RaceDetector detector_;
  const ptx::Module* module_ = nullptr;
  const simt::Memory* memory_ = nullptr;
  Event floor_ = 0;
  std::unordered_map<uint64_t, Page> pages_;  // by address / kPageBytes
  Page* last_ = nullptr;
  uint64_t last_number_ = 0;
};

void GlobalConflicts::access(const simt::Access& access) {
  if (access.space != isa::Space::global) return;
  detector_.begin(access, floor_);
  for (simt::LaneMask rest = detector_.telling_lanes(access); rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    // A store to a read-only buffer is the engine's finding; its loads conflict with nothing.
    if (access.allocation && never_written(access.allocation[lane])) continue;
    const uint64_t address = access.address[lane];
    for (uint32_t done = 0; done < access.bytes;) {
      const uint64_t at = address + done;
      const uint32_t offset = at % kPageBytes;
      const uint32_t bytes = std::min(access.bytes - done, kPageBytes - offset);
      detector_.lane<false>(lane, at, page_at(at / kPageBytes), offset, bytes, done);
      done += bytes;
    }
    if (!access.strong && !access.atomic) continue;
    for (uint32_t word = 0; word < access.bytes; word += 4) detector_.order().strong(access, lane, address + word);
  }
}

std::string GlobalConflicts::name(const simt::Access& access, int lane, uint64_t address) const {
  if (access.allocation) {
    const uint32_t index = access.allocation[lane];
    if (index >= simt::kModuleVariables && module_) {
      const uint32_t variable = index - simt::kModuleVariables;
      if (variable < module_->variables.size()) return fmt::format("variable '{}'", module_->variables[variable].name);
    } else if (memory_ && index < memory_->count()) {
      const simt::Allocation& buffer = memory_->allocation(index);
      return fmt::format("byte {} of '{}'", address - buffer.address, buffer.name);
    }
  }
  return fmt::format("address {:#x}", address);
}

base::Findings GlobalConflicts::findings() const {
  base::Findings out;
  for (const ConflictGroup& group : detector_.groups()) out.push_back(describe(group));
  return out;
}

base::Finding GlobalConflicts::describe(const ConflictGroup& group) const {
  const Conflict& conflict = *group.first;
  base::Finding finding = pair_finding(detector_, conflict, *module_);
  const char* what = "";
  std::tie(finding.code, what) = kind_of(conflict);
  finding.message = fmt::format("{}: {} and {}{} both reach {}, and {}", what, conflict.earlier_name,
                                conflict.later_name, conflict.between_ctas ? "" : " of " + conflict.cta_name,
                                conflict.what, pair_text(detector_, group, *module_));
  finding.hint = hint_for(conflict);
  return finding;
}

}  // namespace

std::unique_ptr<simt::Observer> make_global_conflicts() { return std::make_unique<GlobalConflicts>(nullptr); }

std::unique_ptr<simt::Observer> make_global_conflicts_without(const ptx::Instruction& barrier) {
  return std::make_unique<GlobalConflicts>(&barrier);
}

}  // namespace ptxlab::checkers
