// Rule "narrow": 64-bit index arithmetic in 32 bits, where that gives the same to the bit.
//
//   products   mul.lo and mad.lo.s64 of two widened 32-bit numbers become mul.wide and mad.wide
//   division   div and rem of 64 bits, about 70 instructions, become the 32-bit one of about 20 where both operands are known
//              to fit; elsewhere behind a check at run time, with the 64-bit one for what does not fit
//
// nvcc checks its own divisions like that, so that this is for PTX by hand, by models and by other compilers.
//
// Needs: registers written once and before use; a division that is not checked already. Nothing is assumed of sizes.
// The judge confirms: the same outputs to the bit.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"
#include "rewrite/single_writes.h"
#include "rewrite/vector_code.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

constexpr uint64_t kHigh = 0xffffffff00000000u;

class Narrower {
 public:
  Narrower(const Flow& flow, Editor& editor, BodyEdit& edit) : flow_(flow), single_(flow), e_(editor), edit_(edit) {}
  size_t products = 0, proven = 0, checked = 0;
  std::string nearest;

  void run() {
    for (uint32_t s = 0; s < flow_.function.body.size(); ++s) {
      const auto* instruction = flow_.function.body[s].instruction();
      if (!instruction || instruction->guard || !flow_.cfg.reachable(flow_.cfg.block_of(s))) continue;
      auto opcode = opcode_of(*instruction);
      auto type = analysis::type_word(*instruction);
      bool whole = type == isa::Type::s64 || type == isa::Type::u64;
      if (!whole || instruction->operands.empty() || instruction->operands[0].kind != ptx::Operand::Kind::reg) continue;
      if ((opcode == "mul" || opcode == "mad") && analysis::has_word(*instruction, ".lo"))
        product(s, *instruction);
      else if ((opcode == "div" || opcode == "rem") && instruction->operands.size() == 3)
        division(s, *instruction);
    }
  }

 private:
  const ptx::Instruction* writer(uint32_t s, const ptx::Operand& operand) const {
    if (operand.kind != ptx::Operand::Kind::reg || !single_.known_at(s, operand.id)) return nullptr;
    return flow_.function.body[single_.writer(operand.id)].instruction();
  }

  // The 32-bit register that a 64-bit operand widens, as it is at `s`; or a number that fits, spelt.
  std::optional<std::string> widened(uint32_t s, const ptx::Operand& operand, bool is_signed) const {
    if (operand.kind == ptx::Operand::Kind::integer) {
      auto value = static_cast<int64_t>(operand.bits);
      bool fits = is_signed ? value >= INT32_MIN && value <= INT32_MAX : operand.bits <= UINT32_MAX;
      return fits ? std::optional(std::to_string(value)) : std::nullopt;
    }
    const auto* by = writer(s, operand);
    if (!by || opcode_of(*by) != "cvt" || by->operands.size() != 2 || by->operands[1].kind != ptx::Operand::Kind::reg)
      return std::nullopt;
    auto from = analysis::type_word(*by, 1), to = analysis::type_word(*by);
    if (isa::bits_of(to) != 64 || from != (is_signed ? isa::Type::s32 : isa::Type::u32)) return std::nullopt;
    if (by->words.size() != 3 || !single_.known_at(s, by->operands[1].id)) return std::nullopt;
    return e_.name(by->operands[1].id);
  }

  void product(uint32_t s, const ptx::Instruction& instruction) {
    const auto& operands = instruction.operands;
    for (bool is_signed : {true, false}) {
      auto a = widened(s, operands[1], is_signed), b = widened(s, operands[2], is_signed);
      bool numbers = operands[1].kind == ptx::Operand::Kind::integer && operands[2].kind == operands[1].kind;
      if (!a || !b || numbers) continue;
      if (operands[1].kind == ptx::Operand::Kind::integer) std::swap(a, b);
      std::vector<std::string> spelt{e_.name(operands[0].id), *a, *b};
      if (operands.size() == 4) {
        if (operands[3].kind != ptx::Operand::Kind::reg && operands[3].kind != ptx::Operand::Kind::integer) return;
        spelt.push_back(operands[3].kind == ptx::Operand::Kind::reg ? e_.name(operands[3].id) : operands[3].name);
      }
      e_.emit(fmt::format("{}.wide.{}", opcode_of(instruction), is_signed ? "s32" : "u32"), std::move(spelt));
      replace(s);
      ++products;
      return;
    }
  }

  // Is a 64-bit operand known to be below 2^32?
  bool fits(uint32_t s, const ptx::Operand& operand) const {
    if (operand.kind == ptx::Operand::Kind::integer) return operand.bits <= UINT32_MAX;
    const auto* by = writer(s, operand);
    if (!by) return false;
    auto opcode = opcode_of(*by);
    auto small = [&](size_t i, uint64_t from, uint64_t to) {
      return by->operands.size() > i && by->operands[i].kind == ptx::Operand::Kind::integer &&
             by->operands[i].bits >= from && by->operands[i].bits <= to;
    };
    if (opcode == "cvt") {
      auto from = analysis::type_word(*by, 1);
      return !isa::is_signed(from) && isa::is_integer(from) && isa::bits_of(from) <= 32;
    }
    if (opcode == "mov") return small(1, 0, UINT32_MAX);
    if (opcode == "and") return small(1, 0, UINT32_MAX) || small(2, 0, UINT32_MAX);
    if (opcode == "shr") return analysis::type_word(*by) != isa::Type::s64 && small(2, 32, 63);
    return false;
  }

