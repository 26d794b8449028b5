// The grammar against what it is made of: real kernels and every form of the table are in it, and what the table does not have is not.
// The reader here knows nothing of PTX: it follows the rules alone.
#include "ptx/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <set>

#include "base/file.h"
#include "isa/enumerate.h"
#include "isa/table.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

namespace fs = std::filesystem;
using G = Grammatical;
using Ends = std::vector<uint32_t>;

// Every place at which a rule may end that begins at a place, each worked out once.
class Reader {
 public:
  explicit Reader(const Grammar& grammar) : grammar_(grammar) {
    for (const auto& [name, right] : grammar.rules) resolve(right);
  }
  bool accepts(std::string_view text) { return accepts(text, grammar_.root); }
  bool accepts(std::string_view text, const std::string& root) {
    text_ = text;
    known_.clear();
    furthest_ = 0;
    auto ends = at_rule(&grammar_.rules.at(root), 0);
    return std::find(ends.begin(), ends.end(), text.size()) != ends.end();
  }
  // How far any reading came: for messages.
  std::string where() const {
    auto begin = text_.rfind('\n', furthest_ ? furthest_ - 1 : 0);
    begin = begin == text_.npos ? 0 : begin + 1;
    return std::string(text_.substr(begin, 120));
  }

 private:
  void resolve(const G& part) {
    if (part.kind == G::Kind::rule) {
      ASSERT_TRUE(grammar_.rules.contains(part.text)) << part.text;
      rules_[part.text] = &grammar_.rules.at(part.text);
    }
    if (part.kind == G::Kind::chars && !sets_.contains(part.text)) {
      std::array<bool, 256>& set = sets_[part.text];
      std::string_view content = part.text;
      bool inverse = content.starts_with('^');
      if (inverse) content.remove_prefix(1);
      for (size_t i = 0; i < content.size(); ++i) {
        auto one = [&] {
          if (content[i] != '\\') return content[i];
          ++i;
          return content[i] == 'n' ? '\n' : content[i] == 't' ? '\t' : content[i] == 'r' ? '\r' : content[i];
        };
        unsigned char low = one(), high = low;
        if (i + 2 < content.size() && content[i + 1] == '-') {
          i += 2;
          high = one();
        }
        for (int c = low; c <= high; ++c) set[c] = true;
      }
      if (inverse)
        for (auto& in : set) in = !in;
    }
    for (const auto& one : part.parts) resolve(one);
  }

  const Ends& at_rule(const G* right, uint32_t place) {
    auto key = std::pair(right, place);
    if (auto found = known_.find(key); found != known_.end()) return found->second;
    known_[key] = {};  // no rule begins with itself
    auto ends = at(*right, place);
    return known_[key] = std::move(ends);
  }

  static void unite(Ends& into, const Ends& more) {
    for (auto end : more) {
      if (std::find(into.begin(), into.end(), end) == into.end()) into.push_back(end);
    }
  }

  Ends at(const G& part, uint32_t place) {
    furthest_ = std::max(furthest_, place);
    switch (part.kind) {
      case G::Kind::text:
        return text_.substr(place, part.text.size()) == part.text
                   ? Ends{place + static_cast<uint32_t>(part.text.size())}
                   : Ends{};
      case G::Kind::chars:
        return place < text_.size() && sets_[part.text][static_cast<unsigned char>(text_[place])] ? Ends{place + 1}
                                                                                                  : Ends{};
      case G::Kind::rule: return at_rule(rules_[part.text], place);
      case G::Kind::sequence: {
        Ends ends = {place};
        for (const auto& one : part.parts) ends = after(one, ends);
        return ends;
      }
      case G::Kind::choice: {
        Ends ends;
        for (const auto& one : part.parts) unite(ends, at(one, place));
        return ends;
      }
      case G::Kind::optional: {
        Ends ends = {place};
        unite(ends, at(part.parts[0], place));
        return ends;
      }
      case G::Kind::many: {
        const auto& one = part.parts[0];
        bool greedy = one.kind == G::Kind::chars || (one.kind == G::Kind::rule && one.text == "gap");
        if (greedy) {
          while (true) {
            auto next = at(one, place);
            if (next.empty()) return {place};
            place = next.back();
          }
        }
        Ends ends = {place}, last = ends;
        while (!last.empty()) {
          Ends next;
          for (auto end : after(one, last)) {
            if (std::find(ends.begin(), ends.end(), end) == ends.end()) next.push_back(end);
          }
          unite(ends, next);
          last = std::move(next);
        }
        return ends;
      }
      case G::Kind::repeat: {
        Ends ends = {place};
        for (int i = 0; i < part.count; ++i) ends = after(part.parts[0], ends);
        return ends;
      }
    }
    return {};
  }
  Ends after(const G& part, const Ends& places) {
    Ends ends;
    for (auto place : places) unite(ends, at(part, place));
    return ends;
  }

