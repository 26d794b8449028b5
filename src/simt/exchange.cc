// Instructions through which the lanes of a warp meet: shfl, vote, match, redux, activemask, elect, bar.warp.sync. The
// `.sync` ones wait until all members that have not exited stand at the instruction.
#include <fmt/format.h>

#include <bit>

#include "isa/table.h"
#include "simt/meeting.h"
#include "simt/shadow.h"
#include "simt/step.h"

namespace ptxlab::simt {

Meeting meet(Context& context, const Op& op, LaneMask active, uint32_t members_slot) {
  Warp& warp = context.warp;
  const Registers& r = context.registers;
  Meeting meeting;
  const auto* members = lanes<LaneMask>(r, members_slot);
  if (context.defined && (r.taint[members_slot] & active)) {
    int lane = std::countr_zero(r.taint[members_slot] & active);
    context.machine.report(
        "RUN0009", base::Severity::error, context, op, active,
        fmt::format("the member mask is undefined: {}; {}", context.machine.origin_text(r, members_slot),
                    context.machine.thread_name(warp, lane)));
    meeting.flow = Flow::fault;
    return meeting;
  }
  LaneMask outside = 0, ready = 0;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    outside |= members[l] >> l & 1 ? 0 : LaneMask{1} << l;
    if ((members[l] & warp.alive & ~active) == 0) ready |= LaneMask{1} << l;
  }
  if (outside) {
    int lane = std::countr_zero(outside);
    context.machine.report(
        "RUN0014", base::Severity::error, context, op, outside,
        fmt::format("{} executes this with the member mask 0x{:08x}, in which its own lane {} is missing",
                    context.machine.thread_name(warp, lane), members[lane], lane),
        "every thread that executes it has to name itself and all that meet with it");
    meeting.flow = Flow::fault;
    return meeting;
  }
  for (int l = 0; l < kLanes; ++l) meeting.members[l] = members[l] & active;
  meeting.lanes = ready;
  if (ready == active) return meeting;
  // Whoever is not complete waits here, as a split of its own; what the guard switched off goes on.
  Split& split = context.split;
  if (ready) {
    context.machine.fork(warp, split, active & ~ready, split.pc).wait = Wait::members;
    return meeting;
  }
  if (LaneMask rest = split.mask & ~active) context.machine.fork(warp, split, rest, split.pc + 1);
  split.wait = Wait::members;
  meeting.flow = Flow::wait;
  return meeting;
}

Flow meet_aligned(Context& context, const Op& op, LaneMask active) {
  if (active == kAllLanes) return Flow::next;
  Warp& warp = context.warp;
  Split& split = context.split;
  LaneMask missing = ~warp.alive, off = split.mask & ~active;
  if (!(missing | off)) {
    split.wait = Wait::members;
    return Flow::wait;
  }
  int lane = std::countr_zero(missing ? missing : off);
  const char* why = !(warp.exists >> lane & 1) ? "does not exist"
                    : missing                  ? "has exited"
                                               : "is switched off by the guard";
  context.machine.report("RUN0023", base::Severity::error, context, op, active,
                         fmt::format("all 32 lanes of the warp have to execute this together, and lane {} {}; {}", lane,
                                     why, context.machine.thread_name(warp, std::countr_zero(active))),
                         "launch whole warps, and let a condition around it be the same for all lanes");
  return Flow::fault;
}

void tell_meeting(Context& context, const Op& op, const Meeting& meeting) {
  if (!context.machine.wants(kBarriers)) return;
  LaneMask told = 0;
  for (int l = 0; l < kLanes; ++l) {
    LaneMask bit = LaneMask{1} << l;
    if (!(meeting.lanes & bit) || (told & bit)) continue;
    Barrier barrier;
    barrier.site = context.machine.site(op);
    barrier.warp = context.warp.id;
    barrier.active = barrier.members = meeting.members[l];
    barrier.id = ~uint32_t{0};
    barrier.threads = static_cast<uint32_t>(std::popcount(barrier.members));
    barrier.step = Barrier::Step::complete;
    context.machine.notify(barrier);
    told |= meeting.members[l];
  }
}

