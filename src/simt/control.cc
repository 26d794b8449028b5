// The end of threads, calls, barriers of the CTA, fences, clocks; and lanewise instructions that have something to report:
// division, and moves that pack and unpack.
#include <fmt/format.h>

#include <bit>
#include <limits>
#include <string>

#include "isa/table.h"
#include "simt/shadow.h"
#include "simt/step.h"

namespace ptxlab::simt {
namespace {

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// --- ends ---

Flow exit_lanes(Context& context, const Op& op, LaneMask active) {
  context.machine.lanes_ended(context, op, active);
  return Flow::wait;
}
Flow return_lanes(Context& context, const Op& op, LaneMask active) {
  return context.frame.parent ? context.machine.give_back(context, op, active) : exit_lanes(context, op, active);
}
Flow trap(Context& context, const Op& op, LaneMask active) {
  context.machine.report(
      "RUN0017", base::Severity::error, context, op, active,
      fmt::format("trap executed by {}", context.machine.thread_name(context.warp, std::countr_zero(active))));
  return Flow::fault;
}
Flow call(Context& context, const Op& op, LaneMask active) { return context.machine.call(context, op, active); }

Flow branch_indexed(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  const auto& targets = context.frame.code->branches[op.list];
  if (context.defined && (r.taint[op.a] & active)) {
    context.machine.report("RUN0009", base::Severity::error, context, op, r.taint[op.a] & active,
                           fmt::format("the branch index is undefined: {}", context.machine.origin_text(r, op.a)));
    return Flow::fault;
  }
  const auto* index = lanes<uint32_t>(r, op.a);
  for (LaneMask left = active; left;) {
    int first = std::countr_zero(left);
    LaneMask same = 0;
    for (int l = first; l < kLanes; ++l)
      if ((left >> l & 1) && index[l] == index[first]) same |= LaneMask{1} << l;
    if (index[first] >= targets.size()) {
      context.machine.report("RUN0019", base::Severity::error, context, op, same,
                             fmt::format("branch index {} is outside the list of {} targets; {}", index[first],
                                         targets.size(), context.machine.thread_name(context.warp, first)));
      return Flow::fault;
    }
    left &= ~same;
    if (same == context.split.mask) {
      context.split.pc = targets[index[first]];
      return Flow::jump;
    }
    context.machine.fork(context.warp, context.split, same, targets[index[first]]);
  }
  ++context.split.pc;  // lanes that the guard switched off
  return Flow::jump;
}

Flow breakpoint(Context& context, const Op& op, LaneMask active) {
  context.machine.report("RUN0017", base::Severity::error, context, op, active,
                         fmt::format("brkpt executed, and no debugger is there; {}",
                                     context.machine.thread_name(context.warp, std::countr_zero(active))));
  return Flow::fault;
}

// --- the thread's stack ---

Flow allocate(Context& context, const Op& op, LaneMask active) {
  return context.machine.allocate_stack(context, op, active);
}
Flow save_stack(Context& context, const Op& op, LaneMask active) {
  const Frame& frame = context.frame;
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1)
      set_value(context.registers, op.d, op.d_wide, l,
                frame.stack_base + frame.code->stack_bytes + frame.dynamic[static_cast<size_t>(l)]);
  context.registers.taint[op.d] &= ~active;
  return Flow::next;
}
// Only what stacksave gave in the same call makes sense: less than now, and behind the frame.
Flow restore_stack(Context& context, const Op& op, LaneMask active) {
  Frame& frame = context.frame;
  const Registers& r = context.registers;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint32_t& dynamic = frame.dynamic[static_cast<size_t>(l)];
    uint64_t to = value_of(r, op.a, op.a_wide, l) - frame.stack_base - frame.code->stack_bytes;
    if ((context.defined && (r.taint[op.a] >> l & 1)) || to > dynamic) {
      context.machine.report("RUN0019", base::Severity::error, context, op, LaneMask{1} << l,
                             fmt::format("restores a stack that this call has not saved; {}",
                                         context.machine.thread_name(context.warp, l)),
                             "stackrestore takes what stacksave gave in the same function");
      return Flow::fault;
    }
    dynamic = static_cast<uint32_t>(to);
  }
  return Flow::next;
}

// --- fences, hints, clocks ---

