// Which warp runs, which of its splits, and for how long. Lanes that have diverged run lowest pc first, so that they meet
// again soon; now and then another split gets a turn, so that lanes which spin do not starve the one they wait for.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "simt/machine.h"
#include "simt/shadow.h"

namespace ptxlab::simt {
namespace {

constexpr uint32_t kPatience = 256;   // diverged steps before another split gets a turn
constexpr uint64_t kLongTurn = 4096;  // steps of a warp where nothing asks for switches
constexpr uint64_t kPolls = 16;       // looks at what other CTAs may change before one of them gets a turn
constexpr uint64_t kApart = 48;       // steps at most that some lanes run ahead of the others of their warp
constexpr uint64_t kLastLook = 4096;  // steps in which an endless loop shows its lines

bool before(const Split& a, const Split& b) {
  if (a.frame->depth != b.frame->depth) return a.frame->depth > b.frame->depth;
  return a.pc < b.pc;
}

}  // namespace

Split& Machine::fork(Warp& warp, Split& from, LaneMask lanes_out, uint32_t pc) {
  assert(warp.split_count < warp.splits.size());
  from.mask &= ~lanes_out;
  Split& split = warp.splits[warp.split_count++];
  split = {from.frame, pc, lanes_out, Wait::none, 0};
  return split;
}

// Drops empty splits and unites those that stand at one place. One that waits for members and is joined tries again.
void Machine::merge_splits(Warp& warp) {
  if (warp.split_count == 1 && warp.splits[0].mask) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < warp.split_count; ++i) {
    Split split = warp.splits[i];
    if (!split.mask) continue;
    Split* same = nullptr;
    for (uint32_t k = 0; k < kept && split.wait != Wait::barrier; ++k) {
      Split& other = warp.splits[k];
      if (other.frame == split.frame && other.pc == split.pc && other.wait != Wait::barrier) same = &other;
    }
    if (same) {
      same->mask |= split.mask;
      same->wait = Wait::none;
    } else {
      warp.splits[kept++] = split;
    }
  }
  warp.split_count = kept;
}

Split* Machine::choose(Warp& warp, bool& fair) {
  Split* lowest = nullptr;
  uint32_t able = 0;
  for (uint32_t i = 0; i < warp.split_count; ++i) {
    Split& split = warp.splits[i];
    if (split.wait != Wait::none) continue;
    ++able;
    if (!lowest || before(split, *lowest)) lowest = &split;
  }
  fair = able > 1 && warp.diverged_steps > kPatience;
  if (!fair) return lowest;
  warp.diverged_steps = 0;
  uint64_t turn = random_.below(able);
  for (uint32_t i = 0; i < warp.split_count; ++i)
    if (warp.splits[i].wait == Wait::none && turn-- == 0) return &warp.splits[i];
  return lowest;
}

// Runs the CTA at hand to its end, or until it seems to wait for another one.
void Machine::run_warps() {
  polls_ = 0;
  while (ready_ && !stop_ && polls_ < kPolls) {
    uint64_t turn = random_.below(static_cast<uint64_t>(std::popcount(ready_)));
    uint32_t ready = ready_;
    while (turn--) ready &= ready - 1;
    Warp& warp = *cta_.warps[static_cast<size_t>(std::countr_zero(ready))];
    uint64_t steps = options_.switch_every ? 1 + random_.below(2 * options_.switch_every) : kLongTurn;
    if (options_.run_apart) steps = std::min(steps, 1 + random_.below(kApart / 2));  // many places to part at
    run_warp(warp, steps);
    if (clock_ * kLanes > options_.budget && !stop_) exhausted();
  }
  if (!stop_ && cta_.alive && !ready_) deadlock();
}

// Leaves some lanes behind, every other time. Those that go on first run until they have used up their steps; lowest pc
// first, the others follow, and meet them where they stand.
bool Machine::run_apart(Warp& warp, Split& split) {
  if (image_.module->target.sm < 70 || std::popcount(split.mask) < 2 || random_.below(2)) return false;
  // A part of neighbouring lanes as often as lanes drawn one by one.
  auto drawn = static_cast<LaneMask>(random_.next());
  LaneMask behind = split.mask & (random_.below(2) ? drawn : kAllLanes << (1 + random_.below(kLanes - 1)));
  if (behind == 0 || behind == split.mask) return false;
  fork(warp, split, behind, split.pc);
  return true;
}

