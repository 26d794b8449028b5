#include "ptx/mend_words.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "ptx/form_choice.h"
#include "ptx/opcode_word.h"

namespace ptxlab::ptx {
namespace {

using isa::Form;
using isa::Type;
using Words = std::vector<std::string>;

// One set of words under which the statement is legal.
struct Way {
  int tier = 0;  // smaller: nearer to what is written
  Form form;
  Edits edits;
  std::string added;    // the one word that is new
  std::string meaning;  // equal for ways that compute the same
  int preference = 0;   // among ways of the same meaning
};

bool is_rounding(std::string_view word) {
  return word == ".rn" || word == ".rz" || word == ".rm" || word == ".rp" || word == ".rna" || word == ".rs";
}

bool one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// How much of a type an instruction's meaning depends on.
enum class Matters { all, kind, width };

Matters what_matters(const Form& form) {
  std::string_view opcode = form.row->opcode;
  if (one_of(opcode, {"mov", "st", "selp", "and", "or", "xor", "not", "shl", "ld", "ldu", "prmt"}))
    return Matters::width;
  if (opcode.starts_with("shfl")) return Matters::width;
  if (one_of(opcode, {"add", "sub", "neg"}) && !form.has(".sat")) return Matters::kind;
  if (one_of(opcode, {"mul", "mad"}) && form.has(".lo")) return Matters::kind;
  if (one_of(opcode, {"setp", "set"}) && (form.has(".eq") || form.has(".ne"))) return Matters::kind;
  if (opcode == "atom" || opcode == "red") {
    if (form.has(".exch") || form.has(".cas")) return Matters::width;
    if (form.has(".add")) return Matters::kind;
  }
  return Matters::all;
}

class WordMend {
 public:
  WordMend(const Site& site, const Uses& uses)
      : instruction_(*site.instruction),
        module_(site.module),
        function_(*site.function),
        operands_(site.module, *site.function),
        uses_(uses),
        words_(instruction_.words.begin(), instruction_.words.end()) {
    for (const isa::Row& row : isa::rows()) {
      std::string_view rest = row.opcode;
      if (rest.substr(0, rest.find('.')) != words_[0]) continue;
      for (const isa::Slot& slot : row.slots)
        for (const isa::Choice& choice : slot.choices) pool_.insert(choice.token);
      for (size_t dot = rest.find('.'); dot != rest.npos; dot = rest.find('.', dot + 1))
        pool_.insert(rest.substr(dot, rest.find('.', dot + 1) - dot));
    }
  }

  Edits run(const Site& site) {
    if (site.is(Code::unknown_opcode)) {
      other_opcodes();
    } else if (site.is(Code::bad_modifier) || site.is(Code::missing_type)) {
      // Where one word more is enough, a word is missing, and none of the others is to blame.
      with_one_more();
      if (ways_.empty()) {
        near_words();
        other_types();
        without_a_word();
        in_another_order();
      }
    } else if (site.is(Code::register_width) || site.is(Code::register_kind) || site.is(Code::special_register_width)) {
      other_types();
    } else if (site.is(Code::operand_count)) {
      with_one_more();
    } else if (site.is(Code::bad_address)) {
      shared_address(site.span);
    } else if (site.is(Code::vector_length)) {
      other_words([](std::string_view word) { return word == ".v2" || word == ".v4" || word == ".v8"; });
    } else if (site.is(Code::wrong_space)) {
      auto own = space_of(instruction_.operands, site.span);
      if (own) other_words([&](std::string_view word) { return isa::space_named(word).has_value(); });
      std::erase_if(ways_, [&](const Way& way) { return !own || isa::space_named(way.added) != own; });
    }
    return best();
  }

 private:
  Words replaced(size_t at, std::string_view word) const {
    Words words = words_;
    words[at] = word;
    return words;
  }
  Span span(size_t word) const { return instruction_.word_spans[word]; }

  // The space of the variable that stands at `at`.
  std::optional<isa::Space> space_of(const std::vector<Operand>& operands, Span at) const {
    for (const Operand& operand : operands) {
      const Variable* variable = operand.span.begin == at.begin ? operands_.variable(operand.symbol) : nullptr;
      if (variable) return variable->space;
      if (auto space = space_of(operand.elements, at)) return space;
    }
    return std::nullopt;
  }