Flow fence(Context& context, const Op& op, LaneMask active) {
  context.machine.notify_fence(context, op, active);
  return Flow::next;
}
Flow ignore(Context&, const Op&, LaneMask) { return Flow::next; }

Flow read_clock(Context& context, const Op& op, LaneMask active) {
  std::string_view name = isa::special_registers()[op.mode].name;
  uint64_t now = context.machine.clock();
  if (name.ends_with("_hi")) now >>= 32;
  for (int l = 0; l < kLanes; ++l)
    if (active >> l & 1) set_value(context.registers, op.d, op.d_wide, l, now);
  context.registers.taint[op.d] &= ~active;
  return Flow::next;
}

// --- division ---

template <class T>
uint64_t quotient(uint64_t x, uint64_t y, bool remainder) {
  auto a = static_cast<T>(x), b = static_cast<T>(y);
  if constexpr (std::numeric_limits<T>::is_signed) {
    if (b == -1) return remainder ? 0 : static_cast<uint64_t>(0 - static_cast<uint64_t>(static_cast<int64_t>(a)));
  }
  return static_cast<uint64_t>(static_cast<T>(remainder ? a % b : a / b));
}
uint64_t divide(const Op& op, uint64_t a, uint64_t b) {
  bool remainder = op.mode != 0;
  switch (op.bits) {
    case 16: return op.is_signed ? quotient<int16_t>(a, b, remainder) : quotient<uint16_t>(a, b, remainder);
    case 32: return op.is_signed ? quotient<int32_t>(a, b, remainder) : quotient<uint32_t>(a, b, remainder);
    default: return op.is_signed ? quotient<int64_t>(a, b, remainder) : quotient<uint64_t>(a, b, remainder);
  }
}

// The dividend as people read it, with its sign where its type has one.
std::string as_written(const Op& op, uint64_t bits) {
  if (!op.is_signed) return std::to_string(bits);
  uint64_t sign = uint64_t{1} << (op.bits - 1);
  return std::to_string(static_cast<int64_t>((bits ^ sign) - sign));
}

Flow division(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  LaneMask by_zero = 0;
  uint32_t origin = origin_of(r, {op.a, op.b}, active);
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint64_t a = value_of(r, op.a, op.a_wide, l), b = value_of(r, op.b, op.b_wide, l) & low_bits(op.bits);
    uint64_t undefined = shadow_of(r, op.a, op.a_wide, l) | shadow_of(r, op.b, op.b_wide, l);
    if (b == 0 && !undefined) by_zero |= LaneMask{1} << l;
    // The manual leaves x/0 open, so the value is not sold as defined.
    bool open = context.defined && (undefined || b == 0);
    set_value(r, op.d, op.d_wide, l, (b == 0 ? ~uint64_t{0} : divide(op, a, b)) & low_bits(op.bits));
    set_shadow(r, op.d, op.d_wide, l, open ? low_bits(op.bits) : 0);
  }
  if (by_zero && !context.machine.seen("RUN0016", op, by_zero)) {
    int l = std::countr_zero(by_zero);
    context.machine.report("RUN0016", base::Severity::warning, context, op, by_zero,
                           fmt::format("integer division of {} by zero: the result is unspecified; {}",
                                       as_written(op, value_of(r, op.a, op.a_wide, l) & low_bits(op.bits)),
                                       context.machine.thread_name(context.warp, l)),
                           "guard the division; hardware gives all ones");
  }
  if (context.defined) set_origin(r, op.d, by_zero ? op.id + 1 : origin);
  return Flow::next;
}
Step select_division(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = form.row->opcode == "rem";
  return isa::is_integer(m.type) ? division : nullptr;
}

// --- mov with a vector ---

