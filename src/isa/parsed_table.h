// What the parser of rows fills: flat arrays, and ranges into them; and the small text tools that it reads with. All of it
// works at compile time.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "isa/table.h"

namespace ptxlab::isa {

struct Range {
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct ParsedSlot {
  std::string_view name;
  bool optional = false;
  bool fixed = false;
  bool behind_previous = false;
  Range choices;
};

struct ParsedConstraint {
  Constraint::Kind kind = Constraint::Kind::needs;
  Range when;
  Range then;
  Gate gate;
};

struct ParsedRow {
  std::string_view opcode, syntax, section;
  Range slots, operands, constraints;
  Effects effects;
  Gate gate;
};

// A list that constexpr code fills: its capacity is generous, a full one is an error of the same kind as a malformed
// row.
template <class T, size_t Capacity>
struct Filled {
  std::array<T, Capacity> items{};
  uint32_t count = 0;
  constexpr bool full() const { return count == Capacity; }
  constexpr T& push() { return items[count++]; }
};

struct RowError {
  std::string_view what;  // empty: none
  std::string_view row;   // the syntax line
  std::string_view at;    // the offending piece
};

struct ParsedTable {
  Filled<Choice, 12000> choices;
  Filled<ParsedSlot, 6000> slots;
  Filled<OperandSpec, 5000> operands;
  Filled<Condition, 3000> conditions;
  Filled<ParsedConstraint, 1500> constraints;
  Filled<ParsedRow, 1200> rows;
  uint32_t legal_rows = 0;  // those behind them are the lax ones
  RowError error;
};

// --- small text tools
// -------------------------------------------------------------------------------------------------

constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

constexpr size_t find_char(std::string_view text, char c, size_t from = 0) {
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == c) return i;
  }
  return text.size();
}

// Takes the piece before the next `separator` off the front of `text`.
constexpr std::string_view take_until(std::string_view& text, char separator) {
  size_t end = find_char(text, separator);
  std::string_view piece = trimmed(text.substr(0, end));
  text.remove_prefix(end < text.size() ? end + 1 : end);
  return piece;
}

constexpr bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '-';
}

}  // namespace ptxlab::isa
