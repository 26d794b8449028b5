// Faults in a module, planted as edits of its text: what the module prints elsewhere stays as it was written.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>

#include "task/mutants.h"

namespace ptxlab::task {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;
using ptx::Statement;

struct Place {
  const Function* function;
  size_t index;  // of the statement in the body
  const Statement* statement;
  const Instruction* instruction;
};

std::string_view text_of(const Module& module, base::Span span) {
  return std::string_view(module.source).substr(span.begin, span.size());
}

std::vector<Place> instructions(const Module& module) {
  std::vector<Place> places;
  for (const Function& function : module.functions) {
    for (size_t i = 0; i < function.body.size(); ++i)
      if (const Instruction* instruction = function.body[i].instruction())
        places.push_back({&function, i, &function.body[i], instruction});
  }
  return places;
}

bool has(const Instruction& instruction, std::string_view word) {
  return std::find(instruction.words.begin(), instruction.words.end(), word) != instruction.words.end();
}
bool opcode(const Instruction& instruction, std::string_view word) {
  return !instruction.words.empty() && instruction.words[0] == word;
}

std::string replaced(const Module& module, base::Span span, std::string_view text) {
  std::string result = module.source.substr(0, span.begin);
  result += text;
  return result + module.source.substr(span.end);
}

Planted plant(const Module& module, const Place& place, base::Span span, std::string_view text, std::string_view what) {
  return {replaced(module, span, text), fmt::format("line {}: {}", place.instruction->line, what),
          place.instruction->line};
}

// The guard as written, "@%p1 " or nothing, for instructions that go with a guarded one.
std::string guard_text(const Instruction& instruction, const Function& function) {
  if (!instruction.guard) return "";
  return fmt::format("@{}{} ", instruction.guard->negated ? "!" : "", function.registers[instruction.guard->reg].name);
}

// Where loops are: a branch back to a label makes all statements between the two its loop.
std::vector<bool> in_loop(const Function& function) {
  std::vector<bool> inside(function.body.size(), false);
  for (size_t i = 0; i < function.body.size(); ++i) {
    const Instruction* instruction = function.body[i].instruction();
    if (!instruction || !opcode(*instruction, "bra") || instruction->operands.empty()) continue;
    const Operand& target = instruction->operands[0];
    if (target.kind != Operand::Kind::label || target.id >= function.labels.size()) continue;
    const int32_t from = function.labels[target.id].statement;
    if (from < 0 || static_cast<size_t>(from) > i) continue;
    for (size_t k = static_cast<size_t>(from); k <= i; ++k) inside[k] = true;
  }
  return inside;
}

// Calls f for each instruction with whether it stands in a loop.
template <class F>
std::vector<Planted> each(const Module& module, F&& f) {
  std::vector<Planted> planted;
  std::map<const Function*, std::vector<bool>> loops;
  for (const Place& place : instructions(module)) {
    auto [it, fresh] = loops.try_emplace(place.function);
    if (fresh) it->second = in_loop(*place.function);
    if (std::optional<Planted> one = f(place, it->second[place.index])) planted.push_back(std::move(*one));
  }
  return planted;
}

std::vector<Planted> removed(const Module& module, const std::function<bool(const Instruction&)>& wanted) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    if (!wanted(*place.instruction)) return std::nullopt;
    const std::string what = fmt::format("`{}` removed", text_of(module, place.statement->span));
    return plant(module, place, place.statement->span, "", what);
  });
}

std::vector<Planted> barrier_removed(const Module& module) {
  return removed(module, [](const Instruction& i) {
    return (opcode(i, "bar") || opcode(i, "barrier")) && (has(i, ".sync") || has(i, ".red"));
  });
}
// What brings a result to global memory: a store, or an atomic.
bool stores(const Instruction& i) {
  return (opcode(i, "st") || opcode(i, "red") || opcode(i, "atom")) && has(i, ".global");
}
std::vector<Planted> store_removed(const Module& module) { return removed(module, stores); }

bool same_register(const Operand& a, const Operand& b) {
  return a.kind == Operand::Kind::reg && b.kind == Operand::Kind::reg && a.id == b.id;
}

