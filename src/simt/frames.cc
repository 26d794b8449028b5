// Frames: a function's registers and stack for the lanes that got there by one path of calls; and the calls themselves.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "simt/shadow.h"
#include "simt/special.h"

namespace ptxlab::simt {
namespace {

constexpr uint64_t kAlignment = 64;

// One value on its way between caller and callee: at most 8 bytes where a register is involved.
struct Place {
  const Registers* registers;
  bool in_stack;
  uint32_t slot;
  bool wide;
  uint64_t at;  // in the thread's stack
  uint32_t bytes;
};

void copy_lane(Warp& warp, const Place& from, const Place& to, int lane, bool defined) {
  uint8_t* data = warp.stack.data() + static_cast<uint64_t>(lane) * warp.stack_capacity;
  uint8_t* known = defined ? warp.stack_defined.data() + static_cast<uint64_t>(lane) * warp.stack_capacity : nullptr;
  uint32_t bytes = std::min(from.bytes, to.bytes);
  if (from.in_stack && to.in_stack) {
    std::memmove(data + to.at, data + from.at, bytes);
    if (defined) std::memmove(known + to.at, known + from.at, bytes);
    return;
  }
  uint64_t value = 0, shadow = 0;
  bytes = std::min<uint32_t>(bytes, 8);
  if (from.in_stack) {
    std::memcpy(&value, data + from.at, bytes);
    uint64_t mask = ~uint64_t{0};
    if (defined) std::memcpy(&mask, known + from.at, bytes);
    shadow = ~mask;
  } else {
    value = value_of(*from.registers, from.slot, from.wide, lane);
    if (defined) shadow = shadow_of(*from.registers, from.slot, from.wide, lane);
  }
  if (to.in_stack) {
    std::memcpy(data + to.at, &value, bytes);
    uint64_t mask = ~shadow;
    if (defined) std::memcpy(known + to.at, &mask, bytes);
  } else {
    set_value(*to.registers, to.slot, to.wide, lane, value);
    if (defined) set_shadow(*to.registers, to.slot, to.wide, lane, shadow);
  }
}

Place actual(const Frame& frame, const Call::Value& value) {
  if (value.in_stack)
    return {&frame.registers, true, 0, false, frame.stack_base + value.variable.offset, value.variable.bytes};
  return {&frame.registers, false, value.slot, value.wide, 0, value.wide ? 8u : 4u};
}
Place formal(const Frame& frame, const std::vector<StackVariable>& variables, const std::vector<int64_t>& slots,
             size_t i) {
  if (slots[i] < 0)
    return {&frame.registers, true, 0, false, frame.stack_base + variables[i].offset, variables[i].bytes};
  auto slot = static_cast<uint32_t>(slots[i]);
  bool wide = frame.code->wide_slots[slot] != 0;
  return {&frame.registers, false, slot, wide, 0, wide ? 8u : 4u};
}

void fill(const Registers& r, uint32_t slot, bool wide, uint64_t bits) {
  for (int l = 0; l < kLanes; ++l) set_value(r, slot, wide, l, bits);
}

}  // namespace

std::unique_ptr<Frame> Machine::new_frame(const Code& code) {
  auto frame = std::make_unique<Frame>();
  frame->code = &code;
  uint64_t slot_bytes = uint64_t{code.slots} * kSlotBytes;
  bool defined = options_.check == CheckLevel::defined;
  uint64_t small = uint64_t{code.slots} * (sizeof(LaneMask) + sizeof(uint32_t) + 1);
  uint64_t total = slot_bytes * (defined ? 2 : 1) + small + kAlignment;
  memory_used_ += total;
  frame->storage = std::make_unique<uint8_t[]>(total);
  uint8_t* at = frame->storage.get();
  at += (kAlignment - reinterpret_cast<uint64_t>(at) % kAlignment) % kAlignment;
  Registers& r = frame->registers;
  r.values = at;
  at += slot_bytes;
  if (defined) {
    r.shadow = at;
    at += slot_bytes;
    std::memset(r.shadow, 0xff, slot_bytes);
  }
  r.taint = reinterpret_cast<LaneMask*>(at);
  r.origin = reinterpret_cast<uint32_t*>(at + code.slots * sizeof(LaneMask));
  r.dirty = at + code.slots * (sizeof(LaneMask) + sizeof(uint32_t));
  // What was never written looks like nothing in particular.
  fill_poison({r.values + kFirstSlot * kSlotBytes, (code.register_end - kFirstSlot) * uint64_t{kSlotBytes}},
              options_.seed);
  for (const ConstantSlot& constant : code.constants) fill(r, constant.slot, constant.wide, constant.bits);
  return frame;
}

// Registers of lanes that enter a function are undefined.
void Machine::reset_registers(Frame& frame, LaneMask lanes_in) {
  if (options_.check != CheckLevel::defined) return;
  const Registers& r = frame.registers;
  for (uint32_t slot = kFirstSlot; slot < frame.code->register_end; ++slot) {
    r.taint[slot] |= lanes_in;
    if (!r.dirty[slot]) continue;
    bool wide = frame.code->wide_slots[slot] != 0;
    for (int l = 0; l < kLanes; ++l)
      if (lanes_in >> l & 1) set_shadow(r, slot, wide, l, ~uint64_t{0});
    if (lanes_in == kAllLanes) r.dirty[slot] = 0;
    r.origin[slot] = 0;
  }
  r.taint[kZeroSlot] = 0;
}

// A frame that is used again for the same warp needs only what differs between CTAs.
void Machine::fill_specials(Frame& frame, const Warp& warp, const Cta& cta, bool fresh) {
  SpecialContext context{launch_, cta, warp, shared_bytes_, cta.smid};
  for (const SpecialSlot& special : frame.code->specials) {
    if (differs_between_ctas(special.which)) {
      fill(frame.registers, special.slot, special.wide, special_value(special.which, special.component, context, 0));
    } else if (fresh) {
      for (int l = 0; l < kLanes; ++l)
        set_value(frame.registers, special.slot, special.wide, l,
                  special_value(special.which, special.component, context, l));
    }
  }
  if (!fresh) return;
  for (const StackSlot& slot : frame.code->stack_slots)
    fill(frame.registers, slot.slot, slot.wide, frame.stack_base + slot.offset);
}

bool Machine::grow_stack(Warp& warp, uint64_t bytes) {
  if (bytes <= warp.stack_capacity) return true;
  uint64_t capacity = std::max<uint64_t>((bytes + 63) / 64 * 64, warp.stack_capacity * 2);
  bool defined = options_.check == CheckLevel::defined;
  memory_used_ += (capacity - warp.stack_capacity) * kLanes * (defined ? 2 : 1);
  if (memory_used_ > options_.memory_budget) return false;
  auto move = [&](std::vector<uint8_t>& from) {
    std::vector<uint8_t> to(capacity * kLanes);
    for (uint64_t l = 0; l < kLanes && warp.stack_capacity; ++l)
      std::memcpy(to.data() + l * capacity, from.data() + l * warp.stack_capacity, warp.stack_capacity);
    from = std::move(to);
  };
  move(warp.stack);
  if (defined) move(warp.stack_defined);
  warp.stack_capacity = capacity;
  return true;
}

// The frame of `code` called from `call_pc` of `parent`: lanes that come by the same path share it, whenever they come.
Frame* Machine::enter(Cta& cta, Warp& warp, Frame& parent, uint32_t call_pc, const Code& code, LaneMask lanes_in) {
  Frame* frame = nullptr;
  const uint64_t base = parent.stack_end();
  for (auto& f : warp.frames)
    if (f->live && f->parent == &parent && f->call_pc == call_pc && f->code == &code && f->stack_base == base)
      frame = f.get();
  if (!frame) {
    for (auto& f : warp.spare)
      if (f && f->code == &code) {
        warp.frames.push_back(std::move(f));
        std::erase(warp.spare, nullptr);
        frame = warp.frames.back().get();
        break;
      }
    if (!frame) {
      warp.frames.push_back(new_frame(code));
      frame = warp.frames.back().get();
    }
    frame->parent = &parent;
    frame->call_pc = call_pc;
    frame->live = 0;
    frame->depth = parent.depth + 1;
    frame->stack_base = base;
    frame->dynamic.fill(0);
    fill_specials(*frame, warp, cta, true);
  }
  if (memory_used_ > options_.memory_budget || !grow_stack(warp, frame->stack_base + code.stack_bytes)) return nullptr;
  frame->live |= lanes_in;
  reset_registers(*frame, lanes_in);
  if (options_.check == CheckLevel::defined && code.stack_bytes)
    for (uint64_t l = 0; l < kLanes; ++l)
      if (lanes_in >> l & 1)
        std::memset(warp.stack_defined.data() + l * warp.stack_capacity + frame->stack_base, 0, code.stack_bytes);
  return frame;
}

void Machine::leave(Warp& warp, Frame& frame, LaneMask lanes_out) {
  frame.live &= ~lanes_out;
  if (frame.live || !frame.parent) return;
  for (auto& f : warp.frames)
    if (f.get() == &frame) warp.spare.push_back(std::move(f));
  std::erase(warp.frames, nullptr);
}

Flow Machine::call(Context& context, const Op& op, LaneMask active) {
  const Call& call = context.frame.code->calls[op.list];
  if (call.builtin != Call::Builtin::none) return call_builtin(context, op, call, active);
  Frame& caller = context.frame;
  bool ok = call.indirect ? call_by_address(context, op, call, active)
                          : call_into(context, op, call, *call.callee, context.split.pc, active);
  if (!ok) return Flow::fault;
  if (context.split.frame == &caller) ++context.split.pc;  // whom the guard keeps from it
  return Flow::jump;
}

// Each group of lanes that calls the same function goes its own way.
bool Machine::call_by_address(Context& context, const Op& op, const Call& call, LaneMask active) {
  const Registers& r = context.registers;
  int lane = std::countr_zero(active);
  if (context.defined && (r.taint[op.a] & active)) {
    report("RUN0009", base::Severity::error, context, op, r.taint[op.a] & active,
           fmt::format("the address of the function is undefined: {}; {}", origin_text(r, op.a),
                       thread_name(context.warp, std::countr_zero(r.taint[op.a] & active))));
    return false;
  }
  for (LaneMask left = active; left;) {
    lane = std::countr_zero(left);
    uint64_t address = value_of(r, op.a, op.a_wide, lane);
    LaneMask same = 0;
    for (int l = lane; l < kLanes; ++l)
      if ((left >> l & 1) && value_of(r, op.a, op.a_wide, l) == address) same |= LaneMask{1} << l;
    left &= ~same;
    auto found = image_.by_address.find(address);
    if (found == image_.by_address.end()) {
      report("RUN0019", base::Severity::error, context, op, same,
             fmt::format("calls address 0x{:x}, where no function lies; {}", address, thread_name(context.warp, lane)),
             "the register has to hold what 'mov' or an initialised variable gives as a function's address");
      return false;
    }
    const Code& code = *found->second;
    if (code.parameters.size() != call.arguments.size() || code.results.size() != call.results.size()) {
      report("RUN0019", base::Severity::error, context, op, same,
             fmt::format("calls '{}', which has {} parameters and {} results, with {} and {}; {}", code.function->name,
                         code.parameters.size(), code.results.size(), call.arguments.size(), call.results.size(),
                         thread_name(context.warp, lane)));
      return false;
    }
    if (!call_into(context, op, call, code, context.split.pc, same)) return false;
  }
  return true;
}

// Moves the lanes into `code`, as a split of their own unless they are all that the current one has.
bool Machine::call_into(Context& context, const Op& op, const Call& call, const Code& code, uint32_t pc,
                        LaneMask active) {
  if (context.frame.depth + 1 >= kMaxCallDepth) {
    report(
        "RUN0019", base::Severity::error, context, op, active,
        fmt::format("calls are nested {} deep; {}", kMaxCallDepth, thread_name(context.warp, std::countr_zero(active))),
        "a recursion without an end?");
    return false;
  }
  Frame& caller = context.frame;
  Frame* callee = enter(context.cta, context.warp, caller, pc, code, active);
  if (!callee) {
    report("RUN0020", base::Severity::error, context, op, active,
           fmt::format("the thread stacks outgrow the memory budget of {} bytes", options_.memory_budget));
    return false;
  }
  for (size_t i = 0; i < call.arguments.size(); ++i)
    for (int l = 0; l < kLanes; ++l)
      if (active >> l & 1)
        copy_lane(context.warp, actual(caller, call.arguments[i]),
                  formal(*callee, code.parameters, code.parameter_slots, i), l, context.defined);
  Split& inside = active == context.split.mask ? context.split : fork(context.warp, context.split, active, 0);
  inside.frame = callee;
  inside.pc = 0;
  return true;
}

// alloca: each lane's bytes lie behind its frame and what it has allocated before.
Flow Machine::allocate_stack(Context& context, const Op& op, LaneMask active) {
  const Registers& r = context.registers;
  Frame& frame = context.frame;
  if (context.defined && (r.taint[op.a] & active)) {
    report("RUN0009", base::Severity::error, context, op, r.taint[op.a] & active,
           fmt::format("the size is undefined: {}", origin_text(r, op.a)));
    return Flow::fault;
  }
  const uint64_t alignment = std::max<uint64_t>(static_cast<uint64_t>(op.offset), 8);
  const uint64_t base = frame.stack_base + frame.code->stack_bytes;
  uint64_t starts[kLanes], end = 0;
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint64_t size = value_of(r, op.a, op.a_wide, l);
    starts[l] = (base + frame.dynamic[static_cast<size_t>(l)] + alignment - 1) / alignment * alignment;
    if (size > kMaxThreadStack || starts[l] + size > kMaxThreadStack) {
      report("RUN0020", base::Severity::error, context, op, active,
             fmt::format("allocates {} bytes of local memory: a thread has at most {}; {}", size, kMaxThreadStack,
                         thread_name(context.warp, l)));
      return Flow::fault;
    }
    end = std::max(end, starts[l] + size);
  }
  if (!grow_stack(context.warp, end)) {
    report("RUN0020", base::Severity::error, context, op, active,
           fmt::format("the thread stacks outgrow the memory budget of {} bytes", options_.memory_budget));
    return Flow::fault;
  }
  for (LaneMask left = active; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint64_t size = value_of(r, op.a, op.a_wide, l);
    frame.dynamic[static_cast<size_t>(l)] = static_cast<uint32_t>(starts[l] + size - base);
    if (context.defined)
      std::memset(
          context.warp.stack_defined.data() + static_cast<uint64_t>(l) * context.warp.stack_capacity + starts[l], 0,
          size);
    set_value(r, op.d, op.d_wide, l, starts[l]);
  }
  r.taint[op.d] &= ~active;
  return Flow::next;
}

