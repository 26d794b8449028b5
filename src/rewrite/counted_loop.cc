#include "rewrite/counted_loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/loop_front.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

using Test = CountedLoop::Test;

std::string_view swapped(std::string_view relation) {
  if (relation == ".lt") return ".gt";
  if (relation == ".le") return ".ge";
  if (relation == ".gt") return ".lt";
  if (relation == ".ge") return ".le";
  return relation;
}

std::string_view negated(std::string_view relation) {
  if (relation == ".lt") return ".ge";
  if (relation == ".le") return ".gt";
  if (relation == ".gt") return ".le";
  if (relation == ".ge") return ".lt";
  if (relation == ".eq") return ".ne";
  if (relation == ".ne") return ".eq";
  return "";
}

class Finder {
 public:
  explicit Finder(const Flow& flow) : flow_(flow), body_(flow.function.body) {}

  // Empty where it fits.
  std::string match(uint32_t l, CountedLoop& found) {
    const auto& loop = flow_.cfg.loops()[l];
    const auto& blocks = flow_.cfg.blocks();
    found.loop = l;
    for (size_t i = 1; i < loop.blocks.size(); ++i)
      if (blocks[loop.blocks[i]].begin != blocks[loop.blocks[i - 1]].end) return "its blocks do not stand together";
    if (loop.blocks.front() != loop.header) return "its header is not its first block";
    if (loop.exits.size() != 1) return "it has more than one way out";
    if (loop.latches.size() != 1) return "it has more than one way back";
    found.begin = blocks[loop.header].begin;
    found.end = blocks[loop.blocks.back()].end;
    found.exit_at = blocks[loop.exits[0].to].begin;
    if (auto why = no_front(flow_, l); !why.empty()) return why;
    uint32_t from = loop.exits[0].from, latch = loop.latches[0];
    found.bottom_tested = from == latch;
    if (!found.bottom_tested && from != loop.header) return "it is left from its middle";
    if (latch != loop.blocks.back()) return "it goes back from its middle";
    found.branch = blocks[from].terminator;
    found.back = blocks[latch].terminator;
    if (found.branch == kNone || found.back == kNone || opcode_of(*at(found.back)) != "bra" ||
        opcode_of(*at(found.branch)) != "bra" || !at(found.branch)->guard)
      return "its branches are not plain";
    if (!found.bottom_tested && at(found.back)->guard) return "its branch back is conditional";
    found.taken_continues =
        found.bottom_tested ? blocks[from].successors[0] == loop.header : loop.contains(blocks[from].successors[0]);
    if (found.bottom_tested && !found.taken_continues) return "it goes on where its branch is not taken";
    if (!found.bottom_tested && found.taken_continues) return "it is entered where its branch is taken";
    found.straight = is_straight(loop);
    return match_test(loop, found);
  }

 private:
  const ptx::Instruction* at(uint32_t statement) const { return body_[statement].instruction(); }

  bool is_straight(const analysis::Loop& loop) const {
    for (size_t i = 0; i < loop.blocks.size(); ++i) {
      const auto& block = flow_.cfg.blocks()[loop.blocks[i]];
      if (i > 0 && (block.predecessors.size() != 1 || block.predecessors[0] != loop.blocks[i - 1])) return false;
      uint32_t inside = 0;
      for (uint32_t to : block.successors) inside += loop.contains(to) ? 1 : 0;
      if (inside != 1) return false;
    }
    return true;
  }

  bool changes(const analysis::Loop& loop, const ptx::Operand& operand) const {
    if (operand.kind == ptx::Operand::Kind::integer) return false;
    if (operand.kind != ptx::Operand::Kind::reg) return true;
    for (uint32_t d : flow_.definitions.of(operand.id))
      if (loop.contains(flow_.cfg.block_of(flow_.definitions.all()[d].statement))) return true;
    return false;
  }

