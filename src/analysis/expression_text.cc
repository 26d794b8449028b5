#include "analysis/expression_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

constexpr size_t kMostText = 90;
constexpr int kMostDepth = 6;

struct Sign {
  std::string_view opcode, text;
};
constexpr Sign kSigns[] = {{"and", " & "},  {"or", " | "},  {"xor", " ^ "}, {"shr", " >> "},
                           {"shl", " << "}, {"div", " / "}, {"rem", " % "}};

class Writer {
 public:
  Writer(const Values& values, const ptx::Function& function, const Known& known)
      : values_(values), function_(function), known_(known) {}

  std::string text(const Affine& value, int depth) const {
    std::string text;
    // What is added comes before what is taken away.
    auto terms = value.terms;
    std::stable_partition(terms.begin(), terms.end(), [](const Term& term) { return term.coefficient > 0; });
    for (const auto& written : terms) {
      const Term term = with_known_block(written);
      text += text.empty() ? (term.coefficient < 0 ? "-" : "") : (term.coefficient < 0 ? " - " : " + ");
      const uint64_t size =
          term.coefficient < 0 ? 0 - static_cast<uint64_t>(term.coefficient) : static_cast<uint64_t>(term.coefficient);
      if (term.factors.empty() || size != 1) text += fmt::format("{}{}", size, term.factors.empty() ? "" : "*");
      for (size_t i = 0; i < term.factors.size(); ++i)
        text.append(i ? "*" : "").append(atom(values_.atom(term.factors[i]), depth));
      if (text.size() > 4 * kMostText) return text;
    }
    if (text.empty()) return fmt::format("{}", value.constant);
    if (value.constant == 0) return text;
    const uint64_t size =
        value.constant < 0 ? 0 - static_cast<uint64_t>(value.constant) : static_cast<uint64_t>(value.constant);
    return text + fmt::format(" {} {}", value.constant < 0 ? '-' : '+', size);
  }

 private:
  // How many threads a CTA has is a number where it is known.
  Term with_known_block(Term term) const {
    std::erase_if(term.factors, [&](AtomId id) {
      const auto& atom = values_.atom(id);
      const bool size = atom.kind == Atom::Kind::special && known_.block[0] && atom.component >= 0 &&
                        atom.component < 3 && isa::special_registers()[atom.index].name == "%ntid";
      return size &&
             !__builtin_mul_overflow(term.coefficient, int64_t{known_.block[static_cast<size_t>(atom.component)]},
                                     &term.coefficient);
    });
    return term;
  }

  std::string atom(const Atom& atom, int depth) const {
    switch (atom.kind) {
      case Atom::Kind::special: {
        auto name = std::string(isa::special_registers()[atom.index].name.substr(1));
        return atom.component >= 0 ? fmt::format("{}.{}", name, "xyzw"[atom.component & 3]) : name;
      }
      case Atom::Kind::parameter: {
        auto name = parameter_name(function_, atom.index, known_);
        return atom.component > 0 ? fmt::format("{}[{}]", name, atom.component) : name;
      }
      case Atom::Kind::symbol: return atom.words;
      case Atom::Kind::phi:
      case Atom::Kind::undefined: return function_.registers[atom.index].name;
      case Atom::Kind::operation: return operation(atom, depth);
      case Atom::Kind::definition: return written(atom);
    }
    return "?";
  }

  // What a load or a guarded move wrote goes by the register's name.
  std::string written(const Atom& atom) const {
    const auto* instruction = atom.index < function_.body.size() ? function_.body[atom.index].instruction() : nullptr;
    if (!instruction || atom.component < 0) return "?";
    auto writes = register_use(*instruction).writes;
    const auto which = static_cast<size_t>(atom.component);
    return which < writes.size() ? function_.registers[writes[which]].name : "?";
  }

  std::string operation(const Atom& atom, int depth) const {
    const std::string opcode = atom.words.substr(0, atom.words.find('.'));
    if (depth >= kMostDepth) return opcode + "(...)";
    std::vector<std::string> parts;
    for (ValueId operand : atom.operands) {
      const auto& value = values_.value(operand);
      auto part = text(value, depth + 1);
      if (value.terms.size() + (value.constant != 0) > 1) part = "(" + part + ")";
      parts.push_back(std::move(part));
    }
    if (opcode == "cvt" && parts.size() == 1) return parts[0];
    auto sign = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const Sign& s) { return s.opcode == opcode; });
    if (sign != std::end(kSigns) && parts.size() == 2) return "(" + parts[0] + std::string(sign->text) + parts[1] + ")";
    std::string all = opcode + "(";
    for (size_t i = 0; i < parts.size(); ++i) all += (i ? ", " : "") + parts[i];
    return all + ")";
  }

  const Values& values_;
  const ptx::Function& function_;
  const Known& known_;
};

}  // namespace

std::string parameter_name(const ptx::Function& function, uint32_t index, const Known& known) {
  if (index < known.names.size() && !known.names[index].empty()) return known.names[index];
  if (index >= function.parameters.size()) return "parameter";
  const auto& name = function.parameters[index].name;
  const auto own = function.name + "_";
  return name.starts_with(own) ? name.substr(own.size()) : name;
}

std::string expression_text(const Affine& value, const Values& values, const ptx::Function& function,
                            const Known& known) {
  auto text = Writer(values, function, known).text(value, 0);
  return text.size() <= kMostText ? text : text.substr(0, kMostText) + "...";
}

}  // namespace ptxlab::analysis
