// From an instruction's words to its forms. The table is indexed once: every modifier's spelling gets a number, every
// row a flat list of (number, slot, choice), so that a match compares small integers and touches only the rows of one
// opcode.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <unordered_map>

#include "base/nearest.h"
#include "isa/table.h"

namespace ptxlab::isa {
namespace {

using Token = uint16_t;
constexpr Token kUnknown = 0xffff;
constexpr size_t kMaxWords = 24;
constexpr size_t kTokenWords = 16;  // room for 1,024 tokens; the index asserts it

struct Entry {
  Token token;
  int8_t slot;
  int8_t choice;
};

// Slots of one class keep the order of the row: several types, several spaces, and what is fixed behind the name.
enum class Order : uint8_t { free, types, spaces, fixed };
constexpr size_t kOrders = 4;

struct IndexedRow {
  const Row* row;
  std::vector<std::string_view> name;  // the opcode's words after the first, each with its dot
  std::vector<Entry> entries;
  std::array<uint64_t, kTokenWords> knows{};  // a bit for each token of the row: most rows are passed over by it alone
  std::array<Order, kMaxSlots> order{};
  uint32_t mandatory = 0;  // a bit for each slot
};

using RowsByFirstWord = std::unordered_map<std::string_view, std::vector<IndexedRow>>;

struct Index {
  std::unordered_map<std::string_view, Token> tokens;
  std::vector<std::string_view> spelling;  // by token
  RowsByFirstWord by_first_word;
  RowsByFirstWord lax_by_first_word;
};

Order order_of(const Slot& slot) {
  if (slot.fixed) return Order::fixed;
  if (slot.choices[0].type != Type::none) return Order::types;
  return slot.choices[0].space != Space::none ? Order::spaces : Order::free;
}

void add_to_index(std::span<const Row> rows, Index& index, RowsByFirstWord& by_first_word) {
  for (const Row& row : rows) {
    IndexedRow made;
    made.row = &row;
    std::string_view rest = row.opcode;
    std::string_view first = rest.substr(0, rest.find('.'));
    rest.remove_prefix(first.size());
    while (!rest.empty()) {
      std::string_view word = rest.substr(0, std::min(rest.find('.', 1), rest.size()));
      made.name.push_back(word);
      rest.remove_prefix(word.size());
    }
    for (size_t s = 0; s < row.slots.size(); ++s) {
      const Slot& slot = row.slots[s];
      made.order[s] = order_of(slot);
      if (!slot.optional) made.mandatory |= 1u << s;
      for (size_t c = 0; c < slot.choices.size(); ++c) {
        auto [at, added] = index.tokens.try_emplace(slot.choices[c].token, static_cast<Token>(index.spelling.size()));
        if (added) index.spelling.push_back(slot.choices[c].token);
        assert(at->second < 64 * kTokenWords);
        made.entries.push_back({at->second, static_cast<int8_t>(s), static_cast<int8_t>(c)});
        made.knows[at->second / 64] |= uint64_t{1} << at->second % 64;
      }
    }
    by_first_word[first].push_back(std::move(made));
  }
}

Index build_index() {
  Index index;
  add_to_index(rows(), index, index.by_first_word);
  add_to_index(lax_rows(), index, index.lax_by_first_word);
  return index;
}

const Index& the_index() {
  static const Index index = build_index();
  return index;
}

bool names_row(const IndexedRow& row, std::span<const std::string_view> words) {
  if (words.size() < row.name.size() + 1) return false;
  return std::equal(row.name.begin(), row.name.end(), words.begin() + 1);
}

bool knows_all(const IndexedRow& row, std::span<const Token> tokens) {
  for (Token token : tokens) {
    if (token == kUnknown || !(row.knows[token / 64] >> token % 64 & 1)) return false;
  }
  return true;
}

// Assigns words to slots, depth first; words rarely fit two slots, so there is hardly any backtracking.
class Assignment {
 public:
  Assignment(const IndexedRow& row, std::span<const Token> tokens) : row_(row), tokens_(tokens) {
    form_.row = row.row;
    form_.taken.fill(-1);
  }

  bool complete() {
    last_.fill(-1);
    return assign(0);
  }
  const Form& form() const { return form_; }

