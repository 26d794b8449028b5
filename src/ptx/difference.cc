#include "ptx/difference.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptxlab::ptx {
namespace {

// Equality of the parts without their spans. Each overload names every field that carries meaning.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b);

bool same(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.negated == b.negated && a.component == b.component &&
         a.single_precision == b.single_precision && a.adds_zero == b.adds_zero && a.id == b.id && a.bits == b.bits &&
         a.offset == b.offset && a.symbol == b.symbol && a.name == b.name && same(a.elements, b.elements);
}

bool same(const Initializer::Element& a, const Initializer::Element& b) {
  return a.bits == b.bits && a.symbol == b.symbol && a.offset == b.offset && a.generic == b.generic && a.mask == b.mask;
}

bool same(const Variable& a, const Variable& b) {
  bool initial = a.init.has_value() == b.init.has_value() &&
                 (!a.init || (a.init->text == b.init->text && same(a.init->elements, b.init->elements)));
  return initial && a.name == b.name && a.space == b.space && a.type == b.type && a.vector == b.vector &&
         a.align == b.align && a.dims == b.dims && a.linkage == b.linkage && a.ptr_space == b.ptr_space &&
         a.ptr_align == b.ptr_align && a.attributes == b.attributes && a.opaque == b.opaque;
}

bool same(const RegisterDeclaration::Item& a, const RegisterDeclaration::Item& b) {
  return a.name == b.name && a.count == b.count && a.bank == b.bank;
}

bool same(const Register& a, const Register& b) { return a.name == b.name && a.type == b.type && a.vector == b.vector; }
bool same(const LabelInfo& a, const LabelInfo& b) { return a.name == b.name && a.statement == b.statement; }

bool same(const Instruction& a, const Instruction& b) {
  bool guards = a.guard.has_value() == b.guard.has_value() &&
                (!a.guard || (a.guard->reg == b.guard->reg && a.guard->negated == b.guard->negated));
  return guards && a.words == b.words && same(a.operands, b.operands) && a.loc == b.loc && a.form.row == b.form.row &&
         a.form.taken == b.form.taken;
}
bool same(const Label& a, const Label& b) { return a.id == b.id; }
bool same(const RegisterDeclaration& a, const RegisterDeclaration& b) {
  return a.type == b.type && a.vector == b.vector && same(a.items, b.items);
}
bool same(const VariableDeclaration& a, const VariableDeclaration& b) { return a.index == b.index; }
bool same(const Loc& a, const Loc& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column && a.rest == b.rest;
}
bool same(const Directive& a, const Directive& b) {
  return a.text == b.text && same(a.targets, b.targets) && same(a.parameters, b.parameters) &&
         same(a.results, b.results);
}
bool same(const BlockBegin&, const BlockBegin&) { return true; }
bool same(const BlockEnd&, const BlockEnd&) { return true; }

bool same(const Statement& a, const Statement& b) {
  if (a.what.index() != b.what.index() || !(a.trivia == b.trivia)) return false;
  return std::visit([&](const auto& what) { return same(what, std::get<std::decay_t<decltype(what)>>(b.what)); },
                    a.what);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

std::string difference(const Function& a, const Function& b) {
  if (a.name != b.name || a.entry != b.entry || a.has_body != b.has_body || a.linkage != b.linkage) return "heading";
  if (!same(a.parameters, b.parameters) || !same(a.results, b.results)) return "parameters";
  if (a.leading != b.leading || a.directives != b.directives) return "directives";
  for (size_t i = 0; i < std::min(a.body.size(), b.body.size()); ++i)
    if (!same(a.body[i], b.body[i])) return fmt::format("statement {}", i);
  if (a.body.size() != b.body.size()) return "number of statements";
  if (!same(a.registers, b.registers)) return "registers";
  if (!same(a.labels, b.labels)) return "labels";
  if (!same(a.variables, b.variables)) return "variables";
  if (!(a.trivia == b.trivia) || !(a.end_trivia == b.end_trivia)) return "comments";
  return "";
}

}  // namespace

std::string difference(const Module& a, const Module& b) {
  if (a.version != b.version || !(a.target == b.target) || a.target_options != b.target_options ||
      a.address_size != b.address_size)
    return "heading";
  if (!(a.header == b.header)) return "comments of the heading";
  if (!(a.end_trivia == b.end_trivia)) return "comments at the end";
  for (size_t i = 0; i < std::min(a.functions.size(), b.functions.size()); ++i)
    if (auto found = difference(a.functions[i], b.functions[i]); !found.empty())
      return "function " + a.functions[i].name + ", " + found;
  if (a.functions.size() != b.functions.size()) return "number of functions";
  if (!same(a.variables, b.variables)) return "variables";
  if (a.directives != b.directives || a.files != b.files) return "directives";
  if (!same(a.locations, b.locations)) return "locations";
  bool items = std::equal(
      a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
      [](const Item& x, const Item& y) { return x.kind == y.kind && x.index == y.index && x.trivia == y.trivia; });
  return items ? "" : "order or comments of the items";
}

}  // namespace ptxlab::ptx