  std::string match_test(const analysis::Loop& loop, CountedLoop& found) {
    const auto& branch = *at(found.branch);
    uint32_t d = flow_.definitions.only(found.branch, branch.guard->reg);
    if (d == kNone) return "its condition comes from several places";
    uint32_t s = flow_.definitions.all()[d].statement;
    if (!loop.contains(flow_.cfg.block_of(s))) return "its condition does not change";
    if (flow_.cfg.block_of(s) != flow_.cfg.block_of(found.branch))
      return "its condition is not decided where it branches";
    const auto& setp = *at(s);
    auto type = analysis::type_word(setp);
    if (opcode_of(setp) != "setp" || setp.words.size() != 3 || setp.operands.size() != 3 ||
        (!isa::is_integer(type) && type != isa::Type::b32 && type != isa::Type::b64) || isa::bits_of(type) < 32)
      return fmt::format("{} does not compare an index with a bound", place(flow_.function, s));
    found.bits = isa::bits_of(type);
    found.is_signed = isa::is_signed(type);
    // The relation that holds while the loop goes on.
    std::string_view relation = setp.words[1];
    if (relation == ".lo") relation = ".lt";
    if (relation == ".ls") relation = ".le";
    if (relation == ".hi") relation = ".gt";
    if (relation == ".hs") relation = ".ge";
    if (found.taken_continues == branch.guard->negated) relation = negated(relation);
    std::string why = "no operand of the comparison is an index that grows by a fixed step";
    for (int i : {1, 2}) {
      const auto& bound = setp.operands[3 - i];
      if (setp.operands[i].kind != ptx::Operand::Kind::reg || changes(loop, bound)) continue;
      if (!match_index(loop, s, setp.operands[i].id, found)) continue;
      found.bound = bound;
      why = match_relation(i == 1 ? relation : swapped(relation), found);
      if (why.empty()) return "";
    }
    return fmt::format("{}: {}", place(flow_.function, s), why);
  }

  static std::string match_relation(std::string_view relation, CountedLoop& found) {
    if (relation == ".ne") {
      found.test = Test::unequal;
      return found.step.kind == ptx::Operand::Kind::integer ? "" : "it runs until equal by a step that is no number";
    }
    if (relation == ".lt" || relation == ".gt")
      found.test = Test::less;
    else if (relation == ".le" || relation == ".ge")
      found.test = Test::less_equal;
    else
      return "the relation is none of <, <=, !=";
    bool down = relation == ".gt" || relation == ".ge";
    return down == found.falls ? "" : "the index moves away from its bound";
  }

  // Is `reg`, as statement `s` compares it, the loop's index: with its step added where the test stands at the bottom?
  bool match_index(const analysis::Loop& loop, uint32_t s, uint32_t reg, CountedLoop& found) const {
    const auto& header_defs = flow_.definitions;
    uint32_t update = kNone, index = reg;
    if (found.bottom_tested) {
      uint32_t d = header_defs.only(s, reg);
      if (d == kNone) return false;
      update = header_defs.all()[d].statement;
      if (!loop.contains(flow_.cfg.block_of(update)) || !comes_before(update, s)) return false;
    } else {
      // Its value at the header, brought around by a single write in the loop.
      update = single_write(loop, reg);
      if (update == kNone || !reads_header_value(loop, s, reg)) return false;
    }
    const auto* add = at(update);
    if (found.bottom_tested == false && opcode_of(*add) == "mov") {
      uint32_t d =
          add->operands[1].kind == ptx::Operand::Kind::reg ? header_defs.only(update, add->operands[1].id) : kNone;
      if (d == kNone) return false;
      update = header_defs.all()[d].statement;
      add = at(update);
    }
    if (!add || add->guard || add->words.size() != 2 || add->operands.size() != 3 ||
        (opcode_of(*add) != "add" && opcode_of(*add) != "sub") ||
        isa::bits_of(analysis::type_word(*add)) != found.bits || !loop.contains(flow_.cfg.block_of(update)))
      return false;
    bool subtracts = opcode_of(*add) == "sub";
    for (int i : {1, 2}) {
      const auto& source = add->operands[i];
      const auto& step = add->operands[3 - i];
      if (source.kind != ptx::Operand::Kind::reg || changes(loop, step) || (subtracts && i == 2)) continue;
      index = source.id;
      if (!comes_around(loop, index, reg, update) || !reads_header_value(loop, update, index)) continue;
      // A top-tested loop compares the index itself.
      if (!found.bottom_tested && index != reg) continue;
      // Every round passes the update.
      uint32_t block = flow_.cfg.block_of(update);
      if (!flow_.cfg.dominates(block, loop.latches[0])) continue;
      found.index_reg = index;
      found.step = step;
      return set_direction(subtracts, found);
    }
    return false;
  }