 private:
  bool assign(size_t word) {
    if (word == tokens_.size()) return (row_.mandatory & ~filled_) == 0 && keeps_constraints(form_);
    for (const Entry& entry : row_.entries) {
      if (entry.token != tokens_[word] || (filled_ >> entry.slot & 1)) continue;
      Order order = row_.order[static_cast<size_t>(entry.slot)];
      int8_t& last = last_[static_cast<size_t>(order)];
      if (order != Order::free && entry.slot < last) continue;
      bool behind = row_.row->slots[static_cast<size_t>(entry.slot)].behind_previous;
      if (behind && !(filled_ >> (entry.slot - 1) & 1)) continue;
      // As many fixed words as words so far: nothing free stands before this one.
      if (order == Order::fixed && fixed_ != word) continue;
      int8_t before = last;
      last = entry.slot;
      fixed_ += order == Order::fixed;
      filled_ |= 1u << entry.slot;
      form_.taken[static_cast<size_t>(entry.slot)] = entry.choice;
      if (assign(word + 1)) return true;
      last = before;
      fixed_ -= order == Order::fixed;
      filled_ &= ~(1u << entry.slot);
      form_.taken[static_cast<size_t>(entry.slot)] = -1;
    }
    return false;
  }

  const IndexedRow& row_;
  std::span<const Token> tokens_;
  Form form_;
  uint32_t filled_ = 0;
  size_t fixed_ = 0;
  std::array<int8_t, kOrders> last_{};  // the last slot filled of each class
};

// --- why nothing fits
// -------------------------------------------------------------------------------------------------

// As many words as possible put into a row's slots, left to right; what is left over and what is missing.
struct Attempt {
  const IndexedRow* row = nullptr;
  Form form;
  uint32_t filled = 0;
  int matched = 0;
  int first_unmatched = -1;  // index into the modifiers
  int disorder = 0;          // types or spaces that stand in another order than the row's
  int rank() const {
    int missing = std::popcount(row->mandatory & ~filled);
    return matched * 64 - missing * 4 - disorder + static_cast<int>(row->name.size()) * 64;
  }
};

Attempt attempt(const IndexedRow& row, std::span<const Token> tokens) {
  Attempt made;
  made.row = &row;
  made.form.row = row.row;
  made.form.taken.fill(-1);
  int last_type = -1;
  for (size_t word = 0; word < tokens.size(); ++word) {
    const Entry* found = nullptr;
    bool in_order = false;
    for (const Entry& entry : row.entries) {
      if (entry.token != tokens[word] || (made.filled >> entry.slot & 1)) continue;
      bool ordered = row.order[static_cast<size_t>(entry.slot)] != Order::types || entry.slot > last_type;
      if (found && (in_order || !ordered)) continue;
      found = &entry;
      in_order = ordered;
    }
    if (!found) {
      if (made.first_unmatched < 0) made.first_unmatched = static_cast<int>(word);
      continue;
    }
    if (!in_order) ++made.disorder;
    if (row.order[static_cast<size_t>(found->slot)] == Order::types) last_type = found->slot;
    made.filled |= 1u << found->slot;
    made.form.taken[static_cast<size_t>(found->slot)] = found->choice;
    ++made.matched;
  }
  return made;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  return text;
}

// The alternatives of a slot that the form's other choices leave: all of them where none is left.
std::vector<Choice> open_choices(Form form, size_t slot) {
  std::vector<Choice> open;
  std::span<const Choice> choices = form.row->slots[slot].choices;
  for (size_t c = 0; c < choices.size(); ++c) {
    form.taken[slot] = static_cast<int8_t>(c);
    if (keeps_constraints(form)) open.push_back(choices[c]);
  }
  return open.empty() ? std::vector<Choice>(choices.begin(), choices.end()) : open;
}

std::string listed(std::span<const Choice> choices) {
  std::vector<std::string_view> tokens;
  for (const Choice& choice : choices) tokens.push_back(choice.token);
  return joined(tokens);
}

// The alternative of the same width, where the word is a type; else the one spelt most alike.
std::string mend(std::string_view word, std::span<const Choice> choices) {
  if (auto type = type_named(word)) {
    const Choice* same = nullptr;
    int fitting = 0;
    for (const Choice& choice : choices) {
      if (choice.type == Type::none || bits_of(choice.type) != bits_of(*type)) continue;
      if (is_float(choice.type) != is_float(*type) && choice.type != Type::b16 && choice.type != Type::b32 &&
          choice.type != Type::b64) {
        continue;
      }
      if (!same) same = &choice;
      ++fitting;
    }
    if (same && fitting <= 2) return std::string(same->token);
  }
  return "";
}

// The first mandatory slot that is left over; -1: none.
int first_missing(const Attempt& made) {
  uint32_t missing = made.row->mandatory & ~made.filled;
  return missing ? std::countr_zero(missing) : -1;
}

// `attempts` are equally near: what is missing is anything that would complete one of them.
void missing_slot(const std::vector<Attempt>& attempts, std::span<const std::string_view> words, Match& match) {
  const Attempt& best = attempts.front();
  auto missing_order = [](const Attempt& made) { return made.row->order[static_cast<size_t>(first_missing(made))]; };
  Order order = missing_order(best);
  std::vector<std::string_view> tokens;
  for (const Attempt& made : attempts) {
    if (missing_order(made) != order) continue;
    for (const Choice& choice : made.row->row->slots[static_cast<size_t>(first_missing(made))].choices) {
      if (std::find(tokens.begin(), tokens.end(), choice.token) == tokens.end()) tokens.push_back(choice.token);
    }
  }
  match.word = static_cast<int>(words.size()) - 1;
  if (tokens.size() == 1) {
    match.suggestion = tokens[0];
    match.problem = fmt::format("'{}' is missing", tokens[0]);
    return;
  }
  std::string_view what = "a modifier is missing";
  switch (order) {
    case Order::free:
    case Order::fixed: break;
    case Order::types: what = "a type is missing"; break;
    case Order::spaces: what = "a state space is missing"; break;
  }
  match.problem = fmt::format("{}: one of {}", what, joined(tokens));
}

// A word that some row of the opcode knows, but not together with the others.
void misfit(const Attempt& best, std::span<const std::string_view> words, size_t first, std::span<const Token> tokens,
            Match& match) {
  size_t offender = static_cast<size_t>(best.first_unmatched);
  std::string_view word = words[first + offender];
  match.word = static_cast<int>(first + offender);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i != offender && tokens[i] == tokens[offender]) {
      match.problem = fmt::format("'{}' stands here twice", word);
      return;
    }
  }
  // The slot that the word should have filled: the unfilled mandatory one of its class.
  bool is_type = type_named(word).has_value(), is_space = space_named(word).has_value();
  int wanted = -1;
  for (size_t s = 0; s < best.row->row->slots.size(); ++s) {
    if (best.filled >> s & 1) continue;
    Order order = best.row->order[s];
    bool same = is_type ? order == Order::types : is_space ? order == Order::spaces : order == Order::free;
    if (same && (best.row->mandatory >> s & 1) && wanted < 0) wanted = static_cast<int>(s);
  }
  std::string others(best.row->row->opcode);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (best.form.has(words[first + i]) && i != offender) others += words[first + i];
  }
  match.problem = fmt::format("'{}' does not go with '{}'", word, others);
  if (wanted >= 0) {
    std::vector<Choice> open = open_choices(best.form, static_cast<size_t>(wanted));
    match.problem += open.size() == 1 ? ", which needs " : ", which needs one of ";
    match.problem += listed(open);
    match.suggestion = open.size() == 1 ? std::string(open[0].token) : mend(word, open);
  }
}

