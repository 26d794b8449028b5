// The table against ptxas: what the table allows, ptxas takes; what a gate refuses, ptxas refuses.
#include "isa/enumerate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

// A few of each row, so that one fault does not hide the others.
std::string listing(const std::vector<std::string>& lines) {
  size_t each = std::getenv("PTXLAB_ALL") ? lines.size() : 2;
  std::map<std::string, size_t> shown;
  std::string text;
  for (const std::string& line : lines) {
    if (shown[line.substr(std::min(line.find("# row"), line.size()))]++ < each) text += line + "\n";
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
    std::vector<Form> forms = forms_of(row, 600);
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
    for (const Form& form : forms_of(row, 12)) {
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

}  // namespace
}  // namespace ptxlab::isa
