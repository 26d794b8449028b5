// Rule "unroll": U rounds of an innermost loop at a time while U more are due, with the loads of all of them in front, so that
// several are in flight; the loop as it was does what remains. The rounds keep their order, so that results are the same to
// the bit. nvcc leaves alone what has a step that it does not know (blockDim.x), a "#pragma unroll 1", or several exits;
// PTX by hand and by models is not unrolled at all.
//
// Needs: a counted loop (counted_loop.h); no barrier, exchange within the warp, call or access ordered with other threads'
// in it; a load of global memory that may stand in front of the stores of the rounds before it. A body with branches is
// copied as it stands, and then nothing moves.
//
// The judge confirms: the same outputs at trip counts around U, among them 0 and 1.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/counted_loop.h"
#include "rewrite/finish.h"
#include "rewrite/loop_front.h"
#include "rewrite/rules.h"
#include "rewrite/straight_line.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

constexpr size_t kMostStatements = 600;  // of all copies

// Statements that a copy repeats: instructions but the branches that go round or leave, and the labels of inner blocks.
std::vector<uint32_t> repeated(const Flow& flow, const CountedLoop& loop) {
  std::vector<uint32_t> found;
  for (uint32_t s = loop.begin; s < loop.end; ++s)
    if (s != loop.branch && s != loop.back && flow.function.body[s].instruction()) found.push_back(s);
  return found;
}

// "and.b32 rounds, 3": the loop does what another one, unrolled already, leaves.
bool is_remainder(const Flow& flow, const CountedLoop& loop, int rounds) {
  for (const auto& induction : flow.values.inductions()) {
    if (induction.loop != loop.loop || induction.reg != loop.index_reg) continue;
    const auto& start = flow.values.value(induction.initial);
    if (start.constant != 0 || start.terms.size() != 1 || start.terms[0].factors.size() != 1) return false;
    const auto& atom = flow.values.atom(start.terms[0].factors[0]);
    if (atom.kind != analysis::Atom::Kind::operation || atom.words != "and.b32") return false;
    for (auto id : atom.operands)
      if (const auto& mask = flow.values.value(id); mask.is_constant() && mask.constant < rounds * 2) return true;
  }
  return false;
}

// Loops of other rules' making that do the few elements left over, or several rounds at a time already.
bool made_for_little(const Flow& flow, const CountedLoop& loop) {
  const auto& header = flow.cfg.blocks()[flow.cfg.loops()[loop.loop].header];
  for (uint32_t s = header.begin; s < header.end; ++s)
    if (const auto* label = std::get_if<ptx::Label>(&flow.function.body[s].what)) {
      const auto& name = flow.function.labels[label->id].name;
      if (name.starts_with("$vec_element") || name.starts_with("$unroll_rounds")) return true;
    }
  return false;
}

std::string refuse(const Flow& flow, const CountedLoop& loop, int rounds) {
  if (made_for_little(flow, loop)) return "another rule has made it for what is left over";
  if (is_remainder(flow, loop, rounds)) return "it does only what another unrolled loop leaves";
  size_t count = 0;
  bool loads = false;
  for (uint32_t s = loop.begin; s < loop.end; ++s) {
    const auto& statement = flow.function.body[s];
    if (std::holds_alternative<ptx::VariableDeclaration>(statement.what))
      return fmt::format("line {} declares a variable inside it", line_at(flow.function, s));
    const auto* instruction = statement.instruction();
    if (!instruction) continue;
    ++count;
    if (auto why = not_copyable(flow.function, s); !why.empty()) return why;
    if (opcode_of(*instruction) == "brx") return place(flow.function, s) + " jumps by a table";
    const auto* access = flow.access(s);
    loads = loads || (access && access->reads && access->space != isa::Space::local);
  }
  if (!loads) return "it loads nothing";
  if (count * static_cast<size_t>(rounds) > kMostStatements)
    return fmt::format("{} rounds of it are more than {} instructions", rounds, kMostStatements);
  return "";
}

// Registers that are wanted when the copies are done: by the loop's next round, or behind it.
std::set<uint32_t> carried_by(const Flow& flow, const CountedLoop& loop) {
  std::set<uint32_t> carried;
  const auto& header = flow.cfg.loops()[loop.loop].header;
  for (uint32_t reg : flow.liveness.live_in(header)) carried.insert(reg);
  for (const auto& exit : flow.cfg.loops()[loop.loop].exits)
    for (uint32_t reg : flow.liveness.live_in(exit.to)) carried.insert(reg);
  return carried;
}

void nounroll(Statements& statements) {
  ptx::Directive directive;
  directive.text = ".pragma \"nounroll\"";
  ptx::Statement statement;
  statement.what = std::move(directive);
  statements.push_back(std::move(statement));
}

class Emitter {
 public:
  Emitter(const Flow& flow, const Aliasing& aliasing, const CountedLoop& loop, int rounds, Editor& editor)
      : flow_(flow), aliasing_(aliasing), loop_(loop), rounds_(rounds), e_(editor) {}

