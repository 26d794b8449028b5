// What ptxlab and its worker say to each other over a pipe. A frame is a mark, a kind, a length and that many bytes; numbers
// are little-endian (wire.h). The worker greets first (Hello); then every Job is answered by one Done, and what contest.h says likewise. Both sides check every
// length before they believe it: a worker that has lost its mind must not take ptxlab with it. Needs base and
// launch/resolved.h alone, since the worker is a program of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/resolved.h"

namespace ptxlab::gpu {

inline constexpr uint32_t kProtocol = 2;  // raised whenever a frame changes its meaning

struct Hello {
  uint32_t protocol = kProtocol;
  std::string trouble;  // why there is no GPU to work with; the rest is empty then
  std::string device;   // "NVIDIA H200"
  uint32_t sm = 0;      // 90
  uint32_t driver = 0;  // the CUDA version it supports: 13000
  uint64_t memory = 0;  // bytes
  uint32_t sms = 0;
  uint64_t l2_bytes = 0;
  std::string driver_version;         // "580.159.04"; empty: not readable
  std::vector<std::string> warnings;  // what a reader of measurements should know: a MIG slice, no ECC, no sensors
};

// A plan to execute once, and what its buffers hold at its start.
struct Job {
  std::string code;  // a cubin, or PTX for the driver's own compiler
  launch::ResolvedPlan plan;
  std::vector<std::string> contents;  // by buffer; used where its init is `data`
  uint32_t launches = 1;              // how often the whole plan is launched on the same memory
  uint8_t poison = 0xa5;              // fills guards and what nobody initialises
  uint32_t guard = 1 << 16;           // bytes before and after each buffer
  bool keep_module = false;           // the job before had the same code: its module stays, variables and all
};

struct Overrun {
  uint32_t buffer = 0;
  int64_t offset = 0;  // of the first byte that changed, from the buffer's start: negative before it
  uint64_t bytes = 0;  // how many bytes of both guards changed
  friend bool operator==(const Overrun&, const Overrun&) = default;
};

struct Done {
  enum class End : uint8_t {
    executed,
    refused,        // the driver does not load the code: `message` has its log
    faulted,        // a launch or what it did: the worker ends after this
    out_of_memory,  // the buffers do not fit
    trouble,        // anything else of driver or machine
    lost,           // nothing was run: the worker's own canary failed, whatever came before has broken something
    unlaunched,  // the driver did not take a launch: too much shared memory, a grid that does not fit; the worker is well
  };
  End end = End::trouble;
  std::string message;                // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  uint32_t launch = 0;                // faulted, unlaunched: which of the plan's; UINT32_MAX: not known
  std::vector<std::string> contents;  // executed: by buffer, what it holds afterwards
  std::vector<Overrun> overruns;      // executed: guards that were written to
  double milliseconds = 0;            // executed: of all launches, between two events; a hint, not a measurement
};

// --- frames ---------------------------------------------------------------------------------------------------------------
enum class Kind : uint32_t { hello = 1, job = 2, done = 3, contest = 4, opened = 5, measure = 6, measured = 7 };
inline constexpr size_t kFrameHeader = 16;
inline constexpr uint64_t kMaxFrame = uint64_t{16} << 30;

struct FrameHeader {
  Kind kind = Kind::hello;
  uint64_t bytes = 0;
};
std::string frame_header(Kind kind, uint64_t bytes);
std::optional<FrameHeader> decode_header(std::string_view bytes);

}  // namespace ptxlab::gpu
