// Real kernels with one fault each, of the kinds that people and models make: how many does --fix bring back to the
// original's machine code, and does it ever make something else of one? PTXLAB_ALL=1 draws many
// more and lists those left alone, PTXLAB_SEED=N draws others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <random>

#include "base/file.h"
#include "base/thread_pool.h"
#include "ptx/machine_code.h"
#include "ptx/mend.h"
#include "ptx/patch.h"

namespace ptxlab::ptx {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

struct Original {
  std::string name, text, target;
  Module module;
  Assembled code;
};

// A typing slip in the letters of `word`; a leading dot, % or $ stays.
std::string misspelt(std::string word, Random& random) {
  size_t from = word.find_first_not_of(".%$");
  if (from == word.npos || word.size() - from < 2) return word;
  size_t at = from + random() % (word.size() - from);
  switch (random() % 4) {
    case 0:
      if (at + 1 < word.size()) std::swap(word[at], word[at + 1]);
      break;
    case 1: word.erase(at, 1); break;
    case 2: word.insert(at, 1, word[at]); break;
    default: word[at] = static_cast<char>('a' + random() % 26); break;
  }
  return word;
}

// One draw from a module: an edit that plants a fault, or nothing where the kind has no place here.
using Plant = std::function<std::optional<base::Edit>(const Original&, Random&)>;

const Statement* any_statement(const Original& original, Random& random,
                               const std::function<bool(const Statement&)>& wanted) {
  std::vector<const Statement*> all;
  for (const Function& function : original.module.functions)
    for (const Statement& statement : function.body)
      if (wanted(statement)) all.push_back(&statement);
  return all.empty() ? nullptr : all[random() % all.size()];
}

const Instruction* any_instruction(const Original& original, Random& random,
                                   const std::function<bool(const Instruction&)>& wanted) {
  const Statement* found = any_statement(original, random, [&](const Statement& statement) {
    const Instruction* instruction = statement.instruction();
    return instruction && wanted(*instruction);
  });
  return found ? found->instruction() : nullptr;
}

std::optional<base::Edit> any_word(const Original& original, Random& random,
                                   const std::function<std::string(const std::string&)>& changed, size_t first) {
  const Instruction* instruction =
      any_instruction(original, random, [&](const Instruction& each) { return each.words.size() > first; });
  if (!instruction) return std::nullopt;
  size_t at = first == 0 ? 0 : first + random() % (instruction->words.size() - first);
  return base::Edit{instruction->word_spans[at], changed(instruction->words[at])};
}

const Operand* any_operand(const Original& original, Random& random,
                           const std::function<bool(const Operand&)>& wanted) {
  std::vector<const Operand*> all;
  std::function<void(const Operand&)> look = [&](const Operand& operand) {
    if (wanted(operand)) all.push_back(&operand);
    for (const Operand& element : operand.elements) look(element);
  };
  for (const Function& function : original.module.functions)
    for (const Statement& statement : function.body)
      if (const Instruction* instruction = statement.instruction())
        for (const Operand& operand : instruction->operands) look(operand);
  return all.empty() ? nullptr : all[random() % all.size()];
}

template <class What>
const Statement* any(const Original& original, Random& random) {
  return any_statement(original, random,
                       [](const Statement& statement) { return std::holds_alternative<What>(statement.what); });
}

std::string text_of(const Original& original, Span span) { return original.text.substr(span.begin, span.size()); }

// A mark of an instruction's text that is not the first of its line.
std::optional<base::Edit> without_mark(const Original& original, Random& random, char mark) {
  const Statement* found = any_statement(original, random, [&](const Statement& statement) {
    return statement.instruction() && text_of(original, statement.span).find(mark) != std::string::npos;
  });
  if (!found) return std::nullopt;
  std::string text = text_of(original, found->span);
  std::vector<size_t> places;
  for (size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) places.push_back(at);
  auto at = found->span.begin + static_cast<uint32_t>(places[random() % places.size()]);
  return base::Edit{{at, at + 1}, ""};
}

std::optional<base::Edit> heading(const Original& original, std::string_view word, std::string line) {
  size_t at = original.text.find(word);
  if (at == std::string::npos) return std::nullopt;
  size_t end = std::min(original.text.find('\n', at), original.text.size());
  return base::Edit{{static_cast<uint32_t>(at), static_cast<uint32_t>(end)}, std::move(line)};
}

std::string other_width(const std::string& word) {
  static const std::map<std::string, std::string> other = {{".u32", ".u64"}, {".u64", ".u32"}, {".s32", ".s64"},
                                                           {".s64", ".s32"}, {".b32", ".b64"}, {".b64", ".b32"},
                                                           {".f32", ".f64"}, {".f64", ".f32"}};
  auto found = other.find(word);
  return found == other.end() ? word : found->second;
}

const std::vector<std::pair<std::string_view, Plant>>& kinds() {
  static const std::vector<std::pair<std::string_view, Plant>> all = {
      {"modifier dropped",
       [](const Original& o, Random& r) {
         return any_word(
             o, r, [](const std::string&) { return ""; }, 1);
       }},
      {"modifier misspelt",
       [](const Original& o, Random& r) {
         return any_word(
             o, r, [&](const std::string& word) { return misspelt(word, r); }, 1);
       }},
      {"opcode misspelt",
       [](const Original& o, Random& r) {
         return any_word(
             o, r, [&](const std::string& word) { return misspelt(word, r); }, 0);
       }},
      {"width swapped",
       [](const Original& o, Random& r) {
         return any_word(
             o, r, [&](const std::string& word) { return other_width(word); }, 1);
       }},
      {"type of a bitwise operation",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Instruction* found = any_instruction(o, r, [](const Instruction& each) {
           return each.words.size() == 2 && each.words[1].starts_with(".b") && each.words[1] != ".b8" &&
                  (each.is("and") || each.is("or") || each.is("xor") || each.is("not") || each.is("shl"));
         });
         if (!found) return std::nullopt;
         return base::Edit{found->word_spans[1], (r() % 2 ? ".u" : ".s") + found->words[1].substr(2)};
       }},
      {"register misspelt",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Operand* found = any_operand(o, r, [](const Operand& each) { return each.kind == Operand::Kind::reg; });
         if (!found) return std::nullopt;
         return base::Edit{found->span, misspelt(text_of(o, found->span), r)};
       }},
      {"special register misspelt",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Operand* found =
             any_operand(o, r, [](const Operand& each) { return each.kind == Operand::Kind::special; });
         if (!found) return std::nullopt;
         return base::Edit{found->span, misspelt(text_of(o, found->span), r)};
       }},
      {"parameter or variable misspelt",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Operand* found =
             any_operand(o, r, [](const Operand& each) { return each.kind == Operand::Kind::symbol; });
         if (!found) return std::nullopt;
         return base::Edit{{found->span.begin, found->span.begin + static_cast<uint32_t>(found->name.size())},
                           misspelt(found->name, r)};
       }},
      {"label misspelt",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Operand* found =
             any_operand(o, r, [](const Operand& each) { return each.kind == Operand::Kind::label; });
         if (!found) return std::nullopt;
         return base::Edit{found->span, misspelt(text_of(o, found->span), r)};
       }},
      {"label's definition misspelt",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<Label>(o, r);
         if (!found) return std::nullopt;
         std::string text = text_of(o, found->span);
         return base::Edit{found->span, misspelt(text.substr(0, text.find(':')), r) + ":"};
       }},
      {"label twice",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<Label>(o, r);
         if (!found) return std::nullopt;
         return base::Edit{{found->span.end, found->span.end}, "\n" + text_of(o, found->span)};
       }},
      {"bank too small",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<RegisterDeclaration>(o, r);
         if (!found) return std::nullopt;
         const auto& item = std::get<RegisterDeclaration>(found->what).items[0];
         if (!item.bank || item.count < 2) return std::nullopt;
         return base::Edit{item.span,
                           fmt::format("{}<{}>", item.name, item.count - 1 - r() % std::min(item.count - 1, 5u))};
       }},
      {"single instead of a bank",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<RegisterDeclaration>(o, r);
         if (!found) return std::nullopt;
         const auto& item = std::get<RegisterDeclaration>(found->what).items[0];
         if (!item.bank) return std::nullopt;
         return base::Edit{item.span, fmt::format("{}{}", item.name, item.count)};
       }},
      {"registers not declared",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<RegisterDeclaration>(o, r);
         if (!found) return std::nullopt;
         return base::Edit{found->span, ""};
       }},
      {"registers declared twice",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found = any<RegisterDeclaration>(o, r);
         if (!found) return std::nullopt;
         return base::Edit{{found->span.end, found->span.end}, "\n" + text_of(o, found->span)};
       }},
      {"'@' dropped",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Instruction* found =
             any_instruction(o, r, [](const Instruction& each) { return each.guard.has_value(); });
         if (!found) return std::nullopt;
         return base::Edit{{found->guard->span.begin, found->guard->span.begin + 1}, ""};
       }},
      {"';' dropped",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Statement* found =
             any_statement(o, r, [&](const Statement& each) { return text_of(o, each.span).ends_with(';'); });
         if (!found) return std::nullopt;
         return base::Edit{{found->span.end - 1, found->span.end}, ""};
       }},
      {"',' dropped", [](const Original& o, Random& r) { return without_mark(o, r, ','); }},
      {"brackets dropped",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Operand* found = any_operand(o, r, [&](const Operand& each) {
           return each.kind == Operand::Kind::address && each.elements.size() == 1 && each.offset == 0 &&
                  text_of(o, each.span).starts_with('[');
         });
         if (!found) return std::nullopt;
         return base::Edit{found->span, text_of(o, found->elements[0].span)};
       }},
      {"whole number for a float",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         auto whole = [](const Operand& each) {
           double value = std::bit_cast<double>(each.bits);
           return each.kind == Operand::Kind::floating && std::abs(value) < 1000 && value == std::floor(value) &&
                  !(value == 0 && std::signbit(value));
         };
         const Operand* found = any_operand(o, r, whole);
         if (!found) return std::nullopt;
         return base::Edit{found->span, fmt::format("{}", static_cast<int>(std::bit_cast<double>(found->bits)))};
       }},
      {"wrong state space",
       [](const Original& o, Random& r) -> std::optional<base::Edit> {
         const Instruction* found = any_instruction(o, r, [](const Instruction& each) {
           return each.words.size() > 2 && (each.words[1] == ".param" || each.words[1] == ".shared");
         });
         if (!found) return std::nullopt;
         return base::Edit{found->word_spans[1], r() % 2 ? ".global" : ""};
       }},
      {"older version", [](const Original& o, Random&) { return heading(o, ".version", ".version 6.0"); }},
      {"older target",
       [](const Original& o, Random& r) { return heading(o, ".target", r() % 2 ? ".target sm_60" : ".target sm_70"); }},
      {"target misspelt",
       [](const Original& o, Random&) {
         return heading(o, ".target", ".target " + std::string(o.target).erase(2, 1));
       }},
      {"no version", [](const Original& o, Random&) { return heading(o, ".version", ""); }},
      {"no target", [](const Original& o, Random&) { return heading(o, ".target", ""); }},
  };
  return all;
}

