#include "checkers/happens_before.h"

#include <algorithm>
#include <cassert>
#include <string_view>

namespace ptxlab::checkers {
namespace {

bool has_word(const ptx::Instruction& instruction, std::string_view word) {
  return std::find(instruction.words.begin(), instruction.words.end(), word) != instruction.words.end();
}

KnowledgePtr joined(const KnowledgePtr& a, const KnowledgePtr& b) {
  if (!a || a == b) return b;
  if (!b || a->covers(*b)) return a;
  if (b->covers(*a)) return b;
  auto out = std::make_shared<Knowledge>(*a);
  out->add(*b);
  return out;
}

// bar.sync a; and barrier.sync a; (and the reductions without a count) wait for every thread of the CTA.
bool waits_for_all(const ptx::Instruction& instruction) {
  if (has_word(instruction, ".red")) return instruction.operands.size() <= 3;
  return instruction.operands.size() <= 1;
}

bool is_warp_barrier(const ptx::Instruction& instruction) { return has_word(instruction, ".warp"); }

}  // namespace

Ordering ordering_of(const ptx::Instruction& instruction) {
  Ordering out;
  const std::string_view name = instruction.words.empty() ? "" : std::string_view(instruction.words[0]);
  if (name == "mbarrier") out.scope = Scope::cta;  // where no word says otherwise
  for (const std::string& word : instruction.words) {
    if (word == ".cta") out.scope = Scope::cta;
    if (word == ".cluster") out.scope = Scope::cluster;
    if (word == ".gpu" || word == ".gl" || word == ".sys") out.scope = Scope::wider;
    if (word == ".acquire" || word == ".acq_rel" || word == ".sc") out.acquires = true;
    if (word == ".release" || word == ".acq_rel" || word == ".sc") out.releases = true;
  }
  const bool fence = name == "fence" || name == "membar";
  if (fence && !out.acquires && !out.releases) out.acquires = out.releases = true;
  if (name == "mbarrier") {
    out.acquires = has_word(instruction, ".test_wait") || has_word(instruction, ".try_wait");
    out.releases = !out.acquires;
  }
  return out;
}

bool orders_partially(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* i = statement.instruction();
      if (!i || i->words.empty()) continue;
      const std::string& name = i->words[0];
      if (name == "fence" || name == "membar" || name == "mbarrier") return true;
      if ((name == "bar" || name == "barrier") && (is_warp_barrier(*i) || !waits_for_all(*i))) return true;
      const Ordering ordering = ordering_of(*i);
      if (ordering.acquires || ordering.releases) return true;
    }
  }
  return false;
}

bool has_narrow_scopes(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* i = statement.instruction();
      if (!i || i->words.empty()) continue;
      const std::string& name = i->words[0];
      if (name != "ld" && name != "st" && name != "atom" && name != "red") continue;
      if (ordering_of(*i).scope != Scope::wider) return true;
    }
  }
  return false;
}

void Knowledge::add_cta(uint32_t cta, Event until) {
  auto at = std::lower_bound(ctas.begin(), ctas.end(), cta, [](const Cta& c, uint32_t id) { return c.cta < id; });
  if (at == ctas.end() || at->cta != cta) {
    ctas.insert(at, {cta, until});
  } else {
    at->until = std::max(at->until, until);
  }
}

void Knowledge::add_thread(ThreadId thread, Event until) {
  const uint32_t warp = thread / 32;
  auto at = std::lower_bound(warps.begin(), warps.end(), warp, [](const Warp& w, uint32_t id) { return w.warp < id; });
  if (at == warps.end() || at->warp != warp) at = warps.insert(at, {warp, {}});
  Event& known = at->until[thread % 32];
  known = std::max(known, until);
}

void Knowledge::add(const Knowledge& other) {
  for (const Cta& c : other.ctas) add_cta(c.cta, c.until);
  for (const Warp& w : other.warps) {
    auto at =
        std::lower_bound(warps.begin(), warps.end(), w.warp, [](const Warp& x, uint32_t id) { return x.warp < id; });
    if (at == warps.end() || at->warp != w.warp) {
      warps.insert(at, w);
    } else {
      for (int i = 0; i < 32; ++i) at->until[i] = std::max(at->until[i], w.until[i]);
    }
  }
}

bool Knowledge::has(uint32_t cta, ThreadId thread, Event event) const {
  auto c = std::lower_bound(ctas.begin(), ctas.end(), cta, [](const Cta& x, uint32_t id) { return x.cta < id; });
  if (c != ctas.end() && c->cta == cta && event <= c->until) return true;
  const uint32_t warp = thread / 32;
  auto w = std::lower_bound(warps.begin(), warps.end(), warp, [](const Warp& x, uint32_t id) { return x.warp < id; });
  return w != warps.end() && w->warp == warp && event <= w->until[thread % 32];
}

