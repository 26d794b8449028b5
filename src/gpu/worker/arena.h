// Device memory for jobs, kept from one to the next since allocating costs more than most jobs do. A job gets a part of it that
// begins elsewhere each time, and finds poison around: nothing of what an earlier job put out.
#pragma once
#include <cstdint>

#include "base/random.h"
#include "gpu/worker/device.h"

namespace ptxlab::gpu {

// Buffers begin at multiples of this, as the driver's own allocations do or better.
inline constexpr uint64_t kBufferAlignment = 512;
inline uint64_t aligned(uint64_t bytes) { return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  ~Arena() { release(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `bytes` bytes, aligned as buffers are; these and all others of the arena are filled with `poison`. They are the caller's until the
  // next call.
  Trouble take(uint64_t bytes, uint8_t poison, Address& at);
  void release();

 private:
  Device& device_;
  base::Random random_{0x61726561};
  Address whole_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace ptxlab::gpu
