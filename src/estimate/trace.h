// What a launch's sampled CTAs did, warp by warp: the statements in the order of execution, and for each memory access
// what it costs the memory system. Filled from what an engine tells (judge/trace_recorder.h), read by the timing model.
//
// Caches are followed while the trace is taken. A CTA has its share of L1 (all resident CTAs have one) and of L2 (so
// have those of the other SMs), so that a value read again comes from where a full machine would have it.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "estimate/cache.h"
#include "isa/type.h"

namespace ptxlab::estimate {

// One warp-level access. Global: 32-byte sectors by where they come from, `lines` tag look-ups. Shared: `wavefronts`.
struct AccessCost {
  uint16_t wavefronts = 0;    // cycles of the load/store unit's data path
  uint16_t ideal = 0;         // what it would be with neighbouring words and no conflicts
  uint16_t l1_sectors = 0;    // hits
  uint16_t l2_sectors = 0;    // asked of L2, or written to it
  uint16_t cold_sectors = 0;  // of those: not seen before by this CTA, so DRAM's unless another CTA brought them
  uint16_t dram_sectors = 0;  // of those: seen before and pushed out of L2
  uint16_t collisions = 0;    // atomics: most lanes at one address
  uint16_t buffer = 0;        // index into LaunchTrace::buffers, for global memory
  bool shared = false, local = false, write = false;
};

inline constexpr uint32_t kNoAccess = ~uint32_t{0};

struct TraceStep {
  uint32_t statement = 0;       // numbered through all functions: FunctionRange::first + index
  uint32_t access = kNoAccess;  // index into CtaTrace::accesses
};

struct CtaTrace {
  std::vector<std::vector<TraceStep>> warps;
  std::vector<AccessCost> accesses;
  uint64_t steps = 0;     // all that were executed
  uint64_t recorded = 0;  // those kept: the first ones of every warp
  bool edge = false;      // the first or the last of many: there is one such, where the others stand for all between
};

struct BufferTraffic {
  uint64_t bytes = 0;      // its size
  uint64_t cold_read = 0;  // sectors, summed over the sampled CTAs
  uint64_t cold_written = 0;
  bool in_l2 = false;  // an earlier launch of the plan has left it there
};

struct FunctionRange {
  std::string function;
  uint32_t first = 0, count = 0;
};

struct LaunchTrace {
  std::vector<FunctionRange> functions;
  std::vector<CtaTrace> ctas;
  std::vector<BufferTraffic> buffers;
  uint64_t ctas_total = 0;
  // The most atomics that all sampled CTAs together sent to one global address, and whether CTAs share it.
  uint64_t hottest_atomics = 0;
  bool hottest_shared = false;
};

// Takes one launch's trace. Accesses of a warp follow the step that made them.
class Tracer {
 public:
  struct Shares {
    uint64_t l1_bytes = 0, l2_bytes = 0;  // of one CTA
  };
  Tracer(LaunchTrace& trace, const Shares& shares, uint64_t most_steps)
      : trace_(trace), l1_(shares.l1_bytes / 128), l2_(shares.l2_bytes / 64), most_steps_(most_steps) {}

  void begin_cta(uint32_t warps, bool edge);
  void step(uint32_t warp, uint32_t statement);

  struct Event {
    uint32_t warp = 0;
    uint32_t active = 0;
    uint32_t bytes = 0;                 // a lane
    const uint64_t* address = nullptr;  // [32]
    isa::Space space = isa::Space::global;
    bool write = false, atomic = false;
    bool past_l1 = false;      // .cg, .cv, volatile and the like
    bool not_into_l1 = false;  // .L1::no_allocate: finds what is there, and leaves nothing
    uint32_t buffer = 0;
    uint16_t passes = 0, ideal_passes = 0;  // of shared memory: simt/traffic.h
  };
  void access(const Event& event);

 private:
  void global(const Event& event, AccessCost& cost);
  void local(const Event& event, AccessCost& cost);
  void read_sector(uint64_t sector, const Event& event, AccessCost& cost);
  void write_sector(uint64_t sector, const Event& event, AccessCost& cost);
  void count_atomics(const Event& event, AccessCost& cost);

  LaunchTrace& trace_;
  Cache l1_, l2_;
  uint64_t most_steps_;
  uint64_t most_a_warp_ = 0;
  std::vector<uint64_t> taken_;        // by warp
  std::unordered_set<uint64_t> seen_;  // pairs of sectors that this CTA has read
  struct Hot {
    uint64_t count = 0;
    uint32_t cta = 0;
    bool shared = false;
  };
  std::unordered_map<uint64_t, Hot> atomics_;
};

}  // namespace ptxlab::estimate
