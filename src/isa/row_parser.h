// Reads row texts (row_text.h) at compile time into flat arrays. Included by table.cc and the parser's own test alone:
// parsing the rows costs more constexpr steps than all other code of the project together, so it happens in one
// translation unit and in one pass.
#pragma once
#include <cstdint>
#include <string_view>

#include "isa/parsed_table.h"
#include "isa/row_text.h"
#include "isa/target_names.h"
#include "isa/type_names.h"

namespace ptxlab::isa {

// --- the parser
// -------------------------------------------------------------------------------------------------------

class RowParser {
 public:
  constexpr explicit RowParser(ParsedTable& table) : table_(table) {}

  constexpr void parse(const RowText& text) {
    text_ = text;
    if (text.syntax.empty()) {
      section_ = text.sets;
      return;
    }
    if (table_.rows.full()) return fail("too many rows: raise the capacity in row_parser.h", text.syntax);
    row_ = &table_.rows.push();
    row_->syntax = text.syntax;
    row_->section = section_;
    std::string_view rest = text.syntax;
    name(rest);
    row_->slots.begin = table_.slots.count;
    modifiers(rest);
    row_->slots.end = table_.slots.count;
    if (row_->slots.end - row_->slots.begin > kMaxSlots) fail("more than kMaxSlots modifiers", text.syntax);
    row_->operands.begin = table_.operands.count;
    operands(rest);
    row_->operands.end = table_.operands.count;
    if (row_->operands.end - row_->operands.begin > kMaxOperands) fail("more than kMaxOperands operands", text.syntax);
    row_->constraints.begin = table_.constraints.count;
    notes(text.notes);
    row_->constraints.end = table_.constraints.count;
    unused_sets();
  }

 private:
  constexpr void fail(std::string_view what, std::string_view at) {
    if (table_.error.what.empty()) table_.error = {what, text_.syntax, at};
  }
  constexpr bool failed() const { return !table_.error.what.empty(); }

  static constexpr bool starts_modifier(std::string_view text) {
    return text.starts_with('.') || text.starts_with("{.");
  }

  constexpr void name(std::string_view& rest) {
    bool quoted = eat(rest, "'");
    size_t end = 0;
    while (end < rest.size() && (word_char(rest[end]) || (quoted && rest[end] == '.'))) ++end;
    row_->opcode = rest.substr(0, end);
    rest.remove_prefix(end);
    if (quoted && !eat(rest, "'")) fail("the quote behind the name is missing", rest);
    if (end == 0) fail("no opcode", text_.syntax);
  }

  constexpr void modifiers(std::string_view& rest) {
    bool behind = false;
    while (starts_modifier(rest)) {
      bool optional = rest.front() == '{';
      if (optional) rest.remove_prefix(1);
      size_t end = 1;
      while (end < rest.size() && word_char(rest[end])) ++end;
      slot(rest.substr(0, end), optional);
      rest.remove_prefix(end);
      if (failed()) return;
      table_.slots.items[table_.slots.count - 1].behind_previous = behind;
      behind = eat(rest, ">");
      if (eat(rest, "!")) table_.slots.items[table_.slots.count - 1].fixed = true;
      if (optional) {
        if (!rest.starts_with('}')) return fail("'}' is missing", rest);
        rest.remove_prefix(1);
      }
    }
    rest = trimmed(rest);
  }

  constexpr void slot(std::string_view word, bool optional) {
    if (table_.slots.full()) return fail("too many slots: raise the capacity in row_parser.h", word);
    ParsedSlot& made = table_.slots.push();
    made.name = word.substr(1);
    made.optional = optional;
    made.choices.begin = table_.choices.count;
    std::string_view set = set_of(made.name);
    if (set.empty()) {
      choice(word);
    } else {
      while (!set.empty()) choice(take_until(set, ','));
    }
    made.choices.end = table_.choices.count;
    if (made.choices.end - made.choices.begin > 62) fail("more than 62 alternatives", word);
  }

  // The text between the braces of ".name = { ... }".
  constexpr std::string_view set_of(std::string_view name) const {
    std::string_view rest = text_.sets;
    while (!rest.empty()) {
      std::string_view one = take_until(rest, ';');
      size_t equals = find_char(one, '=');
      if (!one.starts_with('.') || trimmed(one.substr(1, equals - 1)) != name) continue;
      std::string_view body = trimmed(one.substr(equals + 1));
      if (!body.starts_with('{') || !body.ends_with('}')) return {};
      return body.substr(1, body.size() - 2);
    }
    return {};
  }

