#include "rewrite/aliasing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "analysis/registers.h"

namespace ptxlab::rewrite {

using analysis::has_word;
using analysis::opcode_of;

std::string place(const ptx::Function& function, uint32_t statement) {
  const auto* instruction = function.body[statement].instruction();
  if (!instruction) return fmt::format("line {}", line_at(function, statement));
  std::string words;
  for (const auto& word : instruction->words) words += word;
  return fmt::format("'{}' in line {}", words, instruction->line);
}

uint32_t line_at(const ptx::Function& function, uint32_t statement) {
  for (uint32_t s = statement; s < function.body.size(); ++s)
    if (const auto* instruction = function.body[s].instruction()) return instruction->line;
  return 0;
}

std::string base_of(const analysis::MemoryAccess& access, const launch::Launch& launch) {
  if (access.variable) return "variable " + *access.variable;
  if (!access.parameter) return "";
  if (*access.parameter >= launch.arguments.size()) return "";
  const auto& argument = launch.arguments[*access.parameter];
  size_t length = 0;
  while (length < argument.size() &&
         (std::isalnum(static_cast<unsigned char>(argument[length])) || argument[length] == '_'))
    ++length;
  // "pick(...)" names several buffers.
  return length == 0 || argument.substr(0, length) == "pick" ? "" : "buffer " + argument.substr(0, length);
}

namespace {

// Follows a pointer to the parameters that it may come from.
class PointerSources {
 public:
  explicit PointerSources(const Flow& flow) : flow_(flow) {}
  std::set<uint32_t> parameters;

  bool follow(const analysis::Affine& address) {
    auto start = flow_.values.at_loop_start(address);
    int pointers = 0;
    for (const auto& term : start.terms) {
      if (term.coefficient != 1 || term.factors.size() != 1) continue;
      const auto& atom = flow_.values.atom(term.factors[0]);
      switch (atom.kind) {
        case analysis::Atom::Kind::special: break;
        case analysis::Atom::Kind::symbol:
        case analysis::Atom::Kind::definition:
        case analysis::Atom::Kind::undefined: return false;
        case analysis::Atom::Kind::parameter:
          if (atom.index >= flow_.function.parameters.size() ||
              isa::bits_of(flow_.function.parameters[atom.index].type) != 64)
            break;
          parameters.insert(atom.index);
          ++pointers;
          break;
        case analysis::Atom::Kind::operation:
          if (!atom.words.starts_with("selp") || !atom.words.ends_with("64") || atom.operands.size() < 2) return false;
          ++pointers;
          for (size_t i : {0, 1})
            if (!enter(term.factors[0], flow_.values.value(atom.operands[i]))) return false;
          break;
        case analysis::Atom::Kind::phi:
          if (isa::bits_of(flow_.function.registers[atom.index].type) != 64) break;
          ++pointers;
          for (uint32_t from : flow_.cfg.blocks()[atom.block].predecessors) {
            auto value = flow_.values.at_end(from, atom.index);
            if (!value || !enter(term.factors[0] * 64 + from % 64, flow_.values.value(*value))) return false;
          }
          break;
      }
    }
    return pointers == 1;
  }

