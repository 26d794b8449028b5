// The one translation unit that parses the rows. An instruction is added in rows/*.inc, never here.
#include "isa/table.h"

#include <algorithm>

#include "isa/row_parser.h"

namespace ptxlab::isa {
namespace {

#define SECTION(title) \
  { "", title, "" }

#include "isa/rows/sets.inc"

// In the manual's order, which is that of the listings.
// clang-format off
constexpr RowText kTexts[] = {
#include "isa/rows/integer.inc"
#include "isa/rows/float.inc"
#include "isa/rows/half.inc"
#include "isa/rows/compare.inc"
#include "isa/rows/logic.inc"
#include "isa/rows/move.inc"
#include "isa/rows/convert.inc"
#include "isa/rows/control.inc"
#include "isa/rows/synchronize.inc"
#include "isa/rows/texture.inc"
#include "isa/rows/async.inc"
#include "isa/rows/matrix.inc"
#include "isa/rows/sparse.inc"
#include "isa/rows/wmma.inc"
#include "isa/rows/warpgroup.inc"
#include "isa/rows/tensor.inc"
#include "isa/rows/tcgen05.inc"
};

constexpr RowText kLaxTexts[] = {
#include "isa/rows/lax.inc"
};
// clang-format on

#undef SECTION

consteval ParsedTable parse_all() {
  ParsedTable table;
  RowParser parser(table);
  for (const RowText& text : kTexts) {
    if (table.error.what.empty()) parser.parse(text);
  }
  table.legal_rows = table.rows.count;
  for (const RowText& text : kLaxTexts) {
    if (table.error.what.empty()) parser.parse(text);
  }
  return table;
}

constexpr ParsedTable kParsed = parse_all();

// A malformed row stops the compilation here; the compiler's message shows the three texts.
template <size_t N>
struct Shown {
  char text[N + 1]{};
  constexpr explicit Shown(std::string_view from) {
    for (size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};
template <auto What, auto Row, auto At>
struct malformed_row {
  static_assert(What.text[0] == 0, "a row of the instruction table is malformed: the names above say which and why");
};
constexpr RowError kError = kParsed.error;
template struct malformed_row<Shown<kError.what.size()>(kError.what), Shown<kError.row.size()>(kError.row),
                              Shown<kError.at.size()>(kError.at)>;

template <class T, size_t Capacity>
constexpr std::span<const T> part(const Filled<T, Capacity>& list, Range range) {
  return {list.items.data() + range.begin, range.end - range.begin};
}

constexpr auto kSlots = [] {
  std::array<Slot, kParsed.slots.count> slots{};
  for (size_t i = 0; i < slots.size(); ++i) {
    const ParsedSlot& from = kParsed.slots.items[i];
    slots[i] = {from.name, from.optional, from.fixed, from.behind_previous, part(kParsed.choices, from.choices)};
  }
  return slots;
}();

constexpr auto kConstraints = [] {
  std::array<Constraint, kParsed.constraints.count> constraints{};
  for (size_t i = 0; i < constraints.size(); ++i) {
    const ParsedConstraint& from = kParsed.constraints.items[i];
    constraints[i] = {from.kind, part(kParsed.conditions, from.when), part(kParsed.conditions, from.then), from.gate};
  }
  return constraints;
}();

constexpr size_t kLegal = kParsed.legal_rows;

// The legal rows, then the lax ones.
constexpr auto kRows = [] {
  std::array<Row, kParsed.rows.count> rows{};
  for (size_t i = 0; i < rows.size(); ++i) {
    const ParsedRow& from = kParsed.rows.items[i];
    Row& row = rows[i];
    row.id = static_cast<uint16_t>(i);
    row.opcode = from.opcode;
    row.syntax = from.syntax;
    row.section = from.section;
    row.slots = {kSlots.data() + from.slots.begin, from.slots.end - from.slots.begin};
    row.operands = part(kParsed.operands, from.operands);
    row.constraints = {kConstraints.data() + from.constraints.begin, from.constraints.end - from.constraints.begin};
    row.effects = from.effects;
    row.gate = from.gate;
  }
  return rows;
}();

// Legal rows sorted by opcode, in the order of the manual within one.
constexpr auto kByOpcode = [] {
  std::array<const Row*, kLegal> order{};
  for (size_t i = 0; i < order.size(); ++i) order[i] = &kRows[i];
  std::sort(order.begin(), order.end(),
            [](const Row* a, const Row* b) { return a->opcode != b->opcode ? a->opcode < b->opcode : a->id < b->id; });
  return order;
}();

constexpr size_t kOpcodeCount = [] {
  size_t count = 0;
  for (size_t i = 0; i < kByOpcode.size(); ++i) count += i == 0 || kByOpcode[i]->opcode != kByOpcode[i - 1]->opcode;
  return count;
}();

constexpr auto kOpcodes = [] {
  std::array<std::string_view, kOpcodeCount> names{};
  size_t at = 0;
  for (size_t i = 0; i < kByOpcode.size(); ++i) {
    if (i == 0 || kByOpcode[i]->opcode != kByOpcode[i - 1]->opcode) names[at++] = kByOpcode[i]->opcode;
  }
  return names;
}();

}  // namespace

std::span<const Row> rows() { return {kRows.data(), kLegal}; }

std::span<const Row> lax_rows() { return {kRows.data() + kLegal, kRows.size() - kLegal}; }

std::span<const std::string_view> opcodes() { return kOpcodes; }

std::span<const Row* const> rows_of(std::string_view opcode) {
  auto first = std::lower_bound(kByOpcode.begin(), kByOpcode.end(), opcode,
                                [](const Row* row, std::string_view wanted) { return row->opcode < wanted; });
  auto last = first;
  while (last != kByOpcode.end() && (*last)->opcode == opcode) ++last;
  return {first, last};
}

}  // namespace ptxlab::isa
