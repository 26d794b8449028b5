// Where the 32 lanes of a warp fall on memory. An address is worked out lane by lane: thread indices are what the block's shape
// makes them, and what is not known (sizes, CTA indices, loop counters) is drawn, the same for all lanes, several times over.
// What comes out the same each time is a property of the kernel; so "tid & 31", divisions by constants and swizzles are seen
// through, which polynomials cannot.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/affine.h"
#include "analysis/uniform.h"

namespace ptxlab::analysis {

// What is known of a kernel's launch beside its text. All may be absent.
struct Known {
  std::array<uint32_t, 3> block{};         // threads of a CTA; 0: not known, and a warp then is 32 neighbours along x
  std::map<uint32_t, int64_t> parameters;  // values of integer parameters, by index
  std::vector<std::string> names;          // what the launch passes for each parameter: "x", "n"
  // Sizes and CTA indices that are not known are taken to be multiples of this, and buffers to begin at multiples of 256 bytes.
  static constexpr int64_t kMultiple = 64, kBuffer = 256;
};

inline constexpr size_t kLanes = 32, kRounds = 6;

using LaneValues = std::array<int64_t, kLanes>;

class LaneEvaluator {
 public:
  LaneEvaluator(const ptx::Function& function, const Cfg& cfg, const Values& values, const Known& known);

  // The value in each lane, as drawn in `round`; nothing where lanes differ by data.
  std::optional<LaneValues> lanes(const Affine& value, size_t round) const;
  // Does the value follow from what is known, with nothing drawn?
  bool exact(const Affine& value) const;

 private:
  struct Drawn {
    std::vector<std::optional<LaneValues>> atoms;
  };
  void evaluate_round(size_t round);
  std::optional<LaneValues> atom_lanes(AtomId id, size_t round);
  std::optional<LaneValues> special(const Atom& atom, size_t round) const;
  std::optional<LaneValues> operation(AtomId id, size_t round);
  LaneValues drawn(uint64_t what, size_t round) const;
  bool atom_exact(AtomId id) const;

  const ptx::Function& function_;
  const Values& values_;
  const Known& known_;
  Uniform uniform_;
  std::array<Drawn, kRounds> rounds_;
  std::vector<bool> exact_;
};

// How the threads of a warp fall on memory.
enum class StrideClass : uint8_t {
  uniform,    // all on one address
  affine,     // a constant distance apart
  tiled,      // groups of lanes, a constant distance apart inside each: rows of a tile
  pattern,    // known, but no constant distance: a swizzle
  irregular,  // by data, or not known
};
std::string_view name_of(StrideClass stride);

struct LanePattern {
  StrideClass stride = StrideClass::irregular;
  std::optional<int64_t> lane_stride;  // bytes; of a tile, inside its groups; absent where sizes decide it
  uint32_t group = 32;                 // lanes that have this stride together
  // Of one access by a full warp, the median of the rounds: sectors of 32 bytes, passes over the 32 banks. What the same bytes take
  // at best: no address twice, side by side.
  uint32_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
};

// Of an access of `bytes` a thread at `address`.
LanePattern lane_pattern(const LaneEvaluator& evaluator, const Affine& address, uint32_t bytes);

}  // namespace ptxlab::analysis
