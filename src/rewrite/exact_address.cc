#include "rewrite/exact_address.h"

#include "analysis/registers.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

constexpr int kDeepest = 24;

ExactSum times(ExactSum sum, uint64_t factor) {
  sum.constant *= factor;
  for (auto it = sum.terms.begin(); it != sum.terms.end();) {
    it->second *= factor;
    it = it->second == 0 ? sum.terms.erase(it) : std::next(it);
  }
  return sum;
}

ExactSum plus(ExactSum a, const ExactSum& b) {
  a.constant += b.constant;
  for (const auto& [reg, factor] : b.terms) {
    auto& own = a.terms[reg];
    own += factor;
    if (own == 0) a.terms.erase(reg);
  }
  return a;
}

// The largest value of a special register that is an index; 0 where it is none.
uint64_t most_of(const ptx::Operand& operand) {
  auto name = isa::special_registers()[operand.id].name;
  if (name == "%tid") return operand.component == 2 ? 63 : 1023;
  if (name == "%ntid") return operand.component == 2 ? 64 : 1024;
  if (name == "%laneid") return 31;
  if (name == "%ctaid" && operand.component > 0) return 65534;
  if (name == "%ctaid") return 0x7ffffffe;
  return 0;
}

}  // namespace

ExactSum ExactAddresses::sum_of(uint32_t statement, uint32_t reg) {
  ptx::Operand operand_reg;
  operand_reg.kind = ptx::Operand::Kind::reg;
  operand_reg.id = reg;
  if (auto sum = operand(statement, operand_reg, 0)) return *sum;
  return {0, {{reg, 1}}};
}

std::optional<ExactSum> ExactAddresses::operand(uint32_t statement, const ptx::Operand& operand, int depth) {
  if (operand.kind == ptx::Operand::Kind::integer) return ExactSum{operand.bits, {}};
  if (operand.kind != ptx::Operand::Kind::reg || !single_.known_at(statement, operand.id)) return std::nullopt;
  if (isa::bits_of(flow_.function.registers[operand.id].type) != 64) return std::nullopt;
  if (depth < kDeepest)
    if (auto sum = of_writer(single_.writer(operand.id), depth + 1)) return sum;
  return ExactSum{0, {{operand.id, 1}}};
}

std::optional<ExactSum> ExactAddresses::of_writer(uint32_t writer, int depth) {
  const auto& instruction = *flow_.function.body[writer].instruction();
  const auto& o = instruction.operands;
  auto opcode = opcode_of(instruction);
  auto type = analysis::type_word(instruction);
  bool wide = analysis::has_word(instruction, ".wide");
  if ((isa::bits_of(type) != 64 && !wide && opcode != "cvt") || analysis::has_word(instruction, ".cc") ||
      analysis::has_word(instruction, ".sat"))
    return std::nullopt;
  auto at = [&](size_t i) { return operand(writer, o[i], depth); };
  if (opcode == "mov" && o.size() == 2) return at(1);
  if (opcode == "add" && o.size() == 3) {
    auto a = at(1), b = at(2);
    return a && b ? std::optional(plus(*a, *b)) : std::nullopt;
  }
  if (opcode == "sub" && o.size() == 3) {
    auto a = at(1), b = at(2);
    return a && b ? std::optional(plus(*a, times(*b, ~uint64_t{0}))) : std::nullopt;
  }
  if (opcode == "shl" && o.size() == 3 && o[2].kind == ptx::Operand::Kind::integer && o[2].bits < 64) {
    auto a = at(1);
    return a ? std::optional(times(*a, uint64_t{1} << o[2].bits)) : std::nullopt;
  }
  bool product = (opcode == "mul" && o.size() == 3) || (opcode == "mad" && o.size() == 4);
  if (product && o[2].kind == ptx::Operand::Kind::integer && (wide || analysis::has_word(instruction, ".lo"))) {
    std::optional<ExactSum> a;
    if (!wide) a = at(1);
    // Below 2^31 the sign does not matter.
    if (wide) {
      auto inner = narrow(writer, o[1], depth);
      if (inner && (type == isa::Type::u32 || (type == isa::Type::s32 && inner->second <= INT32_MAX))) a = inner->first;
    }
    if (!a) return std::nullopt;
    auto scaled = times(*a, o[2].bits);
    if (opcode == "mul") return scaled;
    auto c = at(3);
    return c ? std::optional(plus(scaled, *c)) : std::nullopt;
  }
  if (opcode == "cvt" && instruction.words.size() == 3 && isa::bits_of(type) == 64) {
    auto from = analysis::type_word(instruction, 1);
    auto inner = narrow(writer, o[1], depth);
    if (inner && (from == isa::Type::u32 || (from == isa::Type::s32 && inner->second <= INT32_MAX)))
      return inner->first;
  }
  return std::nullopt;
}

