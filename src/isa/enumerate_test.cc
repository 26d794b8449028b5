// The table against ptxas: what the table allows, ptxas takes; what a gate refuses, ptxas refuses.
#include "isa/enumerate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "isa/ptxas_check.h"

namespace ptxlab::isa {
namespace {

struct Line {
  std::string text;
  const Row* row;
};

// Lines by the setting that they are tried under.
class Batches {
 public:
  void add(const Setting& setting, const Form& form, const std::string& text) {
    if (text.empty()) return;
    auto key = std::tuple(setting.version, setting.target.sm, setting.target.suffix);
    if (!seen_[key].insert(text).second) return;
    batches_[key].push_back({text, form.row});
  }

  // Every disagreement: a line that is refused where `legal`, or taken where not.
  std::vector<std::string> disagreements(const std::string& ptxas, bool legal) const {
    std::vector<std::string> found;
    for (const auto& [key, lines] : batches_) {
      Setting setting{std::get<0>(key), {std::get<1>(key), std::get<2>(key)}};
      std::vector<std::string> texts;
      for (const Line& line : lines) texts.push_back(line.text);
      std::string trouble;
      auto refused = refused_by_ptxas(ptxas, texts, setting, trouble);
      if (!trouble.empty()) found.push_back(trouble);
      std::string where = fmt::format("{}.{} {}", setting.version / 10, setting.version % 10, setting.target.name());
      for (size_t i = 0; i < lines.size(); ++i) {
        bool taken = !refused.contains(i);
        if (!taken && refused[i].starts_with(kCrash)) continue;
        if (taken == legal) continue;
        found.push_back(fmt::format("{}: {}   # row {}{}", where, lines[i].text, lines[i].row->syntax,
                                    taken ? ": taken" : ": " + refused[i]));
      }
    }
    return found;
  }

  size_t size() const {
    size_t total = 0;
    for (const auto& [key, lines] : batches_) total += lines.size();
    return total;
  }