bool Knowledge::covers(const Knowledge& other) const {
  if (ctas.size() < other.ctas.size() || warps.size() < other.warps.size()) return false;
  auto mine = ctas.begin();
  for (const Cta& c : other.ctas) {
    mine = std::lower_bound(mine, ctas.end(), c.cta, [](const Cta& x, uint32_t id) { return x.cta < id; });
    if (mine == ctas.end() || mine->cta != c.cta || mine->until < c.until) return false;
  }
  auto at = warps.begin();
  for (const Warp& w : other.warps) {
    at = std::lower_bound(at, warps.end(), w.warp, [](const Warp& x, uint32_t id) { return x.warp < id; });
    if (at == warps.end() || at->warp != w.warp) return false;
    for (size_t i = 0; i < 32; ++i)
      if (at->until[i] < w.until[i]) return false;
  }
  return true;
}

void HappensBefore::launch_begin(const launch::ResolvedLaunch& launch) {
  threads_ = launch.block[0] * launch.block[1] * launch.block[2];
  stride_ = (threads_ + 31) / 32 * 32;
  grid_ = launch.grid;
  cluster_ = launch.cluster;
  one_cta_clusters_ = cluster_ == launch::Dim3{1, 1, 1};
  ctas_.clear();
  flags_.clear();
  last_ = nullptr;
  next();
}

void HappensBefore::cta_begin(uint32_t id) {
  Cta& state = ctas_[id];
  state = Cta{};
  state.base = next();
  last_ = nullptr;
}

void HappensBefore::cta_end(uint32_t id) {
  ctas_.erase(id);
  last_ = nullptr;
}

HappensBefore::Cta& HappensBefore::cta(uint32_t id) {
  if (last_ && last_id_ == id) return *last_;
  auto at = ctas_.find(id);
  if (at == ctas_.end()) {
    cta_begin(id);
    at = ctas_.find(id);
  }
  last_ = &at->second;
  last_id_ = id;
  return *last_;
}

std::vector<HappensBefore::Thread>& HappensBefore::threads_of(Cta& cta) const {
  if (cta.threads.empty()) cta.threads.resize(threads_);
  return cta.threads;
}

uint32_t HappensBefore::cluster_of(uint32_t cta) const {
  const uint32_t x = cta % grid_[0] / cluster_[0], y = cta / grid_[0] % grid_[1] / cluster_[1],
                 z = cta / grid_[0] / grid_[1] / cluster_[2];
  return (z * ((grid_[1] + cluster_[1] - 1) / cluster_[1]) + y) * ((grid_[0] + cluster_[0] - 1) / cluster_[0]) + x;
}

uint64_t HappensBefore::instance(Scope scope, uint32_t cta) const {
  const uint64_t of = scope == Scope::cta ? cta : scope == Scope::cluster ? cluster_of(cta) : 0;
  return of << 2 | static_cast<uint64_t>(scope);
}

const Ordering& HappensBefore::remembered(const ptx::Instruction& instruction) {
  if (&instruction != last_instruction_) {
    last_instruction_ = &instruction;
    last_ordering_ = ordering_of(instruction);
    last_ordering_.scope = effective(last_ordering_.scope);
  }
  return last_ordering_;
}

Event HappensBefore::base(uint32_t id) { return cta(id).base; }

bool HappensBefore::ordered(ThreadId other, Event event, ThreadId id) {
  if (other == id) return true;
  const Cta& own = cta(cta_of(id));
  if (cta_of(other) == cta_of(id) && event <= own.base) return true;
  if (own.threads.empty()) return false;
  const KnowledgePtr& knowledge = own.threads[id % stride_].knowledge;
  return knowledge && knowledge->has(cta_of(other), other, event);
}

void HappensBefore::barrier(const simt::Barrier& barrier) {
  if (left_out_ && barrier.site.instruction == left_out_) return;
  const uint32_t id = barrier.warp.cta_linear;
  const bool complete_step = barrier.step == simt::Barrier::Step::complete;
  if (barrier.id == ~0u) {
    // Members of a warp barrier stand still from their arrival on, so its completion alone says all.
    if (!complete_step || !barrier.site.instruction || !is_warp_barrier(*barrier.site.instruction)) return;
    const simt::LaneMask members = barrier.members ? barrier.members : barrier.active;
    const Event event = next();
    std::vector<Arrival> arrivals;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t local = barrier.warp.warp * 32 + lane;
      if ((members >> lane & 1) && local < threads_) arrivals.push_back({first_thread(id) + local, event, true});
    }
    arrivals.size() == threads_ ? settle(id) : meet(id, arrivals);
    return;
  }
  if (complete_step) {
    complete(barrier);
    return;
  }
  const bool waits = !barrier.site.instruction || !has_word(*barrier.site.instruction, ".arrive");
  const Event event = next();
  std::vector<Arrival>& arrivals = cta(id).barriers[barrier.id];
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (barrier.active >> lane & 1)
      arrivals.push_back({first_thread(id) + barrier.warp.warp * 32 + lane, event, waits});
}

