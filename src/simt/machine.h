// The state of a running launch: CTAs one after another, their warps, and each warp's lanes grouped in splits. A split is a
// set of lanes at one pc of one frame; splits come from divergence and meet again when they stand at the same place.
#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "simt/code.h"
#include "simt/engine.h"
#include "simt/lane_access.h"
#include "simt/op.h"
#include "simt/traffic.h"

namespace ptxlab::simt {

inline constexpr uint32_t kMaxCallDepth = 64;
inline constexpr uint32_t kCtaBarriers = 16;
inline constexpr uint64_t kMaxThreadStack = uint64_t{512} << 10;  // of hardware

// A function's registers for the lanes of a warp that got there by the same path of calls.
struct Frame {
  const Code* code = nullptr;
  Frame* parent = nullptr;
  uint32_t call_pc = 0;  // in the parent
  LaneMask live = 0;
  uint64_t stack_base = 0;
  uint32_t depth = 0;
  std::array<uint32_t, kLanes> dynamic{};  // bytes that alloca has put behind the frame, by lane
  uint64_t stack_end() const {
    return stack_base + code->stack_bytes + (*std::max_element(dynamic.begin(), dynamic.end()) + 15) / 16 * 16;
  }
  // Where what may be touched ends.
  uint64_t local_end() const {
    uint32_t most = *std::max_element(dynamic.begin(), dynamic.end());
    return stack_base + (most ? code->stack_bytes + most : code->stack_used);
  }
  Registers registers;
  std::unique_ptr<uint8_t[]> storage;
};

enum class Wait : uint8_t { none, members, barrier };

struct Split {
  Frame* frame = nullptr;
  uint32_t pc = 0;
  LaneMask mask = 0;
  Wait wait = Wait::none;
  uint8_t barrier = 0;  // Wait::barrier
};

// A copy that cp.async has begun and nobody has waited for.
struct PendingCopy {
  const Op* op = nullptr;
  uint64_t shared = 0;                      // offset of the destination
  const uint8_t* source = nullptr;          // in the host's memory
  const uint8_t* source_defined = nullptr;  // null: all defined
  uint8_t bytes = 0, source_bytes = 0;      // what the source lacks is filled with zeros
};
struct LaneCopies {
  std::vector<PendingCopy> open;
  std::vector<std::vector<PendingCopy>> groups;  // committed, oldest first
};

struct Warp {
  uint32_t index = 0;
  WarpId id;
  LaneMask exists = 0, alive = 0;
  std::array<Split, kLanes + 4> splits;
  uint32_t split_count = 0;
  uint32_t diverged_steps = 0;
  std::vector<std::unique_ptr<Frame>> frames;  // the entry's first
  std::vector<std::unique_ptr<Frame>> spare;
  // Thread memory: lane l's bytes at l * stack_capacity.
  std::vector<uint8_t> stack, stack_defined;
  uint64_t stack_capacity = 0;
  std::array<uint32_t, kLanes> exit_op{};  // id of the instruction with which a lane ended
  std::unique_ptr<std::array<LaneCopies, kLanes>> copies;
  bool runnable() const;
};

// Op::mode of bar and barrier.
enum BarrierMode : uint8_t { kSynchronize, kArrive, kCountTrue, kAllTrue, kAnyTrue };

struct CtaBarrier {
  bool open = false;                       // somebody has arrived
  uint32_t expected = 0;                   // threads; 0: all of the CTA that have not exited
  uint32_t arrived = 0;                    // threads, counted a whole warp at a time, like the hardware
  std::array<LaneMask, kLanes> pending{};  // by warp: lanes that arrived while others of their warp have not
  uint32_t whole = 0;                      // warps that have arrived wholly
  uint32_t first_op = 0;
  uint32_t true_count = 0, voters = 0;  // bar.red
  bool undefined = false;
};

struct Cta {
  launch::Dim3 id{0, 0, 0};
  uint32_t linear = 0;
  uint32_t threads = 0;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<uint8_t> shared, shared_defined;
  std::array<CtaBarrier, kCtaBarriers> barriers;
  uint32_t alive = 0;
  uint32_t smid = 0;
};

// A CTA that has begun and waits for its next turn.
struct Resting {
  Cta cta;
  uint32_t ready = 0;
};

// A stretch of memory that an access may touch.
struct Region {
  uint8_t* data = nullptr;
  uint8_t* defined = nullptr;  // null: all defined
  uint64_t base = 0, bytes = 0;
  uint64_t lane_stride = 0;  // thread memory: lane l's part lies l strides further on
  bool writable = true;
  isa::Space space = isa::Space::global;
  uint32_t allocation = 0;  // as in Access::allocation
  Allocation* owner = nullptr;
};

class Machine;

// What a step handler works with.
struct Context {
  Machine& machine;
  Cta& cta;
  Warp& warp;
  Split& split;
  Frame& frame;
  const Registers& registers;
  bool defined;  // definedness is watched
};

struct Issued {
  uint64_t warps = 0, threads = 0;
};
struct Counts {
  uint64_t requests = 0;
  uint64_t sectors = 0, ideal_sectors = 0;
  uint64_t wavefronts = 0, ideal_wavefronts = 0;
  std::unique_ptr<std::array<TrafficMemo, 2>> memo;  // of global and of shared memory: a copy touches both
};

class Machine {
 public:
  Machine(const Image& image, Variables& variables, const launch::ResolvedLaunch& launch,
          std::span<const size_t> buffers, Memory& memory, const RunOptions& options,
          std::span<Observer* const> observers);
  RunReport run();

