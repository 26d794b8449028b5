// What orders the accesses of a launch's threads: barriers, warp barriers, and release and acquire through strong
// accesses and fences. Whether two accesses are ordered does not depend on the schedule that the engine happened to
// take, so a missing barrier is found even when the run came out right.
//
// Time is one counter of events for the whole run. A thread's knowledge says, for every other thread, up to which event
// number that thread's doings happen before its own next step. Most knowledge is common: after a barrier of the whole
// CTA everything before it is known to all, and one number for the CTA (its base) says so. Only what barriers of some
// threads, warp barriers and flags in memory add is kept in Knowledge objects, which threads that met share.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "simt/observer.h"

namespace ptxlab::checkers {

using Event = uint32_t;
using ThreadId = uint32_t;  // CTA's linear id times the CTA's threads rounded up to whole warps, plus the thread

struct Knowledge {
  struct Cta {
    uint32_t cta;
    Event until;  // every thread of it, up to this event
  };
  struct Warp {
    uint32_t warp;  // ThreadId / 32
    std::array<Event, 32> until;
  };
  std::vector<Cta> ctas;    // sorted by cta
  std::vector<Warp> warps;  // sorted by warp

  void add(const Knowledge& other);
  void add_cta(uint32_t cta, Event until);
  void add_thread(ThreadId thread, Event until);
  bool has(uint32_t cta, ThreadId thread, Event event) const;
  bool covers(const Knowledge& other) const;
};
using KnowledgePtr = std::shared_ptr<const Knowledge>;  // null: nothing beyond the CTA's base

// Who takes part in what an instruction orders: its own CTA, its cluster, or everybody (gpu and sys: one GPU runs).
enum class Scope : uint8_t { cta, cluster, wider };
inline constexpr size_t kScopes = 3;

// What an instruction's words say of ordering.
struct Ordering {
  Scope scope = Scope::wider;
  bool acquires = false, releases = false;
};
Ordering ordering_of(const ptx::Instruction& instruction);

class HappensBefore {
 public:
  void launch_begin(const launch::ResolvedLaunch& launch);
  void cta_begin(uint32_t cta);
  void cta_end(uint32_t cta);

  Event next() { return ++now_; }
  Event now() const { return now_; }
  ThreadId first_thread(uint32_t cta) const { return cta * stride_; }
  uint32_t cta_of(ThreadId thread) const { return thread / stride_; }
  uint32_t stride() const { return stride_; }

  // As if that barrier were not there: what would race without it?
  void leave_out(const ptx::Instruction* barrier) { left_out_ = barrier; }
  void barrier(const simt::Barrier& barrier);
  void fence(const simt::Issue& issue);
  // A strong or atomic access of one lane to the location `place` (any number that names it).
  void strong(const simt::Access& access, int lane, uint64_t place);

  // The event up to which all of the CTA's doings are known to all its threads.
  Event base(uint32_t cta);
  // What `other` did at `event` happens before what `thread` does now.
  bool ordered(ThreadId other, Event event, ThreadId thread);

  // Whether an instruction of that scope in one CTA takes the other CTA's threads in.
  bool reaches(Scope scope, uint32_t from, uint32_t to) const {
    return from == to || scope == Scope::wider || (scope == Scope::cluster && cluster_of(from) == cluster_of(to));
  }

 private:
  struct Release {           // what a thread hands on with its next strong store
    Event event = 0;         // its own doings up to here; 0: it has not fenced
    Event base = 0;          // the CTA's base at that time
    KnowledgePtr knowledge;  // and the thread's knowledge
    KnowledgePtr inherited;  // fenced by other threads before a barrier that this thread passed
  };
  struct Thread {
    KnowledgePtr knowledge;
    std::array<KnowledgePtr, kScopes> pending;  // learnt by relaxed reads: knowledge after a fence of that scope
    std::array<Release, kScopes> releases;      // at the last fence of that scope or a wider one
  };
  struct Arrival {
    ThreadId thread;
    Event event;
    bool waits;
  };
  struct Cta {
    Event base = 0;
    std::vector<Thread> threads;  // empty as long as only barriers of the whole CTA order anything
    std::unordered_map<uint32_t, std::vector<Arrival>> barriers;
    bool knows = false;   // some thread has knowledge or pending
    bool fenced = false;  // some thread has fenced since the last barrier of the whole CTA
  };
  // A location that strong accesses hand knowledge through. What a release of a scope hands on is there for the members of
  // each narrower scope that the releasing thread belongs to as well: for its CTA, for its cluster, for all.
  struct Flag {
    std::unordered_map<uint64_t, KnowledgePtr> handed;  // by scope and its instance
    ThreadId releaser = 0;                              // who released here last, and what: its later strong stores
    std::array<KnowledgePtr, kScopes> released;         // to the same place hand it on too
  };

  uint32_t cluster_of(uint32_t cta) const;
  uint64_t instance(Scope scope, uint32_t cta) const;
  Scope effective(Scope scope) const { return scope == Scope::cluster && one_cta_clusters_ ? Scope::cta : scope; }
  Cta& cta(uint32_t id);
  std::vector<Thread>& threads_of(Cta& cta) const;
  void complete(const simt::Barrier& barrier);
  static void gather(const Thread& thread, Knowledge& into);
  void meet(uint32_t cta_id, const std::vector<Arrival>& arrivals);  // a barrier of some threads
  void settle(uint32_t cta_id);                                      // a barrier of the whole CTA
  void pool_releases(Cta& state, uint32_t cta_id, const std::vector<Arrival>& arrivals);
  KnowledgePtr handed_on(ThreadId id, const Release& release) const;
  void learn(Cta& state, Thread& thread, uint32_t cta_id, const Flag& flag, const Ordering& ordering) const;
  void hand_on(Thread& thread, ThreadId self, uint32_t cta_id, uint64_t place, const Ordering& ordering,
               bool continues);

  uint32_t threads_ = 0;
  uint32_t stride_ = 32;
  launch::Dim3 grid_{1, 1, 1}, cluster_{1, 1, 1};
  bool one_cta_clusters_ = true;
  const ptx::Instruction* left_out_ = nullptr;
  Event now_ = 0;
  std::unordered_map<uint32_t, Cta> ctas_;
  Cta* last_ = nullptr;
  uint32_t last_id_ = 0;
  std::unordered_map<uint64_t, Flag> flags_;
  const ptx::Instruction* last_instruction_ = nullptr;
  Ordering last_ordering_;
  const Ordering& remembered(const ptx::Instruction& instruction);
};

// Whether a kernel uses more than barriers of the whole CTA: then readers have to be remembered one by one.
bool orders_partially(const ptx::Module& module);
// Whether a strong access has a scope that does not take everybody in.
bool has_narrow_scopes(const ptx::Module& module);

}  // namespace ptxlab::checkers