namespace {

enum ShuffleMode : uint8_t { kUp, kDown, kButterfly, kIndex };

struct Source {
  int lane;
  bool valid;
};
Source shuffle_source(uint8_t mode, int lane, uint32_t b, uint32_t c) {
  int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31), distance = static_cast<int>(b & 31);
  int last = (lane & segment) | (clamp & ~segment);
  int j = lane;
  switch (mode) {
    case kUp: j = lane - distance; return j >= last ? Source{j, true} : Source{lane, false};
    case kDown: j = lane + distance; break;
    case kButterfly: j = lane ^ distance; break;
    case kIndex: j = (lane & segment) | (distance & ~segment); break;
  }
  return j <= last ? Source{j, true} : Source{lane, false};
}

void report_inactive(Context& context, const Op& op, LaneMask bad, const int* from) {
  if (context.machine.seen("RUN0013", op, bad)) return;
  int lane = std::countr_zero(bad);
  const Warp& warp = context.warp;
  const char* why = !(warp.exists >> from[lane] & 1)  ? "does not exist"
                    : !(warp.alive >> from[lane] & 1) ? "has exited"
                                                      : "does not take part";
  context.machine.report("RUN0013", base::Severity::error, context, op, bad,
                         fmt::format("{} (lane {}) reads lane {}, which {}: the value is undefined",
                                     context.machine.thread_name(warp, lane), lane, from[lane], why),
                         "limit the source with the clamp operand, or let all lanes take part");
}

Flow shuffle_among(Context& context, const Op& op, LaneMask active, const LaneMask* members) {
  const Registers& r = context.registers;
  uint32_t values[kLanes], shadows[kLanes];
  LaneMask predicate = 0, inactive = 0;
  int from[kLanes];
  const auto *a = lanes<uint32_t>(r, op.a), *b = lanes<uint32_t>(r, op.b), *c = lanes<uint32_t>(r, op.c);
  LaneMask control_undefined = context.defined ? (r.taint[op.b] | r.taint[op.c]) & active : 0;
  LaneMask tainted = context.defined ? r.taint[op.a] & active : 0;
  uint32_t origin = origin_of(r, {op.a, op.b, op.c}, active);
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    Source source = shuffle_source(op.mode, l, b[l], c[l]);
    from[l] = source.lane;
    predicate |= LaneMask{source.valid} << l;
    if (!(members[l] >> source.lane & 1)) inactive |= LaneMask{1} << l;
    values[l] = a[source.lane];
    shadows[l] = 0;
    if (tainted) shadows[l] = static_cast<uint32_t>(shadow_of(r, op.a, false, source.lane));
    if (control_undefined >> l & 1) shadows[l] = ~uint32_t{0};
  }
  if (inactive) {
    report_inactive(context, op, inactive, from);
    for (int l = 0; l < kLanes; ++l)
      if (inactive >> l & 1) shadows[l] = context.defined ? ~uint32_t{0} : 0;
    origin = op.id + 1;
  }
  auto* d = lanes<uint32_t>(r, op.d);
  auto* p = lanes<LaneMask>(r, op.d2);
  *p = (*p & ~active) | (predicate & active);
  r.taint[op.d2] = (r.taint[op.d2] & ~active) | control_undefined;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    d[l] = values[l];
  }
  if (!context.defined) return Flow::next;
  if (!(tainted | inactive | control_undefined)) {
    r.taint[op.d] &= ~active;
    return Flow::next;
  }
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1) set_shadow(r, op.d, false, l, shadows[l]);
  set_origin(r, op.d, origin);
  return Flow::next;
}

Flow shuffle_sync(Context& context, const Op& op, LaneMask active) {
  Meeting meeting = meet(context, op, active, op.e);
  if (meeting.flow != Flow::next) return meeting.flow;
  tell_meeting(context, op, meeting);
  return shuffle_among(context, op, meeting.lanes, meeting.members);
}
Flow shuffle(Context& context, const Op& op, LaneMask active) {
  LaneMask members[kLanes];
  for (LaneMask& m : members) m = active;
  return shuffle_among(context, op, active, members);
}
Step select_shuffle(const isa::Form& form, const Modifiers&, Op& op) {
  op.mode = form.has(".up") ? kUp : form.has(".down") ? kDown : form.has(".bfly") ? kButterfly : kIndex;
  return form.has(".sync") ? shuffle_sync : shuffle;
}

// --- one value from all members: vote, match, redux ---

enum Together : uint8_t { kAll, kAny, kUniform, kBallot, kMatchAny, kMatchAll, kAnd, kOr, kXor, kAdd, kMin, kMax };