  // How many loads stand in front; the code in `made`.
  size_t emit(const std::string& exit, Statements& made) {
    auto original = e_.fresh_label("rest"), again = e_.fresh_label("rounds");
    e_.comment(fmt::format(
        "ptxlab rule unroll: {} rounds at a time while as many are due; the loop below does the rest.", rounds_));
    RoundsCheck check(loop_, rounds_, e_);
    check.prepare(original);
    e_.label(again);
    made = e_.take();
    nounroll(made);
    check.unless_due(original);
    size_t moved = loop_.straight ? straight(exit) : as_it_stands(exit);
    e_.emit("bra", {again});
    e_.label(original);
    auto rest = e_.take();
    made.insert(made.end(), rest.begin(), rest.end());
    return moved;
  }

 private:
  size_t straight(const std::string& exit) {
    StraightLine line(flow_, aliasing_, carried_by(flow_, loop_), e_);
    auto statements = repeated(flow_, loop_);
    // A jump to the block that comes next anyway would lead out of the copies.
    std::erase_if(statements, [&](uint32_t s) { return opcode_of(*flow_.function.body[s].instruction()) == "bra"; });
    for (int k = 0; k < rounds_; ++k) line.add(statements);
    size_t moved = line.movable();
    line.emit();
    if (loop_.bottom_tested) {
      const auto& branch = *flow_.function.body[loop_.branch].instruction();
      e_.emit_if(line.current(branch.guard->reg), !branch.guard->negated, "bra", {exit});
    }
    return moved;
  }

  size_t as_it_stands(const std::string& exit) {
    for (int k = 0; k < rounds_; ++k) {
      std::map<std::string, std::string> labels;
      for (uint32_t s = loop_.begin; s < loop_.end; ++s)
        if (const auto* label = std::get_if<ptx::Label>(&flow_.function.body[s].what))
          labels[flow_.function.labels[label->id].name] = e_.fresh_label("inner");
      e_.comment(fmt::format("Round {} of {}.", k + 1, rounds_));
      for (uint32_t s = loop_.begin; s < loop_.end; ++s) {
        const auto& statement = flow_.function.body[s];
        bool word =
            std::holds_alternative<ptx::Directive>(statement.what) || std::holds_alternative<ptx::Loc>(statement.what);
        if (s == loop_.branch || s == loop_.back || word) continue;
        e_.copy(statement, {}, labels);
      }
    }
    if (loop_.bottom_tested) {
      const auto& branch = *flow_.function.body[loop_.branch].instruction();
      e_.emit_if(branch.guard->reg, !branch.guard->negated, "bra", {exit});
    }
    return 0;
  }

  const Flow& flow_;
  const Aliasing& aliasing_;
  const CountedLoop& loop_;
  int rounds_;
  Editor& e_;
};

class Unroll final : public Rule {
 public:
  std::string_view name() const override { return "unroll"; }
  Family family() const override { return Family::loops; }
  std::string_view description() const override { return "does several rounds of a loop at a time, their loads first"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"4", 4}, {"2", 2}, {"8", 8}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    ptx::Module module = *subject.module;
    std::string refused;
    size_t loops = 0, moved = 0;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      Aliasing aliasing(flow, launches_of(*subject.module, *subject.plan, entry));
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body)
          rewrite(flow, aliasing, static_cast<int>(choice.value), function, loops, moved, refused);
    }
    if (loops == 0) return refusal("RW0120", refused.empty() ? "no loop to unroll" : "nothing to unroll: " + refused);
    Rewritten result;
    result.name = "unroll-" + choice.name;
    result.idea = fmt::format("{} rounds of {} loop{} at a time", choice.value, loops, loops > 1 ? "s" : "");
    if (moved > 0) result.idea += fmt::format(", {} load{} in front", moved, moved == 1 ? "" : "s");
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static void rewrite(const Flow& flow, const Aliasing& aliasing, int rounds, ptx::Function& function, size_t& loops,
                      size_t& moved, std::string& refused) {
    auto found = counted_loops(flow);
    auto reject = [&](const std::string& text) { refused += (refused.empty() ? "" : "; ") + text; };
    for (const auto& text : found.rejected) reject(text);
    Editor editor(function, "unroll");
    BodyEdit edit;
    bool any = false;
    for (const auto& loop : found.loops) {
      if (auto why = refuse(flow, loop, rounds); !why.empty()) {
        reject(fmt::format("loop at line {} of {}: {}", line_at(flow.function, loop.begin), flow.function.name, why));
        continue;
      }
      std::string exit = loop.bottom_tested ? label_at(flow.function, loop.exit_at, editor, edit) : "";
      Statements made;
      moved += Emitter(flow, aliasing, loop, rounds, editor).emit(exit, made);
      put_in_front(flow, loop.loop, std::move(made), editor, edit);
      any = true;
      ++loops;
    }
    if (!any) return;
    function.body = edit.apply(std::move(function.body));
    editor.declare();
  }
};

}  // namespace

const Rule* unroll_rule() {
  static const Unroll rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
