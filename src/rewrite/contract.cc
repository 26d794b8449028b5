// Rule "contract": a multiplication whose product only an addition or subtraction uses becomes one fma, which rounds
// once and takes one instruction. ptxas does that by itself for mul.f32 and add.f32 without a rounding modifier; what a
// compiler wrote with .rn (nvcc -fmad=false) it must leave alone, and so would we if the task did not say how far a
// result may be off.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/registers.h"
#include "rewrite/editor.h"
#include "rewrite/finish.h"
#include "rewrite/flow.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::has_word;
using analysis::kNone;
using analysis::opcode_of;

bool contractible(const ptx::Instruction& instruction) {
  auto type = analysis::type_word(instruction);
  if (type != isa::Type::f32 && type != isa::Type::f64) return false;
  if (instruction.operands.size() != 3 || instruction.operands[0].kind != ptx::Operand::Kind::reg) return false;
  // Nearest rounding, written or not; .ftz has to agree on both; .sat and directed rounding stay.
  return !has_word(instruction, ".sat") && !has_word(instruction, ".rz") && !has_word(instruction, ".rm") &&
         !has_word(instruction, ".rp");
}

struct Pair {
  uint32_t product = 0, sum = 0;
  int operand = 1;  // of the sum: where the product stands
};

// May the multiplication's inputs be read where the sum stands, that is: are they what they were?
bool inputs_unchanged(const Flow& flow, uint32_t product, uint32_t sum) {
  for (uint32_t reg : analysis::register_use(*flow.function.body[product].instruction()).reads)
    if (flow.definitions.reaching(product, reg) != flow.definitions.reaching(sum, reg)) return false;
  // A loop may bring the same definition around with another value: stay inside one block.
  return flow.cfg.block_of(product) == flow.cfg.block_of(sum);
}

bool inputs_rewritten_between(const Flow& flow, uint32_t product, uint32_t sum) {
  std::set<uint32_t> inputs;
  for (uint32_t reg : analysis::register_use(*flow.function.body[product].instruction()).reads) inputs.insert(reg);
  for (uint32_t s = product; s < sum; ++s)
    if (const auto* instruction = flow.function.body[s].instruction())
      for (uint32_t reg : analysis::register_use(*instruction).writes)
        if (inputs.count(reg)) return true;
  return false;
}

std::vector<Pair> find_pairs(const Flow& flow) {
  std::vector<Pair> found;
  std::set<uint32_t> used;
  const auto& body = flow.function.body;
  for (uint32_t s = 0; s < body.size(); ++s) {
    const auto* sum = body[s].instruction();
    if (!sum || sum->guard || !contractible(*sum) || !flow.cfg.reachable(flow.cfg.block_of(s))) continue;
    bool subtracts = opcode_of(*sum) == "sub";
    if (opcode_of(*sum) != "add" && !subtracts) continue;
    for (int i : {1, 2}) {
      if (sum->operands[i].kind != ptx::Operand::Kind::reg) continue;
      uint32_t d = flow.definitions.only(s, sum->operands[i].id);
      if (d == kNone || flow.definitions.uses(d).size() != 1) continue;
      uint32_t p = flow.definitions.all()[d].statement;
      const auto* product = body[p].instruction();
      if (opcode_of(*product) != "mul" || product->guard || !contractible(*product) || used.count(p)) continue;
      if (analysis::type_word(*product) != analysis::type_word(*sum)) continue;
      if (has_word(*product, ".ftz") != has_word(*sum, ".ftz") || p > s) continue;
      // x*y + x*y: the one product stands on both sides.
      if (sum->operands[1].kind == sum->operands[2].kind && sum->operands[1].id == sum->operands[2].id) continue;
      if (!inputs_unchanged(flow, p, s) || inputs_rewritten_between(flow, p, s)) continue;
      used.insert(p);
      found.push_back({p, s, i});
      break;
    }
  }
  return found;
}

// The sum as an fma. A subtraction negates what is taken away: a - x*y = fma(-x, y, a), x*y - c = fma(x, y, -c).
void contract(const ptx::Function& function, const Pair& pair, Editor& editor) {
  const auto& product = *function.body[pair.product].instruction();
  const auto& sum = *function.body[pair.sum].instruction();
  auto type = std::string(isa::name_of(analysis::type_word(sum)));
  auto spelt = [&](const ptx::Operand& operand) {
    return operand.kind == ptx::Operand::Kind::reg ? function.registers[operand.id].name : operand.name;
  };
  std::string x = spelt(product.operands[1]), y = spelt(product.operands[2]), c = spelt(sum.operands[3 - pair.operand]);
  bool ftz = has_word(sum, ".ftz");
  if (opcode_of(sum) == "sub") {
    auto& negated = pair.operand == 1 ? c : x;
    uint32_t minus = editor.fresh(analysis::type_word(sum));
    editor.emit(fmt::format("neg.{}{}", ftz ? "ftz." : "", type), {editor.name(minus), negated});
    negated = editor.name(minus);
  }
  editor.emit(fmt::format("fma.rn.{}{}", ftz ? "ftz." : "", type), {spelt(sum.operands[0]), x, y, c});
}

class Contract final : public Rule {
 public:
  std::string_view name() const override { return "contract"; }
  Family family() const override { return Family::arithmetic; }
  std::string_view description() const override {
    return "makes one fma of a multiplication and the addition or subtraction that uses it";
  }
  std::vector<Choice> choices(const Subject&) const override { return {{"fma", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    if (!may_change_rounding(subject))
      return refusal("RW0010", "contraction rounds once instead of twice, and the task's tolerance allows no change",
                     "give the output a tolerance of kind \"float\" if its last bits do not matter");
    ptx::Module module = *subject.module;
    size_t count = 0, explicit_rounding = 0;
    for (const auto& entry : launched_entries(subject)) {
      for (auto& function : module.functions)
        if (function.name == entry && function.has_body) count += rewrite(function, explicit_rounding);
    }
    if (count == 0) return refusal("RW0011", "no multiplication whose product only an addition uses");
    Rewritten result;
    result.name = "contract";
    result.idea =
        fmt::format("{} multiplication{} contracted with the addition behind into fma", count, count > 1 ? "s" : "");
    if (explicit_rounding)
      result.idea +=
          fmt::format(", {} of them written .rn: the task's tolerance, not the kernel, decides", explicit_rounding);
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static size_t rewrite(ptx::Function& function, size_t& explicit_rounding) {
    const ptx::Function original = function;
    Flow flow(original);
    if (!flow.complete()) return 0;
    auto pairs = find_pairs(flow);
    if (pairs.empty()) return 0;
    Editor editor(function, "fuse");
    std::map<uint32_t, Statements> replacement;
    std::set<uint32_t> gone;
    for (const auto& pair : pairs) {
      if (has_word(*original.body[pair.product].instruction(), ".rn") ||
          has_word(*original.body[pair.sum].instruction(), ".rn"))
        ++explicit_rounding;
      contract(original, pair, editor);
      replacement[pair.sum] = editor.take();
      replacement[pair.sum].front().trivia = original.body[pair.sum].trivia;
      gone.insert(pair.product);
    }
    Statements body;
    for (uint32_t s = 0; s < original.body.size(); ++s) {
      if (auto it = replacement.find(s); it != replacement.end())
        body.insert(body.end(), it->second.begin(), it->second.end());
      else if (!gone.count(s))
        body.push_back(original.body[s]);
    }
    function.body = std::move(body);
    editor.declare();
    return pairs.size();
  }
};

}  // namespace

const Rule* contract_rule() {
  static const Contract rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