void Machine::run_warp(Warp& warp, uint64_t steps) {
  while (steps && !stop_) {
    merge_splits(warp);
    bool fair = false;
    Split* split = choose(warp, fair);
    if (!split) break;
    uint32_t merge_pc = ~uint32_t{0};
    for (uint32_t i = 0; i < warp.split_count; ++i) {
      const Split& other = warp.splits[i];
      if (&other != split && other.frame == split->frame && other.wait != Wait::barrier && other.pc > split->pc)
        merge_pc = std::min(merge_pc, other.pc);
    }
    uint64_t turn = fair ? std::min<uint64_t>(steps, kPatience / 4) : steps;
    if (options_.run_apart && warp.split_count == 1 && run_apart(warp, *split)) {
      turn = std::min(turn, 1 + random_.below(kApart));
      merge_pc = ~uint32_t{0};
    }
    uint64_t left = turn;
    bool diverged = warp.split_count > 1;
    if (options_.check == CheckLevel::defined) {
      interpret<true>(warp, *split, left, merge_pc);
    } else {
      interpret<false>(warp, *split, left, merge_pc);
    }
    steps -= turn - left;
    clock_ += turn - left;
    if (diverged) warp.diverged_steps += static_cast<uint32_t>(turn - left);
  }
  merge_splits(warp);
  uint32_t bit = uint32_t{1} << warp.index;
  ready_ = warp.runnable() ? ready_ | bit : ready_ & ~bit;
}

void Machine::undefined_guard(const Context& context, const Op& op, LaneMask lanes_hit) {
  if (seen("RUN0009", op, lanes_hit)) return;
  bool branch = op.kind == OpKind::branch;
  report("RUN0009", base::Severity::error, context, op, lanes_hit,
         fmt::format("the {} depends on an undefined value: {}; {}", branch ? "branch" : "instruction's guard",
                     origin_text(context.registers, op.guard), thread_name(context.warp, std::countr_zero(lanes_hit))),
         "give it a value on every path that leads here");
}

// Runs one split until it has used up `steps`, reaches `merge_pc`, diverges, waits, or ends.
template <bool defined>
void Machine::interpret(Warp& warp, Split& split, uint64_t& steps, uint32_t merge_pc) {
  Frame& frame = *split.frame;
  const Registers r = frame.registers;
  const Op* const ops = frame.code->ops.data();
  Issued* const issued = issued_.data() + ops[0].id;
  Context context{*this, cta_, warp, split, frame, frame.registers, defined};
  const bool issues = wants(kIssues);
  uint32_t pc = split.pc;
  LaneMask mask = split.mask;
  auto threads = static_cast<uint64_t>(std::popcount(mask));
  const uint64_t start = steps, clock = clock_;
  while (steps) {
    const Op& op = ops[pc];
    --steps;
    LaneMask active = mask;
    uint64_t count = threads;
    if (op.guarded) {
      LaneMask p = predicate(r, op.guard);
      active &= op.guard_negated ? ~p : p;
      count = static_cast<uint64_t>(std::popcount(active));
      if (defined && (r.taint[op.guard] & mask)) undefined_guard(context, op, r.taint[op.guard] & mask);
    }
    ++issued[pc].warps;
    issued[pc].threads += count;
    thread_instructions_ += threads;
    if (issues) {
      for (Observer* o : observers_)
        if (o->events() & kIssues) o->issue({site(op), warp.id, active});
    }
    if (op.kind == OpKind::lanewise) {
      ++pc;
      if (active) {
        if constexpr (defined) {
          if ((r.taint[op.a] | r.taint[op.b] | r.taint[op.c] | r.taint[op.e]) & active) {
            op.rule(op, r, active);
          } else {
            r.taint[op.d] &= ~active;
            r.taint[op.d2] &= ~active;
          }
        }
        op.lanewise(op, r, active);
      }
    } else if (op.kind == OpKind::branch) {
      if (active == mask) {
        pc = op.target;
      } else if (active == 0) {
        ++pc;
      } else {
        split.pc = pc + 1;
        fork(warp, split, active, op.target);
        return;
      }
    } else if (active == 0) {
      ++pc;
    } else {
      split.pc = pc;
      clock_ = clock + (start - steps);
      Flow flow = op.step(context, op, active);
      clock_ = clock;
      if (flow != Flow::next) {
        if (flow == Flow::fault) stop_ = true;
        return;
      }
      ++pc;
      if (split.mask != mask) {  // some stayed behind
        mask = split.mask;
        threads = static_cast<uint64_t>(std::popcount(mask));
        split.pc = pc;
        return;
      }
    }
    if (pc >= merge_pc) break;
  }
  split.pc = pc;
}

