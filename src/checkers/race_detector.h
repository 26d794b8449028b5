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

enum class ConflictKind : uint8_t { store_store, store_load, atomic_plain, same_instruction };

// One kind of conflict between two instructions, with its first example.
struct Conflict {
  ConflictKind kind = ConflictKind::store_store;
  uint16_t earlier_site = 0, later_site = 0;  // as the run met them
  ThreadId earlier = 0, later = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::string what;    // "'tile' at byte 132"
  uint64_t count = 0;  // granules
};

class RaceDetector {
 public:
  // Names an address for messages; called once for each conflict that is new.
  using Namer = std::function<std::string(const simt::Access& access, int lane, uint64_t address)>;
  explicit RaceDetector(Namer namer) : namer_(std::move(namer)) {}

  HappensBefore& order() { return order_; }
  const HappensBefore& order() const { return order_; }
  void set_exact(bool exact) { exact_ = exact; }

  // Begins an access by a warp: `floor` is the event up to which everything is ordered before it (a launch's or CTA's
  // begin).
  void begin(const simt::Access& access, Event floor);
  // One lane's access to the bytes at `address`; `page` holds them all from `offset` in the page on.
  void lane(int lane, uint64_t address, Page& page, uint32_t offset, uint32_t bytes, uint32_t skipped);
  const std::map<std::array<uint32_t, 3>, Conflict>& conflicts() const { return conflicts_; }
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
  void add_to(std::vector<Reader>& list);
  Extra& extra_of(Cell& cell);
  void report(ConflictKind kind, ThreadId other, uint16_t other_site);

  Namer namer_;
  mutable HappensBefore order_;  // its look-ups keep the last CTA at hand
  bool exact_ = false;
  std::vector<simt::Site> sites_;
  std::unordered_map<const ptx::Instruction*, uint16_t> site_indices_;
  std::vector<Extra> extras_{1};
  std::map<std::array<uint32_t, 3>, Conflict> conflicts_;

  // Of the access at hand.
  const simt::Access* access_ = nullptr;
  uint16_t site_ = 0;
  Event event_ = 0, floor_ = 0, base_ = 0;
  ThreadId cta_first_ = 0, self_ = 0;
  uint32_t cta_threads_ = 0;
  int lane_ = 0;
  uint64_t address_ = 0;
  uint32_t granule_ = 4;
  bool strong_ = false;
  const ptx::Instruction* last_instruction_ = nullptr;
};

// "thread (1,0,0) of CTA (2,0,0)" and such, for findings.
std::string thread_name(const launch::ResolvedLaunch& launch, uint32_t thread);
std::string cta_name(const launch::ResolvedLaunch& launch, uint32_t cta);
// "the store at line 41 (tile.cu:12) and the load at line 57 (tile.cu:18) are not ordered; 992 times in all"
std::string pair_text(const RaceDetector& detector, const Conflict& conflict, const ptx::Module& module);
// A finding placed at the pair's later line; code, message and hint are the caller's.
base::Finding pair_finding(const RaceDetector& detector, const Conflict& conflict, const ptx::Module& module);

}  // namespace ptxlab::checkers
