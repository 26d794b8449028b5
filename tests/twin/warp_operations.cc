// Barriers of the CTA, and what the lanes of a warp do together: each waits until all members are there.
#include <algorithm>
#include <bit>

#include "cta.h"

namespace ptxlab::twin {

using isa::Type;
using ptx::Operand;

namespace {

bool moves_matrices(const Operation& op) {
  return op.name == "ldmatrix" || op.name == "stmatrix" || op.name == "movmatrix";
}
// Whether all 32 lanes are its members, named by no mask.
bool whole_warp(const Operation& op) { return moves_matrices(op) || op.name == "mma"; }

bool is_warp_wide(const Operation& op) {
  if (op.name == "bar" || op.name == "barrier") return op.has("warp");
  return op.name == "shfl" || op.name == "vote" || op.name == "match" || op.name == "redux" || op.name == "elect" ||
         moves_matrices(op) || op.name == "mma";
}

// The operand that holds the member mask.
size_t mask_operand(const ptx::Instruction& instruction) { return instruction.operands.size() - 1; }

}  // namespace

bool Cta::synchronisation(Thread& thread, const ptx::Instruction& instruction, const Operation& op) {
  if (op.name == "activemask") {
    assign(thread, instruction.operands[0], live_lanes(thread.index / 32));
    ++thread.frame().pc;
    return true;
  }
  if (is_warp_wide(op)) {
    if (!op.has("sync")) problem(thread, "a warp operation without .sync");
    thread.state = Thread::State::at_warp;
    return true;
  }
  if (op.name != "bar" && op.name != "barrier") return false;
  if (op.has("cluster")) {
    problem(thread, "barrier.cluster");
    return true;
  }
  const bool reduces = op.has("red"), waits = !op.has("arrive");
  const size_t first = reduces ? 1 : 0;
  const uint64_t id = value(thread, instruction.operands[first], Type::b32);
  const size_t with_count = reduces ? 4 : 2;
  const uint64_t count =
      instruction.operands.size() >= with_count ? value(thread, instruction.operands[first + 1], Type::b32) : 0;
  const bool predicate = reduces && value(thread, instruction.operands.back(), Type::pred);
  barriers_[id].push_back({thread.index, waits, predicate});
  barrier_counts_[id] = count;
  if (waits)
    thread.state = Thread::State::at_barrier;
  else
    ++thread.frame().pc;
  return true;
}

// A count is of warps: one whose living lanes are all there counts as 32 threads.
size_t Cta::threads_of_whole_warps(const std::vector<BarrierArrival>& arrivals) const {
  std::map<uint32_t, uint32_t> lanes;
  for (const BarrierArrival& a : arrivals) lanes[a.thread / 32] |= 1u << (a.thread % 32);
  size_t threads = 0;
  for (const auto& [warp, arrived] : lanes) threads += (live_lanes(warp) & ~arrived) == 0 ? 32 : 0;
  return threads;
}

bool Cta::resolve_barriers() {
  const size_t living = static_cast<size_t>(
      std::count_if(threads_.begin(), threads_.end(), [](const Thread& t) { return t.state != Thread::State::ended; }));
  bool progress = false;
  for (auto& [id, arrivals] : barriers_) {
    const size_t expected = barrier_counts_[id] ? barrier_counts_[id] : living;
    const size_t arrived = barrier_counts_[id] ? threads_of_whole_warps(arrivals) : arrivals.size();
    if (arrivals.empty() || arrived < expected) continue;
    const size_t set = static_cast<size_t>(
        std::count_if(arrivals.begin(), arrivals.end(), [](const BarrierArrival& a) { return a.predicate; }));
    for (const BarrierArrival& arrival : arrivals) {
      if (!arrival.waits) continue;
      Thread& thread = threads_[arrival.thread];
      const ptx::Instruction& instruction = *thread.instruction();
      const Operation op(instruction);
      if (op.has("red"))
        assign(thread, instruction.operands[0],
               op.has("popc")  ? set
               : op.has("and") ? set == arrivals.size()
                               : set > 0);
      thread.state = Thread::State::running;
      ++thread.frame().pc;
    }
    arrivals.clear();
    progress = true;
  }
  return progress;
}

uint32_t Cta::live_lanes(uint32_t warp) const {
  uint32_t out = 0;
  for (uint32_t lane = 0; lane < 32 && warp * 32 + lane < threads_.size(); ++lane)
    if (threads_[warp * 32 + lane].state != Thread::State::ended) out |= 1u << lane;
  return out;
}

bool Cta::resolve_warps() {
  bool progress = false;
  for (Thread& thread : threads_)
    if (thread.state == Thread::State::at_warp && problem_.empty()) progress |= resolve_warp(thread.index / 32, thread);
  return progress;
}

bool Cta::resolve_warp(uint32_t warp, Thread& first) {
  const ptx::Instruction& instruction = *first.instruction();
  auto members_of = [&](Thread& t) {
    if (whole_warp(Operation(instruction))) return ~0u;
    return static_cast<uint32_t>(value(t, instruction.operands[mask_operand(instruction)], Type::b32));
  };
  const uint32_t members = members_of(first) & live_lanes(warp);
  if (!(members >> (first.index % 32) & 1)) {
    problem(first, "a lane outside its own member mask");
    return false;
  }
  std::vector<Thread*> lanes;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    if (!(members >> lane & 1)) continue;
    Thread& other = threads_[warp * 32 + lane];
    if (other.state != Thread::State::at_warp || other.instruction() != &instruction ||
        other.frames.size() != first.frames.size())
      return false;
    lanes.push_back(&other);
  }
  exchange(lanes, instruction, Operation(instruction));
  for (Thread* lane : lanes) {
    lane->state = Thread::State::running;
    ++lane->frame().pc;
  }
  return true;
}

