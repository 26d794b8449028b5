// Global memory is shadowed by pages that are made when first touched. A launch's begin orders all that came before it.
#include "checkers/global_conflicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkers/race_detector.h"
#include "simt/memory.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kBetweenCtas = "CHK0003";
constexpr std::string_view kInsideCta = "CHK0004";
constexpr std::string_view kSameInstruction = "CHK0005";
constexpr std::string_view kNarrowScope = "CHK0006";
constexpr std::string_view kMixedSize = "CHK0008";

std::pair<std::string_view, const char*> kind_of(const Conflict& conflict) {
  switch (conflict.kind) {
    case ConflictKind::same_instruction: return {kSameInstruction, "lanes of one store disagree"};
    case ConflictKind::narrow_scope: return {kNarrowScope, "atomic or strong accesses of too narrow a scope"};
    case ConflictKind::mixed_size: return {kMixedSize, "atomic or strong accesses of different sizes"};
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
    case ConflictKind::mixed_size: return std::string(kOneSize);
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
    detector_.forget();
    floor_ = detector_.order().now();
    tables_.clear();
    pages_.clear();
    last_ = nullptr;
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
  // The page of an address: buffers have a table each, what else there is goes by number.
  SegmentedPage& page_at(uint32_t allocation, uint64_t address) {
    const uint64_t number = address / kPageBytes;
    if (last_ && last_number_ == number) return *last_;
    last_number_ = number;
    if (!memory_ || allocation >= memory_->count()) return *(last_ = &pages_[number]);
    if (tables_.size() < memory_->count()) tables_.resize(memory_->count());
    const simt::Allocation& buffer = memory_->allocation(allocation);
    const uint64_t first = buffer.address / kPageBytes;
    std::vector<std::unique_ptr<SegmentedPage>>& table = tables_[allocation];
    if (table.empty()) table.resize((buffer.address + buffer.bytes) / kPageBytes - first + 1);
    if (number - first >= table.size()) return *(last_ = &pages_[number]);  // beyond its end: the engine reports it
    std::unique_ptr<SegmentedPage>& page = table[number - first];
    if (!page) page = std::make_unique<SegmentedPage>();
    return *(last_ = page.get());
  }
  void side_by_side(const simt::Access& access, uint8_t log);
  void lane(int lane, uint32_t allocation, uint64_t address, uint32_t bytes);
  std::string name(const simt::Access& access, int lane, uint64_t address) const;
  base::Finding describe(const ConflictGroup& group) const;

  RaceDetector detector_;
  const ptx::Module* module_ = nullptr;
  const simt::Memory* memory_ = nullptr;
  Event floor_ = 0;
  std::vector<std::vector<std::unique_ptr<SegmentedPage>>> tables_;  // by allocation, then by page
  std::unordered_map<uint64_t, SegmentedPage> pages_;                // of anything else, by address / kPageBytes
  SegmentedPage* last_ = nullptr;
  uint64_t last_number_ = 0;
};

// log2 of a lane's bytes where a whole warp lies side by side from a segment's begin on; else 0.
uint8_t side_by_side_log(const simt::Access& access) {
  if (access.active != ~simt::LaneMask{0} || access.strong || access.atomic || access.bytes < 2 ||
      access.bytes > kSegmentBytes || !std::has_single_bit(access.bytes) || access.address[0] % kSegmentBytes)
    return 0;
  uint64_t strays = 0;
  for (uint64_t l = 0; l < 32; ++l) strays |= access.address[l] ^ (access.address[0] + l * access.bytes);
  return strays ? 0 : static_cast<uint8_t>(std::countr_zero(access.bytes));
}

void GlobalConflicts::side_by_side(const simt::Access& access, uint8_t log) {
  const uint32_t allocation = access.allocation ? access.allocation[0] : ~0u, lanes = kSegmentBytes >> log;
  for (uint32_t first = 0; first < 32; first += lanes) {
    const uint64_t address = access.address[first];
    SegmentedPage& page = page_at(allocation, address);
    const uint32_t index = address % kPageBytes / kSegmentBytes;
    if (!(page.split >> index & 1) && detector_.segment(page.segments[index], static_cast<int>(first), log)) continue;
    for (uint32_t l = first; l < first + lanes; ++l)
      lane(static_cast<int>(l), allocation, access.address[l], access.bytes);
  }
}

void GlobalConflicts::lane(int lane, uint32_t allocation, uint64_t address, uint32_t bytes) {
  for (uint32_t done = 0; done < bytes;) {
    const uint64_t at = address + done;
    const uint32_t offset = at % kPageBytes;
    const uint32_t here = std::min(bytes - done, kPageBytes - offset);
    SegmentedPage& page = page_at(allocation, at);
    for (uint32_t s = offset / kSegmentBytes; s <= (offset + here - 1) / kSegmentBytes; ++s) detector_.split(page, s);
    detector_.lane<false>(lane, at, page.page, offset, here, done);
    done += here;
  }
}

void GlobalConflicts::access(const simt::Access& access) {
  if (access.space != isa::Space::global || !access.active) return;
  // A store to a read-only buffer is the engine's finding; its loads conflict with nothing. All lanes lie in one buffer.
  const uint32_t allocation = access.allocation ? access.allocation[std::countr_zero(access.active)] : ~0u;
  if (never_written(allocation)) return;
  detector_.begin(access, floor_);
  if (const uint8_t log = side_by_side_log(access)) return side_by_side(access, log);
  for (simt::LaneMask rest = detector_.telling_lanes(access); rest; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    lane(l, allocation, access.address[l], access.bytes);
    if (!access.strong && !access.atomic) continue;
    for (uint32_t word = 0; word < access.bytes; word += 4)
      detector_.order().strong(access, l, access.address[l] + word);
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
