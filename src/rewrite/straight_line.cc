#include "rewrite/straight_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"

namespace ptxlab::rewrite {

using analysis::opcode_of;

namespace {

// An atomic access and nothing else: no barrier, nothing that completes later.
bool only_atomic(const ptx::Instruction& instruction) {
  const auto& e = instruction.form.row->effects;
  return (opcode_of(instruction) == "atom" || opcode_of(instruction) == "red") && !e.barrier && !e.async && !e.fence;
}

}  // namespace

std::string not_copyable(const ptx::Function& function, uint32_t statement) {
  const auto* instruction = function.body[statement].instruction();
  if (!instruction) return "";
  const auto* row = instruction->form.row;
  auto say = [&](const std::string& why) { return place(function, statement) + " " + why; };
  if (!row) return say("is not in the instruction table");
  if (row->effects.ends_thread) return say("ends the thread");
  // Atomics keep their place among the thread's own accesses; those that order others are left alone.
  bool orders = analysis::has_word(*instruction, ".acquire") || analysis::has_word(*instruction, ".release") ||
                analysis::has_word(*instruction, ".acq_rel");
  bool atomic = row->effects.atomic && only_atomic(*instruction) && !orders;
  if (auto why = ordering_of(*instruction); !why.empty() && !atomic) return say(why);
  if (analysis::has_word(*instruction, ".cc") || opcode_of(*instruction) == "addc" ||
      opcode_of(*instruction) == "subc" || opcode_of(*instruction) == "madc")
    return say("uses the carry flag");
  auto use = analysis::register_use(*instruction);
  for (const auto* list : {&use.reads, &use.writes})
    for (uint32_t reg : *list) {
      const auto& info = function.registers[reg];
      int bits = isa::bits_of(info.type);
      bool plain = info.type == isa::Type::pred || bits == 16 || bits == 32 || bits == 64;
      if (info.vector != 1 || !plain) return say("uses a register of an unusual width");
    }
  return "";
}

void StraightLine::rename(ptx::Operand& operand, bool destination, Item& item) {
  if (operand.kind == ptx::Operand::Kind::reg) {
    uint32_t old = operand.id;
    if (destination) {
      uint32_t made = e_.fresh(e_.type(old));
      item.writes.push_back(made);
      now_[old] = made;
      operand.id = made;
    } else {
      if (auto it = now_.find(old); it != now_.end()) operand.id = it->second;
      item.reads.push_back(operand.id);
    }
  }
  // An address is read, wherever it stands.
  for (auto& element : operand.elements)
    rename(element, destination && operand.kind != ptx::Operand::Kind::address, item);
}

void StraightLine::add(const std::vector<uint32_t>& statements) {
  marked_ = false;
  for (uint32_t s : statements) {
    const auto* original = flow_.function.body[s].instruction();
    if (!original) continue;
    auto use = analysis::register_use(*original);
    // Where its guard is false, a guarded write leaves the old value: bring it along.
    std::vector<std::pair<uint32_t, uint32_t>> old_values;
    if (original->guard)
      for (uint32_t reg : use.writes) {
        auto it = now_.find(reg);
        if (it != now_.end())
          old_values.emplace_back(reg, it->second);
        else if (carried_.count(reg))
          old_values.emplace_back(reg, reg);
      }
    Item item;
    item.original = s;
    item.statement = flow_.function.body[s];
    item.statement.trivia = {};
    auto& instruction = *item.statement.instruction();
    if (instruction.guard) {
      if (auto it = now_.find(instruction.guard->reg); it != now_.end()) instruction.guard->reg = it->second;
      item.reads.push_back(instruction.guard->reg);
    }
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      if (!analysis::is_destination(*original, i)) rename(instruction.operands[i], false, item);
    for (size_t i = 0; i < instruction.operands.size(); ++i)
      if (analysis::is_destination(*original, i)) rename(instruction.operands[i], true, item);
    for (const auto& [reg, value] : old_values) {
      Item copy;
      copy.original = s;
      auto pending = e_.take();
      e_.move(now_.at(reg), e_.name(value));
      copy.statement = e_.take().front();
      e_.put_back(std::move(pending));
      copy.reads = {value};
      copy.writes = {now_.at(reg)};
      item.reads.push_back(now_.at(reg));
      writer_[now_.at(reg)] = items_.size();
      items_.push_back(std::move(copy));
    }
    for (uint32_t reg : item.writes) writer_[reg] = items_.size();
    items_.push_back(std::move(item));
  }
}

// May the load be executed before everything in front of it that stays?
bool StraightLine::may_move(size_t load) const {
  const auto* access = flow_.access(items_[load].original);
  const auto& instruction = *items_[load].statement.instruction();
  if (!access || !access->reads || access->writes || instruction.guard || !plain_access(instruction)) return false;
  if (access->space != isa::Space::global && access->space != isa::Space::constant) return false;
  for (size_t i = 0; i < load; ++i) {
    const auto* other = flow_.access(items_[i].original);
    if (other && other->writes && aliasing_.may_overlap(*access, *other)) return false;
  }
  return true;
}

void StraightLine::mark_early() {
  if (marked_) return;
  marked_ = true;
  for (auto& item : items_) item.early = false;
  for (size_t load = 0; load < items_.size(); ++load) {
    if (!may_move(load)) continue;
    // What its address is made of has to come along.
    std::set<size_t> slice;
    std::vector<size_t> open{load};
    bool fits = true;
    while (!open.empty() && fits) {
      size_t next = open.back();
      open.pop_back();
      if (items_[next].early || !slice.insert(next).second) continue;
      fits = next == load || pure(*flow_.function.body[items_[next].original].instruction());
      for (uint32_t reg : items_[next].reads)
        if (auto it = writer_.find(reg); it != writer_.end() && it->second < next) open.push_back(it->second);
    }
    if (!fits) continue;
    for (size_t i : slice) items_[i].early = true;
  }
}

size_t StraightLine::movable() {
  mark_early();
  return static_cast<size_t>(std::count_if(items_.begin(), items_.end(), [&](const Item& item) {
    return item.early && flow_.access(item.original) != nullptr;
  }));
}

void StraightLine::emit() {
  mark_early();
  for (bool early : {true, false})
    for (const auto& item : items_)
      if (item.early == early) e_.copy(item.statement, {}, {});
  for (uint32_t reg : carried_)
    if (auto it = now_.find(reg); it != now_.end()) e_.move(reg, e_.name(it->second));
}

}  // namespace ptxlab::rewrite
