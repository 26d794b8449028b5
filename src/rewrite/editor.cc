#include "rewrite/editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace ptxlab::rewrite {
namespace {

std::string bank_of(isa::Type type) {
  if (type == isa::Type::pred) return "p";
  if (type == isa::Type::f32) return "f";
  if (type == isa::Type::f64) return "fd";
  switch (isa::bits_of(type)) {
    case 8: return "b";
    case 16: return "rs";
    case 32: return "r";
    case 64: return "rd";
    default: return std::string(isa::name_of(type)) + "_";
  }
}

void rename(ptx::Operand& operand, const std::map<uint32_t, uint32_t>& registers,
            const std::map<std::string, std::string>& labels) {
  std::vector<ptx::Operand*> open{&operand};
  while (!open.empty()) {
    auto* next = open.back();
    open.pop_back();
    if (next->kind == ptx::Operand::Kind::reg) {
      if (auto it = registers.find(next->id); it != registers.end()) next->id = it->second;
    } else if (next->kind == ptx::Operand::Kind::label) {
      if (auto it = labels.find(next->name); it != labels.end()) {
        next->name = it->second;
        next->id = ~uint32_t{0};  // known by its name until the text is read again
      }
    }
    for (auto& element : next->elements) open.push_back(&element);
  }
}

}  // namespace

isa::Type mov_type(isa::Type type) {
  if (type == isa::Type::pred || type == isa::Type::f32 || type == isa::Type::f64) return type;
  switch (isa::bits_of(type)) {
    case 16: return isa::Type::b16;
    case 64: return isa::Type::b64;
    case 128: return isa::Type::b128;
    default: return isa::Type::b32;
  }
}

size_t first_step(const ptx::Function& function) {
  size_t at = 0;
  auto declares = [](const ptx::Statement& statement) {
    return std::holds_alternative<ptx::RegisterDeclaration>(statement.what) ||
           std::holds_alternative<ptx::VariableDeclaration>(statement.what) ||
           std::holds_alternative<ptx::Loc>(statement.what);
  };
  while (at < function.body.size() && declares(function.body[at])) ++at;
  return at;
}

std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> split;
  size_t begin = 0;
  for (size_t i = 1; i <= words.size(); ++i)
    if (i == words.size() || words[i] == '.') {
      split.emplace_back(words.substr(begin, i - begin));
      begin = i;
    }
  return split;
}

Editor::Editor(ptx::Function& function, std::string_view prefix) : function_(function), prefix_(prefix) {
  auto taken = [&](const std::string& candidate) {
    auto starts = [&](const std::string& name, std::string_view mark) {
      return name.size() > candidate.size() && name.starts_with(mark) &&
             name.compare(1, candidate.size(), candidate) == 0;
    };
    return std::any_of(function.registers.begin(), function.registers.end(),
                       [&](const auto& reg) { return starts(reg.name, "%"); }) ||
           std::any_of(function.labels.begin(), function.labels.end(),
                       [&](const auto& label) { return starts(label.name, "$"); });
  };
  for (int n = 2; taken(prefix_); ++n) prefix_ = fmt::format("{}{}_", prefix, n);
}

uint32_t Editor::fresh(isa::Type type) {
  auto& bank = banks_[bank_of(type)];
  bank.type = type;
  ptx::Register reg;
  reg.name = fmt::format("%{}_{}{}", prefix_, bank_of(type), bank.count++);
  reg.type = type;
  function_.registers.push_back(std::move(reg));
  return static_cast<uint32_t>(function_.registers.size() - 1);
}

std::string Editor::fresh_label(std::string_view hint) {
  auto name = fmt::format("${}_{}", prefix_, hint);
  return fmt::format("{}_{}", name, ++labels_[name]);
}

void Editor::comment(std::string text) { comments_.push_back("// " + std::move(text)); }

void Editor::push(ptx::Statement statement) {
  auto& before = statement.trivia.before;
  before.insert(before.begin(), comments_.begin(), comments_.end());
  comments_.clear();
  out_.push_back(std::move(statement));
}

void Editor::emit(std::string_view words, std::vector<std::string> operands) {
  ptx::Instruction instruction;
  instruction.words = split_words(words);
  instruction.word_spans.resize(instruction.words.size());
  for (auto& spelt : operands) {
    // Printed as it stands; reading the text again resolves it.
    ptx::Operand operand;
    operand.kind = ptx::Operand::Kind::name;
    operand.name = std::move(spelt);
    instruction.operands.push_back(std::move(operand));
  }
  ptx::Statement statement;
  statement.what = std::move(instruction);
  push(std::move(statement));
}

void Editor::emit_if(uint32_t guard, bool negated, std::string_view words, std::vector<std::string> operands) {
  emit(words, std::move(operands));
  out_.back().instruction()->guard = ptx::Guard{guard, negated, {}};
}

void Editor::label(std::string name) {
  ptx::LabelInfo info;
  info.name = std::move(name);
  function_.labels.push_back(std::move(info));
  ptx::Statement statement;
  statement.what = ptx::Label{static_cast<uint32_t>(function_.labels.size() - 1)};
  push(std::move(statement));
}

void Editor::copy(const ptx::Statement& statement, const std::map<uint32_t, uint32_t>& registers,
                  const std::map<std::string, std::string>& labels) {
  if (const auto* at = std::get_if<ptx::Label>(&statement.what)) {
    const auto& old = function_.labels[at->id].name;
    auto it = labels.find(old);
    assert(it != labels.end());
    label(it->second);
    return;
  }
  ptx::Statement made = statement;
  // Blank lines and comments belong to the original; a copy is explained where it begins.
  made.trivia = {};
  if (auto* instruction = made.instruction()) {
    for (auto& operand : instruction->operands) rename(operand, registers, labels);
    if (instruction->guard)
      if (auto it = registers.find(instruction->guard->reg); it != registers.end())
        instruction->guard->reg = it->second;
  }
  push(std::move(made));
}

void Editor::move(uint32_t to, const std::string& from) {
  emit(fmt::format("mov.{}", isa::name_of(mov_type(type(to)))), {name(to), from});
}

Statements Editor::take() {
  assert(comments_.empty());
  return std::exchange(out_, {});
}

void Editor::put_back(Statements statements) {
  assert(out_.empty());
  out_ = std::move(statements);
}

void Editor::declare() {
  Statements declarations;
  for (const auto& [bank, info] : banks_) {
    ptx::RegisterDeclaration declaration;
    declaration.type = info.type;
    ptx::RegisterDeclaration::Item item;
    item.name = fmt::format("%{}_{}", prefix_, bank);
    item.bank = true;
    item.count = info.count;
    declaration.items.push_back(std::move(item));
    ptx::Statement statement;
    statement.what = std::move(declaration);
    declarations.push_back(std::move(statement));
  }
  auto& body = function_.body;
  size_t at = 0;  // behind the function's own declarations, so that a reader finds them together
  while (at < body.size() && std::holds_alternative<ptx::RegisterDeclaration>(body[at].what)) ++at;
  body.insert(body.begin() + static_cast<std::ptrdiff_t>(at), std::make_move_iterator(declarations.begin()),
              std::make_move_iterator(declarations.end()));
}

}  // namespace ptxlab::rewrite