  // A set that no slot uses, or one without its braces, is a slip of the pen.
  constexpr void unused_sets() {
    std::string_view rest = text_.sets;
    while (!trimmed(rest).empty()) {
      std::string_view one = take_until(rest, ';');
      if (one.empty()) continue;
      std::string_view name = trimmed(one.substr(1, find_char(one, '=') - 1));
      if (!one.starts_with('.') || set_of(name).empty()) return fail("a set is written '.name = { .a, .b }'", one);
      if (slot_named(name) < 0) return fail("no modifier of the row uses this set", one);
    }
  }

  constexpr void choice(std::string_view text) {
    if (table_.choices.full()) return fail("too many alternatives: raise the capacity in row_parser.h", text);
    size_t at = find_char(text, '@');
    Choice& made = table_.choices.push();
    made.token = trimmed(text.substr(0, at));
    if (made.token.size() < 2 || made.token[0] != '.') return fail("an alternative begins with a dot", text);
    for (char c : made.token.substr(1)) {
      if (!word_char(c)) return fail("not a modifier", text);
    }
    made.type = find_type(made.token);
    made.space = find_space(made.token);
    if (at < text.size()) made.gate = gate(text.substr(at + 1));
  }

  constexpr Gate gate(std::string_view text) {
    Gate made;
    while (!(text = trimmed(text)).empty()) {
      std::string_view one = take_until(text, ' ');
      bool removal = one.starts_with('-');
      if (removal) one.remove_prefix(1);
      std::string_view version = take_until(one, ':');
      PtxVersion ptx = version_of(version);
      if (removal) {
        made.ptx_until = ptx;
        made.sm_until = one.empty() ? uint16_t{1} : plain_target(one);
        continue;
      }
      if (made.ptx_since) {
        made.wider_since = ptx;
        made.wider_sm = plain_target(one);
        continue;
      }
      made.ptx_since = ptx;
      if (one.starts_with("sm_") && find_char(one, '|') == one.size() && last_is_digit(one)) {
        made.sm_since = plain_target(one);
      } else {
        while (!one.empty()) {
          auto known = find_target(take_until(one, '|'));
          if (!known || known->target.suffix == 0) {
            fail("a gate names unknown targets, or mixes those with and without a suffix", text_.syntax);
            return made;
          }
          made.only_on |= find_admitted(known->target);
        }
      }
    }
    return made;
  }

  static constexpr bool last_is_digit(std::string_view text) { return text.back() >= '0' && text.back() <= '9'; }

  constexpr PtxVersion version_of(std::string_view text) {
    if (text.empty()) return 0;
    if (text.size() != 3 || text[1] != '.') {
      fail("a PTX version is written 7.8", text);
      return 0;
    }
    return static_cast<PtxVersion>((text[0] - '0') * 10 + (text[2] - '0'));
  }

  constexpr uint16_t plain_target(std::string_view text) {
    uint16_t sm = 0;
    if (text.starts_with("sm_")) text.remove_prefix(3);
    for (char c : text) {
      if (c < '0' || c > '9') {
        fail("a target is written sm_90", text);
        return 0;
      }
      sm = static_cast<uint16_t>(sm * 10 + (c - '0'));
    }
    return sm;
  }

  // --- operands ---

  constexpr void operands(std::string_view rest) {
    if (!rest.ends_with(';')) return fail("the syntax line ends with ';'", rest);
    rest = trimmed(rest.substr(0, rest.size() - 1));
    bool optional = false, first = true;
    while (!rest.empty() && !failed()) {
      if (rest.starts_with("{,")) {
        optional = true;
        rest = trimmed(rest.substr(2));
      }
      OperandSpec* made = operand(rest, first);
      if (!made) return;
      made->optional = optional;
      first = false;
      rest = trimmed(rest);
      if (rest.starts_with('|') || rest.starts_with("[|")) {
        made->pair = made->destination = true;
        bool may_miss = eat(rest, "[");
        eat(rest, "|");
        OperandSpec* second = operand(rest, false);
        if (!second) return;
        second->optional = may_miss;
        second->destination = true;
        if (may_miss && !eat(rest, "]")) return fail("']' is missing", rest);
      }
      while (!rest.empty() && rest.front() == '}') {
        optional = false;
        rest = trimmed(rest.substr(1));
      }
      if (rest.starts_with(',')) rest = trimmed(rest.substr(1));
    }
  }

