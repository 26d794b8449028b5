// Whether one operand is what a form's operand wants, as ptxas judges it: the kind, the register's type and width.
#pragma once
#include <optional>
#include <string>

#include "ptx/codes.h"
#include "ptx/module.h"

namespace ptxlab::ptx {

struct Problem {
  Code code;
  Span span;
  std::string message;
  std::string hint;
  bool warning = false;
};

// A register of type `have` for an operand of type `want`.
enum class Fit : uint8_t { ok, width, kind };
// `relaxed`: a wider register will do (ld, st, cvt). `element`: inside { }, where ptxas asks less of floating types.
Fit fit(isa::Type have, isa::Type want, bool relaxed, bool element);

class OperandCheck {
 public:
  OperandCheck(const Module& module, const Function& function) : module_(module), function_(function) {}

  // Nothing where `operand` is right as operand `index` of `form`.
  std::optional<Problem> check(const isa::Form& form, int index, const Operand& operand) const;
  // What `operand` names: the variable, or null.
  const Variable* variable(const SymbolRef& symbol) const;

 private:
  std::optional<Problem> value(const isa::Form& form, int index, const Operand& operand, bool element) const;
  std::optional<Problem> reg(const isa::Form& form, int index, const Operand& operand, bool element) const;
  std::optional<Problem> special(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> symbol_value(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> integer(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> range(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> floating(const isa::Form& form, int index, const Operand& operand, bool element) const;
  std::optional<Problem> address(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> address_space(const isa::Form& form, int index, const Operand& base) const;
  std::optional<Problem> vector(const isa::Form& form, int index, const Operand& operand) const;
  std::optional<Problem> sink(const isa::Form& form, int index, const Operand& operand, bool element) const;
  std::optional<Problem> wrong_kind(const isa::Form& form, int index, const Operand& operand,
                                    std::string_view wanted) const;

  const Module& module_;
  const Function& function_;
};

// "register", "integer constant", "label" ...: what an operand is, for messages.
std::string describe(const Operand& operand);

}  // namespace ptxlab::ptx