std::optional<std::pair<ExactSum, uint64_t>> ExactAddresses::narrow(uint32_t statement, const ptx::Operand& operand,
                                                                    int depth) {
  if (operand.kind == ptx::Operand::Kind::integer && operand.bits <= INT32_MAX)
    return std::pair{ExactSum{operand.bits, {}}, operand.bits};
  if (depth >= kDeepest || operand.kind != ptx::Operand::Kind::reg || !single_.known_at(statement, operand.id) ||
      isa::bits_of(flow_.function.registers[operand.id].type) != 32)
    return std::nullopt;
  uint32_t writer = single_.writer(operand.id);
  const auto& instruction = *flow_.function.body[writer].instruction();
  const auto& o = instruction.operands;
  auto opcode = opcode_of(instruction);
  auto itself = [&](uint64_t most) { return std::pair{ExactSum{0, {{operand.id, 1}}}, most}; };
  auto number = [&](size_t i) { return o.size() > i && o[i].kind == ptx::Operand::Kind::integer; };
  if (opcode == "mov" && o.size() == 2 && o[1].kind == ptx::Operand::Kind::special) {
    uint64_t most = most_of(o[1]);
    return most ? std::optional(itself(most)) : std::nullopt;
  }
  if (opcode == "mov" && o.size() == 2) return narrow(writer, o[1], depth + 1);
  if (opcode == "and" && o.size() == 3 && (number(1) || number(2)))
    return itself(static_cast<uint32_t>(number(1) ? o[1].bits : o[2].bits));
  if (opcode == "shr" && number(2) && o[2].bits > 0 && o[2].bits < 32 &&
      analysis::type_word(instruction) != isa::Type::s32)
    return itself(UINT32_MAX >> o[2].bits);
  auto fits = [](ExactSum sum, uint64_t most) -> std::optional<std::pair<ExactSum, uint64_t>> {
    if (most > UINT32_MAX) return std::nullopt;
    return std::pair{std::move(sum), most};
  };
  if (opcode == "shl" && number(2) && o[2].bits < 32) {
    auto a = narrow(writer, o[1], depth + 1);
    return a ? fits(times(a->first, uint64_t{1} << o[2].bits), a->second << o[2].bits) : std::nullopt;
  }
  if (opcode == "add" && o.size() == 3 && instruction.words.size() == 2) {
    auto a = narrow(writer, o[1], depth + 1), b = narrow(writer, o[2], depth + 1);
    return a && b ? fits(plus(a->first, b->first), a->second + b->second) : std::nullopt;
  }
  bool product = (opcode == "mul" && o.size() == 3) || (opcode == "mad" && o.size() == 4);
  if (product && analysis::has_word(instruction, ".lo") && number(2) && o[2].bits <= INT32_MAX) {
    auto a = narrow(writer, o[1], depth + 1);
    if (!a || a->second * o[2].bits > UINT32_MAX) return std::nullopt;
    auto sum = times(a->first, o[2].bits);
    if (opcode == "mul") return fits(std::move(sum), a->second * o[2].bits);
    auto c = narrow(writer, o[3], depth + 1);
    return c ? fits(plus(sum, c->first), a->second * o[2].bits + c->second) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ptxlab::rewrite