  bool makes_carry() const {
    return std::any_of(function_.body.begin(), function_.body.end(), [](const Statement& statement) {
      const Instruction* instruction = statement.instruction();
      return instruction &&
             std::find(instruction->words.begin(), instruction->words.end(), ".cc") != instruction->words.end();
    });
  }

  // --- ways

  void other_opcodes() {
    size_t most = words_[0].size() <= 3 ? 1 : 2;
    for (std::string_view known : opcode_words()) {
      // Sums that go on with a carry: where nothing makes one, nobody means them.
      if (one_of(known, {"addc", "subc", "madc"}) && !makes_carry()) continue;
      size_t distance = base::edit_distance(words_[0], known);
      if (distance <= most && distance < known.size())
        add(static_cast<int>(distance), replaced(0, known), {{span(0), std::string(known)}}, known);
    }
    Words lower = words_;
    Edits edits;
    for (size_t i = 0; i < lower.size(); ++i) {
      std::transform(lower[i].begin(), lower[i].end(), lower[i].begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      if (lower[i] != words_[i]) edits.push_back({span(i), lower[i]});
    }
    if (!edits.empty()) add(0, lower, edits, lower[0]);
  }

  // A word that this opcode does not know at all is a misspelt one.
  void near_words() {
    for (size_t i = 1; i < words_.size(); ++i) {
      if (pool_.contains(words_[i])) continue;
      for (std::string_view known : pool_) {
        size_t distance = base::edit_distance(words_[i], known);
        if (distance <= (words_[i].size() < 6 ? 1u : 2u))
          add(static_cast<int>(distance), replaced(i, known), {{span(i), std::string(known)}}, known);
      }
    }
  }

  void other_types() {
    for (size_t i = 1; i < words_.size(); ++i) {
      auto written = isa::type_named(words_[i]);
      if (!written) continue;
      for (std::string_view known : pool_) {
        auto type = isa::type_named(known);
        if (!type || known == words_[i]) continue;
        bool same_width = isa::bits_of(*type) == isa::bits_of(*written);
        bool same_kind = isa::info(*type).kind == isa::info(*written).kind;
        bool packed = isa::info(*type).lanes != isa::info(*written).lanes;
        bool integers = isa::is_integer(*type) && isa::is_integer(*written);
        auto way = legal(replaced(i, known), true);
        // The sign of what is computed is the author's: where it counts it stays.
        if (!way || (integers && !same_kind && what_matters(way->form) == Matters::all)) continue;
        way->tier = packed ? 3 : same_kind || same_width ? 1 : integers ? 2 : 3;
        way->edits = {{span(i), std::string(known)}};
        way->added = known;
        ways_.push_back(std::move(*way));
      }
    }
  }

  // Words that say nothing for the type that they stand beside, and that people add by habit.
  void without_a_word() {
    for (size_t i = 1; i < words_.size(); ++i) {
      if (!one_of(words_[i], {".lo", ".rn", ".ftz", ".v1"})) continue;
      Words words = words_;
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      add(4, words, {{span(i), ""}}, "");
    }
  }

  // The place of a new word: where the table's order has it.
  void with_one_more() {
    for (std::string_view known : pool_) {
      std::optional<Way> best;
      int fewest = 99;
      for (size_t at = words_.size(); at >= 1; --at) {
        Words words = words_;
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), std::string(known));
        auto way = legal(words, isa::type_named(known).has_value());
        if (!way) continue;
        int disorder = disorder_of(words, way->form);
        if (disorder >= fewest) continue;
        fewest = disorder;
        way->tier = 2;
        way->edits = {{{span(at - 1).end, span(at - 1).end}, std::string(known)}};
        way->added = known;
        best = std::move(way);
      }
      if (best) ways_.push_back(std::move(*best));
    }
  }

  template <class Wanted>
  void other_words(const Wanted& wanted) {
    bool any = false;
    for (size_t i = 1; i < words_.size(); ++i) {
      if (!wanted(words_[i])) continue;
      any = true;
      for (std::string_view known : pool_)
        if (wanted(known) && known != words_[i]) add(1, replaced(i, known), {{span(i), std::string(known)}}, known);
    }
    if (any) return;
    with_one_more();
    std::erase_if(ways_, [&](const Way& way) { return !wanted(way.added); });
  }