void unknown_opcode(std::span<const std::string_view> words, Match& match) {
  std::vector<std::string_view> known;
  for (const auto& [first, rows] : the_index().by_first_word) known.push_back(first);
  std::sort(known.begin(), known.end());
  match.word = 0;
  match.suggestion = base::nearest(words[0], known);
  match.problem = fmt::format("unknown instruction '{}'", words[0]);
}

// How many words behind the first agree with a row's name.
size_t common_name(const IndexedRow& row, std::span<const std::string_view> words) {
  size_t common = 0;
  while (common < row.name.size() && common + 1 < words.size() && row.name[common] == words[common + 1]) ++common;
  return common;
}

// The name's first word is known, none of its continuations fits: "cp.async.blk".
void unknown_name(std::span<const std::string_view> words, const std::vector<IndexedRow>& candidates, Match& match) {
  size_t depth = 0;
  std::vector<std::string_view> next;
  for (const IndexedRow& row : candidates) {
    size_t common = common_name(row, words);
    if (common > depth) {
      depth = common;
      next.clear();
    }
    if (common == depth && common < row.name.size() &&
        std::find(next.begin(), next.end(), row.name[common]) == next.end()) {
      next.push_back(row.name[common]);
    }
  }
  std::string so_far;
  for (size_t i = 0; i <= depth; ++i) so_far += words[i];
  std::string list = joined(next);
  if (depth + 1 < words.size()) {
    match.word = static_cast<int>(depth) + 1;
    match.problem = fmt::format("'{}' is not followed by '{}'; it goes on with {}", so_far, words[depth + 1], list);
    match.suggestion = base::nearest(words[depth + 1], next);
  } else {
    match.word = static_cast<int>(depth);
    match.problem = fmt::format("'{}' is only the beginning of a name; it goes on with {}", so_far, list);
  }
}

