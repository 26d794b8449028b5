// Rule "unswitch": a loop that asks the same question in every round gets a copy of its own for one of the answers, in which
// neither the question nor the other answer's code is left. What was one tangle of branches becomes a straight body, on which
// "vectorise" and "unroll" can work: a kernel that asks "is n a multiple of 4" inside its loop is the usual case.
//
// Needs: a branch or guard inside an innermost loop whose predicate no round changes, both ways of the branch inside the loop;
// no barrier, exchange or call in it (threads may now be in different copies); code can be put in front of it.
//
// The judge confirms: the same outputs for sizes on both sides of the question.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/loop_front.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

constexpr size_t kMostStatements = 1000;  // of a loop that is copied

struct Question {
  uint32_t loop = 0;
  uint32_t statement = 0;  // where it is asked first
  uint32_t reg = 0;        // the predicate
  std::vector<uint32_t> slice;
};

class Copier {
 public:
  Copier(const Flow& flow, const Question& question, bool answer, Editor& editor, BodyEdit& edit)
      : flow_(flow), q_(question), answer_(answer), e_(editor), edit_(edit), loop_(flow.cfg.loops()[question.loop]) {}

  Statements make() {
    auto original = e_.fresh_label("otherwise");
    e_.comment(
        fmt::format("ptxlab rule unswitch: the loop below once more, for {}{}.", answer_ ? "" : "!", e_.name(q_.reg)));
    uint32_t predicate = q_.reg;
    std::map<uint32_t, uint32_t> renamed;
    for (uint32_t s : q_.slice) copy_slice(s, renamed);
    if (auto it = renamed.find(q_.reg); it != renamed.end()) predicate = it->second;
    e_.emit_if(predicate, answer_, "bra", {original});
    find_live_blocks();
    for (uint32_t b : live_)
      for (const auto& name : labels_in(b)) labels_[name] = e_.fresh_label("case");
    // Blocks that only a fall enters need a name where what they follow is left out.
    for (size_t i = 0; i < live_.size(); ++i) copy_block(live_[i], i + 1 < live_.size() ? live_[i + 1] : kNone);
    e_.label(original);
    return e_.take();
  }

 private:
  void copy_slice(uint32_t s, std::map<uint32_t, uint32_t>& renamed) {
    auto reads = renamed;
    uint32_t old = analysis::register_use(*flow_.function.body[s].instruction()).writes[0];
    renamed[old] = e_.fresh(e_.type(old));
    reads[old] = renamed[old];
    e_.copy(flow_.function.body[s], reads, {});
  }

  std::vector<std::string> labels_in(uint32_t block) const {
    std::vector<std::string> names;
    for (uint32_t s = flow_.cfg.blocks()[block].begin; s < flow_.cfg.blocks()[block].end; ++s)
      if (const auto* label = std::get_if<ptx::Label>(&flow_.function.body[s].what))
        names.push_back(flow_.function.labels[label->id].name);
    return names;
  }

  // The predicate, where an instruction's guard asks it, and where it is true.
  std::optional<bool> known(uint32_t s) const {
    const auto* instruction = flow_.function.body[s].instruction();
    if (!instruction || !instruction->guard || instruction->guard->reg != q_.reg) return std::nullopt;
    return answer_ != instruction->guard->negated;
  }

  // Successors that the answer leaves.
  std::vector<uint32_t> successors(uint32_t block) const {
    const auto& b = flow_.cfg.blocks()[block];
    if (b.terminator == kNone || b.successors.size() != 2) return b.successors;
    auto taken = known(b.terminator);
    return taken ? std::vector{b.successors[*taken ? 0 : 1]} : b.successors;
  }

  void find_live_blocks() {
    std::set<uint32_t> seen{loop_.header};
    std::vector<uint32_t> open{loop_.header};
    while (!open.empty()) {
      uint32_t block = open.back();
      open.pop_back();
      for (uint32_t to : successors(block))
        if (loop_.contains(to) && seen.insert(to).second) open.push_back(to);
    }
    live_.assign(seen.begin(), seen.end());
  }

  void copy_block(uint32_t block, uint32_t next) {
    const auto& b = flow_.cfg.blocks()[block];
    for (uint32_t s = b.begin; s < b.end; ++s) {
      const auto& statement = flow_.function.body[s];
      auto taken = known(s);
      if (taken && !*taken) continue;
      if (!taken) {
        e_.copy(statement, {}, labels_);
        continue;
      }
      auto always = statement;
      always.instruction()->guard.reset();
      e_.copy(always, {}, labels_);
    }
    // Where control falls out of the block, and what follows there is not what follows here.
    bool falls = b.terminator == kNone;
    if (b.terminator != kNone && flow_.function.body[b.terminator].instruction()->guard)
      falls = known(b.terminator) != std::optional<bool>(true);
    if (!falls) return;
    uint32_t below = flow_.cfg.block_of(b.end);
    if (below == next) return;
    if (!loop_.contains(below)) {
      e_.emit("bra", {label_of(b.end)});
      return;
    }
    // Inside the loop and not next: it was left out, which a fall cannot lead to, or stands further up.
    auto names = labels_in(below);
    e_.emit("bra", {names.empty() ? label_of(b.end) : labels_.at(names.front())});
  }