  void in_another_order() {
    constexpr size_t kMostWords = 7;
    if (words_.size() > kMostWords || words_.size() < 3) return;
    for (size_t i = 2; i < words_.size(); ++i)
      if (span(i).begin != span(i - 1).end) return;
    Words words = words_;
    std::sort(words.begin() + 1, words.end());
    std::optional<Way> best;
    int fewest = 99;
    do {
      auto way = legal(words, false);
      if (!way) continue;
      int disorder = disorder_of(words, way->form);
      if (disorder >= fewest) continue;
      fewest = disorder;
      std::string text;
      for (size_t i = 1; i < words.size(); ++i) text += words[i];
      way->tier = 1;
      way->edits = {{{span(1).begin, span(words_.size() - 1).end}, text}};
      best = std::move(way);
    } while (std::next_permutation(words.begin() + 1, words.end()));
    if (best) ways_.push_back(std::move(*best));
  }

  // A narrow address in a wide space: shared memory, if it was made from a shared variable's address.
  void shared_address(Span at) {
    for (const Operand& operand : instruction_.operands) {
      if (operand.kind != Operand::Kind::address || operand.elements[0].span != at) continue;
      if (operand.elements[0].kind != Operand::Kind::reg || !uses_.from_shared(operand.elements[0].id)) return;
      other_words([](std::string_view word) { return isa::space_named(word).has_value(); });
      std::erase_if(ways_, [](const Way& way) { return isa::space_named(way.added) != isa::Space::shared; });
    }
  }

  // --- what is legal

  // How often a later slot of the form stands before an earlier one.
  static int disorder_of(const Words& words, const Form& form) {
    int disorder = 0, last = -1;
    for (size_t i = 1; i < words.size(); ++i) {
      for (size_t s = 0; s < form.row->slots.size(); ++s) {
        if (form.taken[s] < 0 || form.row->slots[s].choices[static_cast<size_t>(form.taken[s])].token != words[i])
          continue;
        disorder += static_cast<int>(s) < last;
        last = static_cast<int>(s);
        break;
      }
    }
    return disorder;
  }

  void add(int tier, const Words& words, Edits edits, std::string_view added) {
    auto way = legal(words, isa::type_named(added).has_value());
    if (!way) return;
    way->tier = tier;
    way->edits = std::move(edits);
    way->added = added;
    ways_.push_back(std::move(*way));
  }

  std::optional<Way> legal(const Words& words, bool exact) const {
    std::vector<std::string_view> views(words.begin(), words.end());
    isa::Match match = isa::match(views);
    if (match.forms.empty()) return std::nullopt;
    bool headed = module_.version != 0 && module_.target.sm != 0;
    std::vector<std::string> refusals;
    for (const Form& form : match.forms)
      refusals.push_back(headed ? isa::refusal(form.gate(), module_.version, module_.target) : "");
    FormChoice choice = choose_form(operands_, instruction_, match.forms, refusals);
    if (choice.index < 0 || choice.problem || !refusals[static_cast<size_t>(choice.index)].empty()) return std::nullopt;
    Way way;
    way.form = match.forms[static_cast<size_t>(choice.index)];
    if (!plausible(way, choice.arguments, exact)) return std::nullopt;
    return way;
  }

  // Where a type is new, registers exactly as wide as it; and always such as hold what the rest of the function says that they hold.
  bool plausible(Way& way, const Arguments& arguments, bool exact) const {
    const Form& form = way.form;
    if (form.row->opcode == "cvt" && form.type(0) == form.type(1)) return false;  // converts nothing
    bool wide = true;  // every register is exactly as wide as its type
    const Register* first = nullptr;
    auto look = [&](const Operand& operand, int index) {
      if (operand.kind != Operand::Kind::reg) return true;
      const Register& reg = function_.registers[operand.id];
      Type want = form.operand_type(index);
      if (!first) first = &reg;
      if (want == Type::none || want == Type::pred) return true;
      if (exact && reg.vector == 1 && isa::bits_of(reg.type) != std::max(16, isa::bits_of(want)) &&
          form.row->operands[static_cast<size_t>(index)].type.relaxed)
        return false;
      if (isa::bits_of(want) < 16) wide = false;
      return carries_bits(form) || uses_.agrees(operand.id, want);
    };
    for (size_t i = 0; i < form.row->operands.size(); ++i) {
      const Operand* operand = arguments.at[i];
      if (!operand) continue;
      if (!look(*operand, static_cast<int>(i)) || (exact && !whole_variable(form, *operand))) return false;
      if (operand->kind == Operand::Kind::vector)
        for (const Operand& element : operand->elements)
          if (!look(element, static_cast<int>(i))) return false;
    }
    Matters matters = what_matters(form);
    if (matters == Matters::width && !wide && form.row->opcode != "st") matters = Matters::all;
    way.meaning = form.row->opcode;
    for (size_t s = 0; s < form.row->slots.size(); ++s) {
      if (form.taken[s] < 0) continue;
      const isa::Choice& choice = form.row->slots[s].choices[static_cast<size_t>(form.taken[s])];
      way.meaning += token(choice, matters);
      if (choice.token.find(':') != choice.token.npos) --way.preference;  // .shared::cta says no more than .shared
      if (choice.type != Type::none && first) way.preference += preference(choice.type, first->type, matters);
      // ... but .u32 where memory counts.
      bool counts = form.row->opcode == "atom" || form.row->opcode == "red";
      if (counts && isa::info(choice.type).kind == isa::Kind::unsigned_integer) way.preference += 2;
    }
    return true;
  }