// An addition in f32, fused or not, and the registers that it adds to.
bool adds(const Instruction& instruction) {
  return has(instruction, ".f32") && instruction.operands.size() > 2 &&
         (opcode(instruction, "add") || opcode(instruction, "fma") || opcode(instruction, "mad"));
}
std::vector<const Operand*> addends(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  if (opcode(instruction, "add")) return {&operands[1], &operands[2]};
  return {&operands.back()};
}

// d = d + ... in f32: what a sum in a loop is made of.
bool accumulates(const Instruction& instruction) {
  if (!adds(instruction)) return false;
  const auto to = addends(instruction);
  return std::any_of(to.begin(), to.end(),
                     [&](const Operand* o) { return same_register(instruction.operands[0], *o); });
}

// The instructions that sums are made of: those in loops, or else, where loops are unrolled and each step has a register of
// its own, chains of at least this many additions, each to the result of the one before (fewer are some formula).
constexpr int kChain = 4;
std::vector<Place> sums(const Module& module) {
  std::vector<Place> loops, chains;
  std::map<const Function*, std::vector<int>> length;  // by function and register, of the chain that ends there
  int longest = 0;
  for (const Place& place : instructions(module)) {
    if (!adds(*place.instruction)) continue;
    const Operand& sum = place.instruction->operands[0];
    if (sum.kind != Operand::Kind::reg) continue;
    if (accumulates(*place.instruction)) loops.push_back(place);
    std::vector<int>& lengths = length[place.function];
    lengths.resize(place.function->registers.size());
    int before = 0;
    for (const Operand* addend : addends(*place.instruction))
      if (addend->kind == Operand::Kind::reg) before = std::max(before, lengths[addend->id]);
    if (before > 0) chains.push_back(place);
    lengths[sum.id] = before + 1;
    longest = std::max(longest, before + 1);
  }
  if (!loops.empty()) return loops;
  return longest >= kChain ? chains : std::vector<Place>{};
}

std::vector<Planted> f16_accumulation(const Module& module) {
  // All sums at once: a kernel accumulates in one precision.
  std::string text;
  size_t at = 0;
  uint32_t line = 0;
  int count = 0;
  for (const Place& place : sums(module)) {
    const std::string sum(text_of(module, place.instruction->operands[0].span)),
        guard = guard_text(*place.instruction, *place.function);
    text += module.source.substr(at, place.statement->span.end - at);
    text += fmt::format(" {{ .reg .b16 %narrowed; {}cvt.rn.f16.f32 %narrowed, {}; {}cvt.f32.f16 {}, %narrowed; }}",
                        guard, sum, guard, sum);
    at = place.statement->span.end;
    if (count++ == 0) line = place.instruction->line;
  }
  if (count == 0) return {};
  text += module.source.substr(at);
  return {
      {text, fmt::format("line {}: {} sum{} rounded to f16 at every step", line, count, count == 1 ? "" : "s"), line}};
}

bool integer_comparison(const Instruction& instruction) {
  if (!opcode(instruction, "setp") || instruction.operands.size() < 3) return false;
  static const std::vector<std::string> types{".s32", ".u32", ".s64", ".u64", ".s16", ".u16"},
      comparisons{".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs"};
  const auto any = [&](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [&](const std::string& w) { return has(instruction, w); });
  };
  return any(types) && any(comparisons);
}

// A comparison against bound + delta. `backward`: whether its predicate is used by a branch back.
std::optional<Planted> moved_bound(const Module& module, const Place& place, int delta) {
  const Instruction& instruction = *place.instruction;
  const Operand& bound = instruction.operands[2];
  const std::string_view written = text_of(module, bound.span);
  const std::string what =
      fmt::format("`{}` compares with {} {} 1", text_of(module, place.statement->span), written, delta < 0 ? "-" : "+");
  if (bound.kind == Operand::Kind::integer)
    return plant(module, place, bound.span, fmt::format("{}", static_cast<int64_t>(bound.bits) + delta), what);
  if (bound.kind != Operand::Kind::reg) return std::nullopt;
  const std::string& type = instruction.words.back();
  const std::string bits = type.substr(2);
  const base::Span span = place.statement->span;
  std::string changed(text_of(module, span));
  changed.replace(bound.span.begin - span.begin, bound.span.size(), "%moved");
  return plant(module, place, span,
               fmt::format("{{ .reg .b{} %moved; add.s{} %moved, {}, {}; {} }}", bits, bits, written, delta, changed),
               what);
}