  // "or.b64 t, a, b" of the same two: the compiler has seen to it.
  bool checked_already(const ptx::Operand& a, const ptx::Operand& b) const {
    if (a.kind != ptx::Operand::Kind::reg || b.kind != ptx::Operand::Kind::reg) return false;
    for (const auto& statement : flow_.function.body) {
      const auto* other = statement.instruction();
      if (!other || opcode_of(*other) != "or" || other->operands.size() != 3) continue;
      const auto& x = other->operands[1];
      const auto& y = other->operands[2];
      if (x.kind != ptx::Operand::Kind::reg || y.kind != ptx::Operand::Kind::reg) continue;
      if ((x.id == a.id && y.id == b.id) || (x.id == b.id && y.id == a.id)) return true;
    }
    return false;
  }

  std::string spelt(const ptx::Operand& operand) const {
    return operand.kind == ptx::Operand::Kind::reg ? e_.name(operand.id) : operand.name;
  }

  void division(uint32_t s, const ptx::Instruction& instruction) {
    const auto& a = instruction.operands[1];
    const auto& b = instruction.operands[2];
    for (const auto* operand : {&a, &b})
      if (operand->kind != ptx::Operand::Kind::reg && operand->kind != ptx::Operand::Kind::integer) return;
    // ptxas makes a multiplication of a division by a number.
    if (b.kind == ptx::Operand::Kind::integer) return;
    if (checked_already(a, b)) {
      nearest = place(flow_.function, s) + " is checked already";
      return;
    }
    bool known = fits(s, a) && fits(s, b);
    auto wide = e_.fresh_label("wide"), done = e_.fresh_label("done");
    if (!known) {
      uint32_t both = e_.fresh(isa::Type::b64), high = e_.fresh(isa::Type::b64), p = e_.fresh(isa::Type::pred);
      e_.comment("ptxlab rule narrow: 32 bits are enough where the upper halves are zero.");
      e_.emit("mov.b64", {e_.name(both), spelt(a)});
      e_.emit("or.b64", {e_.name(both), e_.name(both), spelt(b)});
      e_.emit("and.b64", {e_.name(high), e_.name(both), fmt::format("{}", static_cast<int64_t>(kHigh))});
      e_.emit("setp.ne.s64", {e_.name(p), e_.name(high), "0"});
      e_.emit_if(p, false, "bra", {wide});
    }
    uint32_t x = e_.fresh(isa::Type::b32), y = e_.fresh(isa::Type::b32), q = e_.fresh(isa::Type::b32);
    if (a.kind == ptx::Operand::Kind::reg)
      e_.emit("cvt.u32.u64", {e_.name(x), spelt(a)});
    else
      e_.emit("mov.b32", {e_.name(x), spelt(a)});
    e_.emit("cvt.u32.u64", {e_.name(y), spelt(b)});
    e_.emit(fmt::format("{}.u32", opcode_of(instruction)), {e_.name(q), e_.name(x), e_.name(y)});
    e_.emit("cvt.u64.u32", {e_.name(instruction.operands[0].id), e_.name(q)});
    if (!known) {
      e_.emit("bra", {done});
      e_.label(wide);
      e_.copy(flow_.function.body[s], {}, {});
      e_.label(done);
    }
    ++(known ? proven : checked);
    replace(s);
  }

  void replace(uint32_t s) {
    edit_.removed.emplace_back(s, s + 1);
    auto made = e_.take();
    auto& there = edit_.before[s];
    there.insert(there.end(), made.begin(), made.end());
  }

  const Flow& flow_;
  SingleWrites single_;
  Editor& e_;
  BodyEdit& edit_;
};

class Narrow final : public Rule {
 public:
  std::string_view name() const override { return "narrow"; }
  Family family() const override { return Family::arithmetic; }
  std::string_view description() const override { return "computes 64-bit indices in 32 bits where they fit"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"32", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t products = 0, proven = 0, checked = 0;
    std::string nearest;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0180", entry_name + ": its control flow is irreducible or too large");
      for (auto& function : module.functions) {
        if (function.name != entry_name || !function.has_body) continue;
        Editor editor(function, "narrow");
        BodyEdit edit;
        Narrower narrower(flow, editor, edit);
        narrower.run();
        products += narrower.products, proven += narrower.proven, checked += narrower.checked;
        if (!narrower.nearest.empty()) nearest = narrower.nearest;
        function.body = edit.apply(std::move(function.body));
        editor.declare();
      }
    }
    if (products + proven + checked == 0)
      return refusal("RW0181", nearest.empty() ? "no 64-bit division and no product of widened numbers" : nearest);
    Rewritten result;
    result.name = "narrow";
    result.idea = fmt::format("{} 64-bit product{} and {} division{} in 32 bits, {} more behind a check", products,
                              products == 1 ? "" : "s", proven, proven == 1 ? "" : "s", checked);
    return finish(std::move(module), nullptr, std::move(result));
  }
};

}  // namespace

const Rule* narrow_rule() {
  static const Narrow rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
