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
  if (!b) return a;
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

struct Semantics {
  bool acquires = false, releases = false;
};

Semantics semantics_of(const ptx::Instruction& instruction) {
  if (!instruction.words.empty() && instruction.words[0] == "mbarrier") {
    bool waits = has_word(instruction, ".test_wait") || has_word(instruction, ".try_wait");
    return {waits, !waits};
  }
  bool both = has_word(instruction, ".acq_rel");
  return {both || has_word(instruction, ".acquire"), both || has_word(instruction, ".release")};
}

}  // namespace

Scope scope_of(const ptx::Instruction& instruction) {
  return has_word(instruction, ".cta") ? Scope::cta : Scope::wider;
}

bool orders_partially(const ptx::Module& module) {
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* i = statement.instruction();
      if (!i || i->words.empty()) continue;
      const std::string& name = i->words[0];
      if (name == "fence" || name == "membar" || name == "mbarrier") return true;
      if ((name == "bar" || name == "barrier") && (is_warp_barrier(*i) || !waits_for_all(*i))) return true;
      Semantics semantics = semantics_of(*i);
      if (semantics.acquires || semantics.releases) return true;
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

void HappensBefore::launch_begin(uint32_t threads) {
  threads_ = threads;
  stride_ = (threads + 31) / 32 * 32;
  ctas_.clear();
  flags_.clear();
  last_ = nullptr;
  next();
}

void HappensBefore::cta_begin(uint32_t id) {
  Cta& state = ctas_[id];
  state = Cta{};
  state.base = next();
  state.threads.resize(threads_);
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

HappensBefore::Thread& HappensBefore::thread(ThreadId id) { return cta(cta_of(id)).threads[id % stride_]; }

Event HappensBefore::base(uint32_t id) { return cta(id).base; }

bool HappensBefore::ordered(ThreadId other, Event event, ThreadId id) {
  if (other == id) return true;
  const Cta& own = cta(cta_of(id));
  if (cta_of(other) == cta_of(id) && event <= own.base) return true;
  const KnowledgePtr& knowledge = own.threads[id % stride_].knowledge;
  return knowledge && knowledge->has(cta_of(other), other, event);
}

void HappensBefore::barrier(const simt::Barrier& barrier) {
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

void HappensBefore::meet(uint32_t cta_id, const std::vector<Arrival>& arrivals) {
  Cta& state = cta(cta_id);
  auto common = std::make_shared<Knowledge>();
  KnowledgePtr last;
  for (const Arrival& arrival : arrivals) {
    const Thread& t = state.threads[arrival.thread % stride_];
    for (const KnowledgePtr& known : {t.knowledge, t.pending}) {
      if (!known || known == last) continue;
      common->add(*known);
      last = known;
    }
    common->add_thread(arrival.thread, arrival.event);
  }
  for (const Arrival& arrival : arrivals) {
    if (!arrival.waits) continue;
    Thread& t = state.threads[arrival.thread % stride_];
    t.knowledge = common;
    t.pending = nullptr;
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
      for (const KnowledgePtr& known : {t.knowledge, t.pending}) {
        if (!known || known == last) continue;
        all.add(*known);
        last = known;
      }
    }
    // What is known of the CTA's own threads is older than the new base.
    const uint32_t first = first_thread(cta_id) / 32, end = first + stride_ / 32;
    std::erase_if(all.ctas, [&](const Knowledge::Cta& c) { return c.cta == cta_id; });
    std::erase_if(all.warps, [&](const Knowledge::Warp& w) { return w.warp >= first && w.warp < end; });
    KnowledgePtr common;
    if (!all.ctas.empty() || !all.warps.empty()) common = std::make_shared<Knowledge>(std::move(all));
    for (Thread& t : state.threads) {
      t.knowledge = common;
      t.pending = nullptr;
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
  for (Release Thread::*which : {&Thread::narrow, &Thread::wide}) {
    Knowledge pooled;
    KnowledgePtr last;
    for (const Arrival& arrival : arrivals) {
      const Release& release = state.threads[arrival.thread % stride_].*which;
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
      if (arrival.waits) (state.threads[arrival.thread % stride_].*which).inherited = common;
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
  Cta& state = cta(id);
  const Event event = next();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t local = issue.warp.warp * 32 + lane;
    if (!(issue.active >> lane & 1) || local >= threads_) continue;
    Thread& t = state.threads[local];
    t.knowledge = joined(t.knowledge, t.pending);
    t.pending = nullptr;
    t.narrow = {event, state.base, t.knowledge, t.narrow.inherited};
    if (scope_of(instruction) == Scope::wider) t.wide = {event, state.base, t.knowledge, t.wide.inherited};
    state.knows = state.knows || t.knowledge;
  }
  state.fenced = true;
}

void HappensBefore::strong(const simt::Access& access, int lane, uint64_t place) {
  const uint32_t id = access.warp.cta_linear;
  const ptx::Instruction& instruction = *access.site.instruction;
  const Semantics semantics = semantics_of(instruction);
  const bool wider = scope_of(instruction) == Scope::wider;
  const ThreadId self = first_thread(id) + access.warp.warp * 32 + static_cast<uint32_t>(lane);
  Thread& t = thread(self);
  if (access.reads) {
    if (auto at = flags_.find(place); at != flags_.end()) {
      const Flag& flag = at->second;
      auto narrow = flag.narrow.find(id);
      KnowledgePtr learnt = joined(wider ? flag.wide : nullptr, narrow == flag.narrow.end() ? nullptr : narrow->second);
      KnowledgePtr& into = semantics.acquires ? t.knowledge : t.pending;
      into = joined(into, learnt);
      cta(id).knows |= into != nullptr;
    }
  }
  if (!access.writes) return;
  Release narrow = t.narrow, wide = t.wide;
  if (semantics.releases) {
    Release now_here{next(), base(id), t.knowledge, nullptr};
    narrow = now_here;
    if (wider) wide = now_here;
  }
  KnowledgePtr narrow_hand = handed_on(self, narrow);
  KnowledgePtr wide_hand = wider ? handed_on(self, wide) : nullptr;
  const bool continues = access.reads;  // a read-modify-write carries on what earlier stores handed on
  if (!narrow_hand && !wide_hand && (continues || !flags_.contains(place))) return;
  Flag& flag = flags_[place];
  if (!continues) flag = Flag{};
  flag.wide = joined(flag.wide, wide_hand);
  KnowledgePtr& mine = flag.narrow[id];
  mine = joined(mine, narrow_hand);
}

}  // namespace ptxlab::checkers