Flow pack(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  int width = op.bits / op.count;
  LaneMask tainted = 0;
  uint32_t origin = 0;
  for (int i = 0; i < op.count; ++i) {
    if (!origin && (r.taint[list[i]] & active)) origin = r.origin[list[i]];
    tainted |= r.taint[list[i]];
  }
  tainted &= active;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint64_t value = 0, shadow = 0;
    for (int i = 0; i < op.count; ++i) {
      value |= (value_of(r, list[i], op.b_wide, l) & low_bits(width)) << (i * width);
      if (tainted) shadow |= (shadow_of(r, list[i], op.b_wide, l) & low_bits(width)) << (i * width);
    }
    set_value(r, op.d, op.d_wide, l, value);
    if (tainted) set_shadow(r, op.d, op.d_wide, l, shadow);
  }
  if (!tainted) {
    r.taint[op.d] &= ~active;
  } else {
    set_origin(r, op.d, origin);
  }
  return Flow::next;
}
Flow unpack(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  int width = op.bits / op.count;
  LaneMask tainted = r.taint[op.a] & active;
  uint32_t origin = r.origin[op.a];
  uint64_t value[kLanes], shadow[kLanes] = {};
  for (int l = 0; l < kLanes; ++l) {  // the source may be a destination too
    value[l] = value_of(r, op.a, op.a_wide, l);
    if (tainted) shadow[l] = shadow_of(r, op.a, op.a_wide, l);
  }
  for (int i = 0; i < op.count; ++i) {
    for (LaneMask left = active; left; left &= left - 1) {
      int l = std::countr_zero(left);
      set_value(r, list[i], op.d_wide, l, value[l] >> (i * width) & low_bits(width));
      if (tainted) set_shadow(r, list[i], op.d_wide, l, shadow[l] >> (i * width) & low_bits(width));
    }
    if (!tainted) {
      r.taint[list[i]] &= ~active;
    } else {
      set_origin(r, list[i], origin);
    }
  }
  return Flow::next;
}
Step select_packing(const isa::Form& form, const Modifiers& m, Op&) {
  if (isa::bits_of(m.type) > 64) return nullptr;
  return form.row->operands[0].shape == isa::Shape::vector ? unpack : pack;
}

// mov.b128: the halves of the destination and of the source stand in the list.
Flow move_pair(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  uint64_t value[2][kLanes], shadow[2][kLanes] = {};
  for (int half = 0; half < 2; ++half)
    for (int l = 0; l < kLanes; ++l) {
      value[half][l] = value_of(r, list[2 + half], true, l);
      if (context.defined) shadow[half][l] = shadow_of(r, list[2 + half], true, l);
    }
  uint32_t origin[2] = {r.origin[list[2]], r.origin[list[3]]};
  for (int half = 0; half < 2; ++half) {
    LaneMask tainted = 0;
    for (LaneMask left = active; left; left &= left - 1) {
      int l = std::countr_zero(left);
      set_value(r, list[half], true, l, value[half][l]);
      set_shadow(r, list[half], true, l, shadow[half][l]);
      tainted |= LaneMask{shadow[half][l] != 0} << l;
    }
    if (tainted) set_origin(r, list[half], origin[half]);
  }
  return Flow::next;
}

// --- barriers ---

Flow arrive(Context& context, const Op& op, LaneMask active) { return context.machine.arrive(context, op, active); }
Step select_barrier(const isa::Form& form, const Modifiers&, Op& op) {
  if (form.has(".cluster")) return nullptr;
  op.mode = form.has(".arrive") ? kArrive
            : form.has(".popc") ? kCountTrue
            : form.has(".and")  ? kAllTrue
            : form.has(".or")   ? kAnyTrue
                                : kSynchronize;
  op.flags = form.row->opcode == "bar" || form.has(".aligned");
  return arrive;
}

template <Step step>
Step always(const isa::Form&, const Modifiers&, Op&) {
  return step;
}

}  // namespace

const StepBinding* control_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"exit", always<exit_lanes>},
      {"ret", always<return_lanes>},
      {"trap", always<trap>},
      {"brkpt", always<breakpoint>},
      {"alloca", always<allocate>},
      {"stacksave", always<save_stack>},
      {"stackrestore", always<restore_stack>},
      {"mov128", always<move_pair>},
      {"call", always<call>},
      {"brx.idx", always<branch_indexed>},
      {"bar", select_barrier},
      {"barrier", select_barrier},
      {"membar", always<fence>},
      {"fence", always<fence>},
      {"nanosleep", always<ignore>},
      {"pmevent", always<ignore>},
      {"griddepcontrol", always<ignore>},
      {"div", select_division},
      {"rem", select_division},
      {"mov{}", select_packing},
      {"mov%clock", always<read_clock>},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