void explain(std::span<const std::string_view> words, const std::vector<const IndexedRow*>& named,
             std::span<const Token> tokens, Match& match) {
  // A word that no row of this opcode knows.
  size_t first_of_best = named.front()->name.size() + 1;
  for (const IndexedRow* row : named) first_of_best = std::max(first_of_best, row->name.size() + 1);
  for (size_t i = first_of_best; i < words.size(); ++i) {
    bool known = false;
    std::vector<std::string_view> near;
    for (const IndexedRow* row : named) {
      for (const Entry& entry : row->entries) {
        known |= entry.token == tokens[i - 1];
        near.push_back(the_index().spelling[entry.token]);
      }
    }
    if (known) continue;
    match.word = static_cast<int>(i);
    bool elsewhere = tokens[i - 1] != kUnknown;
    match.problem = elsewhere ? fmt::format("'{}' does not go with '{}'", words[i], words[0])
                              : fmt::format("unknown modifier '{}'", words[i]);
    match.suggestion = base::nearest(words[i], near);
    if (elsewhere && type_named(words[i])) match.suggestion.clear();
    if (!(elsewhere && type_named(words[i]))) return;
    break;  // a type that the opcode never takes: the closest row says which it does take
  }
  std::vector<Attempt> nearest;
  for (const IndexedRow* row : named) {
    Attempt made = attempt(*row, tokens.subspan(row->name.size()));
    if (!nearest.empty() && made.rank() < nearest.front().rank()) continue;
    if (!nearest.empty() && made.rank() > nearest.front().rank()) nearest.clear();
    nearest.push_back(made);
  }
  const Attempt& best = nearest.front();
  size_t first = best.row->name.size() + 1;
  if (best.first_unmatched >= 0) return misfit(best, words, first, tokens.subspan(first - 1), match);
  if (first_missing(best) >= 0) return missing_slot(nearest, words, match);
  match.word = static_cast<int>(words.size()) - 1;
  match.problem = broken_constraint(best.form);
  if (match.problem.empty()) {
    match.problem = fmt::format("the modifiers are in the wrong order: '{}{}' is right", best.row->row->opcode,
                                spelling(best.form));
  }
}

}  // namespace

namespace {

// ptxas takes it all the same: a row of the closed list, a modifier that stands twice, a missing .aligned.
bool is_lax(std::span<const std::string_view> words, std::span<const Token> tokens) {
  const Index& index = the_index();
  if (auto found = index.lax_by_first_word.find(words[0]); found != index.lax_by_first_word.end()) {
    for (const IndexedRow& row : found->second) {
      if (names_row(row, words) && Assignment(row, tokens.subspan(row.name.size())).complete()) return true;
    }
  }
  bool forgives = words[0] == "wgmma" || words[0] == "tcgen05";
  if (forgives && std::find(words.begin(), words.end(), ".aligned") == words.end()) {
    std::vector<std::string_view> aligned(words.begin(), words.end());
    aligned.push_back(".aligned");
    return !match(aligned).forms.empty();
  }
  for (size_t i = 1; i < words.size(); ++i) {
    bool twice = std::find(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(i), words[i]) !=
                 words.begin() + static_cast<std::ptrdiff_t>(i);
    if (!twice || type_named(words[i]) || space_named(words[i])) continue;
    std::vector<std::string_view> once(words.begin(), words.end());
    once.erase(once.begin() + static_cast<std::ptrdiff_t>(i));
    return !match(once).forms.empty();
  }
  return false;
}

}  // namespace

Match match(std::span<const std::string_view> words) {
  Match made;
  if (words.empty()) return made;
  const Index& index = the_index();
  auto found = index.by_first_word.find(words[0]);
  if (found == index.by_first_word.end()) {
    unknown_opcode(words, made);
    return made;
  }
  std::array<Token, kMaxWords> buffer;
  if (words.size() > kMaxWords) {
    made.opcode_known = true;
    made.word = static_cast<int>(kMaxWords);
    made.problem = "too many modifiers";
    return made;
  }
  for (size_t i = 1; i < words.size(); ++i) {
    auto token = index.tokens.find(words[i]);
    buffer[i - 1] = token == index.tokens.end() ? kUnknown : token->second;
  }
  std::span<const Token> tokens(buffer.data(), words.size() - 1);
  for (const IndexedRow& row : found->second) {
    if (!names_row(row, words)) continue;
    made.opcode_known = true;
    auto rest = tokens.subspan(row.name.size());
    if (rest.size() > row.row->slots.size() || !knows_all(row, rest)) continue;
    Assignment assignment(row, rest);
    if (assignment.complete()) made.forms.push_back(assignment.form());
  }
  if (!made.forms.empty()) return made;
  std::vector<const IndexedRow*> named;
  for (const IndexedRow& row : found->second) {
    if (names_row(row, words)) named.push_back(&row);
  }
  // "bar.warp.snyc": closer to the name bar.warp.sync than to bar with its modifiers.
  size_t longest = 0, deepest = 0;
  for (const IndexedRow* row : named) longest = std::max(longest, row->name.size());
  for (const IndexedRow& row : found->second) deepest = std::max(deepest, common_name(row, words));
  if (named.empty() || deepest > longest) {
    unknown_name(words, found->second, made);
  } else {
    explain(words, named, tokens, made);
    made.lax = is_lax(words, tokens);
  }
  return made;
}

}  // namespace ptxlab::isa