  constexpr OperandSpec* operand(std::string_view& rest, bool first) {
    if (table_.operands.full()) {
      fail("too many operands: raise the capacity in row_parser.h", rest);
      return nullptr;
    }
    OperandSpec& made = table_.operands.push();
    if (rest.starts_with("{!}")) {
      made.negatable = true;
      rest.remove_prefix(3);
    }
    char bracket = rest.empty() ? ' ' : rest.front();
    bool wrapped = bracket == '[' || bracket == '(';
    if (wrapped) rest.remove_prefix(1);
    size_t end = 0;
    while (end < rest.size() && word_char(rest[end]) && rest[end] != ':') ++end;
    made.name = rest.substr(0, end);
    if (end == 0) {
      fail("an operand's name is missing", rest);
      return nullptr;
    }
    rest.remove_prefix(end);
    if (bracket == '[' && rest.starts_with("{}")) {
      made.coordinates = true;
      rest.remove_prefix(2);
    }
    if (wrapped) {
      if (!rest.starts_with(bracket == '[' ? ']' : ')')) {
        fail("a bracket is not closed", rest);
        return nullptr;
      }
      rest.remove_prefix(1);
      made.shape = bracket == '[' ? Shape::address : Shape::arguments;
    }
    made.sink_only = made.sink_allowed = made.name == "_";
    made.destination = first && !wrapped && (made.name[0] == 'd' || made.name[0] == 'p' || made.sink_only);
    if (made.destination) made.shape = Shape::reg;
    annotations(made, rest);
    finish(made);
    return &made;
  }

  constexpr void annotations(OperandSpec& made, std::string_view& rest) {
    if (eat(rest, "/_")) made.sink_allowed = true;
    if (eat(rest, "+")) made.reads_too = true;
    if (eat(rest, ":")) rule(made, rest);
    if (rest.starts_with('[') && !rest.starts_with("[|")) {
      rest.remove_prefix(1);
      made.shape = Shape::vector;
      lanes(made, take_until(rest, ']'));
    }
    if (eat(rest, "~")) made.type.relaxed = true;
    if (eat(rest, "&")) made.names_symbol = true;
    if (eat(rest, "!")) made.shape = made.shape == Shape::value ? Shape::reg : made.shape;
    if (eat(rest, "?")) {
      size_t end = 0;
      while (end < rest.size() && word_char(rest[end])) ++end;
      made.present_with = static_cast<int8_t>(slot_named(rest.substr(0, end)));
      if (made.present_with < 0) return fail("'?' is followed by the modifier that brings the operand", rest);
      rest.remove_prefix(end);
    }
    if (eat(rest, "<")) constants(made, take_until(rest, '>'));
    if (eat(rest, "=")) {
      size_t end = 0;
      while (end < rest.size() && (word_char(rest[end]) || rest[end] == '.' || rest[end] == '%')) ++end;
      made.sample = rest.substr(0, end);
      rest.remove_prefix(end);
    }
  }

  // "4", "vec", "vec*2", "n/2".
  constexpr void lanes(OperandSpec& made, std::string_view text) {
    std::string_view whole = text;
    if (eat(text, "n/")) {
      made.n_divisor = static_cast<uint8_t>(number(text, whole));
      if (slot_named("shape") < 0) fail("[n/...] without a modifier .shape", whole);
    } else if (eat(text, "vec")) {
      if (eat(text, "*")) made.vec_times = static_cast<uint8_t>(number(text, whole));
      if (slot_named("vec") < 0) fail("[vec] without a modifier .vec", whole);
    } else {
      made.lanes = static_cast<uint8_t>(number(text, whole));
    }
  }

  // "0..15", "32..1024%32", "4..16*2", "128".
  constexpr void constants(OperandSpec& made, std::string_view text) {
    std::string_view whole = text;
    made.constants.doubling = text.ends_with("*2");
    if (made.constants.doubling) text.remove_suffix(2);
    std::string_view range = take_until(text, '%');
    made.constants.step = text.empty() ? 1 : static_cast<uint32_t>(number(text, whole));
    std::string_view low = take_until(range, '.');
    made.constants.low = made.constants.high = number(low, whole);
    if (eat(range, ".")) made.constants.high = number(range, whole);
  }

  constexpr int64_t number(std::string_view text, std::string_view whole) {
    int64_t value = 0;
    bool negative = eat(text, "-");
    if (text.empty()) fail("a number is missing", whole);
    for (char c : text) {
      if (c < '0' || c > '9') fail("not a number", whole);
      value = value * 10 + (c - '0');
    }
    return negative ? -value : value;
  }