 private:
  // A phi that leads back to itself adds nothing.
  bool enter(uint32_t key, const analysis::Affine& value) {
    if (++depth_ > 16) return false;
    bool known = !seen_.insert({key, value}).second || follow(value);
    --depth_;
    return known;
  }
  const Flow& flow_;
  std::set<std::pair<uint32_t, analysis::Affine>> seen_;
  int depth_ = 0;
};

}  // namespace

std::optional<std::set<std::string>> bases_of(const Flow& flow, const analysis::MemoryAccess& access,
                                              const launch::Launch& launch) {
  if (auto base = base_of(access, launch); !base.empty()) return std::set<std::string>{base};
  if (access.variable || access.parameter) return std::nullopt;
  PointerSources sources(flow);
  if (!sources.follow(access.address) || sources.parameters.empty()) return std::nullopt;
  std::set<std::string> bases;
  for (uint32_t parameter : sources.parameters) {
    analysis::MemoryAccess one;
    one.parameter = parameter;
    auto base = base_of(one, launch);
    if (base.empty()) return std::nullopt;
    bases.insert(base);
  }
  return bases;
}

std::vector<const launch::Launch*> launches_of(const ptx::Module& module, const launch::Plan& plan,
                                               const ptx::Function& entry) {
  std::vector<const launch::Launch*> found;
  for (const auto& launch : plan.launches)
    if (module.entry(launch.entry) == &entry) found.push_back(&launch);
  return found;
}

bool Aliasing::never_written(const analysis::MemoryAccess& access) const {
  const auto* instruction = flow_.function.body[access.statement].instruction();
  return access.space == isa::Space::constant || has_word(*instruction, ".nc");
}

bool Aliasing::may_overlap(const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) const {
  if (never_written(a) || never_written(b)) return false;
  if (a.space == isa::Space::local || b.space == isa::Space::local)
    return a.space == b.space || a.space == isa::Space::generic || b.space == isa::Space::generic;
  bool both_known_spaces = a.space != isa::Space::generic && b.space != isa::Space::generic;
  if (both_known_spaces && (a.space == isa::Space::shared) != (b.space == isa::Space::shared)) return false;
  if (launches_.empty()) return true;
  return std::any_of(launches_.begin(), launches_.end(), [&](const auto* launch) {
    auto first = bases_of(flow_, a, *launch), second = bases_of(flow_, b, *launch);
    if (!first || !second) return true;
    return std::any_of(first->begin(), first->end(), [&](const auto& base) { return second->count(base) > 0; });
  });
}

bool Aliasing::disjoint_now(const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) const {
  if (a.space != b.space || a.bytes == 0 || b.bytes == 0) return false;
  if (a.parameter != b.parameter || a.variable != b.variable || (!a.parameter && !a.variable)) return false;
  auto minus = analysis::scale(b.address, -1);
  auto apart = minus ? analysis::add(a.address, *minus) : std::nullopt;
  if (!apart || !apart->is_constant()) return false;
  return apart->constant >= static_cast<int64_t>(b.bytes) || -apart->constant >= static_cast<int64_t>(a.bytes);
}

std::optional<std::set<std::string>> Aliasing::written(const launch::Launch& launch) const {
  std::set<std::string> buffers;
  for (uint32_t s = 0; s < flow_.function.body.size(); ++s) {
    const auto* instruction = flow_.function.body[s].instruction();
    if (!instruction) continue;
    const auto* row = instruction->form.row;
    if (!row || row->effects.call || row->effects.async) return std::nullopt;
    if (!row->effects.stores && !row->effects.atomic) continue;
    const auto* access = flow_.access(s);
    if (!access) {
      if (analysis::space_word(*instruction) == isa::Space::param) continue;
      return std::nullopt;
    }
    if (access->space == isa::Space::shared || access->space == isa::Space::local) continue;
    auto bases = bases_of(flow_, *access, launch);
    if (!bases) return std::nullopt;
    buffers.insert(bases->begin(), bases->end());
  }
  return buffers;
}

std::string ordering_of(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row) return "is not in the instruction table";
  const auto& e = row->effects;
  if (e.barrier || e.warp_sync || e.fence) return "waits for or exchanges with other threads";
  if (e.call) return "calls a function";
  if (e.async) return "completes later";
  if (e.timing) return "reads a clock";
  if (e.atomic) return "is an atomic";
  for (const auto* word : {".volatile", ".acquire", ".release", ".mmio", ".relaxed"})
    if (has_word(instruction, word)) return "is ordered with other threads' accesses";
  if (opcode_of(instruction) == "activemask") return "depends on how threads run";
  return "";
}

bool plain_access(const ptx::Instruction& instruction) {
  if (opcode_of(instruction) != "ld" && opcode_of(instruction) != "st") return false;
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    const auto& word = instruction.words[i];
    if (isa::type_named(word) || word == ".global" || word == ".shared" || word == ".local" || word == ".const" ||
        word == ".weak" || word == ".nc" || word == ".ca" || word == ".cg" || word == ".cs" || word == ".lu" ||
        word == ".wb" || word == ".wt" || word == ".v2" || word == ".v4" || word == ".v8" ||
        word.starts_with(".L1::") || word.starts_with(".L2::") || word == ".shared::cta")
      continue;
    return false;
  }
  return true;
}

namespace {

// Clocks, timers, and where the hardware runs the thread.
bool changes_by_itself(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::special) {
    const auto& special = isa::special_registers()[operand.id];
    return special.timing || special.scheduling || special.name.starts_with("%pm");
  }
  return std::any_of(operand.elements.begin(), operand.elements.end(),
                     [](const auto& element) { return element.kind == ptx::Operand::Kind::special; });
}

}  // namespace

bool pure(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row || instruction.guard || instruction.operands.empty()) return false;
  const auto& e = row->effects;
  if (e.loads || e.stores || e.atomic || e.barrier || e.warp_sync || e.fence || e.branch || e.call || e.ends_thread ||
      e.async || e.timing)
    return false;
  auto opcode = opcode_of(instruction);
  if (has_word(instruction, ".cc") || opcode == "addc" || opcode == "subc" || opcode == "madc" ||
      opcode == "activemask" || opcode == "nanosleep" || opcode == "setmaxnreg")
    return false;
  for (const auto& operand : instruction.operands)
    if (changes_by_itself(operand)) return false;
  return instruction.operands[0].kind == ptx::Operand::Kind::reg;
}

}  // namespace ptxlab::rewrite
