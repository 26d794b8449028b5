// A contest times two arms side by side in one worker: the same inputs at the same addresses, launches in random order, every
// timed launch checked. The worker measures (src/gpu/worker/stopwatch.h says how); what follows from the epochs is decided
// by stats/ in ptxlab, which may ask for more of them. The right answers stay in ptxlab: what is compared with is what the
// arms themselves put out when the contest was opened, and that comes back whole.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.h"
#include "gpu/protocol.h"
#include "launch/resolved.h"

namespace ptxlab::gpu {

enum class Arm : uint8_t { a, b };  // a: what is compared with; b: the candidate
inline constexpr size_t kArms = 2;
inline constexpr size_t kVariants = 2;

// What a buffer's bytes are: floats may differ from launch to launch by their rounding, all else may not.
enum class Element : uint8_t { exact, f16, bf16, f32, f64 };

struct Contest {
  struct Side {
    std::string code;  // a cubin, or PTX for the driver's own compiler
    launch::ResolvedPlan plan;
    bool reload = false;  // the module keeps state in variables: loaded anew before every execution
  };
  // The second variant of the inputs: `bytes` at `offset` of a buffer that both arms read.
  struct Change {
    uint32_t buffer = 0;
    uint64_t offset = 0;
    std::string bytes;  // empty: there is no second variant
  };
  std::array<Side, kArms> sides;
  uint32_t shared = 0;  // the first so many buffers of both plans are the same memory: the task's arguments
  std::vector<base::Blob> contents;  // of these; used where the init is `data`
  std::vector<Element> elements;     // of these; empty: all exact
  Change change;
  uint64_t seed = 1;         // of what may be foreseen: order, sets, variants. Keys of digests are drawn by the worker
  uint32_t pairs = 0;        // timed pairs an epoch; 0: as many as suit the kernels' time
  uint32_t guard = 1 << 16;  // bytes before and after each buffer
  bool outputs = true;       // whether Opened carries what the arms put out
};

// The contest's arms ran once for each variant.
struct Opened {
  Done::End end = Done::End::trouble;  // executed: it can begin
  Arm arm = Arm::a;                    // whose code was refused, or faulted
  std::string message;
  struct Look {
    std::vector<base::Blob> contents;  // by shared buffer, afterwards; empty for inputs
    bool as_a = false;  // of b: all its outputs have a's bits (by digests under keys that nobody knows); no contents
    std::vector<Overrun> overruns;   // guards that were written to, by buffer of the plan
    std::vector<uint32_t> changed;   // inputs that were written to
    std::vector<uint32_t> unsteady;  // outputs of which a further launch put out other bits
    bool poisoned = false;  // on another poison it did not: some elements are unwritten, or made of such memory
  };
  std::array<std::array<Look, kVariants>, kArms> looks;  // of the second variant only where there is a change
  std::array<double, kArms> microseconds{};              // of one execution of each plan, roughly
  uint32_t batch = 1;                                    // executions between two events, each on buffers of its own
  uint32_t sets = 1;                                     // of buffers, together larger than L2 where memory allows
  uint32_t pairs = 0;                                    // timed pairs an epoch
  double event_overhead = 0;                             // microseconds between two events with nothing between them
  double reserved_bytes = 0;                             // of device memory
};

// What the machine says of itself; nothing where it does not.
struct Sensors {
  std::optional<uint32_t> sm_mhz, memory_mhz, celsius, watts;
  std::optional<uint64_t> throttle;    // NVML's clock event reasons, as bits
  std::optional<uint64_t> ecc_errors;  // uncorrected, since the driver was loaded
};

struct Pair {
  std::array<float, kArms> microseconds{};  // of one execution: of a batch, its share
  std::array<float, kArms> mhz{};           // SM clock against the global timer; 0: not readable
  Arm first = Arm::a;
  uint8_t variant = 0;
  uint16_t set = 0;
};

struct Epoch {
  std::vector<Pair> pairs;
  Sensors before, after;
  double milliseconds = 0;  // of the whole epoch, host's clock
};

// A timed launch that did not put out what the looked-at launch of its arm did, or changed an input.
struct Mismatch {
  Arm arm = Arm::a;
  uint32_t epoch = 0, pair = 0;
  uint8_t variant = 0;
  bool input = false;
};

struct Measured {
  Done::End end = Done::End::trouble;
  Arm arm = Arm::a;  // whose launch faulted, or whose did last
  std::string message;
  std::vector<Epoch> epochs;
  uint64_t checked = 0;    // timed launches whose outputs were checked
  uint64_t projected = 0;  // of these, by projections
  std::vector<Mismatch> mismatches;
};

struct MeasureRequest {
  uint32_t epochs = 12;
  // By shared buffer: how far apart two launches on the same inputs may be, as the root of the sum of the squared bounds of their
  // elements. Unsteady outputs of floats are held against it by projections; without it (0, or none given) they go unchecked.
  std::vector<double> apart;
};

// Bits of Sensors::throttle that make a measurement worthless: thermal and power slow-downs, by software, hardware or the
// power brake (NVML's clocksEventReasons). Idle, application clocks and the like are not among them.
inline constexpr uint64_t kThrottling = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

}  // namespace ptxlab::gpu