  static constexpr bool eat(std::string_view& rest, std::string_view piece) {
    if (!rest.starts_with(piece)) return false;
    rest.remove_prefix(piece.size());
    return true;
  }

  constexpr void rule(OperandSpec& made, std::string_view& rest) {
    size_t end = 0;
    while (end < rest.size() && (word_char(rest[end]) || rest[end] == '.')) ++end;
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(end);
    bool twice = eat(rest, "*2");
    if (word.empty()) return;  // ":~" and the like: the default rule
    if (word == "imm") {
      made.shape = Shape::immediate;
      return;
    }
    if (word == "label") {
      made.shape = Shape::label;
      return;
    }
    if (word == "symbol") {
      made.shape = Shape::symbol;
      return;
    }
    if (!word.starts_with('.')) return fail("unknown rule of an operand", word);
    int slot = slot_named(word.substr(1));
    if (made.shape == Shape::address) {
      made.space = find_space(word);
      if (slot >= 0)
        made.space_slot = static_cast<int8_t>(slot);
      else if (made.space == Space::none)
        fail("an address' rule is a state space or the slot that names it", word);
      return;
    }
    Type type = find_type(word);
    if (slot >= 0 && has_types(slot)) {
      made.type.kind = twice ? TypeRule::Kind::twice_slot : TypeRule::Kind::slot;
      made.type.slot = static_cast<uint8_t>(slot);
    } else if (type != Type::none && !twice) {
      made.type.kind = TypeRule::Kind::fixed;
      made.type.type = type;
    } else {
      fail("neither a type nor a slot with types", word);
    }
  }

  // What the annotations left open: predicates by their name, the type by the row's only slot with types.
  constexpr void finish(OperandSpec& made) {
    if (made.shape == Shape::address) {
      if (made.space == Space::none && made.space_slot < 0) made.space_slot = only_space_slot();
      return;
    }
    if (made.shape != Shape::value && made.shape != Shape::reg && made.shape != Shape::vector) return;
    if (made.type.kind == TypeRule::Kind::none) default_type(made);
    if (made.type.kind == TypeRule::Kind::fixed && made.type.type == Type::pred) made.shape = Shape::predicate;
  }

  constexpr void default_type(OperandSpec& made) {
    if (made.name == "p" || made.name == "q") {
      made.type.kind = TypeRule::Kind::fixed;
      made.type.type = Type::pred;
      return;
    }
    int slot = -1;
    for (uint32_t i = row_->slots.begin; i < table_.slots.count; ++i) {
      std::string_view name = table_.slots.items[i].name;
      if (name.size() == made.name.size() + 4 && name.starts_with(made.name) && name.ends_with("type")) {
        slot = static_cast<int>(i - row_->slots.begin);
      }
    }
    if (slot < 0) slot = slot_named("type");
    if (slot < 0) {
      for (uint32_t i = row_->slots.begin; i < table_.slots.count; ++i) {
        if (!has_types(static_cast<int>(i - row_->slots.begin))) continue;
        if (slot >= 0) return fail("the row has several types: say which this operand has", made.name);
        slot = static_cast<int>(i - row_->slots.begin);
      }
    }
    if (slot < 0) return fail("the row has no type: say which this operand has", made.name);
    made.type.kind = TypeRule::Kind::slot;
    made.type.slot = static_cast<uint8_t>(slot);
  }

  constexpr int slot_named(std::string_view name) const {
    for (uint32_t i = row_->slots.begin; i < table_.slots.count; ++i) {
      if (table_.slots.items[i].name == name) return static_cast<int>(i - row_->slots.begin);
    }
    return -1;
  }

  constexpr Range choices_of(int slot) const { return table_.slots.items[row_->slots.begin + slot].choices; }

  constexpr bool has_types(int slot) const { return table_.choices.items[choices_of(slot).begin].type != Type::none; }

  constexpr int8_t only_space_slot() const {
    for (uint32_t i = row_->slots.begin; i < table_.slots.count; ++i) {
      Range range = table_.slots.items[i].choices;
      if (table_.choices.items[range.begin].space != Space::none) return static_cast<int8_t>(i - row_->slots.begin);
    }
    return -1;
  }

  // --- notes ---