// Whether the comparison's predicate guards a branch, and whether one back.
struct Use {
  bool branch = false, back = false;
};
Use use_of(const Place& place) {
  Use use;
  const Operand& predicate = place.instruction->operands[0];
  if (predicate.kind != Operand::Kind::reg) return use;
  const Function& function = *place.function;
  for (size_t i = place.index + 1; i < function.body.size(); ++i) {
    const Instruction* instruction = function.body[i].instruction();
    if (!instruction || !opcode(*instruction, "bra") || !instruction->guard || instruction->guard->reg != predicate.id)
      continue;
    use.branch = true;
    const Operand& target = instruction->operands[0];
    if (target.kind == Operand::Kind::label && target.id < function.labels.size()) {
      const int32_t at = function.labels[target.id].statement;
      use.back = use.back || (at >= 0 && static_cast<size_t>(at) <= i);
    }
  }
  return use;
}

std::vector<Planted> bounds(const Module& module, bool back, int delta) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    if (!integer_comparison(*place.instruction)) return std::nullopt;
    const Use use = use_of(place);
    if (!use.branch || use.back != back) return std::nullopt;
    return moved_bound(module, place, delta);
  });
}

std::vector<Planted> last_term_dropped(const Module& module) { return bounds(module, true, -1); }
std::vector<Planted> loop_too_long(const Module& module) { return bounds(module, true, 1); }
std::vector<Planted> guard_too_narrow(const Module& module) { return bounds(module, false, -1); }
std::vector<Planted> guard_too_wide(const Module& module) { return bounds(module, false, 1); }

std::vector<Planted> wrong_stride(const Module& module) {
  return each(module, [&](const Place& place, bool loop) -> std::optional<Planted> {
    const Instruction& i = *place.instruction;
    const bool integer = opcode(i, "add") && (has(i, ".s32") || has(i, ".u32") || has(i, ".s64") || has(i, ".u64"));
    if (!loop || !integer || i.operands.size() != 3 || !same_register(i.operands[0], i.operands[1]))
      return std::nullopt;
    const std::string step = guard_text(i, *place.function) + fmt::format("add{} {}, {}, 1;", i.words.back(),
                                                                          text_of(module, i.operands[0].span),
                                                                          text_of(module, i.operands[0].span));
    const std::string whole(text_of(module, place.statement->span));
    return plant(module, place, place.statement->span, whole + " " + step,
                 fmt::format("`{}` steps one further", whole));
  });
}

std::vector<Planted> wrong_element_size(const Module& module) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    const Instruction& i = *place.instruction;
    if (i.operands.size() != 3 || i.operands[2].kind != Operand::Kind::integer) return std::nullopt;
    const bool shift = opcode(i, "shl") && has(i, ".b64");
    const bool scale = opcode(i, "mul") && has(i, ".wide") && i.operands[2].bits > 0 &&
                       (i.operands[2].bits & (i.operands[2].bits - 1)) == 0;
    if (!shift && !scale) return std::nullopt;
    const uint64_t wrong = shift ? i.operands[2].bits + 1 : i.operands[2].bits * 2;
    return plant(module, place, i.operands[2].span, fmt::format("{}", wrong),
                 fmt::format("`{}` scales by twice the element", text_of(module, place.statement->span)));
  });
}

// A word of an instruction exchanged for another that goes with the same operands.
struct Exchange {
  std::string_view opcode;                // of the instructions concerned
  std::string_view from, to, only_where;  // the word, what it becomes, and a word that has to be there too
};
std::vector<Planted> exchanged(const Module& module, const Exchange& exchange) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    const Instruction& i = *place.instruction;
    if (!opcode(i, exchange.opcode) || !has(i, exchange.only_where)) return std::nullopt;
    for (size_t w = 0; w < i.words.size() && w < i.word_spans.size(); ++w) {
      if (i.words[w] != exchange.from) continue;
      return plant(module, place, i.word_spans[w], exchange.to,
                   fmt::format("`{}` made {}", text_of(module, place.statement->span), exchange.to));
    }
    return std::nullopt;
  });
}
std::vector<Planted> all_of(const Module& module, std::initializer_list<Exchange> exchanges) {
  std::vector<Planted> planted;
  for (const Exchange& exchange : exchanges)
    for (Planted& more : exchanged(module, exchange)) planted.push_back(std::move(more));
  return planted;
}

