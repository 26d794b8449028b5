// Finds pairs of accesses to the same bytes, at least one of them a store, that nothing orders: the part that the
// checkers of shared and of global memory have in common.
//
// Memory is shadowed by cells, each for a granule of 4 bytes (2 or 1 where narrower accesses touch the page). A cell
// holds the last store and up to two readers: enough as long as only barriers of the whole CTA order anything, since of
// two readers that are not ordered with each other any later store is unordered with at least one, or both lie before
// the same barrier. Where other things order (`exact`), further concurrent readers go to a list; atomic and strong
// accesses always do, as they conflict with plain ones only.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/finding.h"
#include "checkers/happens_before.h"
#include "simt/observer.h"

namespace ptxlab::checkers {

struct Cell {
  Event write = 0, first_read = 0, second_read = 0;  // event 0: none
  ThreadId writer = 0, first_reader = 0, second_reader = 0;
  uint16_t write_site = 0, first_site = 0, second_site = 0;
  uint32_t extra = 0;  // index into the detector's lists; 0: none
};

// The cells of kPageBytes bytes of memory.
inline constexpr uint32_t kPageBytes = 1024;
struct Page {
  uint8_t shift = 2;  // a granule is 1 << shift bytes
  std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);
};

// Most global memory is only ever touched by whole warps whose lanes lie side by side. Then one record does for 32 bytes:
// lane after lane has 1 << log bytes of them. The first access that does not fit splits the segment into cells.
inline constexpr uint32_t kSegmentBytes = 32;
struct Segment {
  struct Row {
    Event event = 0;
    ThreadId thread = 0;  // the first of them
    uint16_t site = 0;
    uint8_t log = 0;
  };
  Row write, first, second;
};
struct SegmentedPage {
  std::array<Segment, kPageBytes / kSegmentBytes> segments;
  uint32_t split = 0;  // by segment: `page` has its cells
  Page page{2, {}};
};

enum class ConflictKind : uint8_t {
  store_store,
  store_load,
  atomic_plain,
  same_instruction,
  narrow_scope,  // both strong, and the scope of one does not take the other thread in
  mixed_size,    // both strong, and their elements are of different sizes
};

// One kind of conflict between two instructions, with its first example.
struct Conflict {
  ConflictKind kind = ConflictKind::store_store;
  uint16_t earlier_site = 0, later_site = 0;  // as the run met them
  ThreadId earlier = 0, later = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::string what;                                // "byte 132 of 'tile'"
  std::string earlier_name, later_name, cta_name;  // the threads and the later one's CTA, by that launch's sizes
  bool between_ctas = false, same_warp = false;
  uint64_t count = 0;  // granules
};

struct ConflictGroup {
  const Conflict* first = nullptr;
  std::vector<uint32_t> more;  // lines of the other instructions that meet the same store in the same way
  uint64_t count = 0;          // granules of all of them
};

class RaceDetector {
 public:
  // Names an address for messages; called once for each conflict that is new.
  using Namer = std::function<std::string(const simt::Access& access, int lane, uint64_t address)>;
  explicit RaceDetector(Namer namer) : namer_(std::move(namer)) {}

  void launch_begin(const launch::ResolvedLaunch& launch);

  HappensBefore& order() { return order_; }
  const HappensBefore& order() const { return order_; }
  void set_exact(bool exact) { exact_ = exact; }
  // Some strong access of the kernel has a scope that does not take everybody in.
  void set_narrow_scopes(bool narrow) { narrow_scopes_ = narrow; }

