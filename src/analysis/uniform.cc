#include "analysis/uniform.h"

#include <set>
#include <string>

#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

bool special_differs(const Atom& atom, Group group) {
  const auto name = isa::special_registers()[atom.index].name;
  const bool x = atom.component == 0;
  if (name == "%tid") return group == Group::cta || group == Group::grid || x;
  if (name == "%ctaid") return group == Group::grid || (group == Group::line && x);
  if (name == "%ntid" || name == "%nctaid" || name == "%nclusterid" || name == "%cluster_nctaid" || name == "%gridid" ||
      name == "%dynamic_smem_size" || name == "%total_smem_size" || name == "%envreg0")
    return false;
  return true;
}

class Divergence {
 public:
  Divergence(const ptx::Function& function, const Cfg& cfg, const Values& values, Group group)
      : function_(function), cfg_(cfg), values_(values), group_(group) {}

  void run(std::vector<bool>& atoms, std::vector<bool>& branches) {
    atoms.assign(values_.atom_count(), false);
    branches.assign(cfg_.blocks().size(), false);
    joins_.assign(cfg_.blocks().size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (AtomId id = 0; id < atoms.size(); ++id)
        if (!atoms[id] && differs(id, atoms)) atoms[id] = changed = true;
      for (uint32_t b : cfg_.order())
        if (!branches[b] && branch_differs(b, atoms)) {
          branches[b] = changed = true;
          mark_joins(b);
        }
    }
  }

 private:
  bool differs(AtomId id, const std::vector<bool>& atoms) const {
    const auto& atom = values_.atom(id);
    switch (atom.kind) {
      case Atom::Kind::special: return special_differs(atom, group_);
      case Atom::Kind::parameter:
      case Atom::Kind::symbol: return false;
      case Atom::Kind::undefined: return true;
      case Atom::Kind::operation:
        for (ValueId operand : atom.operands)
          if (values_.mentions_any(values_.value(operand), atoms)) return true;
        return false;
      case Atom::Kind::definition: return definition_differs(atom, atoms);
      case Atom::Kind::phi: return phi_differs(atom, atoms);
    }
    return true;
  }

  // A load from one address gives every thread the same; anything else that is not pure may not.
  bool definition_differs(const Atom& atom, const std::vector<bool>& atoms) const {
    const auto* instruction = function_.body[atom.index].instruction();
    if (!instruction || instruction->guard || opcode_of(*instruction) != "ld") return true;
    auto space = space_word(*instruction);
    if (space == isa::Space::param) return false;
    bool several_ctas = group_ == Group::line || group_ == Group::grid;
    bool same_memory =
        space == isa::Space::global || space == isa::Space::constant || (space == isa::Space::shared && !several_ctas);
    if (!same_memory || has_word(*instruction, ".volatile")) return true;
    for (uint32_t reg : register_use(*instruction).reads) {
      auto value = values_.read(atom.index, reg);
      if (!value || values_.mentions_any(values_.value(*value), atoms)) return true;
    }
    return false;
  }

  bool phi_differs(const Atom& atom, const std::vector<bool>& atoms) const {
    if (joins_[atom.block]) return true;
    for (uint32_t from : cfg_.blocks()[atom.block].predecessors) {
      if (!cfg_.reachable(from)) continue;
      auto value = values_.at_end(from, atom.index);
      if (!value || values_.mentions_any(values_.value(*value), atoms)) return true;
    }
    return false;
  }

  bool branch_differs(uint32_t block, const std::vector<bool>& atoms) const {
    const auto& b = cfg_.blocks()[block];
    if (b.successors.size() < 2) return false;
    const auto& last = *function_.body[b.terminator].instruction();
    for (uint32_t reg : register_use(last).reads) {
      auto value = values_.read(b.terminator, reg);
      if (!value || values_.mentions_any(values_.value(*value), atoms)) return true;
    }
    return false;
  }

  // Where threads that part at `block` may meet again: all that is reached before its post-dominator, and that itself.
  void mark_joins(uint32_t block) {
    uint32_t meeting = cfg_.post_dominator(block);
    std::vector<uint32_t> open(cfg_.blocks()[block].successors);
    std::set<uint32_t> seen(open.begin(), open.end());
    while (!open.empty()) {
      uint32_t next = open.back();
      open.pop_back();
      joins_[next] = true;
      if (next == meeting) continue;
      for (uint32_t to : cfg_.blocks()[next].successors)
        if (seen.insert(to).second) open.push_back(to);
    }
  }

  const ptx::Function& function_;
  const Cfg& cfg_;
  const Values& values_;
  Group group_;
  std::vector<bool> joins_;
};

}  // namespace

Uniform::Uniform(const ptx::Function& function, const Cfg& cfg, const Values& values, Group group) : values_(&values) {
  Divergence(function, cfg, values, group).run(divergent_, divergent_branch_);
}

}  // namespace ptxlab::analysis