std::vector<Planted> wrong_operation(const Module& module) {
  return all_of(module, {{"add", "add", "sub", ".f32"},
                         {"max", "max", "min", ".f32"},
                         {"mul", "mul", "add", ".f32"},
                         {"xor", "xor", "or", ".b32"},
                         {"atom", ".add", ".max", ".u32"},
                         {"red", ".add", ".max", ".u32"}});
}

std::vector<Planted> wrong_sign(const Module& module) {
  return all_of(module, {{"ld", ".s8", ".u8", ".s8"},
                         {"ld", ".s16", ".u16", ".s16"},
                         {"cvt", ".s8", ".u8", ".s8"},
                         {"cvt", ".s16", ".u16", ".f32"}});
}

std::vector<Planted> product_alone(const Module& module) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    const Instruction& i = *place.instruction;
    if (!opcode(i, "fma") || !has(i, ".f32") || i.operands.size() != 4 || i.operands[3].kind != Operand::Kind::reg)
      return std::nullopt;
    return plant(module, place, i.operands[3].span, "0f00000000",
                 fmt::format("`{}` adds nothing", text_of(module, place.statement->span)));
  });
}

// What the instruction accesses at once, in bytes; 0 where it cannot be told.
int64_t access_bytes(const Instruction& i) {
  const auto type = isa::type_named(i.words.back());
  if (!type) return 0;
  return isa::bytes_of(*type) * (has(i, ".v2") ? 2 : has(i, ".v4") ? 4 : 1);
}

std::vector<Planted> misplaced(const Module& module, const std::function<bool(const Instruction&)>& wanted) {
  return each(module, [&](const Place& place, bool) -> std::optional<Planted> {
    const Instruction& i = *place.instruction;
    const int64_t bytes = access_bytes(i);
    if (!wanted(i) || bytes == 0) return std::nullopt;
    const auto address = std::find_if(i.operands.begin(), i.operands.end(),
                                      [](const Operand& o) { return o.kind == Operand::Kind::address; });
    if (address == i.operands.end() || address->elements.size() != 1) return std::nullopt;
    const std::string text =
        fmt::format("[{}+{}]", text_of(module, address->elements[0].span), address->offset + bytes);
    return plant(module, place, address->span, text,
                 fmt::format("`{}` goes one element further", text_of(module, place.statement->span)));
  });
}
std::vector<Planted> store_misplaced(const Module& module) { return misplaced(module, stores); }
std::vector<Planted> shared_misplaced(const Module& module) {
  return misplaced(module, [](const Instruction& i) {
    return (opcode(i, "st") || opcode(i, "red") || opcode(i, "atom")) && has(i, ".shared");
  });
}

}  // namespace

const std::vector<PtxMutant>& ptx_mutants() {
  static const std::vector<PtxMutant> mutants{
      {"barrier_removed", "a barrier is missing", barrier_removed},
      {"f16_accumulation", "sums are kept in f16", f16_accumulation},
      {"last_term_dropped", "a loop ends one element early", last_term_dropped},
      {"loop_too_long", "a loop runs one element too far", loop_too_long},
      {"guard_too_narrow", "a guard leaves the last element out", guard_too_narrow},
      {"guard_too_wide", "a guard lets one element too many in", guard_too_wide},
      {"wrong_stride", "a loop steps one too far", wrong_stride},
      {"wrong_element_size", "an index is scaled by twice the element's size", wrong_element_size},
      {"wrong_operation", "a sum subtracts, a maximum is a minimum, a product adds, an atomic sum is a maximum",
       wrong_operation},
      {"wrong_sign", "a signed number is read as an unsigned one", wrong_sign},
      {"product_alone", "a fused multiply-add adds nothing", product_alone},
      {"store_removed", "a result is not stored", store_removed},
      {"store_misplaced", "a result is stored one element further", store_misplaced},
      {"shared_misplaced", "a value goes one element further in shared memory", shared_misplaced},
  };
  return mutants;
}

}  // namespace ptxlab::task