  // Begins an access by a warp: `floor` is the event up to which everything is ordered before it (a launch's or CTA's
  // begin).
  void begin(const simt::Access& access, Event floor);
  // The lanes to look at: of neighbouring lanes that load from one place two are enough, since where two readers are not
  // ordered with a store at least one of them is not the storing thread. Where readers count one by one, all.
  simt::LaneMask telling_lanes(const simt::Access& access) const;
  // One lane's access to the bytes at `address`, the lane's own address plus `skipped`; `page` holds them all from `offset`
  // on. kOneCta: only threads of one CTA ever reach the page.
  template <bool kOneCta>
  void lane(int lane, uint64_t address, Page& page, uint32_t offset, uint32_t bytes, uint32_t skipped) {
    lane_ = lane;
    self_ = warp_first_ + static_cast<uint32_t>(lane);
    const uint32_t granule = 1u << page.shift;
    if (strong_ || ((offset | bytes) & (granule - 1)) != 0) return lane_slowly(address, page, offset, bytes, skipped);
    granule_ = granule;
    Cell* cell = &page.cells[offset >> page.shift];
    for (uint32_t at = 0; at < bytes; at += granule, ++cell) {
      if (writes_ ? quiet_write<kOneCta>(*cell) : quiet_read<kOneCta>(*cell)) continue;
      address_ = address + at;
      writes_ ? write(*cell, address_, granule, skipped + at) : read(*cell);
    }
  }
  // The same for lanes that lie side by side, 1 << log bytes each, the first of them `lane`, in one segment. False: it has
  // to be looked at lane by lane.
  bool segment(Segment& segment, int lane, uint8_t log) const {
    const Segment::Row row{event_, warp_first_ + static_cast<uint32_t>(lane), site_, log};
    if (!settled(segment.write, row)) return false;
    if (writes_) {
      if (!settled(segment.first, row) || !settled(segment.second, row)) return false;
      segment.write = row;
      segment.first.event = segment.second.event = 0;
      return true;
    }
    if (settled(segment.first, row)) {
      segment.first = row;
    } else if (settled(segment.second, row)) {
      segment.second = row;
    } else {  // readers of two CTAs say enough: any store conflicts with one of them
      return !exact_ && order_.cta_of(segment.first.thread) != order_.cta_of(segment.second.thread);
    }
    return true;
  }
  void split(SegmentedPage& page, uint32_t segment);
  // A new launch: whatever was before is ordered before it.
  void forget() { extras_.resize(1); }
  // What has been found, one group a storing instruction, kind and variable: an unrolled loop has many loads, and one mend.
  std::vector<ConflictGroup> groups() const;
  const simt::Site& site(uint16_t index) const { return sites_[index]; }

 private:
  struct Reader {  // lanes of one warp in one access
    Event event;
    uint32_t warp;  // ThreadId / 32
    simt::LaneMask lanes;
    uint16_t site;
  };
  struct Extra {
    std::vector<Reader> reads;
    std::vector<Reader> strong;         // atomic and strong accesses, loads among them
    std::vector<Reader> strong_writes;  // those that store
  };

  // The common cases in line: everything that the cell knows lies before this CTA's last barrier or is the thread's own.
  template <bool kOneCta>
  bool before_barrier(Event event, ThreadId other) const {
    if constexpr (kOneCta) return event <= base_;
    return event <= floor_ || (event <= base_ && other - cta_first_ < cta_threads_);
  }
  template <bool kOneCta>
  bool quiet_read(Cell& cell) {
    if (cell.extra || !(before_barrier<kOneCta>(cell.write, cell.writer) || cell.writer == self_)) return false;
    if (before_barrier<kOneCta>(cell.first_read, cell.first_reader) || cell.first_reader == self_) {
      cell.first_read = event_, cell.first_reader = self_, cell.first_site = site_;
      return true;
    }
    if (before_barrier<kOneCta>(cell.second_read, cell.second_reader) || cell.second_reader == self_) {
      cell.second_read = event_, cell.second_reader = self_, cell.second_site = site_;
      return true;
    }
    return kOneCta && !exact_;  // two concurrent readers say enough
  }
  template <bool kOneCta>
  bool quiet_write(Cell& cell) {
    if (cell.extra || cell.write == event_ ||
        !(before_barrier<kOneCta>(cell.write, cell.writer) || cell.writer == self_) ||
        !(before_barrier<kOneCta>(cell.first_read, cell.first_reader) || cell.first_reader == self_) ||
        !(before_barrier<kOneCta>(cell.second_read, cell.second_reader) || cell.second_reader == self_))
      return false;
    cell.write = event_, cell.writer = self_, cell.write_site = site_;
    cell.first_read = cell.second_read = 0;
    return true;
  }

