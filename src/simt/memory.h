// Device memory of one run: guarded allocations in a 64-bit address space, with a definedness bit a byte.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/resolved.h"

namespace ptxlab::simt {

// Allocations start at multiples of 256 and lie at least kGuard bytes apart, so that an index slightly off hits nothing.
inline constexpr uint64_t kGuard = uint64_t{64} << 10;

struct Allocation {
  std::string name;             // the buffer's name in the task, for messages
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool writable = true;
  std::vector<uint8_t> data;
  std::vector<uint8_t> defined; // a byte for each byte, 0xff defined, 0 not; empty: all defined
};

class Memory {
 public:
  // `seed` shuffles addresses, so that nothing depends on them.
  explicit Memory(uint64_t seed = 0);
  // The index of the new allocation. poison: undefined bytes of a pattern drawn from the seed.
  size_t allocate(std::string name, uint64_t bytes, launch::ResolvedBuffer::Init init, bool writable = true);
  Allocation& allocation(size_t index) { return *allocations_[index]; }
  const Allocation& allocation(size_t index) const { return *allocations_[index]; }
  size_t count() const { return allocations_.size(); }
  // Index of the allocation that holds `address`, or nothing.
  std::optional<size_t> find(uint64_t address) const;
  // Nearest allocation below or above, for messages ("4 bytes past the end of 'y' (4096 bytes)").
  std::string describe(uint64_t address, uint32_t bytes) const;

 private:
  std::vector<std::unique_ptr<Allocation>> allocations_;
  std::vector<size_t> by_address_;
  uint64_t seed_ = 0;
  uint64_t next_ = 0;
};

}  // namespace ptxlab::simt