Flow Machine::give_back(Context& context, const Op&, LaneMask active) {
  Frame& frame = context.frame;
  Frame& caller = *frame.parent;
  const Op& site = caller.code->ops[frame.call_pc];
  const Call& call = caller.code->calls[site.list];
  for (size_t i = 0; i < call.results.size(); ++i)
    for (int l = 0; l < kLanes; ++l)
      if (active >> l & 1)
        copy_lane(context.warp, formal(frame, frame.code->results, frame.code->result_slots, i),
                  actual(caller, call.results[i]), l, context.defined);
  Split& outside = active == context.split.mask ? context.split : fork(context.warp, context.split, active, 0);
  if (&outside != &context.split) ++context.split.pc;
  outside.frame = &caller;
  outside.pc = frame.call_pc + 1;
  leave(context.warp, frame, active);
  return Flow::jump;
}

// vprintf says nothing and returns 0; __assertfail(message, file, line, function, size) ends the launch.
Flow Machine::call_builtin(Context& context, const Op& op, const Call& call, LaneMask active) {
  if (call.builtin == Call::Builtin::vprintf) {
    uint64_t zero = 0;
    for (const Call::Value& result : call.results) {
      Place to = actual(context.frame, result);
      for (int l = 0; l < kLanes; ++l) {
        if (!(active >> l & 1)) continue;
        if (to.in_stack) {
          uint64_t at = static_cast<uint64_t>(l) * context.warp.stack_capacity + to.at;
          std::memcpy(context.warp.stack.data() + at, &zero, std::min<uint32_t>(to.bytes, 8));
          if (context.defined) std::memset(context.warp.stack_defined.data() + at, 0xff, to.bytes);
        } else {
          set_value(*to.registers, to.slot, to.wide, l, 0);
          if (context.defined) set_shadow(*to.registers, to.slot, to.wide, l, 0);
        }
      }
    }
    return Flow::next;
  }
  int lane = std::countr_zero(active);
  uint64_t values[5] = {};
  for (size_t i = 0; i < call.arguments.size() && i < 5; ++i) {
    Place from = actual(context.frame, call.arguments[i]);
    if (from.in_stack) {
      std::memcpy(&values[i],
                  context.warp.stack.data() + static_cast<uint64_t>(lane) * context.warp.stack_capacity + from.at,
                  std::min<uint32_t>(from.bytes, 8));
    } else {
      values[i] = value_of(*from.registers, from.slot, from.wide, lane);
    }
  }
  report("RUN0018", base::Severity::error, context, op, active,
         fmt::format("assertion '{}' failed at {}:{}; {}", text_at(values[0]), text_at(values[1]),
                     static_cast<uint32_t>(values[2]), thread_name(context.warp, lane)));
  return Flow::fault;
}

}  // namespace ptxlab::simt