// --- barriers of the CTA ---

void Machine::lanes_ended(Context& context, const Op& op, LaneMask lanes_out) {
  Warp& warp = context.warp;
  warp.alive &= ~lanes_out;
  cta_.alive -= static_cast<uint32_t>(std::popcount(lanes_out));
  for (int l = 0; l < kLanes; ++l)
    if (lanes_out >> l & 1) warp.exit_op[static_cast<size_t>(l)] = op.id;
  for (Frame* frame = &context.frame; frame;) {
    Frame* parent = frame->parent;
    leave(warp, *frame, lanes_out);
    frame = parent;
  }
  context.split.mask &= ~lanes_out;
  if (context.split.mask) ++context.split.pc;  // whom the guard kept alive
  for (uint32_t i = 0; i < warp.split_count; ++i)
    if (warp.splits[i].wait == Wait::members) warp.splits[i].wait = Wait::none;  // perhaps all are there now
  for (uint32_t id = 0; id < kCtaBarriers; ++id)
    if (cta_.barriers[id].open) settle(context, cta_.barriers[id].first_op, id);
}

Flow Machine::bad_barrier(const Context& context, const Op& op, LaneMask active, const std::string& message) {
  report("RUN0011", base::Severity::error, context, op, active,
         fmt::format("{}; {}", message, thread_name(context.warp, std::countr_zero(active))),
         "barriers are 0 to 15, and counts are multiples of 32");
  return Flow::fault;
}

Flow Machine::arrive(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  bool counted = op.b != kZeroSlot;
  if (context.defined && ((r.taint[op.a] | (counted ? r.taint[op.b] : 0)) & active))
    return bad_barrier(
        context, op, active,
        "the barrier's number or count is undefined: " + origin_text(r, r.taint[op.a] & active ? op.a : op.b));
  int first = std::countr_zero(active);
  auto id = static_cast<uint32_t>(value_of(r, op.a, false, first));
  auto threads = counted ? static_cast<uint32_t>(value_of(r, op.b, false, first)) : 0;
  for (int l = first; l < kLanes; ++l)
    if ((active >> l & 1) && (value_of(r, op.a, false, l) != id || (counted && value_of(r, op.b, false, l) != threads)))
      return bad_barrier(context, op, active, "lanes of one warp name different barriers or counts");
  if (id >= kCtaBarriers) return bad_barrier(context, op, active, fmt::format("there is no barrier {}", id));
  if (counted && (threads == 0 || threads % kLanes != 0))
    return bad_barrier(context, op, active, fmt::format("a barrier of {} threads is not possible", threads));
  CtaBarrier& barrier = cta_.barriers[id];
  if (!barrier.open) {
    barrier = {};
    barrier.open = true;
    barrier.expected = threads;
  } else if (barrier.expected != threads) {
    return bad_barrier(context, op, active,
                       fmt::format("barrier {} is met here by {} and at {} by {}", id, count_text(threads),
                                   line_of(barrier.first_op), count_text(barrier.expected)));
  }
  barrier.first_op = op.id;
  LaneMask& pending = barrier.pending[context.warp.index];
  pending |= active;
  if (op.mode >= kCountTrue) {
    LaneMask votes = (predicate(r, op.c) ^ (op.negate_c ? kAllLanes : 0)) & active;
    barrier.true_count += static_cast<uint32_t>(std::popcount(votes));
    barrier.voters += static_cast<uint32_t>(std::popcount(active));
    barrier.undefined |= context.defined && (r.taint[op.c] & active);
  }
  if (wants(kBarriers)) notify({site(op), context.warp.id, active, id, expected(barrier), Barrier::Step::arrive, 0});
  Split& split = context.split;
  if (LaneMask rest = split.mask & ~active) fork(context.warp, split, rest, split.pc + 1);
  if (op.mode == kArrive) {
    ++split.pc;
  } else {
    split.wait = Wait::barrier;
    split.barrier = static_cast<uint8_t>(id);
  }
  settle(context, op.id, id);
  return Flow::wait;
}

