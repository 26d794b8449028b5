// Rule "address": accesses that are a constant apart share one address register, and the constant goes into the instruction
// ([%rd5+16]). Each address that drops out takes its arithmetic with it.
//
// ptxas does that for plain 64-bit sums. It cannot where an index is computed in 32 bits, since that might wrap before it is
// widened; here that is followed where the index is made of thread indices, masks and shifts and cannot (exact_address.h).
//
// Needs: address registers written once and before use, whose exact sums differ by a number that fits the instruction.
// The judge confirms: the same outputs to the bit.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/exact_address.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;

constexpr int64_t kFarthest = 1 << 22;  // bytes; what an instruction has room for on every target

class Address final : public Rule {
 public:
  std::string_view name() const override { return "address"; }
  Family family() const override { return Family::arithmetic; }
  std::string_view description() const override { return "lets accesses that are a constant apart share one address"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"shared", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t count = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0190", entry_name + ": its control flow is irreducible or too large");
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body) count += rewrite(flow, function);
    }
    if (count == 0) return refusal("RW0191", "no two addresses are known to be a constant apart");
    Rewritten result;
    result.name = "address";
    result.idea = fmt::format("{} access{} through the address register of another", count, count > 1 ? "es" : "");
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  struct Base {
    uint32_t reg;
    ExactSum sum;
  };

  static size_t rewrite(const Flow& flow, ptx::Function& function) {
    ExactAddresses exact(flow);
    std::vector<Base> bases;
    size_t count = 0;
    for (uint32_t b : flow.cfg.order())
      for (uint32_t s = flow.cfg.blocks()[b].begin; s < flow.cfg.blocks()[b].end; ++s) {
        const auto* access = flow.access(s);
        if (!access || (access->space != isa::Space::global && access->space != isa::Space::generic)) continue;
        auto& operands = function.body[s].instruction()->operands;
        auto address = std::find_if(operands.begin(), operands.end(),
                                    [](const auto& operand) { return operand.kind == ptx::Operand::Kind::address; });
        if (address == operands.end() || address->elements.size() != 1) continue;
        auto& base = address->elements[0];
        if (base.kind != ptx::Operand::Kind::reg || !exact.single().known_at(s, base.id)) continue;
        count += share(exact, bases, s, *address) ? 1 : 0;
      }
    return count;
  }

  static bool share(ExactAddresses& exact, std::vector<Base>& bases, uint32_t s, ptx::Operand& address) {
    auto& base = address.elements[0];
    auto sum = exact.sum_of(s, base.id);
    for (const auto& other : bases) {
      if (other.reg == base.id) return false;
      if (other.sum.terms != sum.terms || !exact.single().known_at(s, other.reg)) continue;
      auto apart = static_cast<int64_t>(sum.constant - other.sum.constant) + address.offset;
      if (apart > kFarthest || apart < -kFarthest) continue;
      base.id = other.reg;
      address.offset = apart;
      return true;
    }
    bases.push_back({base.id, std::move(sum)});
    return false;
  }
};

}  // namespace

const Rule* address_rule() {
  static const Address rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