void Cta::exchange(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op) {
  if (op.name == "bar" || op.name == "barrier") return;
  if (op.name == "shfl") return shuffle(lanes, instruction, op);
  if (whole_warp(op) && lanes.size() != 32) return problem(*lanes[0], "less than a whole warp");
  if (op.name == "mma") return multiply_matrices(lanes, instruction, op);
  if (moves_matrices(op)) return move_matrices(lanes, instruction, op);
  const Operand& to = instruction.operands[0];
  const Type type = op.name == "vote" ? Type::pred : op.type();
  std::vector<uint64_t> in;
  uint32_t present = 0;
  for (Thread* lane : lanes) {
    if (op.name != "elect") in.push_back(value(*lane, instruction.operands[1], type));
    present |= 1u << (lane->index % 32);
  }
  uint32_t ballot = 0;
  for (size_t i = 0; i < in.size(); ++i) ballot |= static_cast<uint32_t>(in[i] & 1) << (lanes[i]->index % 32);
  uint64_t reduced = in.empty() ? 0 : in[0];
  if (op.name == "redux") {
    for (size_t i = isa::is_float(op.type()) ? 0 : 1; i < in.size(); ++i) {
      Operation step = op;
      step.modifiers.clear();
      for (const char* how : {"NaN", "abs"})
        if (op.has(how)) step.modifiers.emplace_back(how);
      for (const char* name : {"add", "min", "max", "and", "or", "xor"})
        if (op.has(name)) step.name = name;
      Values v;
      v.in = {reduced, in[i]};
      v.sources = 2;
      if (!float_operation(step, v) && !integer_operation(step, v)) return problem(*lanes[0], "redux");
      reduced = v.out;
    }
  }
  for (size_t i = 0; i < lanes.size(); ++i) {
    Thread& lane = *lanes[i];
    uint32_t same = 0;
    for (size_t k = 0; k < in.size(); ++k) same |= static_cast<uint32_t>(in[k] == in[i]) << (lanes[k]->index % 32);
    if (op.name == "redux")
      assign(lane, to, reduced);
    else if (op.name == "elect") {
      assign(lane, to.elements[0], static_cast<uint64_t>(std::countr_zero(present)));
      assign(lane, to.elements[1], lane.index % 32 == static_cast<uint32_t>(std::countr_zero(present)));
    } else if (op.name == "match") {
      const bool all = op.has("all");
      const uint64_t out = all ? (same == present ? present : 0) : same;
      assign(lane, to.kind == Operand::Kind::pair ? to.elements[0] : to, out);
      if (to.kind == Operand::Kind::pair) assign(lane, to.elements[1], same == present);
    } else if (op.has("ballot"))
      assign(lane, to, ballot);
    else
      assign(lane, to,
             op.has("all")   ? ballot == present
             : op.has("any") ? ballot != 0
                             : ballot == 0 || ballot == present);
  }
}

void Cta::shuffle(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op) {
  std::vector<uint64_t> results;
  std::vector<bool> valid;
  for (Thread* thread : lanes) {
    const int lane = static_cast<int>(thread->index % 32);
    const int b = static_cast<int>(value(*thread, instruction.operands[2], Type::b32) & 31);
    const uint64_t c = value(*thread, instruction.operands[3], Type::b32);
    const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
    const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int from = op.has("up")     ? lane - b
               : op.has("down") ? lane + b
               : op.has("bfly") ? lane ^ b
                                : lowest | (b & ~segment);
    const bool inside = op.has("up") ? from >= highest : from <= highest;
    if (!inside) from = lane;
    auto source =
        std::find_if(lanes.begin(), lanes.end(), [&](Thread* t) { return static_cast<int>(t->index % 32) == from; });
    if (source == lanes.end()) return problem(*thread, "shfl from a lane that does not take part");
    results.push_back(value(**source, instruction.operands[1], Type::b32));
    valid.push_back(inside);
  }
  const Operand& to = instruction.operands[0];
  for (size_t i = 0; i < lanes.size(); ++i) {
    assign(*lanes[i], to.kind == Operand::Kind::pair ? to.elements[0] : to, results[i]);
    if (to.kind == Operand::Kind::pair) assign(*lanes[i], to.elements[1], valid[i]);
  }
}

}  // namespace ptxlab::twin
