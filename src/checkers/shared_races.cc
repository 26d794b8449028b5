// Each CTA's window has its own cells. They are handed to the next CTA without clearing: what lies before a CTA's first
// event is ordered before all that it does.
#include "checkers/shared_races.h"

#include <fmt/format.h>

#include <unordered_map>
#include <vector>

#include "checkers/race_detector.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kRace = "CHK0001";
constexpr std::string_view kSameInstruction = "CHK0002";
constexpr std::string_view kMixedSize = "CHK0008";

class SharedRaces : public simt::Observer {
 public:
  explicit SharedRaces(const ptx::Instruction* left_out)
      : detector_(
            [this](const simt::Access& access, int lane, uint64_t address) { return name(access, lane, address); }) {
    detector_.order().leave_out(left_out);
  }

  std::string_view name() const override { return "races"; }
  uint32_t events() const override { return simt::kAccesses | simt::kAccessValues | simt::kBarriers | simt::kLaunches; }

  void context(const simt::LaunchContext& context) override {
    module_ = context.module;
    shared_ = context.shared;
    if (module_) detector_.set_exact(orders_partially(*module_));
  }
  void launch_begin(const launch::ResolvedLaunch& launch) override {
    detector_.launch_begin(launch);
    windows_.clear();
    last_ = nullptr;
  }
  void cta_begin(const simt::WarpId& id, uint32_t, uint32_t shared_bytes) override {
    detector_.order().cta_begin(id.cta_linear);
    Window& window = windows_[id.cta_linear];
    if (!spare_.empty()) {
      window.pages = std::move(spare_.back());
      spare_.pop_back();
    }
    window.floor = detector_.order().base(id.cta_linear);
    window.pages.resize((shared_bytes + kPageBytes - 1) / kPageBytes);
    last_ = nullptr;
  }
  void cta_end(const simt::WarpId& id) override {
    detector_.order().cta_end(id.cta_linear);
    if (auto at = windows_.find(id.cta_linear); at != windows_.end()) {
      spare_.push_back(std::move(at->second.pages));
      windows_.erase(at);
    }
    last_ = nullptr;
  }

  void barrier(const simt::Barrier& barrier) override { detector_.order().barrier(barrier); }
  void fence(const simt::Issue& issue) override { detector_.order().fence(issue); }
  void access(const simt::Access& access) override;
  base::Findings findings() const override;
  std::vector<simt::Doing> doings() const override {
    std::vector<simt::Doing> out;
    for (const ConflictGroup& group : detector_.groups()) out.push_back(doing_of(group, true));
    return out;
  }

 private:
  struct Window {
    Event floor = 0;
    std::vector<Page> pages;
  };

  std::string name(const simt::Access& access, int lane, uint64_t address) const;
  base::Finding describe(const ConflictGroup& group) const;

  RaceDetector detector_;
  const ptx::Module* module_ = nullptr;
  std::span<const simt::SharedVariable> shared_;
  std::unordered_map<uint32_t, Window> windows_;
  std::vector<std::vector<Page>> spare_;
  Window* last_ = nullptr;
  uint32_t last_id_ = 0;
};

void SharedRaces::access(const simt::Access& access) {
  if (access.space != isa::Space::shared) return;
  if (!last_ || last_id_ != access.warp.cta_linear) {
    last_ = &windows_[access.warp.cta_linear];
    last_id_ = access.warp.cta_linear;
  }
  detector_.begin(access, last_->floor);
  for (simt::LaneMask rest = detector_.telling_lanes(access); rest; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    const uint64_t address = access.address[lane];
    for (uint32_t done = 0; done < access.bytes;) {  // an aligned access lies in one page
      const uint64_t at = address + done;
      const uint32_t offset = at % kPageBytes;
      const uint32_t bytes = std::min(access.bytes - done, kPageBytes - offset);
      if (at / kPageBytes >= last_->pages.size()) break;  // out of bounds: the engine reports it
      detector_.lane<true>(lane, at, last_->pages[at / kPageBytes], offset, bytes, done);
      done += bytes;
    }
    if (!access.strong && !access.atomic) continue;
    for (uint32_t word = 0; word < access.bytes; word += 4)
      detector_.order().strong(access, lane, (address + word) << 32 | access.warp.cta_linear);
  }
}

std::string SharedRaces::name(const simt::Access&, int, uint64_t address) const {
  for (const simt::SharedVariable& variable : shared_) {
    if (address < variable.offset || address >= variable.offset + uint64_t{variable.bytes}) continue;
    return fmt::format("byte {} of '{}'", address - variable.offset, variable.name);
  }
  return fmt::format("byte {} of shared memory", address);
}

base::Findings SharedRaces::findings() const {
  base::Findings out;
  for (const ConflictGroup& group : detector_.groups()) out.push_back(describe(group));
  return out;
}

base::Finding SharedRaces::describe(const ConflictGroup& group) const {
  const Conflict& conflict = *group.first;
  const bool same_instruction = conflict.kind == ConflictKind::same_instruction;
  base::Finding finding = pair_finding(detector_, conflict, *module_);
  const bool mixed = conflict.kind == ConflictKind::mixed_size;
  finding.code = same_instruction ? kSameInstruction : mixed ? kMixedSize : kRace;
  finding.message = fmt::format("{}: {} and {} of {} both reach {}, and {}",
                                same_instruction ? "lanes of one store disagree"
                                : mixed          ? "atomic or strong accesses of different sizes"
                                                 : "shared memory race",
                                conflict.earlier_name, conflict.later_name, conflict.cta_name, conflict.what,
                                pair_text(detector_, group, *module_));
  if (same_instruction) {
    finding.hint = "let one lane store, give each lane its own place, or use an atomic";
  } else if (mixed) {
    finding.hint = kOneSize;
  } else if (conflict.kind == ConflictKind::atomic_plain) {
    finding.hint = "make the plain access atomic as well, or put bar.sync between the two";
  } else if (conflict.same_warp) {
    finding.hint =
        "put bar.warp.sync (__syncwarp) or bar.sync (__syncthreads) between the two: lanes of a warp need not run in "
        "step";
  } else {
    finding.hint = "put bar.sync 0 (__syncthreads) between the two, on the way back of a loop too";
  }
  return finding;
}

}  // namespace

std::unique_ptr<simt::Observer> make_shared_races() { return std::make_unique<SharedRaces>(nullptr); }

std::unique_ptr<simt::Observer> make_shared_races_without(const ptx::Instruction& barrier) {
  return std::make_unique<SharedRaces>(&barrier);
}

}  // namespace ptxlab::checkers