  // --- for step handlers ---
  // Reports once a site and code; further ones only count. False: the launch has to end.
  void report(const char* code, base::Severity severity, const Context& context, const Op& op, LaneMask lanes,
              const std::string& message, const std::string& hint = "");
  // A finding that a site has made before is only counted: true, and no message need be made.
  bool seen(const char* code, const Op& op, LaneMask lanes);
  std::string thread_name(const Warp& warp, int lane) const;
  std::string origin_text(const Registers& registers, uint32_t slot) const;
  // A load found undefined bits: the first such place of an instruction is kept for origin_text.
  void undefined_read(const Context& context, const Op& op, isa::Space space, int lane, uint64_t address,
                      uint32_t bytes);
  Site site(const Op& op) const;
  bool wants(uint32_t events) const { return (events_ & events) != 0; }
  void notify(const Access& access);
  void notify(const Barrier& barrier);
  void notify_fence(const Context& context, const Op& op, LaneMask active);

  // The region that holds `address` in `space` (generic: any), or null.
  const Region* find_region(Context& context, isa::Space space, uint64_t address, uint32_t op_id);
  // The region that `op` touched last time, or the only one of its space; null where that is not known.
  const Region* expected_region(const Op& op) const {
    if (op.space == isa::Space::shared) return &shared_region_;
    if (op.space == isa::Space::param) return &parameter_region_;
    bool cached = op.space == isa::Space::global || op.space == isa::Space::constant;
    return cached && region_cache_[op.id] < regions_.size() ? &regions_[region_cache_[op.id]] : nullptr;
  }
  std::string describe(const Context& context, isa::Space space, uint64_t address, uint32_t bytes) const;
  void make_definedness(const Region& region);  // the region gets a `defined` array of its own

  std::string line_of(uint32_t op_id) const;    // "line 12 (foo.cu:7)"
  std::string text_at(uint64_t address) const;  // a string in memory

  Split& fork(Warp& warp, Split& from, LaneMask lanes, uint32_t pc);  // takes `lanes` out of `from`
  void lanes_ended(Context& context, const Op& op, LaneMask lanes);
  Flow call(Context& context, const Op& op, LaneMask active);
  Flow allocate_stack(Context& context, const Op& op, LaneMask active);
  Flow give_back(Context& context, const Op& op, LaneMask active);
  Flow arrive(Context& context, const Op& op, LaneMask active);