std::string Machine::count_text(uint32_t threads) const {
  return threads ? fmt::format("{} threads", threads) : "all threads";
}
uint32_t Machine::expected(const CtaBarrier& barrier) const {
  return barrier.expected ? barrier.expected : cta_.threads;
}

// Counts warps all of whose living lanes have arrived, and lets the barrier trip where it is full.
void Machine::settle(Context& context, uint32_t op_id, uint32_t id) {
  CtaBarrier& barrier = cta_.barriers[id];
  bool everyone = true;
  uint32_t warps = (cta_.threads + kLanes - 1) / kLanes;
  for (uint32_t w = 0; w < warps; ++w) {
    const Warp& warp = *cta_.warps[w];
    LaneMask& pending = barrier.pending[w];
    if (pending && (warp.alive & ~pending) == 0) {
      barrier.arrived += kLanes;  // whole warps count, with those that have exited or never were
      barrier.whole |= uint32_t{1} << w;
      pending = 0;
    }
    if (warp.alive && !(barrier.whole >> w & 1)) everyone = false;
  }
  bool full = barrier.expected ? barrier.arrived >= barrier.expected : everyone;
  if (!full) return;
  const OpPlace& place = image_.places[op_id];
  const Op& op = place.code->ops[place.pc];
  if (wants(kBarriers))
    notify({site(op), context.warp.id, context.split.mask, id, expected(barrier), Barrier::Step::complete, 0});
  CtaBarrier done = barrier;
  barrier = {};
  for (uint32_t w = 0; w < warps; ++w) release(*cta_.warps[w], id, done);
}

// Lets the splits of a warp that wait for the barrier go on, with the result of bar.red.
void Machine::release(Warp& warp, uint32_t id, const CtaBarrier& done) {
  uint32_t first_pc = ~uint32_t{0};
  const Frame* first_frame = nullptr;
  for (uint32_t i = 0; i < warp.split_count; ++i) {
    Split& split = warp.splits[i];
    if (split.wait != Wait::barrier || split.barrier != id || !split.mask) continue;
    const Op& op = split.frame->code->ops[split.pc];
    const Registers& r = split.frame->registers;
    if (first_pc == ~uint32_t{0}) {
      first_pc = split.pc;
      first_frame = split.frame;
    } else if ((split.pc != first_pc || split.frame != first_frame) && op.flags) {
      Context context{*this, cta_, warp, split, *split.frame, r, options_.check == CheckLevel::defined};
      report("RUN0012", base::Severity::error, context, op, split.mask,
             fmt::format("lanes of one warp meet barrier {} at different places: here and at {}; {}", id,
                         line_of(first_frame->code->ops[first_pc].id), thread_name(warp, std::countr_zero(split.mask))),
             "an aligned barrier has to be reached by the whole warp at once; barrier.sync without .aligned need not");
    }
    if (op.mode >= kCountTrue) {
      uint32_t value = op.mode == kCountTrue ? done.true_count
                       : op.mode == kAllTrue ? done.true_count == done.voters
                                             : done.true_count != 0;
      if (op.mode == kCountTrue) {
        for (int l = 0; l < kLanes; ++l)
          if (split.mask >> l & 1) set_value(r, op.d, op.d_wide, l, value);
      } else {
        auto* d = lanes<LaneMask>(r, op.d);
        *d = value ? *d | split.mask : *d & ~split.mask;
      }
      if (options_.check == CheckLevel::defined)
        for (int l = 0; l < kLanes; ++l)
          if (split.mask >> l & 1) set_shadow(r, op.d, op.d_wide, l, done.undefined ? ~uint64_t{0} : 0);
    }
    split.wait = Wait::none;
    ++split.pc;
    ready_ |= uint32_t{1} << warp.index;
  }
}