std::vector<Original> originals(const std::string& ptxas) {
  std::vector<fs::path> files;
  fs::path root = PTXLAB_SOURCE_DIR;
  for (const auto& entry : fs::directory_iterator(root / "tests" / "corpus"))
    if (entry.path().extension() == ".ptx" && entry.path().string().find(".g.") == std::string::npos)
      files.push_back(entry.path());
  for (const auto& entry : fs::recursive_directory_iterator(root / "tasks"))
    if (entry.path().filename() == "baseline.ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Original> all(files.size());
  base::parallel_for(files.size(), 0, [&](size_t i) {
    auto text = base::read_file(files[i]);
    ASSERT_TRUE(text.ok());
    Checked checked = check(*text, files[i].string());
    ASSERT_TRUE(checked.ok()) << files[i];
    std::string target = checked.module.target.name();
    all[i] = {fs::relative(files[i], root).string(), *text, target, std::move(checked.module),
              assemble(ptxas, *text, target, false)};
    ASSERT_TRUE(all[i].code.ok) << all[i].code.errors;
  });
  return all;
}

struct Tally {
  size_t faults = 0, restored = 0, left = 0, other = 0;
};

TEST(Mutants, ComeBackAsTheyWere) {
  std::string ptxas = tool("ptxas");
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine";
  std::vector<Original> from = originals(ptxas);
  bool all = std::getenv("PTXLAB_ALL") != nullptr;
  const size_t each = all ? 60 : 5;

  struct Mutant {
    size_t kind = 0;
    const Original* original = nullptr;
    base::Edit edit;
    std::string text;
  };
  std::vector<Mutant> mutants;
  const char* seed = std::getenv("PTXLAB_SEED");
  Random random(seed ? std::strtoull(seed, nullptr, 0) : 20261129);
  for (size_t kind = 0; kind < kinds().size(); ++kind) {
    size_t found = 0;
    for (size_t draw = 0; draw < 40 * each && found < each; ++draw) {
      const Original& original = from[random() % from.size()];
      auto edit = kinds()[kind].second(original, random);
      if (!edit) continue;
      std::string text = edited(original.text, {*edit});
      if (check(text, "t.ptx").ok()) continue;  // no fault that anybody could see
      mutants.push_back({kind, &original, *edit, std::move(text)});
      ++found;
    }
  }
  std::vector<char> verdicts(mutants.size());
  std::vector<std::string> notes(mutants.size());
  base::parallel_for(mutants.size(), 0, [&](size_t i) {
    const Mutant& mutant = mutants[i];
    Mended mended = mend(mutant.text, "t.ptx");
    verdicts[i] = 'l';
    auto place = base::place_of(mutant.original->text, mutant.edit.span, mutant.original->name);
    notes[i] = fmt::format("{}: {}:{}: '{}' to '{}'", kinds()[mutant.kind].first, place.file, place.line,
                           text_of(*mutant.original, mutant.edit.span), mutant.edit.text);
    if (!mended.ok()) return;
    Assembled code = assemble(ptxas, mended.text, mutant.original->target, false);
    verdicts[i] = !code.ok ? 'x' : code.sections == mutant.original->code.sections ? 'r' : 'o';
    for (const auto& edit : mended.edits)
      notes[i] += fmt::format(" mended '{}' to '{}'", mutant.text.substr(edit.span.begin, edit.span.size()), edit.text);
    if (!code.ok) notes[i] += code.errors;
  });

  std::map<std::string_view, Tally> tallies;
  Tally sum;
  for (size_t i = 0; i < mutants.size(); ++i) {
    for (Tally* tally : {&tallies[kinds()[mutants[i].kind].first], &sum}) {
      ++tally->faults;
      tally->restored += verdicts[i] == 'r';
      tally->left += verdicts[i] == 'l';
      tally->other += verdicts[i] == 'o' || verdicts[i] == 'x';
    }
    if (verdicts[i] == 'o' || verdicts[i] == 'x' || (all && verdicts[i] == 'l'))
      std::printf("%c %s\n", verdicts[i], notes[i].c_str());
  }
  for (const auto& [kind, tally] : tallies)
    std::printf("%-34s %4zu faults, %4zu brought back, %4zu left alone, %2zu made into something else\n",
                std::string(kind).c_str(), tally.faults, tally.restored, tally.left, tally.other);
  std::printf("%-34s %4zu faults, %4zu brought back, %4zu left alone, %2zu made into something else\n", "all",
              sum.faults, sum.restored, sum.left, sum.other);
  EXPECT_GT(sum.faults, kinds().size() * each / 2);
  EXPECT_GE(static_cast<double>(sum.restored), 0.9 * static_cast<double>(sum.faults));
  EXPECT_LE(static_cast<double>(sum.other), 0.02 * static_cast<double>(sum.faults));
}

}  // namespace
}  // namespace ptxlab::ptx
