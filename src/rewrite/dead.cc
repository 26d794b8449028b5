// Rule "dead": leaves out what nothing depends on: instructions whose results no store, branch, exchange or call needs, loads
// among them; code that no path reaches; stores that the next one overwrites before anybody can look.
//
// ptxas does the first two by itself, so that for nvcc's PTX the code comes out the same, and the candidate is dropped. It does
// not do the third across accesses that it cannot tell apart, and here the plan says which buffers are different ones.
//
// Needs: for a store, another one behind it in the same block to the same address by the same register, as wide, and between
// them neither an access that may touch the same memory nor anything ordered with other threads.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

// Nothing but its results tells whether it was executed.
bool only_results(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row) return false;
  const auto& e = row->effects;
  if (e.stores || e.atomic || e.barrier || e.warp_sync || e.fence || e.branch || e.call || e.ends_thread || e.async ||
      e.timing)
    return false;
  auto opcode = opcode_of(instruction);
  if (analysis::has_word(instruction, ".cc") || opcode == "addc" || opcode == "subc" || opcode == "madc") return false;
  if (e.loads) {
    bool parameter = opcode == "ld" && analysis::space_word(instruction) == isa::Space::param;
    if (!parameter && !plain_access(instruction)) return false;
  }
  return !analysis::register_use(instruction).writes.empty();
}

std::set<uint32_t> unused(const Flow& flow) {
  const auto& body = flow.function.body;
  std::vector<bool> live(body.size());
  std::vector<uint32_t> open;
  auto mark = [&](uint32_t s) {
    if (!live[s]) open.push_back(s);
    live[s] = true;
  };
  for (uint32_t s = 0; s < body.size(); ++s) {
    const auto* instruction = body[s].instruction();
    if (!instruction || !flow.cfg.reachable(flow.cfg.block_of(s))) continue;
    if (!only_results(*instruction)) mark(s);
  }
  while (!open.empty()) {
    uint32_t s = open.back();
    open.pop_back();
    auto use = analysis::register_use(*body[s].instruction());
    for (uint32_t reg : use.reads)
      for (uint32_t d : flow.definitions.reaching(s, reg)) mark(flow.definitions.all()[d].statement);
    // A guarded write leaves what was there before.
    if (use.partial)
      for (uint32_t reg : use.writes)
        for (uint32_t d : flow.definitions.of(reg)) mark(flow.definitions.all()[d].statement);
  }
  std::set<uint32_t> found;
  for (uint32_t s = 0; s < body.size(); ++s)
    if (body[s].instruction() && !live[s]) found.insert(s);
  return found;
}

bool same_place(const ptx::Instruction& a, const ptx::Instruction& b) {
  const auto& x = a.operands[0];
  const auto& y = b.operands[0];
  return x.kind == ptx::Operand::Kind::address && y.kind == x.kind && x.elements.size() == 1 &&
         y.elements.size() == 1 && x.elements[0].kind == ptx::Operand::Kind::reg &&
         y.elements[0].kind == x.elements[0].kind && x.elements[0].id == y.elements[0].id && x.offset == y.offset &&
         analysis::space_word(a) == analysis::space_word(b) && analysis::type_word(a) == analysis::type_word(b) &&
         analysis::vector_word(a) == analysis::vector_word(b);
}

std::set<uint32_t> overwritten(const Flow& flow, const Aliasing& aliasing) {
  std::set<uint32_t> found;
  const auto& body = flow.function.body;
  for (const auto& store : flow.accesses) {
    const auto& instruction = *body[store.statement].instruction();
    if (!store.writes || store.atomic || instruction.guard || !plain_access(instruction)) continue;
    uint32_t end = flow.cfg.blocks()[flow.cfg.block_of(store.statement)].end;
    for (uint32_t s = store.statement + 1; s < end; ++s) {
      const auto* next = body[s].instruction();
      if (!next) continue;
      const auto* access = flow.access(s);
      bool weak = access && plain_access(*next);
      if (weak && access->writes && !next->guard && same_place(instruction, *next)) {
        found.insert(store.statement);
        break;
      }
      if (!ordering_of(*next).empty() || (next->form.row && next->form.row->effects.ends_thread)) break;
      if (access &&
          (!weak || (access->reads && aliasing.may_overlap(store, *access) && !aliasing.disjoint_now(store, *access))))
        break;
      auto writes = analysis::register_use(*next).writes;
      if (std::count(writes.begin(), writes.end(), instruction.operands[0].elements[0].id)) break;
    }
  }
  return found;
}

class Dead final : public Rule {
 public:
  std::string_view name() const override { return "dead"; }
  Family family() const override { return Family::arithmetic; }
  std::string_view description() const override { return "leaves out what nothing depends on"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"code", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t instructions = 0, stores = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0140", entry_name + ": its control flow is irreducible or too large");
      auto gone = unused(flow);
      instructions += gone.size();
      auto late = overwritten(flow, Aliasing(flow, launches_of(*subject.module, *subject.plan, entry)));
      stores += late.size();
      gone.insert(late.begin(), late.end());
      for (auto& function : module.functions) {
        if (function.name != entry_name || !function.has_body) continue;
        std::vector<ptx::Statement> kept;
        for (uint32_t s = 0; s < function.body.size(); ++s)
          if (!gone.count(s)) kept.push_back(std::move(function.body[s]));
        function.body = std::move(kept);
      }
    }
    if (instructions + stores == 0) return refusal("RW0141", "every instruction's result is needed by a later one");
    Rewritten result;
    result.name = "dead";
    result.idea = fmt::format("{} instruction{} without use left out", instructions, instructions == 1 ? "" : "s");
    if (stores) result.idea += fmt::format(", {} store{} that another overwrites", stores, stores == 1 ? "" : "s");
    return finish(std::move(module), nullptr, std::move(result));
  }
};

}  // namespace

const Rule* dead_rule() {
  static const Dead rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