// --- nobody can go on ---

void Machine::deadlock() {
  std::map<uint32_t, uint64_t> waiting, exited;  // by Op::id: threads
  const Split* first = nullptr;
  const Warp* where = nullptr;
  for (const auto& warp : cta_.warps) {
    if (!warp->exists || warp->index * kLanes >= cta_.threads) continue;
    for (uint32_t i = 0; i < warp->split_count; ++i) {
      const Split& split = warp->splits[i];
      if (!split.mask) continue;
      waiting[split.frame->code->ops[split.pc].id] += static_cast<uint64_t>(std::popcount(split.mask));
      if (!first) first = &split, where = warp.get();
    }
    for (int l = 0; l < kLanes; ++l)
      if ((warp->exists & ~warp->alive) >> l & 1) ++exited[warp->exit_op[static_cast<size_t>(l)]];
  }
  stop_ = true;
  if (!first) return;
  const Op& op = first->frame->code->ops[first->pc];
  std::string rest;
  for (const auto& [id, threads] : waiting)
    if (id != op.id) rest += fmt::format(", {} wait at {}", threads, line_of(id));
  for (const auto& [id, threads] : exited) rest += fmt::format(", {} have exited at {}", threads, line_of(id));
  std::string thread = thread_name(*where, std::countr_zero(first->mask));
  bool barrier = first->wait == Wait::barrier;
  std::string what =
      barrier ? fmt::format("barrier {} never completes: {} of {} threads wait here", first->barrier, waiting[op.id],
                            cta_.threads)
              : fmt::format("the members named here never meet: {} threads of the CTA wait here", waiting[op.id]);
  report_at(barrier ? "RUN0010" : "RUN0015", base::Severity::error, op.id, waiting[op.id],
            fmt::format("deadlock: {}{}; {}", what, rest, thread), "every thread that is counted has to reach it");
}

void Machine::exhausted() {
  // A last look shows where the time goes: the instructions that are issued in a few thousand steps more.
  std::vector<Issued> earlier = issued_;
  uint64_t budget = thread_instructions_ + (kLastLook << 5);
  for (int turn = 0; turn < 16 && ready_ && !stop_ && thread_instructions_ < budget; ++turn)
    for (uint32_t w = 0; w < cta_.warps.size() && !stop_; ++w)
      if (ready_ >> w & 1) run_warp(*cta_.warps[w], kLastLook / 16);
  uint32_t most = 0;
  uint64_t count = 0;
  std::set<std::pair<uint32_t, std::string>> lines;
  for (uint32_t id = 0; id < issued_.size(); ++id) {
    uint64_t more = issued_[id].warps - earlier[id].warps;
    if (more > count) count = more, most = id;
    if (more && lines.size() < 12) lines.insert({id, line_of(id)});
  }
  std::string list;
  for (const auto& [id, line] : lines) list += (list.empty() ? "" : ", ") + line;
  stop_ = true;
  report_at(
      "RUN0007", base::Severity::error, most, 1,
      fmt::format("the launch has used up its budget of {} thread instructions in CTA ({},{},{}); running now: {}",
                  options_.budget, cta_.id[0], cta_.id[1], cta_.id[2], list),
      "a loop without an end, a wait for another CTA, or too much work for this engine");
}

template void Machine::interpret<true>(Warp&, Split&, uint64_t&, uint32_t);
template void Machine::interpret<false>(Warp&, Split&, uint64_t&, uint32_t);

}  // namespace ptxlab::simt