  // Known to lie before the access at hand, or by the very same lanes.
  bool settled(const Segment::Row& old, const Segment::Row& now) const {
    return old.event <= floor_ || (old.event <= base_ && old.thread - cta_first_ < cta_threads_) ||
           (old.thread == now.thread && old.log == now.log);
  }
  bool values_of(int lane, uint8_t* before, uint8_t* after) const;
  void lane_slowly(uint64_t address, Page& page, uint32_t offset, uint32_t bytes, uint32_t skipped);
  uint16_t site_index(const simt::Site& site);
  bool ordered(Event event, ThreadId other) const {
    return event <= floor_ || other == self_ || (event <= base_ && other - cta_first_ < cta_threads_) ||
           ordered_by_knowledge(event, other);
  }
  bool ordered_by_knowledge(Event event, ThreadId other) const;
  void refine(Page& page, uint32_t granule);
  void read(Cell& cell);
  void remember_reader(Cell& cell);
  void write(Cell& cell, uint64_t address, uint32_t bytes, uint32_t skipped);
  void strong(Cell& cell);
  bool stores_same_value(uint32_t skipped, uint32_t bytes) const;
  bool lanes_agree(const Cell& cell, uint64_t address, uint32_t bytes, uint32_t skipped) const;
  void check_list(const std::vector<Reader>& list, ConflictKind kind);
  void check_strong(const std::vector<Reader>& list);
  void check_scopes(const std::vector<Reader>& list);
  void check_sizes(const std::vector<Reader>& list);
  void add_to(std::vector<Reader>& list);
  Extra& extra_of(Cell& cell);
  void report(ConflictKind kind, ThreadId other, uint16_t other_site);

  std::string thread_name(ThreadId thread) const;
  std::string cta_name(uint32_t cta) const;

  Namer namer_;
  launch::Dim3 grid_{1, 1, 1}, block_{1, 1, 1};
  mutable HappensBefore order_;  // its look-ups keep the last CTA at hand
  bool exact_ = false, narrow_scopes_ = false;
  std::vector<simt::Site> sites_;
  std::vector<Scope> scopes_;    // of the sites
  std::vector<bool> atomics_;    // of the sites: atom and red
  std::vector<uint8_t> widths_;  // of the sites: the bytes of one element, the unit of the memory model
  std::unordered_map<const ptx::Instruction*, uint16_t> site_indices_;
  std::vector<Extra> extras_{1};
  std::map<std::array<uint32_t, 3>, Conflict> conflicts_;

  // Of the access at hand.
  const simt::Access* access_ = nullptr;
  uint16_t site_ = 0;
  Event event_ = 0, floor_ = 0, base_ = 0;
  ThreadId cta_first_ = 0, warp_first_ = 0, self_ = 0;
  uint32_t cta_threads_ = 0;
  int lane_ = 0;
  uint64_t address_ = 0;
  uint32_t granule_ = 4;
  bool strong_ = false, writes_ = false;
  const ptx::Instruction* last_instruction_ = nullptr;
};

inline constexpr std::string_view kOneSize =
    "the memory model knows no order between the two: use one size for the place (an element of a vector counts by "
    "itself), or put a barrier between them";

// "the store at line 41 (tile.cu:12) and the load at line 57 (tile.cu:18) are not ordered; 992 times in all"
std::string pair_text(const RaceDetector& detector, const ConflictGroup& group, const ptx::Module& module);
// Kind, nearness of the threads, and the buffer: the name of a shared variable is each kernel's own business.
simt::Doing doing_of(const ConflictGroup& group, bool shared);
// A finding placed at the pair's later line; code, message and hint are the caller's.
base::Finding pair_finding(const RaceDetector& detector, const Conflict& conflict, const ptx::Module& module);

}  // namespace ptxlab::checkers