  std::string label_of(uint32_t statement) {
    auto kept = e_.take();
    auto name = label_at(flow_.function, statement, e_, edit_);
    e_.put_back(std::move(kept));
    return name;
  }

  const Flow& flow_;
  const Question& q_;
  bool answer_;
  Editor& e_;
  BodyEdit& edit_;
  const analysis::Loop& loop_;
  std::vector<uint32_t> live_;
  std::map<std::string, std::string> labels_;
};

// The first question of a loop that every round asks alike, or why there is none.
std::optional<Question> find_question(const Flow& flow, uint32_t l, std::string& why) {
  const auto& loop = flow.cfg.loops()[l];
  const auto& blocks = flow.cfg.blocks();
  for (size_t i = 1; i < loop.blocks.size(); ++i)
    if (blocks[loop.blocks[i]].begin != blocks[loop.blocks[i - 1]].end) why = "its blocks do not stand together";
  if (loop.blocks.front() != loop.header) why = "its header is not its first block";
  if (why.empty()) why = no_front(flow, l);
  if (!why.empty()) return std::nullopt;
  auto invariants = loop_invariants(flow, l);
  std::optional<Question> found;
  size_t count = 0;
  for (uint32_t s = blocks[loop.header].begin; s < blocks[loop.blocks.back()].end; ++s) {
    const auto& statement = flow.function.body[s];
    if (std::holds_alternative<ptx::VariableDeclaration>(statement.what)) why = "it declares a variable inside";
    const auto* instruction = statement.instruction();
    if (!instruction) continue;
    ++count;
    auto ordered = ordering_of(*instruction);
    if (!ordered.empty() && !(instruction->form.row && instruction->form.row->effects.atomic))
      why = place(flow.function, s) + " " + ordered;
    if (opcode_of(*instruction) == "brx") why = place(flow.function, s) + " jumps by a table";
    if (!why.empty()) return std::nullopt;
    if (found || !instruction->guard) continue;
    uint32_t block = flow.cfg.block_of(s);
    bool branch = blocks[block].terminator == s;
    if (branch && (blocks[block].successors.size() != 2 || !loop.contains(blocks[block].successors[0]) ||
                   !loop.contains(blocks[block].successors[1])))
      continue;
    uint32_t reg = instruction->guard->reg;
    if (flow.definitions.of(reg).size() != 1 || !invariant_in(flow, l, invariants, s, reg)) continue;
    found = Question{l, s, reg, invariant_slice(flow, l, invariants, s, reg)};
  }
  if (count > kMostStatements) {
    why = fmt::format("it has {} instructions", count);
    return std::nullopt;
  }
  if (!found) why = "no branch in it asks the same in every round";
  return found;
}

class Unswitch final : public Rule {
 public:
  std::string_view name() const override { return "unswitch"; }
  Family family() const override { return Family::loops; }
  std::string_view description() const override { return "a loop of its own for one answer to what every round asks"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"true", 1}, {"false", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    ptx::Module module = *subject.module;
    std::string refused;
    size_t count = 0;
    uint32_t line = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0130", entry_name + ": its control flow is irreducible or too large");
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body)
          count += rewrite(flow, choice.value != 0, function, line, refused);
    }
    if (count == 0) return refusal("RW0130", refused.empty() ? "no loop" : "no loop to copy: " + refused);
    Rewritten result;
    result.name = "unswitch-" + choice.name;
    result.idea = fmt::format("{} loop{} of its own where what line {} asks is {}", count, count > 1 ? "s" : "", line,
                              choice.name);
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static size_t rewrite(const Flow& flow, bool answer, ptx::Function& function, uint32_t& line, std::string& refused) {
    Editor editor(function, "switch");
    BodyEdit edit;
    size_t count = 0;
    const auto& loops = flow.cfg.loops();
    for (uint32_t l = 0; l < loops.size(); ++l) {
      if (std::any_of(loops.begin(), loops.end(), [&](const auto& other) { return other.parent == l; })) continue;
      std::string why;
      auto question = find_question(flow, l, why);
      if (!question) {
        refused +=
            fmt::format("{}loop at line {} of {}: {}", refused.empty() ? "" : "; ",
                        line_at(flow.function, flow.cfg.blocks()[loops[l].header].begin), flow.function.name, why);
        continue;
      }
      line = flow.function.body[question->statement].instruction()->line;
      auto made = Copier(flow, *question, answer, editor, edit).make();
      put_in_front(flow, l, std::move(made), editor, edit);
      ++count;
    }
    if (count == 0) return 0;
    function.body = edit.apply(std::move(function.body));
    editor.declare();
    return count;
  }
};

}  // namespace

const Rule* unswitch_rule() {
  static const Unswitch rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