  constexpr void notes(std::string_view rest) {
    while (!rest.empty() && !failed()) {
      std::string_view note = take_until(rest, ';');
      if (note.empty()) continue;
      if (note.starts_with('@'))
        row_->gate = gate(note.substr(1));
      else if (note.starts_with("needs("))
        constraint(Constraint::Kind::needs, note);
      else if (note.starts_with("excludes("))
        constraint(Constraint::Kind::excludes, note);
      else if (note.starts_with("since("))
        constraint(Constraint::Kind::since, note);
      else
        effect(note);
    }
  }

  constexpr void effect(std::string_view word) {
    Effects& e = row_->effects;
    if (word == "loads")
      e.loads = true;
    else if (word == "stores")
      e.stores = true;
    else if (word == "atomic")
      e.atomic = true;
    else if (word == "barrier")
      e.barrier = true;
    else if (word == "warp_sync")
      e.warp_sync = true;
    else if (word == "fence")
      e.fence = true;
    else if (word == "branch")
      e.branch = true;
    else if (word == "call")
      e.call = true;
    else if (word == "ends_thread")
      e.ends_thread = true;
    else if (word == "async")
      e.async = true;
    else if (word == "approximate")
      e.approximate = true;
    else if (word == "timing")
      e.timing = true;
    else
      fail("unknown note", word);
  }

  constexpr void constraint(Constraint::Kind kind, std::string_view note) {
    if (table_.constraints.full()) return fail("too many constraints: raise the capacity in row_parser.h", note);
    ParsedConstraint& made = table_.constraints.push();
    made.kind = kind;
    if (!note.ends_with(')')) return fail("')' is missing", note);
    std::string_view body = note.substr(find_char(note, '(') + 1);
    body.remove_suffix(1);
    if (kind == Constraint::Kind::since) {
      made.when = conditions(take_until(body, '@'));
      made.gate = gate(body);
      return;
    }
    // The colon that parts WHEN and THEN is followed by a blank; those inside `.shared::cta` are not.
    size_t colon = 0;
    while (colon < body.size() && !(body[colon] == ':' && colon + 1 < body.size() && body[colon + 1] == ' ')) ++colon;
    if (colon == body.size()) return fail("': ' is missing", note);
    made.when = conditions(body.substr(0, colon));
    made.then = conditions(body.substr(colon + 1));
  }

  constexpr Range conditions(std::string_view text) {
    Range range{table_.conditions.count, table_.conditions.count};
    while (!(text = trimmed(text)).empty() && !failed()) {
      if (table_.conditions.full()) {
        fail("too many conditions: raise the capacity in row_parser.h", text);
        break;
      }
      condition(table_.conditions.push(), take_until(text, ' '));
    }
    range.end = table_.conditions.count;
    return range;
  }

  constexpr void condition(Condition& made, std::string_view text) {
    std::string_view whole = text;
    bool absent = eat(text, "!");
    int slot = -1;
    size_t equals = find_char(text, '=');
    if (equals < text.size()) {
      slot = slot_named(text.substr(0, equals));
      if (slot < 0) return fail("no such slot in a constraint", whole);
      text.remove_prefix(equals + 1);
    } else if (text.starts_with('.') && slot_named(text.substr(1)) >= 0) {
      made.slot = static_cast<uint8_t>(slot_named(text.substr(1)));
      made.choices = absent ? Condition::kAbsent : ~Condition::kAbsent;
      return;
    }
    while (!text.empty()) {
      std::string_view token = take_until(text, '|');
      int found = find_token(token, slot, whole);
      if (failed()) return;
      made.slot = static_cast<uint8_t>(slot = found / 64);
      made.choices |= uint64_t{1} << (found % 64);
    }
    if (absent) made.choices = ~made.choices;
  }

  // slot * 64 + choice of a token; it must be in one slot only unless `slot` says which.
  constexpr int find_token(std::string_view token, int slot, std::string_view whole) {
    int found = -1;
    for (uint32_t i = row_->slots.begin; i < table_.slots.count; ++i) {
      int at = static_cast<int>(i - row_->slots.begin);
      if (slot >= 0 && at != slot) continue;
      Range range = table_.slots.items[i].choices;
      for (uint32_t c = range.begin; c < range.end; ++c) {
        if (table_.choices.items[c].token != token) continue;
        if (found >= 0) fail("the token is in several slots: write slot=token", whole);
        found = at * 64 + static_cast<int>(c - range.begin);
      }
    }
    if (found < 0) fail("no such token in the row", whole);
    return found;
  }

  ParsedTable& table_;
  RowText text_;
  std::string_view section_;
  ParsedRow* row_ = nullptr;
};

}  // namespace ptxlab::isa
