#include "estimate/data_dependence.h"

#include <algorithm>
#include <vector>

#include "analysis/registers.h"

namespace ptxlab::estimate {
namespace {

using analysis::opcode_of;

// Which registers hold what came out of memory, and whether such values were put into a CTA's or thread's own memory:
// found by going over all statements, in no order, until nothing changes.
class Flow {
 public:
  explicit Flow(const ptx::Module& module) : module_(module) {
    for (const auto& function : module.functions) loaded_.emplace_back(function.registers.size());
  }

  bool decides_anything() {
    do {
      changed_ = false;
      for (size_t f = 0; f < module_.functions.size(); ++f)
        for (const auto& statement : module_.functions[f].body)
          if (const auto* instruction = statement.instruction())
            if (visit(*instruction, loaded_[f])) return true;
    } while (changed_);
    return false;
  }

 private:
  bool own_memory(isa::Space space) const { return space == isa::Space::shared || space == isa::Space::local; }

  // True where a loaded value says whether or where something happens.
  bool visit(const ptx::Instruction& i, std::vector<bool>& loaded) {
    auto opcode = opcode_of(i);
    bool memory = opcode == "ld" || opcode == "ldu" || opcode == "st" || opcode == "atom" || opcode == "red" ||
                  opcode == "cp" || opcode == "ldmatrix" || opcode == "stmatrix";
    bool control = opcode == "bra" || opcode == "brx" || opcode == "exit" || opcode == "ret" || opcode == "trap" ||
                   opcode == "call" || opcode == "bar" || opcode == "barrier";
    if ((memory || control) && i.guard && loaded[i.guard->reg]) return true;
    for (const auto& operand : i.operands) {
      if (opcode == "brx" && operand.kind == ptx::Operand::Kind::reg && loaded[operand.id]) return true;
      if (operand.kind != ptx::Operand::Kind::address || operand.elements.empty()) continue;
      const auto& base = operand.elements[0];
      if (base.kind == ptx::Operand::Kind::reg && loaded[base.id]) return true;
    }
    auto use = analysis::register_use(i);
    bool reads = std::any_of(use.reads.begin(), use.reads.end(), [&](uint32_t r) { return loaded[r]; });
    auto space = analysis::space_word(i);
    if (opcode == "st" && reads && space != isa::Space::global) set(own_is_loaded_);
    if (opcode == "cp" || opcode == "atom") set(own_is_loaded_);
    bool writes = reads;
    if (opcode == "ld" || opcode == "ldu" || opcode == "ldmatrix")
      writes = own_memory(space) ? own_is_loaded_ : space == isa::Space::param ? own_is_loaded_ && calls() : true;
    if (opcode == "atom" || opcode == "call") writes = true;
    if (!writes) return false;
    for (uint32_t r : use.writes) {
      if (loaded[r]) continue;
      loaded[r] = true;
      changed_ = true;
    }
    return false;
  }

  // Parameters of calls travel through .param; those of an entry never come out of memory that a kernel wrote.
  bool calls() const {
    return std::any_of(module_.functions.begin(), module_.functions.end(),
                       [](const auto& f) { return !f.entry && f.has_body; });
  }

  void set(bool& flag) {
    changed_ |= !flag;
    flag = true;
  }

  const ptx::Module& module_;
  std::vector<std::vector<bool>> loaded_;  // by function, by register
  bool own_is_loaded_ = false;             // shared or thread memory, or a call's parameters
  bool changed_ = false;
};

}  // namespace

bool depends_on_data(const ptx::Module& module) { return Flow(module).decides_anything(); }

}  // namespace ptxlab::estimate