  static bool set_direction(bool subtracts, CountedLoop& found) {
    found.falls = subtracts;
    if (found.step.kind != ptx::Operand::Kind::integer) return true;
    auto value = found.bits == 32 ? static_cast<int64_t>(static_cast<int32_t>(found.step.bits))
                                  : static_cast<int64_t>(found.step.bits);
    if (subtracts) value = -value;
    if (value == 0 || value > (1 << 20) || value < -(1 << 20)) return false;
    found.falls = value < 0;
    found.step.bits = static_cast<uint64_t>(value < 0 ? -value : value);
    found.step.name = std::to_string(found.step.bits);
    return true;
  }

  uint32_t single_write(const analysis::Loop& loop, uint32_t reg) const {
    uint32_t found = kNone;
    for (uint32_t d : flow_.definitions.of(reg)) {
      const auto& definition = flow_.definitions.all()[d];
      if (!loop.contains(flow_.cfg.block_of(definition.statement))) continue;
      if (found != kNone || definition.partial) return kNone;
      found = definition.statement;
    }
    return found;
  }

  // In every round, is `first` executed before `second`?
  bool comes_before(uint32_t first, uint32_t second) const {
    uint32_t a = flow_.cfg.block_of(first), b = flow_.cfg.block_of(second);
    return a == b ? first < second : flow_.cfg.dominates(a, b);
  }

  // Does `statement` see `reg` as it was at the header? (Nothing in the loop wrote it since.)
  bool reads_header_value(const analysis::Loop& loop, uint32_t statement, uint32_t reg) const {
    auto here = flow_.values.read(statement, reg);
    auto there = flow_.values.at_start(loop.header, reg);
    return here && there && *here == *there;
  }

  // The sum that `update` writes into `compared` is what `index` holds in the next round: the same register, or copied.
  bool comes_around(const analysis::Loop& loop, uint32_t index, uint32_t compared, uint32_t update) const {
    uint32_t write = single_write(loop, index);
    if (write == kNone) return false;
    if (write == update) return true;
    const auto* copy = at(write);
    if (opcode_of(*copy) != "mov" || copy->operands[1].kind != ptx::Operand::Kind::reg) return false;
    uint32_t d = flow_.definitions.only(write, copy->operands[1].id);
    return d != kNone && flow_.definitions.all()[d].statement == update &&
           flow_.cfg.dominates(flow_.cfg.block_of(write), loop.latches[0]) &&
           (copy->operands[1].id == compared || index == compared);
  }

  const Flow& flow_;
  const std::vector<ptx::Statement>& body_;
};

}  // namespace

CountedLoops counted_loops(const Flow& flow) {
  CountedLoops result;
  if (!flow.complete()) {
    result.rejected.push_back(flow.function.name + ": its control flow is irreducible or too large");
    return result;
  }
  const auto& loops = flow.cfg.loops();
  for (uint32_t l = 0; l < loops.size(); ++l) {
    if (std::any_of(loops.begin(), loops.end(), [&](const auto& other) { return other.parent == l; })) continue;
    CountedLoop found;
    auto why = Finder(flow).match(l, found);
    if (why.empty())
      result.loops.push_back(found);
    else
      result.rejected.push_back(fmt::format("loop at line {} of {}: {}",
                                            line_at(flow.function, flow.cfg.blocks()[loops[l].header].begin),
                                            flow.function.name, why));
  }
  return result;
}

std::string RoundsCheck::spelt(const ptx::Operand& operand) const {
  return operand.kind == ptx::Operand::Kind::reg ? e_.name(operand.id) : operand.name;
}

uint32_t RoundsCheck::wide(const ptx::Operand& operand) {
  uint32_t reg = e_.fresh(isa::Type::b64);
  if (operand.kind == ptx::Operand::Kind::integer) {
    auto value = loop_.bits == 64  ? static_cast<int64_t>(operand.bits)
                 : loop_.is_signed ? static_cast<int64_t>(static_cast<int32_t>(operand.bits))
                                   : static_cast<int64_t>(static_cast<uint32_t>(operand.bits));
    e_.emit("mov.b64", {e_.name(reg), std::to_string(value)});
  } else if (loop_.bits == 64) {
    e_.emit("mov.b64", {e_.name(reg), spelt(operand)});
  } else {
    e_.emit(loop_.is_signed ? "cvt.s64.s32" : "cvt.u64.u32", {e_.name(reg), spelt(operand)});
  }
  return reg;
}