  // ld.param of a .u64 parameter reads all of it.
  bool whole_variable(const Form& form, const Operand& operand) const {
    if (operand.kind != Operand::Kind::address || operand.elements[0].kind != Operand::Kind::symbol) return true;
    const Variable* variable = operands_.variable(operand.elements[0].symbol);
    bool scalar = variable && variable->dims.empty() && variable->vector == 1 && operand.offset == 0;
    return !scalar || form.type() == Type::none || isa::bits_of(form.type()) == isa::bits_of(variable->type);
  }

  static bool carries_bits(const Form& form) { return what_matters(form) == Matters::width; }

  static std::string token(const isa::Choice& choice, Matters matters) {
    if (choice.space != isa::Space::none) return "." + std::string(isa::name_of(choice.space));
    if (choice.type == Type::none || choice.type == Type::pred || matters == Matters::all)
      return std::string(choice.token);
    const isa::TypeInfo& info = isa::info(choice.type);
    bool number = matters == Matters::kind && (info.lanes > 1 || info.kind == isa::Kind::floating);
    return number ? std::string(choice.token) : "." + std::to_string(info.bits);
  }

  // Compilers write .f32 for registers declared .f32, .b32 or .u32 where bits are carried, .s32 where sums are formed.
  static int preference(Type type, Type declared, Matters matters) {
    if (type == declared) return 4;
    switch (isa::info(type).kind) {
      case isa::Kind::bits: return matters == Matters::width ? 3 : 1;
      case isa::Kind::signed_integer: return matters == Matters::width ? 1 : 3;
      case isa::Kind::unsigned_integer: return 2;
      case isa::Kind::floating:
      case isa::Kind::predicate:
      case isa::Kind::none: return 0;
    }
    return 0;
  }

  // The nearest ways, if they all mean the same.
  Edits best() const {
    const Way* best = nullptr;
    for (const Way& way : ways_) {
      if (!best || way.tier < best->tier || (way.tier == best->tier && way.preference > best->preference)) best = &way;
    }
    if (!best) return {};
    const Way* nearest_rounding = nullptr;
    bool all_roundings = true, same = true;
    for (const Way& way : ways_) {
      if (way.tier != best->tier) continue;
      same &= way.meaning == best->meaning;
      all_roundings &= is_rounding(way.added);
      if (way.added == ".rn") nearest_rounding = &way;
    }
    if (same) return best->edits;
    // Where PTX has a default rounding it is .rn; so it is for whoever leaves it out.
    if (all_roundings && nearest_rounding && best->tier == 2) return nearest_rounding->edits;
    return {};
  }

  const Instruction& instruction_;
  const Module& module_;
  const Function& function_;
  OperandCheck operands_;
  const Uses& uses_;
  Words words_;
  std::set<std::string_view> pool_;  // every word that a form of this opcode has
  std::vector<Way> ways_;
};

}  // namespace

Edits mend_words(const Site& site, const Uses& uses) {
  if (!site.instruction || !site.function || site.instruction->words.size() > 12) return {};
  bool of_words = false;
  for (Code code :
       {Code::unknown_opcode, Code::bad_modifier, Code::missing_type, Code::register_width, Code::register_kind,
        Code::special_register_width, Code::operand_count, Code::bad_address, Code::vector_length, Code::wrong_space})
    of_words |= site.is(code);
  if (!of_words) return {};
  return WordMend(site, uses).run(site);
}

}  // namespace ptxlab::ptx