uint32_t reduce(uint8_t what, bool is_signed, uint32_t x, uint32_t y) {
  bool below = is_signed ? static_cast<int32_t>(x) < static_cast<int32_t>(y) : x < y;
  switch (what) {
    case kAnd: return x & y;
    case kOr: return x | y;
    case kXor: return x ^ y;
    case kAdd: return x + y;
    case kMin: return below ? x : y;
    default: return below ? y : x;
  }
}

// redux of f32, as Op::flags says. A NaN loses against a number, or wins with .NaN; -0 lies below +0.
enum FloatReduction : uint8_t { kOfFloats = 1, kOfMagnitudes = 2, kNanDecides = 4 };
uint32_t reduce_floats(const Op& op, uint32_t x, uint32_t y) {
  auto is_nan = [](uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; };
  if (is_nan(x) || is_nan(y)) {
    if ((op.flags & kNanDecides) || (is_nan(x) && is_nan(y))) return 0x7fffffff;
    return is_nan(x) ? y : x;
  }
  float a = std::bit_cast<float>(x), b = std::bit_cast<float>(y);
  bool below = a != b ? a < b : x >> 31 > y >> 31;
  return (op.mode == kMin) == below ? x : y;
}

// The result for lane `l`, whose fellows are `members`.
uint64_t together(const Op& op, const Registers& r, LaneMask members, int l, bool& matches) {
  LaneMask p = predicate(r, op.a) ^ (op.negate_a ? kAllLanes : 0);
  switch (op.mode) {
    case kAll: return (p & members) == members;
    case kAny: return (p & members) != 0;
    case kUniform: return (p & members) == members || (p & members) == 0;
    case kBallot: return p & members;
    default: break;
  }
  uint64_t mine = value_of(r, op.a, op.a_wide, l);
  if (op.mode == kMatchAny || op.mode == kMatchAll) {
    LaneMask same = 0;
    for (LaneMask left = members; left; left &= left - 1) {
      int other = std::countr_zero(left);
      same |= LaneMask{value_of(r, op.a, op.a_wide, other) == mine} << other;
    }
    matches = same == members;
    return op.mode == kMatchAny ? same : (matches ? members : 0);
  }
  if (op.flags & kOfFloats) {
    uint32_t mask = op.flags & kOfMagnitudes ? 0x7fffffff : ~uint32_t{0};
    const auto* a = lanes<uint32_t>(r, op.a);
    uint32_t extreme = a[std::countr_zero(members)] & mask;
    for (LaneMask left = members; left; left &= left - 1)
      extreme = reduce_floats(op, extreme, a[std::countr_zero(left)] & mask);
    return extreme;
  }
  auto total = static_cast<uint32_t>(value_of(r, op.a, false, std::countr_zero(members)));
  for (LaneMask left = members & (members - 1); left; left &= left - 1)
    total =
        reduce(op.mode, op.is_signed, total, static_cast<uint32_t>(value_of(r, op.a, false, std::countr_zero(left))));
  return total;
}

Flow join(Context& context, const Op& op, LaneMask active, const LaneMask* members) {
  const Registers& r = context.registers;
  uint64_t result[kLanes];
  LaneMask matched = 0, undefined = 0;
  uint32_t origin = origin_of(r, {op.a}, active);
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    bool matches = false;
    result[l] = together(op, r, members[l], l, matches);
    matched |= LaneMask{matches} << l;
    if (context.defined && (r.taint[op.a] & members[l])) undefined |= LaneMask{1} << l;
  }
  bool predicate_result = op.mode <= kUniform;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    LaneMask bit = LaneMask{1} << l;
    if (predicate_result) {
      auto* d = lanes<LaneMask>(r, op.d);
      *d = (*d & ~bit) | (result[l] ? bit : 0);
    } else {
      set_value(r, op.d, op.d_wide, l, result[l]);
    }
    set_shadow(r, op.d, op.d_wide, l, undefined & bit ? ~uint64_t{0} : 0);
  }
  auto* p = lanes<LaneMask>(r, op.d2);
  *p = (*p & ~active) | (matched & active);
  r.taint[op.d2] = (r.taint[op.d2] & ~active) | (undefined & active);
  if (undefined) set_origin(r, op.d, origin), set_origin(r, op.d2, origin);
  return Flow::next;
}
Flow join_sync(Context& context, const Op& op, LaneMask active) {
  Meeting meeting = meet(context, op, active, op.b);
  if (meeting.flow != Flow::next) return meeting.flow;
  tell_meeting(context, op, meeting);
  return join(context, op, meeting.lanes, meeting.members);
}
Flow join_active(Context& context, const Op& op, LaneMask active) {
  LaneMask members[kLanes];
  for (LaneMask& m : members) m = active;
  return join(context, op, active, members);
}