  const RunOptions& options() const { return options_; }
  base::Random& random() { return random_; }
  // For the profile; does nothing unless the run counts.
  void count_traffic(const Op& op, isa::Space space, const uint64_t* addresses, LaneMask lanes, uint32_t bytes,
                     bool atomic);
  uint64_t clock() const { return clock_; }
  // A strong load or an atomic whose answer matters: perhaps it waits for another CTA.
  void polled() { ++polls_; }

 private:
  // machine.cc
  bool prepare();
  void make_regions();
  void run_ctas();
  void begin_cta(uint64_t linear);
  void end_cta();
  void rest();    // the CTA at hand waits for its next turn
  void resume();  // the one that has rested longest goes on
  void start_warp(Cta& cta, Warp& warp);
  void finish_report();
  void fail(const char* code, const std::string& message, const std::string& hint = "");
  void report_at(const char* code, base::Severity severity, uint32_t op_id, uint64_t threads,
                 const std::string& message, const std::string& hint);
  // frames.cc
  std::unique_ptr<Frame> new_frame(const Code& code);
  void reset_registers(Frame& frame, LaneMask lanes);
  void fill_specials(Frame& frame, const Warp& warp, const Cta& cta, bool fresh);
  bool grow_stack(Warp& warp, uint64_t bytes);
  Frame* enter(Cta& cta, Warp& warp, Frame& parent, uint32_t call_pc, const Code& code, LaneMask lanes);
  void leave(Warp& warp, Frame& frame, LaneMask lanes);
  bool call_by_address(Context& context, const Op& op, const Call& call, LaneMask active);
  bool call_into(Context& context, const Op& op, const Call& call, const Code& code, uint32_t pc, LaneMask active);
  Flow call_builtin(Context& context, const Op& op, const Call& call, LaneMask active);
  // scheduler.cc
  void run_warps();
  void run_warp(Warp& warp, uint64_t steps);
  template <bool defined>
  void interpret(Warp& warp, Split& split, uint64_t& steps, uint32_t merge_pc);
  void merge_splits(Warp& warp);
  bool run_apart(Warp& warp, Split& split);
  Split* choose(Warp& warp, bool& fair);
  void undefined_guard(const Context& context, const Op& op, LaneMask lanes);
  Flow bad_barrier(const Context& context, const Op& op, LaneMask active, const std::string& message);
  std::string count_text(uint32_t threads) const;
  uint32_t expected(const CtaBarrier& barrier) const;
  void settle(Context& context, uint32_t op_id, uint32_t id);
  void release(Warp& warp, uint32_t id, const CtaBarrier& done);
  void deadlock();
  void exhausted();

  const Image& image_;
  Variables& variables_;
  const launch::ResolvedLaunch& launch_;
  std::span<const size_t> buffers_;
  Memory& memory_;
  const RunOptions& options_;
  std::span<Observer* const> observers_;
  uint32_t events_ = 0;
  RunReport report_;
  base::Random random_;
  std::vector<Issued> issued_;  // by Op::id
  std::vector<Counts> counts_;  // by Op::id
  std::vector<uint8_t> parameters_, parameters_defined_;
  std::vector<Region> regions_;         // buffers, then variables, by address
  std::vector<uint32_t> region_cache_;  // by Op::id
  Region parameter_region_, shared_region_;
  Region stack_region_;
  Cta cta_;                      // the one that runs; its storage is kept for the next
  std::deque<Resting> resting_;  // whoever has rested longest is next
  std::vector<Cta> spare_ctas_;  // storage of CTAs that have ended
  struct Reported {
    size_t finding;
    uint64_t first, total;  // threads
  };
  std::map<std::pair<std::string, uint32_t>, Reported> reported_;  // by code and Op::id
  std::unordered_map<uint32_t, std::string> undefined_reads_;      // by Op::id
  size_t left_out_ = 0;
  uint32_t shared_bytes_ = 0;
  uint64_t clock_ = 0;
  uint64_t thread_instructions_ = 0;
  uint64_t memory_used_ = 0;
  uint32_t ready_ = 0;  // warps with a split that can run
  uint64_t polls_ = 0;  // of the CTA at hand, in this turn
  bool stop_ = false;
};

}  // namespace ptxlab::simt