void HappensBefore::complete(const simt::Barrier& barrier) {
  const uint32_t id = barrier.warp.cta_linear;
  std::vector<Arrival> arrivals = std::move(cta(id).barriers[barrier.id]);
  cta(id).barriers[barrier.id].clear();
  if (arrivals.empty()) return;
  const bool all_wait = std::all_of(arrivals.begin(), arrivals.end(), [](const Arrival& a) { return a.waits; });
  // A thread that has ended no longer holds a barrier of the whole CTA up: its end counts as its arrival.
  const bool whole =
      arrivals.size() >= threads_ || (barrier.site.instruction && waits_for_all(*barrier.site.instruction));
  whole&& all_wait ? settle(id) : meet(id, arrivals);
}

// What a thread brings to a barrier. What it read by relaxed accesses counts as known to all after it: strictly a fence
// is wanted, but so honest kernels let one thread look at a flag and all others go on behind a barrier.
void HappensBefore::gather(const Thread& thread, Knowledge& into) {
  if (thread.knowledge) into.add(*thread.knowledge);
  for (const KnowledgePtr& known : thread.pending)
    if (known) into.add(*known);
}

void HappensBefore::meet(uint32_t cta_id, const std::vector<Arrival>& arrivals) {
  Cta& state = cta(cta_id);
  std::vector<Thread>& threads = threads_of(state);
  auto common = std::make_shared<Knowledge>();
  for (const Arrival& arrival : arrivals) {
    gather(threads[arrival.thread % stride_], *common);
    common->add_thread(arrival.thread, arrival.event);
  }
  for (const Arrival& arrival : arrivals) {
    if (!arrival.waits) continue;
    Thread& t = threads[arrival.thread % stride_];
    t.knowledge = common;
    t.pending = {};
  }
  state.knows = true;
  if (state.fenced) pool_releases(state, cta_id, arrivals);
}

void HappensBefore::settle(uint32_t cta_id) {
  Cta& state = cta(cta_id);
  if (state.knows) {
    Knowledge all;
    KnowledgePtr last;
    for (const Thread& t : state.threads) {
      const bool pending = std::any_of(t.pending.begin(), t.pending.end(), [](const auto& p) { return p != nullptr; });
      if (t.knowledge == last && !pending) continue;
      gather(t, all);
      last = t.knowledge;
    }
    // What is known of the CTA's own threads is older than the new base.
    const uint32_t first = first_thread(cta_id) / 32, end = first + stride_ / 32;
    std::erase_if(all.ctas, [&](const Knowledge::Cta& c) { return c.cta == cta_id; });
    std::erase_if(all.warps, [&](const Knowledge::Warp& w) { return w.warp >= first && w.warp < end; });
    KnowledgePtr common;
    if (!all.ctas.empty() || !all.warps.empty()) common = std::make_shared<Knowledge>(std::move(all));
    for (Thread& t : state.threads) {
      t.knowledge = common;
      t.pending = {};
    }
    state.knows = common != nullptr;
  }
  if (state.fenced) {
    std::vector<Arrival> all;
    for (uint32_t i = 0; i < threads_; ++i) all.push_back({first_thread(cta_id) + i, 0, true});
    pool_releases(state, cta_id, all);
    state.fenced = false;
  }
  state.base = next();
}

// "fence in every thread; barrier; one thread sets a flag" hands on what all of them had fenced.
void HappensBefore::pool_releases(Cta& state, uint32_t cta_id, const std::vector<Arrival>& arrivals) {
  std::vector<Thread>& threads = threads_of(state);
  for (size_t which = 0; which < kScopes; ++which) {
    Knowledge pooled;
    KnowledgePtr last;
    for (const Arrival& arrival : arrivals) {
      const Release& release = threads[arrival.thread % stride_].releases[which];
      if (release.event) {
        pooled.add_thread(arrival.thread, release.event);
        pooled.add_cta(cta_id, release.base);
      }
      for (const KnowledgePtr& known : {release.knowledge, release.inherited}) {
        if (!known || known == last) continue;
        pooled.add(*known);
        last = known;
      }
    }
    if (pooled.warps.empty() && pooled.ctas.empty()) continue;
    auto common = std::make_shared<const Knowledge>(std::move(pooled));
    for (const Arrival& arrival : arrivals)
      if (arrival.waits) threads[arrival.thread % stride_].releases[which].inherited = common;
  }
}