  const Grammar& grammar_;
  std::map<std::string, const G*> rules_;
  std::map<std::string, std::array<bool, 256>> sets_;
  std::map<std::pair<const G*, uint32_t>, Ends> known_;
  std::string_view text_;
  uint32_t furthest_ = 0;
};

const Grammar& grammar_of(const char* target) {
  static std::map<std::string, Grammar> made;
  auto found = made.find(target);
  if (found == made.end()) found = made.emplace(target, grammar_for(*isa::target_named(target), 999)).first;
  return found->second;
}

std::vector<fs::path> kernels() {
  std::vector<fs::path> files;
  for (const char* folder : {"tasks", "tests/corpus", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What ptxas takes and the grammar leaves out, for there is no need to write it: modifiers in another order than the manual's
// (atom.add.release.gpu, ld.f64.global, Triton's atom.global.gpu.relaxed.add), a negated predicate of selp.
constexpr const char* kOther[] = {"atomics.line.ptx", "atomics.sm_80.ptx", "05-modifier-order.ptx",
                                  "17-bfe-selp-cvt.ptx", "histogram_u8/triton.ptx"};

// Baselines as nvcc wrote them, the others as the printer writes them.
TEST(Grammar, HoldsRealKernels) {
  Reader reader(grammar_of("sm_90a"));
  size_t read = 0, baselines = 0;
  for (const auto& file : kernels()) {
    auto text = *base::read_file(file);
    bool baseline = file.filename() == "baseline.ptx";
    auto checked = check(text, file.string());
    auto target = checked.module.target;
    if (text.size() > 300'000 || !checked.ok() || target.sm > 90) continue;
    if (baseline) {
      EXPECT_TRUE(reader.accepts(text)) << file << ": " << reader.where();
    }
    bool other = std::any_of(std::begin(kOther), std::end(kOther),
                             [&](const char* name) { return file.string().ends_with(name); });
    EXPECT_EQ(reader.accepts(print(checked.module)), !other) << file << ": " << reader.where();
    ++read;
    baselines += baseline;
  }
  EXPECT_GE(baselines, 9u);
  EXPECT_GT(read, 25u);
}

std::string all_but_the_last(const std::string& text) { return text.substr(0, text.rfind(';')); }

TEST(Grammar, HoldsEveryFormOfTheTable) {
  for (const char* name : {"sm_80", "sm_90a", "sm_100a"}) {
    auto target = *isa::target_named(name);
    Reader reader(grammar_of(name));
    size_t forms = 0, refused = 0;
    for (const auto& row : isa::rows()) {
      for (const auto& form : isa::forms_of(row, 24)) {
        bool there = isa::refusal(form.gate(), 999, target).empty();
        auto text = all_but_the_last(isa::instruction_text(form));
        if (there) {
          EXPECT_TRUE(reader.accepts(text, "instruction")) << name << ": " << text << "   (" << row.syntax << ")";
          ++forms;
        } else {
          refused += !reader.accepts(text, "instruction");
        }
      }
    }
    EXPECT_GT(forms, 2000u) << name;
    EXPECT_GT(refused, 50u) << name;  // what only other targets have
  }
}

// Words of a form changed for others of its slots, so that a constraint breaks: what the table refuses the grammar refuses too.
TEST(Grammar, RefusesWhatTheTableRefuses) {
  auto target = *isa::target_named("sm_90a");
  Reader reader(grammar_of("sm_90a"));
  std::mt19937 random(7);
  size_t tried = 0;
  for (const auto& row : isa::rows()) {
    if (row.slots.empty() || !isa::refusal(row.gate, 999, target).empty()) continue;
    for (auto form : isa::forms_of(row, 60)) {
      size_t slot = random() % row.slots.size();
      form.taken[slot] = static_cast<int8_t>(random() % row.slots[slot].choices.size());
      if (isa::keeps_constraints(form)) continue;
      auto text = all_but_the_last(isa::instruction_text(form));
      std::vector<std::string> words = {std::string(row.opcode)};
      auto spelt = isa::spelling(form);
      std::vector<std::string_view> views;
      for (size_t at = 0; at < spelt.size();) {
        size_t next = std::min(spelt.find('.', at + 1), spelt.size());
        words.push_back(spelt.substr(at, next - at));
        at = next;
      }
      if (row.opcode.find('.') != row.opcode.npos || spelt.find("::") != spelt.npos) continue;
      for (const auto& word : words) views.push_back(word);
      if (!isa::match(views).forms.empty()) continue;  // another row has it
      EXPECT_FALSE(reader.accepts(text, "instruction")) << text;
      ++tried;
    }
  }
  EXPECT_GT(tried, 50u);
}

TEST(Grammar, RefusesPlantedFaults) {
  auto good = *base::read_file("tasks/norm/rmsnorm_bf16/baseline.ptx");
  Reader reader(grammar_of("sm_90a"));
  ASSERT_TRUE(reader.accepts(good)) << reader.where();
  struct Fault {
    const char *from, *to;
  };
  for (const auto& fault : {Fault{"ld.param.u64", "ld.param.u63"},
                            {"ld.param.u64", "ld.parameter.u64"},
                            {"mov.u32", "move.u32"},
                            {".version 9", ".version nine"},
                            {".reg .pred", ".reg .predicate"},
                            {"ret;", "ret"},
                            {"ret;", "return;"},
                            {"add.s64", "add.sat.s64"},
                            {"fma.rn.f32", "fma.f32"},
                            {".visible .entry", "__global__ void"},
                            {"@%p1 bra", "@%p1, bra"},
                            {"{\n", "{{\n"},
                            {"bar.sync", "bar.synch"},
                            {"mul.wide.u32", "mul.wide.f32"},
                            {", [", ", ["}}) {
    if (std::string(fault.from) == fault.to) continue;
    auto at = good.find(fault.from);
    if (at == good.npos) continue;
    auto bad = good;
    bad.replace(at, std::string(fault.from).size(), fault.to);
    EXPECT_FALSE(reader.accepts(bad)) << fault.from << " -> " << fault.to;
  }
  for (const char* text :
       {"", "A: the kernel is fast.", "int main() { return 0; }", ".version 8.0\n.target sm_90\n.address_size 64\n}"})
    EXPECT_FALSE(reader.accepts(text)) << text;
  // A line cut out of the middle leaves a module; a module cut off in the middle is none.
  EXPECT_FALSE(reader.accepts(std::string_view(good).substr(0, good.size() / 2)));
  EXPECT_FALSE(Reader(grammar_of("sm_80")).accepts("wgmma.fence.sync.aligned", "instruction"));
  EXPECT_TRUE(reader.accepts("wgmma.fence.sync.aligned", "instruction"));
}

TEST(Grammar, OfAnAnswerHoldsProseAndBothBlocks) {
  auto grammar = grammar_for(*isa::target_named("sm_90a"), 999, GrammarRoot::answer);
  Reader reader(grammar);
  std::string module = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n";
  EXPECT_TRUE(reader.accepts("Wider loads.\n```ptx\n" + module + "```\n")) << reader.where();
  EXPECT_TRUE(reader.accepts("```ptx\n" + module + "```\n```toml\nschema = \"x\"\n```"));
  EXPECT_FALSE(reader.accepts("Wider loads.\n" + module));
  EXPECT_FALSE(reader.accepts("```ptx\n" + module));
  EXPECT_FALSE(reader.accepts("```cuda\n" + module + "```"));
}

TEST(Grammar, IsPrintedWholeInBothForms) {
  for (const auto& target : isa::known_targets()) {
    for (const auto& [name, right] : grammar_of(target.name().c_str()).rules)
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), name.npos)
          << name;
  }
  const auto& grammar = grammar_of("sm_90a");
  for (bool for_lark : {false, true}) {
    auto text = for_lark ? lark(grammar) : gbnf(grammar);
    EXPECT_TRUE(text.starts_with(for_lark ? "start: module\n" : "root ::= module\n")) << text.substr(0, 80);
    EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), grammar.rules.size());
    EXPECT_LT(text.size(), size_t{2} << 20);
  }
}

}  // namespace
}  // namespace ptxlab::ptx