void RoundsCheck::prepare(const std::string& otherwise) {
  if (loop_.test == Test::unequal) return;
  auto leave = [&](std::string_view relation, std::string_view type, const std::string& a, const std::string& b) {
    uint32_t p = e_.fresh(isa::Type::pred);
    e_.emit(fmt::format("setp.{}.{}", relation, type), {e_.name(p), a, b});
    e_.emit_if(p, false, "bra", {otherwise});
  };
  uint32_t bound = wide(loop_.bound), step = wide(loop_.step), all = e_.fresh(isa::Type::b64);
  if (loop_.step.kind == ptx::Operand::Kind::reg) {
    // A step that is not positive, or so large that the sums below could leave 64 bits.
    leave("le", "s64", e_.name(step), "0");
    leave("gt", "s64", e_.name(step), std::to_string(int64_t{1} << 40));
  }
  e_.emit("mul.lo.s64", {e_.name(all), e_.name(step), std::to_string(rounds_ - 1)});
  limit_ = e_.fresh(isa::Type::b64);
  if (loop_.bits == 64) {
    // The last index that leaves room for them must not lie beyond the type's end.
    uint32_t room = e_.fresh(isa::Type::b64);
    if (loop_.is_signed) {
      e_.emit("mov.b64", {e_.name(room), loop_.falls ? "0x7fffffffffffffff" : "0x8000000000000000"});
      e_.emit(loop_.falls ? "sub.s64" : "add.s64", {e_.name(room), e_.name(room), e_.name(all)});
      leave(loop_.falls ? "gt" : "lt", "s64", e_.name(bound), e_.name(room));
    } else if (loop_.falls) {
      e_.emit("not.b64", {e_.name(room), e_.name(all)});
      leave("gt", "u64", e_.name(bound), e_.name(room));
    } else {
      leave("lt", "u64", e_.name(bound), e_.name(all));
    }
  }
  e_.emit(loop_.falls ? "add.s64" : "sub.s64", {e_.name(limit_), e_.name(bound), e_.name(all)});
}

void RoundsCheck::unless_due(const std::string& otherwise) {
  uint32_t p = e_.fresh(isa::Type::pred);
  ptx::Operand index;
  index.kind = ptx::Operand::Kind::reg;
  index.id = loop_.index_reg;
  if (loop_.test == Test::unequal) {
    // What is left, as an unsigned number, exceeds the steps in between: none of them can hit the end.
    auto type = loop_.bits == 64 ? isa::Type::b64 : isa::Type::b32;
    uint32_t left = e_.fresh(type);
    auto from = loop_.falls ? spelt(index) : spelt(loop_.bound), to = loop_.falls ? spelt(loop_.bound) : spelt(index);
    // sub takes a number on its right alone; a bound is a number only where the index falls to it.
    if (!loop_.falls && loop_.bound.kind == ptx::Operand::Kind::integer) {
      e_.emit(fmt::format("mov.b{}", loop_.bits), {e_.name(left), from});
      from = e_.name(left);
    }
    e_.emit(fmt::format("sub.s{}", loop_.bits), {e_.name(left), from, to});
    e_.emit(fmt::format("setp.le.u{}", loop_.bits),
            {e_.name(p), e_.name(left), std::to_string(static_cast<int64_t>(loop_.step.bits) * (rounds_ - 1))});
  } else {
    bool equal = loop_.test == Test::less_equal;
    // Widened, 32-bit numbers are signed 64-bit ones, the limit may be below zero.
    std::string_view type = loop_.bits == 64 && !loop_.is_signed ? "u64" : "s64";
    std::string_view relation = loop_.falls ? (equal ? "lt" : "le") : (equal ? "gt" : "ge");
    uint32_t now = wide(index);
    e_.emit(fmt::format("setp.{}.{}", relation, type), {e_.name(p), e_.name(now), e_.name(limit_)});
  }
  e_.emit_if(p, false, "bra", {otherwise});
}

}  // namespace ptxlab::rewrite