 private:
  std::map<std::tuple<PtxVersion, uint16_t, char>, std::vector<Line>> batches_;
  std::map<std::tuple<PtxVersion, uint16_t, char>, std::set<std::string>> seen_;
};

// PTXLAB_ALL=1 tries more forms and lists every disagreement.
bool thorough() { return std::getenv("PTXLAB_ALL") != nullptr; }

// A few of each row, so that one fault does not hide the others.
std::string listing(const std::vector<std::string>& lines) {
  size_t each = thorough() ? lines.size() : 2;
  std::map<std::string, size_t> shown;
  std::string text;
  for (const std::string& line : lines) {
    size_t row = std::min(line.find("# row"), line.size());
    if (shown[line.substr(row, line.find(";: ", row) - row)]++ < each) text += line + "\n";
  }
  return fmt::format("{} disagreements, such as\n{}", lines.size(), text);
}

constexpr PtxVersion kNewest = 90;

#define NEED_PTXAS(name)    \
  auto name = find_ptxas(); \
  if (!name) GTEST_SKIP() << "no ptxas: neither PTXLAB_PTXAS nor PATH has one"

TEST(Enumerate, PtxasTakesEveryForm) {
  NEED_PTXAS(ptxas);
  Batches batches;
  for (const Row& row : rows()) {
    std::vector<Form> forms = forms_of(row, thorough() ? 600 : 200);
    EXPECT_FALSE(forms.empty()) << row.syntax;
    for (const Form& form : forms) batches.add(setting_for(form.gate(), kNewest, 90), form, instruction_text(form));
  }
  RecordProperty("lines", static_cast<int>(batches.size()));
  auto found = batches.disagreements(*ptxas, true);
  EXPECT_TRUE(found.empty()) << listing(found);
}

// Every way to write operands, on a few forms of each row.
TEST(Enumerate, PtxasTakesEveryOperandStyle) {
  NEED_PTXAS(ptxas);
  Batches batches;
  for (const Row& row : rows()) {
    for (const Form& form : forms_of(row, thorough() ? 8 : 4)) {
      Setting setting = setting_for(form.gate(), kNewest, 90);
      batches.add(setting, form, instruction_text(form, {.optional = false}));
      batches.add(setting, form, instruction_text(form, {.typed = true}));
      batches.add(setting, form, instruction_text(form, {.sink = true}));
      batches.add(setting, form, instruction_text(form, {.negate = true}));
      for (int i = 0; i < static_cast<int>(row.operands.size()); ++i) {
        if (form.takes_constant(i)) batches.add(setting, form, instruction_text(form, {.immediate = i}));
      }
    }
  }
  auto found = batches.disagreements(*ptxas, true);
  EXPECT_TRUE(found.empty()) << listing(found);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  text = text.substr(0, text.find_first_of(" ;"));
  while (!text.empty()) {
    size_t end = std::min(text.find('.', 1), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

// What match() refuses, ptxas refuses: forms with one type exchanged, one modifier too many, or one too few.
TEST(Enumerate, PtxasRefusesWhatTheTableRefuses) {
  NEED_PTXAS(ptxas);
  Batches batches;
  for (const Row& row : rows()) {
    // ptxas overlooks stray words in the matrix families (mma.bf16... of f64, wmma.load.a.v2, mma.and... of s8).
    if (row.opcode.find("mma") != std::string_view::npos) continue;
    std::set<std::string_view> others = {".ftz", ".sat",  ".rn", ".relu",   ".cc",
                                         ".hi",  ".wide", ".v2", ".global", ".shared"};
    for (const Row* other : rows_of(row.opcode)) {
      for (const Slot& slot : other->slots) {
        for (const Choice& choice : slot.choices) others.insert(choice.token);
      }
    }
    for (const Form& form : forms_of(row, thorough() ? 6 : 1)) {
      Setting setting = setting_for(form.gate(), kNewest, 90);
      auto add_if_refused = [&](const std::string& text) {
        Match made = match(words_of(text));
        if (made.forms.empty() && !made.lax) batches.add(setting, form, text);
      };
      for (size_t s = 0; s < row.slots.size(); ++s) {
        OperandStyle style;
        style.replaced = static_cast<int>(s);
        add_if_refused(instruction_text(form, style));  // left out
        if (row.slots[s].choices[0].type == Type::none) continue;
        for (int t = 1; t < static_cast<int>(Type::texref); ++t) {
          std::string token = "." + std::string(name_of(static_cast<Type>(t)));
          style.by = {token, static_cast<Type>(t)};
          add_if_refused(instruction_text(form, style));
        }
      }
      std::string text = instruction_text(form);
      size_t end_of_name = row.opcode.size();
      for (std::string_view token : others) {
        add_if_refused(text.substr(0, end_of_name) + std::string(token) + text.substr(end_of_name));
      }
    }
  }
  RecordProperty("lines", static_cast<int>(batches.size()));
  printf("%zu lines\n", batches.size());
  auto found = batches.disagreements(*ptxas, false);
  EXPECT_TRUE(found.empty()) << listing(found);
}

// Modifiers in another order: match() takes exactly those orders that ptxas takes.
TEST(Enumerate, OrderOfModifiersIsThatOfPtxas) {
  NEED_PTXAS(ptxas);
  Batches taken, refused;
  for (const Row& row : rows()) {
    for (const Form& form : forms_of(row, thorough() ? 8 : 2)) {
      Setting setting = setting_for(form.gate(), kNewest, 90);
      std::string text = instruction_text(form);
      std::string operands = text.substr(text.find_first_of(" ;"));
      auto words = words_of(text);
      size_t fixed = 1 + static_cast<size_t>(std::count(row.opcode.begin(), row.opcode.end(), '.'));
      for (size_t from = fixed; from < words.size(); ++from) {
        for (size_t to : {from + 1, words.size() - 1, fixed}) {
          if (to >= words.size() || to == from) continue;
          auto moved = words;
          moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
          moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), words[from]);
          std::string line;
          for (std::string_view word : moved) line += word;
          auto forms = match(moved).forms;
          auto same = [&](const Form& f) { return f.row == &row && f.taken == form.taken; };
          bool legal = std::any_of(forms.begin(), forms.end(), same);
          if (!legal && !forms.empty()) continue;  // another form: its operands differ
          (legal ? taken : refused).add(setting, form, line + operands);
        }
      }
    }
  }
  printf("%zu + %zu lines\n", taken.size(), refused.size());
  auto found = taken.disagreements(*ptxas, true);
  EXPECT_TRUE(found.empty()) << "match takes and ptxas refuses: " << listing(found);
  found = refused.disagreements(*ptxas, false);
  EXPECT_TRUE(found.empty()) << "ptxas takes and match refuses: " << listing(found);
}

constexpr PtxVersion kVersions[] = {40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73,
                                    74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

// The version before `version`; 0 where there is none.
PtxVersion version_before(PtxVersion version) {
  PtxVersion before = 0;
  for (PtxVersion known : kVersions) {
    if (known < version) before = known;
  }
  return before;
}

// The first version that knows the target and in which the gate admits it; 0 where none does.
PtxVersion first_admitted(const Gate& gate, const Target& target) {
  for (PtxVersion version : kVersions) {
    if (version >= first_version(target) && refusal(gate, version, target).empty()) return version;
  }
  return 0;
}

// The lowest target that the gate admits in the newest version.
std::optional<Target> lowest_target(const Gate& gate) {
  for (const Target& target : known_targets()) {
    if (gate.only_on && target.suffix == 0) continue;
    if (refusal(gate, kNewest, target).empty()) return target;
  }
  return std::nullopt;
}

std::optional<Target> target_below(const Target& target) {
  std::optional<Target> below;
  if (target.suffix) return Target{target.sm, 0};
  for (const Target& known : known_targets()) {
    if (known.sm < target.sm && known.suffix == 0) below = known;
  }
  return below;
}

// A gate is exact: the form is taken where it begins, and refused one version or one target before.
TEST(Enumerate, GatesAreExact) {
  NEED_PTXAS(ptxas);
  Batches taken, refused;
  for (const Row& row : rows()) {
    for (const Form& form : forms_of(row, thorough() ? 60 : 8)) {
      Gate gate = form.gate();
      if (gate.ptx_until) continue;
      std::optional<Target> lowest = lowest_target(gate);
      ASSERT_TRUE(lowest) << row.syntax;
      std::string text = instruction_text(form, {.optional = false});
      for (Target target : {*lowest, Target{90, 0}, Target{100, 0}}) {
        PtxVersion first = first_admitted(gate, target);
        if (first == 0) continue;
        taken.add({first, target}, form, text);
        PtxVersion before = version_before(first);
        if (before >= first_version(target)) refused.add({before, target}, form, text);
      }
      std::optional<Target> below = target_below(*lowest);
      if (below && (gate.sm_since || gate.only_on)) refused.add({kNewest, *below}, form, text);
    }
  }
  auto wrong = taken.disagreements(*ptxas, true);
  EXPECT_TRUE(wrong.empty()) << "refused where the gate begins: " << listing(wrong);
  wrong = refused.disagreements(*ptxas, false);
  EXPECT_TRUE(wrong.empty()) << "taken below the gate: " << listing(wrong);
}

}  // namespace
}  // namespace ptxlab::isa