KnowledgePtr HappensBefore::handed_on(ThreadId id, const Release& release) const {
  if (!release.event) return release.inherited;
  auto out = std::make_shared<Knowledge>();
  if (release.knowledge) out->add(*release.knowledge);
  if (release.inherited) out->add(*release.inherited);
  out->add_cta(cta_of(id), release.base);
  out->add_thread(id, release.event);
  return out;
}

void HappensBefore::fence(const simt::Issue& issue) {
  // Proxy fences and the fence after mbarrier.init order other things than plain accesses of threads.
  const ptx::Instruction& instruction = *issue.site.instruction;
  if (instruction.words.size() > 1 &&
      (instruction.words[1].rfind(".proxy", 0) == 0 || instruction.words[1].rfind(".mbarrier", 0) == 0))
    return;
  const uint32_t id = issue.warp.cta_linear;
  const Ordering& ordering = remembered(instruction);
  Cta& state = cta(id);
  std::vector<Thread>& threads = threads_of(state);
  const Event event = next();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t local = issue.warp.warp * 32 + lane;
    if (!(issue.active >> lane & 1) || local >= threads_) continue;
    Thread& t = threads[local];
    for (size_t scope = 0; scope <= static_cast<size_t>(ordering.scope); ++scope) {
      if (ordering.acquires) {
        t.knowledge = joined(t.knowledge, t.pending[scope]);
        t.pending[scope] = nullptr;
      }
    }
    for (size_t scope = 0; scope <= static_cast<size_t>(ordering.scope) && ordering.releases; ++scope)
      t.releases[scope] = {event, state.base, t.knowledge, t.releases[scope].inherited};
    state.knows = state.knows || t.knowledge;
  }
  state.fenced = state.fenced || ordering.releases;
}

// A strong read learns what was handed on to its CTA, its cluster or all, as far as its own scope goes: at once where it
// acquires, else with the next fence.
void HappensBefore::learn(Cta& state, Thread& thread, uint32_t cta_id, const Flag& flag,
                          const Ordering& ordering) const {
  for (size_t scope = 0; scope <= static_cast<size_t>(ordering.scope); ++scope) {
    auto learnt = flag.handed.find(instance(static_cast<Scope>(scope), cta_id));
    if (learnt == flag.handed.end() || !learnt->second) continue;
    KnowledgePtr& into = ordering.acquires ? thread.knowledge : thread.pending[scope];
    into = joined(into, learnt->second);
    state.knows = true;
  }
}

// A strong store hands on what its thread has released: by a fence before it, by itself, or by an earlier release to the
// same place. A read-modify-write carries on what earlier stores handed on.
void HappensBefore::hand_on(Thread& thread, ThreadId self, uint32_t cta_id, uint64_t place, const Ordering& ordering,
                            bool continues) {
  auto known = flags_.find(place);
  std::array<KnowledgePtr, kScopes> hands;
  bool any = false;
  const Event event = ordering.releases ? next() : 0;
  for (size_t scope = 0; scope <= static_cast<size_t>(ordering.scope); ++scope) {
    hands[scope] = ordering.releases ? handed_on(self, {event, base(cta_id), thread.knowledge, nullptr})
                                     : handed_on(self, thread.releases[scope]);
    if (known != flags_.end() && known->second.releaser == self)
      hands[scope] = joined(hands[scope], known->second.released[scope]);
    any = any || hands[scope];
  }
  if (!any && (continues || known == flags_.end())) return;
  Flag& flag = flags_[place];
  if (!continues) flag.handed.clear();
  if (ordering.releases || flag.releaser == self) {
    flag.releaser = self;
    flag.released = hands;
  }
  for (size_t scope = 0; scope < kScopes; ++scope) {
    if (!hands[scope]) continue;
    KnowledgePtr& mine = flag.handed[instance(static_cast<Scope>(scope), cta_id)];
    mine = joined(mine, hands[scope]);
  }
}

void HappensBefore::strong(const simt::Access& access, int lane, uint64_t place) {
  const uint32_t id = access.warp.cta_linear;
  const Ordering& ordering = remembered(*access.site.instruction);
  Cta& state = cta(id);
  const ThreadId self = first_thread(id) + access.warp.warp * 32 + static_cast<uint32_t>(lane);
  const bool plain = !ordering.releases && state.threads.empty();  // it has fenced nothing, so it hands nothing on
  if (flags_.empty() && plain) return;
  Thread& thread = threads_of(state)[self % stride_];
  if (access.reads) {
    if (auto at = flags_.find(place); at != flags_.end()) learn(state, thread, id, at->second, ordering);
  }
  if (access.writes) hand_on(thread, self, id, place, ordering, access.reads || access.atomic);
}

}  // namespace ptxlab::checkers
