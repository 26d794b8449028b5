// What a form (a row with its choices taken) says about itself.
#include <fmt/format.h>

#include <algorithm>

#include "isa/table.h"
#include "isa/type_names.h"

namespace ptxlab::isa {
namespace {

const Choice* taken_choice(const Form& form, size_t slot) {
  int choice = form.taken[slot];
  return choice < 0 ? nullptr : &form.row->slots[slot].choices[choice];
}

bool holds(const Form& form, const Condition& condition) {
  int choice = form.taken[condition.slot];
  uint64_t bit = choice < 0 ? Condition::kAbsent : uint64_t{1} << choice;
  return condition.choices & bit;
}

bool applies(const Form& form, const Constraint& constraint) {
  for (const Condition& condition : constraint.when) {
    if (!holds(form, condition)) return false;
  }
  return true;
}

// The N of a shape: ".m64n128k16" gives 128.
int columns(std::string_view shape) {
  int n = 0;
  for (size_t i = std::min(shape.find('n'), shape.size()) + 1; i < shape.size() && shape[i] >= '0' && shape[i] <= '9';
       ++i) {
    n = n * 10 + (shape[i] - '0');
  }
  return n;
}

// u16 to u32: the d of mul.wide.
Type twice_as_wide(Type type) {
  const TypeInfo& narrow = info(type);
  for (size_t i = 1; i < kTypes; ++i) {
    const TypeInfo& wide = kTypeInfo[i];
    if (wide.kind == narrow.kind && wide.lanes == 1 && wide.bits == 2 * narrow.bits) return static_cast<Type>(i);
  }
  return Type::none;
}

// The tokens that make a condition true, for messages: "'.b32' or '.b64'", "no '.rnd'".
std::string words_of(const Form& form, const Condition& condition) {
  const Slot& slot = form.row->slots[condition.slot];
  uint64_t all = (uint64_t{1} << slot.choices.size()) - 1;
  if ((condition.choices & all) == 0) return fmt::format("no '.{}'", slot.name);
  std::string text;
  for (size_t i = 0; i < slot.choices.size(); ++i) {
    if (!(condition.choices >> i & 1)) continue;
    text += fmt::format("{}'{}'", text.empty() ? "" : " or ", slot.choices[i].token);
  }
  return text;
}

// The tokens of the form that made the constraint apply: "'.sat' with '.u32'".
std::string cause(const Form& form, const Constraint& constraint) {
  std::string text;
  for (const Condition& condition : constraint.when) {
    const Choice* choice = taken_choice(form, condition.slot);
    text += text.empty() ? "" : " with ";
    text += choice ? fmt::format("'{}'", choice->token) : words_of(form, condition);
  }
  return text.empty() ? "this form" : text;
}

}  // namespace

bool Form::has(std::string_view token) const {
  if (!row) return false;
  for (size_t i = 0; i < row->slots.size(); ++i) {
    const Choice* choice = taken_choice(*this, i);
    if (choice && choice->token == token) return true;
  }
  return false;
}

std::string_view Form::at(std::string_view slot) const {
  if (!row) return "";
  for (size_t i = 0; i < row->slots.size(); ++i) {
    if (row->slots[i].name != slot) continue;
    if (const Choice* choice = taken_choice(*this, i)) return choice->token;
  }
  return "";
}

Type Form::type(int n) const {
  if (!row) return Type::none;
  for (size_t i = 0; i < row->slots.size(); ++i) {
    const Choice* choice = taken_choice(*this, i);
    if (choice && choice->type != Type::none && n-- == 0) return choice->type;
  }
  return Type::none;
}

Space Form::space() const {
  if (!row) return Space::none;
  bool slot_left_out = false;
  for (size_t i = 0; i < row->slots.size(); ++i) {
    if (row->slots[i].choices[0].space == Space::none) continue;
    if (const Choice* choice = taken_choice(*this, i)) return choice->space;
    slot_left_out = true;
  }
  if (slot_left_out) return Space::generic;
  // A row without any word for the space: an address operand is generic, unless the row fixes it.
  for (const OperandSpec& operand : row->operands) {
    if (operand.shape == Shape::address) return operand.space == Space::none ? Space::generic : operand.space;
  }
  return Space::none;
}

int Form::vector_length() const {
  std::string_view vec = at("vec");
  if (vec.size() < 3) return 1;
  int length = 0;
  for (char c : vec.substr(2)) {
    if (c < '0' || c > '9') break;
    length = length * 10 + (c - '0');
  }
  return length ? length : 1;
}

Gate Form::gate() const {
  if (!row) return {};
  Gate gate = row->gate;
  for (size_t i = 0; i < row->slots.size(); ++i) {
    if (const Choice* choice = taken_choice(*this, i)) gate = strictest(gate, choice->gate);
  }
  for (const Constraint& constraint : row->constraints) {
    if (constraint.kind == Constraint::Kind::since && applies(*this, constraint)) {
      gate = strictest(gate, constraint.gate);
    }
  }
  return gate;
}

Type Form::operand_type(int operand) const {
  const TypeRule& rule = row->operands[operand].type;
  switch (rule.kind) {
    case TypeRule::Kind::none: return Type::none;
    case TypeRule::Kind::fixed: return rule.type;
    case TypeRule::Kind::slot:
    case TypeRule::Kind::twice_slot: break;
  }
  const Choice* choice = taken_choice(*this, rule.slot);
  if (!choice) return Type::none;
  if (rule.kind == TypeRule::Kind::slot) return choice->type;
  return twice_as_wide(choice->type);
}

Space Form::operand_space(int operand) const {
  const OperandSpec& spec = row->operands[operand];
  if (spec.space_slot < 0) return spec.space == Space::none ? Space::generic : spec.space;
  const Choice* choice = taken_choice(*this, static_cast<size_t>(spec.space_slot));
  return choice ? choice->space : Space::generic;
}

int Form::operand_lanes(int operand) const {
  const OperandSpec& spec = row->operands[operand];
  if (spec.shape != Shape::vector) return 1;
  if (spec.n_divisor) return columns(at("shape")) / spec.n_divisor;
  return spec.lanes ? spec.lanes : vector_length() * spec.vec_times;
}

bool Form::takes_constant(int operand) const {
  Shape shape = row->operands[operand].shape;
  if (shape == Shape::immediate) return true;
  if (shape != Shape::value) return false;
  Type type = operand_type(operand);
  if (is_float(type)) return type == Type::f32 || type == Type::f64;
  return type != Type::none && info(type).lanes == 1;
}

std::string spelling(const Form& form) {
  std::string text;
  if (!form.row) return text;
  for (size_t i = 0; i < form.row->slots.size(); ++i) {
    if (const Choice* choice = taken_choice(form, i)) text += choice->token;
  }
  return text;
}

bool keeps_constraints(const Form& form) {
  for (const Constraint& constraint : form.row->constraints) {
    if (constraint.kind == Constraint::Kind::since || !applies(form, constraint)) continue;
    bool any = false;
    for (const Condition& condition : constraint.then) any |= holds(form, condition);
    if (any != (constraint.kind == Constraint::Kind::needs)) return false;
  }
  return true;
}

std::string broken_constraint(const Form& form) {
  if (keeps_constraints(form)) return "";
  for (const Constraint& constraint : form.row->constraints) {
    if (constraint.kind == Constraint::Kind::since || !applies(form, constraint)) continue;
    if (constraint.kind == Constraint::Kind::excludes) {
      for (const Condition& condition : constraint.then) {
        if (!holds(form, condition)) continue;
        const Choice* choice = taken_choice(form, condition.slot);
        std::string what = choice ? fmt::format("'{}'", choice->token) : words_of(form, condition);
        return fmt::format("{} does not go with {}", what, cause(form, constraint));
      }
      continue;
    }
    bool satisfied = false;
    std::string wanted;
    for (const Condition& condition : constraint.then) {
      satisfied |= holds(form, condition);
      wanted += fmt::format("{}{}", wanted.empty() ? "" : " or ", words_of(form, condition));
    }
    if (!satisfied) return fmt::format("{} needs {}", cause(form, constraint), wanted);
  }
  return "";
}

}  // namespace ptxlab::isa