Step select_vote(const isa::Form& form, const Modifiers&, Op& op) {
  op.mode = form.has(".all") ? kAll : form.has(".any") ? kAny : form.has(".uni") ? kUniform : kBallot;
  return form.has(".sync") ? join_sync : join_active;
}
Step select_match(const isa::Form& form, const Modifiers&, Op& op) {
  op.mode = form.has(".all") ? kMatchAll : kMatchAny;
  return join_sync;
}
Step select_redux(const isa::Form& form, const Modifiers& m, Op& op) {
  if (isa::is_float(m.type))
    op.flags = static_cast<uint8_t>(kOfFloats | (m.absolute ? kOfMagnitudes : 0) | (m.nan ? kNanDecides : 0));
  constexpr std::string_view kWords[] = {".and", ".or", ".xor", ".add", ".min", ".max"};
  for (size_t i = 0; i < std::size(kWords); ++i)
    if (form.has(kWords[i])) op.mode = static_cast<uint8_t>(kAnd + i);
  return join_sync;
}

Flow active_mask(Context& context, const Op& op, LaneMask active) {
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1) set_value(context.registers, op.d, op.d_wide, l, active);
  context.registers.taint[op.d] &= ~active;
  return Flow::next;
}
Step select_active_mask(const isa::Form&, const Modifiers&, Op&) { return active_mask; }

// The lowest member is elected.
Flow elect(Context& context, const Op& op, LaneMask active) {
  Meeting meeting = meet(context, op, active, op.a);
  if (meeting.flow != Flow::next) return meeting.flow;
  tell_meeting(context, op, meeting);
  const Registers& r = context.registers;
  auto* p = lanes<LaneMask>(r, op.d2);
  active = meeting.lanes;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left), leader = std::countr_zero(meeting.members[l]);
    set_value(r, op.d, op.d_wide, l, static_cast<uint64_t>(leader));
    *p = (*p & ~(LaneMask{1} << l)) | LaneMask{leader == l} << l;
  }
  r.taint[op.d] &= ~active;
  r.taint[op.d2] &= ~active;
  return Flow::next;
}
Step select_elect(const isa::Form&, const Modifiers&, Op&) { return elect; }

// Lanes may meet at different bar.warp.sync: where all members stand at one, with this mask, all go on.
Flow warp_barrier(Context& context, const Op& op, LaneMask active) {
  Meeting meeting = meet(context, op, active, op.a);
  if (meeting.flow == Flow::next) tell_meeting(context, op, meeting);
  if (meeting.flow != Flow::wait) return meeting.flow;
  Warp& warp = context.warp;
  LaneMask members = lanes<LaneMask>(context.registers, op.a)[std::countr_zero(active)], here = 0;
  auto stands_at_one = [&](const Split& split) {
    const Op& other = split.frame->code->ops[split.pc];
    return split.mask && split.wait == Wait::members && other.step == warp_barrier && (split.mask & ~members) == 0 &&
           lanes<LaneMask>(split.frame->registers, other.a)[std::countr_zero(split.mask)] == members;
  };
  for (uint32_t i = 0; i < warp.split_count; ++i)
    if (stands_at_one(warp.splits[i])) here |= warp.splits[i].mask;
  if (members & warp.alive & ~here) return Flow::wait;
  meeting.lanes = here;
  for (int l = 0; l < kLanes; ++l) meeting.members[l] = here >> l & 1 ? here : 0;
  tell_meeting(context, op, meeting);
  for (uint32_t i = 0; i < warp.split_count; ++i) {
    Split& split = warp.splits[i];
    if (!stands_at_one(split)) continue;
    split.wait = Wait::none;
    ++split.pc;
  }
  return Flow::wait;
}
Step select_warp_barrier(const isa::Form&, const Modifiers&, Op&) { return warp_barrier; }

}  // namespace

const StepBinding* exchange_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"shfl", select_shuffle},
      {"vote", select_vote},
      {"match", select_match},
      {"redux", select_redux},
      {"activemask", select_active_mask},
      {"elect", select_elect},
      {"bar.warp.sync", select_warp_barrier},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
