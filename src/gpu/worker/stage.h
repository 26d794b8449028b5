// Where a contest takes place: sets of buffers that both arms work on, laid out in one allocation, and what is put into them
// before an execution.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "gpu/contest.h"
#include "gpu/worker/device.h"
#include "gpu/worker/placed_plan.h"

namespace ptxlab::gpu {

class Stage {
 public:
  Stage(Device& device, const Contest& contest) : device_(device), contest_(contest) {}
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The inputs' content, kept on the device for all that follows.
  Trouble upload();
  uint64_t bytes_of_set(uint64_t guard) const;
  // New memory for `sets` sets: pieces in random order, `guard` bytes and a random rest between them. The old is given back.
  Trouble lay_out(uint32_t sets, uint64_t guard, base::Random& random);
  uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }

  Trouble load(Arm arm) { return device_.load(arm, side(arm).code); }
  // All inputs of a set as in variant 0.
  Trouble place_inputs(uint32_t set);
  // Makes a set ready for one execution: the variant's inputs, what is read and written as it was, poison in outputs and
  // scratch, variables filled (the module loaded anew where it keeps state).
  Trouble prepare(Arm arm, uint32_t set, uint8_t variant, uint8_t poison);
  // Queues one execution, with zeroing of the scratch that the plan wants zeroed. `failed`: the launch that was refused.
  Trouble execute(Arm arm, uint32_t set, uint32_t& failed);

  // Adds to the device's digest what one shared buffer holds.
  Trouble add_digest(uint32_t set, size_t buffer, uint64_t key);
  Trouble digest_inputs(uint32_t set, uint64_t key);
  Trouble project(uint32_t set, size_t buffer, uint64_t key, Projection& into);

  Trouble fill_all(uint8_t value) { return device_.fill(whole_, value, bytes_); }
  Address shared_at(uint32_t set, size_t buffer) const { return sets_.at(set).at[0].at(buffer); }
  // Where one buffer of an arm's plan lies.
  Address buffer_at(Arm arm, uint32_t set, size_t buffer) const { return at(arm, set).at(buffer); }

  const Contest::Side& side(Arm arm) const { return contest_.sides.at(static_cast<size_t>(arm)); }
  // The buffers that both arms share, as in either plan.
  Element element(size_t buffer) const {
    return contest_.elements.empty() ? Element::exact : contest_.elements.at(buffer);
  }
  std::span<const launch::ResolvedBuffer> shared() const {
    return {contest_.sides[0].plan.buffers.data(), contest_.shared};
  }

 private:
  struct Set {
    std::array<std::vector<Address>, kArms> at;           // by buffer of the arm's plan
    std::array<std::vector<TensorMapBytes>, kArms> maps;  // by tensor map of the arm's plan, once it was prepared
  };
  const std::vector<Address>& at(Arm arm, uint32_t set) const { return sets_.at(set).at.at(static_cast<size_t>(arm)); }
  PlacedPlan placed(Arm arm, uint32_t set) const {
    return {side(arm).plan, at(arm, set), sets_.at(set).maps.at(static_cast<size_t>(arm))};
  }
  uint64_t scratch_bytes(Arm arm, uint64_t guard) const;
  Trouble restore(uint32_t set, size_t buffer);

  Device& device_;
  const Contest& contest_;
  std::vector<Address> pristine_;             // by shared buffer; 0: it starts without content
  std::array<Address, kVariants> changed_{};  // the changed bytes of each variant
  Address whole_ = 0;
  uint64_t bytes_ = 0;
  std::vector<Set> sets_;
};

}  // namespace ptxlab::gpu
