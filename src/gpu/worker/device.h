// The GPU as the worker sees it: calls that each answer with an error's text or nothing. All but load, read, wait and what
// says so only add to one queue, in order. Behind it stands the driver (cuda_device.cc) or, in tests, host memory.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/contest.h"
#include "gpu/protocol.h"
#include "gpu/worker/digest.h"

namespace ptxlab::gpu {

using Trouble = std::optional<std::string>;  // why it failed; nothing: it worked
using Address = uint64_t;

// The SM's clock against the global timer, at one moment on one SM.
struct ClockReading {
  uint64_t cycles = 0, nanoseconds = 0, sm = 0;
};

using TensorMapBytes = std::array<uint8_t, launch::ResolvedTensorMap::kBytes>;

// What machine and code say about a launch; 0: not known.
struct LaunchLimits {
  uint64_t shared = 0, shared_static = 0;  // bytes: what a CTA may have in all, what the code takes by itself
  uint32_t threads = 0;                    // that a CTA may have with the registers of the code
  uint64_t resident = 0;                   // CTAs of this launch at a time, on the whole GPU
  std::optional<uint64_t> clusters;        // of this launch at a time, on the whole GPU
};

class Device {
 public:
  virtual ~Device() = default;
  virtual Hello hello() const = 0;

  // Modules by slot. Replaces what was loaded there, so that its variables are new. The text is the loader's log.
  virtual Trouble load(Arm slot, std::string_view code) = 0;
  // A loaded module's variable of this name: where it lies, and its size.
  virtual Trouble variable(Arm slot, const std::string& name, Address& at, uint64_t& bytes) = 0;
  virtual Trouble allocate(uint64_t bytes, Address& at) = 0;  // aligned to 256 bytes at least
  virtual void release(Address at) = 0;
  virtual uint64_t free_memory() const = 0;
  virtual Trouble fill(Address at, uint8_t value, uint64_t bytes) = 0;
  virtual Trouble copy(Address to, Address from, uint64_t bytes) = 0;
  virtual Trouble write(Address at, std::string_view bytes) = 0;
  virtual Trouble read(Address at, std::span<char> into) = 0;  // waits
  // Queues one launch of a loaded module; `parameters` are the entry's, addresses included.
  virtual Trouble launch(Arm slot, const launch::ResolvedLaunch& launch, std::span<const uint8_t> parameters) = 0;
  // For words about a launch that was refused.
  virtual LaunchLimits limits(Arm slot, const launch::ResolvedLaunch& launch) = 0;
  // The bytes of a tensor map over memory from `at` on.
  virtual Trouble encode(const launch::ResolvedTensorMap& map, Address at, TensorMapBytes& into) = 0;
  virtual Trouble wait() = 0;  // until all that was queued has ended

  // --- the stopwatch ---------------------------------------------------------------------------------------------------
  enum class Mark : uint8_t { begin, end };
  virtual Trouble mark(Mark mark) = 0;
  virtual double microseconds() = 0;  // between both marks, once waited for
  // The queue stands still from here until go(): what is queued between both starts without a launch's latency.
  virtual Trouble hold() = 0;
  virtual void go() = 0;
  // Queued: the clock at the end of the hold is reading 0, at this point of the queue reading 1. Once waited for, readings()
  // has both; nothing where the host was too slow and the hold gave up.
  virtual Trouble read_clock() = 0;
  virtual std::optional<std::array<ClockReading, 2>> readings() = 0;

  // Starts the digest anew; adds a piece to it (digest.h); waits and tells it.
  virtual Trouble begin_digest() = 0;
  virtual Trouble add_digest(Address at, uint64_t bytes, uint64_t first, uint64_t key) = 0;
  virtual Trouble end_digest(uint64_t& sum) = 0;
  // Adds to the digest how many 8-byte words from `at` (a multiple of 8) on do not consist of `value`.
  virtual Trouble add_unlike(Address at, uint64_t words, uint8_t value) = 0;
  // Of `count` elements of a float type; waits.
  virtual Trouble project(Address at, uint64_t count, Element type, uint64_t key, Projection& into) = 0;

  virtual uint64_t l2_bytes() const = 0;
  virtual Trouble forget_persisting() = 0;  // L2 lines that a kernel asked to be kept become ordinary ones
  virtual Sensors sensors() = 0;
};

// The first GPU of the machine through its driver, found at run time. Null: there is none to work with, and `why` says so.
std::unique_ptr<Device> make_cuda_device(std::string& why);

}  // namespace ptxlab::gpu
