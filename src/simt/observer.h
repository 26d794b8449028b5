// What an engine tells while it runs. Observers ask for the kinds of events they need; an engine built without any pays nothing.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "isa/type.h"
#include "launch/resolved.h"
#include "ptx/module.h"

namespace ptxlab::simt {

using LaneMask = uint32_t;

// Access::allocation of a module's variable: this plus its index in Module::variables. Buffers are plain indices of Memory.
inline constexpr uint32_t kModuleVariables = uint32_t{1} << 31;

// Where an event happened.
struct Site {
  const ptx::Function* function = nullptr;
  uint32_t statement = 0;  // index into function->body
  const ptx::Instruction* instruction = nullptr;
};

// Who made it happen.
struct WarpId {
  launch::Dim3 cta{0, 0, 0};
  uint32_t cta_linear = 0;
  uint32_t warp = 0;  // in the CTA; lane l is thread warp * 32 + l, x fastest
};

// The values of a plain store, made for those who look only: what lies in a lane's place, and what the lane puts there.
// Valid during Observer::access, which comes before the store is done.
class AccessValues {
 public:
  virtual ~AccessValues() = default;
  virtual void before(int lane, uint8_t* out) const = 0;  // Access::bytes
  virtual void after(int lane, uint8_t* out) const = 0;
};

struct Access {
  Site site;
  WarpId warp;
  LaneMask active = 0;
  isa::Space space = isa::Space::global;  // resolved: global, shared, local, constant, param
  bool reads = false, writes = false, atomic = false;
  bool strong = false;                    // volatile, relaxed, acquire, release: takes part in synchronisation
  uint32_t bytes = 0;                     // a lane, all vector elements together
  const uint64_t* address = nullptr;      // [32]; for shared and local the offset in the CTA's or thread's window
  const uint32_t* allocation = nullptr;   // [32]; global, constant: index into Memory, or kModuleVariables + n
  const AccessValues* values = nullptr;   // plain stores
  const uint8_t* value_before = nullptr;  // what lay there, `bytes` for each lane, lane-major; only where asked for
  const uint8_t* value_after = nullptr;   // what a write stores
};

// arrive: once for each warp instruction that reaches the barrier, at its issue. complete: once for each time the barrier
// trips, when the last participant is there and before any of them goes on; warp and active are the last arriver's. A
// warp-wide meeting may skip arrive where all members come in one instruction; its complete names them in `members`.
struct Barrier {
  Site site;
  WarpId warp;
  LaneMask active = 0;
  uint32_t id = 0;       // bar.sync id; ~0u: bar.warp.sync and other warp-wide meetings
  uint32_t threads = 0;  // expected
  enum class Step : uint8_t { arrive, complete } step = Step::arrive;
  LaneMask members = 0;  // warp-wide meetings
};

struct Issue {
  Site site;
  WarpId warp;
  LaneMask active = 0;
};

class Memory;

// One .shared variable in the CTA's window; the dynamic part comes last, under the name of its extern array.
struct SharedVariable {
  std::string_view name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// What findings need to name things; valid until launch_end.
struct LaunchContext {
  const ptx::Module* module = nullptr;
  const ptx::Function* entry = nullptr;
  const Memory* memory = nullptr;
  std::span<const SharedVariable> shared;
};

enum EventKind : uint32_t {
  kAccesses = 1,
  kAccessValues = 2,  // fills Access::value_before and value_after of atomics and matrix stores
  kBarriers = 4,
  kIssues = 8,     // every warp instruction
  kLaunches = 16,  // launch and CTA begin and end
};

// What a finding is about, in words that mean the same for two kernels of one task: whether one kernel does what another
// does can be asked with them.
struct Doing {
  std::string about;   // "store_load between CTAs in 'x'"; empty: nothing but the code is known
  uint64_t times = 1;  // how often it was met
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual std::string_view name() const = 0;     // as in `--check bounds,races`
  virtual uint32_t events() const = 0;           // EventKind mask
  virtual void context(const LaunchContext&) {}  // just before launch_begin
  virtual void launch_begin(const launch::ResolvedLaunch&) {}
  virtual void launch_end() {}
  virtual void cta_begin(const WarpId&, uint32_t /*threads*/, uint32_t /*shared_bytes*/) {}
  virtual void cta_end(const WarpId&) {}
  virtual void access(const Access&) {}
  virtual void barrier(const Barrier&) {}
  virtual void fence(const Issue&) {}  // membar, fence
  virtual void issue(const Issue&) {}
  // What it found; called after the run. Findings are aggregated: one a site and kind, with a count in the message.
  virtual base::Findings findings() const { return {}; }
  // Beside findings(), one for each; or nothing.
  virtual std::vector<Doing> doings() const { return {}; }
};

}  // namespace ptxlab::simt
