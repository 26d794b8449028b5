// Rule "promote": what a loop loads, changes and stores back in every round ("y[row] += a * x") stays in a register for all of
// them, and is stored once at the end. Compilers do that only where no other access in the loop can be the same memory; here
// the plan says which buffers are different ones.
//
// Needs: an innermost loop with one way out; one store, or one load and one store of the same address, by the same register,
// which no round changes, in that order in every round; no other access in the loop that may touch that memory; nothing ordered with other
// threads (who watches a running value without synchronisation has a race).
//
// The judge confirms: the same outputs to the bit, also where the loop is never entered.
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

struct Running {
  uint32_t load = 0, store = 0;
};

// The register that an access's address stands in; kNone where it is none.
uint32_t address_register(const ptx::Instruction& instruction, size_t operand) {
  const auto& address = instruction.operands[operand];
  if (address.kind != ptx::Operand::Kind::address || address.elements.size() != 1 ||
      address.elements[0].kind != ptx::Operand::Kind::reg)
    return kNone;
  return address.elements[0].id;
}

class Finder {
 public:
  Finder(const Flow& flow, const Aliasing& aliasing, uint32_t l)
      : flow_(flow), aliasing_(aliasing), loop_(flow.cfg.loops()[l]), l_(l) {}

  // The first running value, or why there is none.
  std::optional<Running> find(std::string& why) const {
    if (loop_.exits.size() != 1) why = "the loop has more than one way out";
    if (why.empty()) why = no_front(flow_, l_);
    if (why.empty()) why = ordered();
    if (!why.empty()) return std::nullopt;
    for (const auto& store : flow_.accesses) {
      if (!inside(store) || !store.writes || store.atomic || store.space == isa::Space::local) continue;
      auto running = match(store, why);
      if (running) return running;
    }
    if (why.empty()) why = "no store in the loop stays at one place";
    return std::nullopt;
  }

 private:
  bool inside(const analysis::MemoryAccess& access) const {
    return loop_.contains(flow_.cfg.block_of(access.statement));
  }
  const ptx::Instruction& at(uint32_t s) const { return *flow_.function.body[s].instruction(); }

  std::string ordered() const {
    for (uint32_t b : loop_.blocks)
      for (uint32_t s = flow_.cfg.blocks()[b].begin; s < flow_.cfg.blocks()[b].end; ++s) {
        const auto* instruction = flow_.function.body[s].instruction();
        if (!instruction) continue;
        auto how = ordering_of(*instruction);
        if (how.empty() && instruction->form.row && instruction->form.row->effects.ends_thread) how = "ends the thread";
        if (!how.empty()) return place(flow_.function, s) + " " + how;
      }
    return "";
  }

  bool every_round(uint32_t statement) const {
    uint32_t block = flow_.cfg.block_of(statement);
    return std::all_of(loop_.latches.begin(), loop_.latches.end(),
                       [&](uint32_t from) { return flow_.cfg.dominates(block, from); }) &&
           flow_.cfg.dominates(block, loop_.exits[0].from);
  }

  bool written_inside(uint32_t reg) const {
    for (uint32_t d : flow_.definitions.of(reg))
      if (loop_.contains(flow_.cfg.block_of(flow_.definitions.all()[d].statement))) return true;
    return false;
  }

  std::optional<Running> match(const analysis::MemoryAccess& store, std::string& why) const {
    const auto& st = at(store.statement);
    uint32_t reg = address_register(st, 0);
    if (reg == kNone || written_inside(reg)) return std::nullopt;
    auto say = [&](const std::string& text) {
      why = place(flow_.function, store.statement) + " " + text;
      return std::nullopt;
    };
    int bits = isa::bits_of(analysis::type_word(st));
    if (!plain_access(st) || st.guard || store.vector != 1 || st.operands.size() != 2 || bits < 16)
      return say("is guarded, a vector, or narrow");
    if (st.operands[1].kind == ptx::Operand::Kind::reg &&
        isa::bits_of(flow_.function.registers[st.operands[1].id].type) != bits)
      return say("stores part of a register");
    if (!every_round(store.statement)) return say("is not passed by every round");
    std::optional<Running> found;
    for (const auto& other : flow_.accesses) {
      if (!inside(other) || other.statement == store.statement || !aliasing_.may_overlap(store, other)) continue;
      const auto& ld = at(other.statement);
      bool same = other.reads && !other.writes && plain_access(ld) && !ld.guard && address_register(ld, 1) == reg &&
                  ld.operands[1].offset == st.operands[0].offset && other.vector == 1 && other.bytes == store.bytes &&
                  isa::bits_of(flow_.function.registers[ld.operands[0].id].type) == bits &&
                  analysis::type_word(ld) == analysis::type_word(st);
      uint32_t a = flow_.cfg.block_of(other.statement), b = flow_.cfg.block_of(store.statement);
      bool first = a == b ? other.statement < store.statement : flow_.cfg.dominates(a, b);
      if (!same || !first || found || !every_round(other.statement))
        return say("may be seen by " + place(flow_.function, other.statement));
      found = Running{other.statement, store.statement};
    }
    // A store alone can wait for the end as well: every round passes it.
    return found ? found : Running{kNone, store.statement};
  }

  const Flow& flow_;
  const Aliasing& aliasing_;
  const analysis::Loop& loop_;
  uint32_t l_;
};

class Promote final : public Rule {
 public:
  std::string_view name() const override { return "promote"; }
  Family family() const override { return Family::loops; }
  std::string_view description() const override { return "keeps in a register what a loop loads and stores back"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"sums", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t count = 0;
    std::string refused;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0170", entry_name + ": its control flow is irreducible or too large");
      Aliasing aliasing(flow, launches_of(*subject.module, *subject.plan, entry));
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body) count += rewrite(flow, aliasing, function, refused);
    }
    if (count == 0) return refusal("RW0171", refused.empty() ? "no loop" : refused);
    Rewritten result;
    result.name = "promote";
    result.idea = fmt::format("{} running value{} kept in a register, stored once", count, count > 1 ? "s" : "");
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static size_t rewrite(const Flow& flow, const Aliasing& aliasing, ptx::Function& function, std::string& refused) {
    Editor editor(function, "run");
    BodyEdit edit;
    size_t count = 0;
    const auto& loops = flow.cfg.loops();
    for (uint32_t l = 0; l < loops.size(); ++l) {
      if (std::any_of(loops.begin(), loops.end(), [&](const auto& other) { return other.parent == l; })) continue;
      std::string why;
      auto running = Finder(flow, aliasing, l).find(why);
      if (!running) {
        refused +=
            fmt::format("{}loop at line {} of {}: {}", refused.empty() ? "" : "; ",
                        line_at(flow.function, flow.cfg.blocks()[loops[l].header].begin), flow.function.name, why);
        continue;
      }
      count += keep(flow, l, *running, editor, edit) ? 1 : 0;
    }
    if (count == 0) return 0;
    function.body = edit.apply(std::move(function.body));
    editor.declare();
    return count;
  }

  // False where the value has no register to wait in.
  static bool keep(const Flow& flow, uint32_t l, const Running& running, Editor& editor, BodyEdit& edit) {
    const auto& body = flow.function.body;
    const auto& st = *body[running.store].instruction();
    bool loads = running.load != kNone, of_register = st.operands[1].kind == ptx::Operand::Kind::reg;
    if (!loads && !of_register) return false;
    uint32_t loaded = loads ? body[running.load].instruction()->operands[0].id : kNone;
    uint32_t value = editor.fresh(editor.type(loads ? loaded : st.operands[1].id));
    auto replace = [&](uint32_t s) {
      edit.removed.emplace_back(s, s + 1);
      auto made = editor.take();
      auto& there = edit.before[s];
      there.insert(there.end(), made.begin(), made.end());
    };
    if (loads) {
      editor.comment("ptxlab rule promote: the running value, in a register while the loop lasts.");
      editor.copy(body[running.load], {{loaded, value}}, {});
      put_in_front(flow, l, editor.take(), editor, edit);
      editor.move(loaded, editor.name(value));
      replace(running.load);
    }
    const auto& stored = st.operands[1];
    editor.move(value, stored.kind == ptx::Operand::Kind::reg ? editor.name(stored.id) : stored.name);
    replace(running.store);
    // On the way out: behind the last block, where what leaves by a jump is led past.
    const auto& exit = flow.cfg.loops()[l].exits[0];
    const auto& from = flow.cfg.blocks()[exit.from];
    auto store = body[running.store];
    auto& target = store.instruction()->operands[1];
    target = ptx::Operand{};
    target.kind = ptx::Operand::Kind::reg;
    target.id = value;
    bool falls =
        from.end == flow.cfg.blocks()[exit.to].begin && (from.terminator == kNone || from.successors[0] != exit.to);
    if (falls) {
      editor.copy(store, {}, {});
      auto made = editor.take();
      auto& there = edit.before[from.end];
      there.insert(there.begin(), made.begin(), made.end());
      return true;
    }
    // A block of its own at the function's end: whoever leaves jumps there, stores, and goes on.
    auto way = editor.fresh_label("out");
    auto on = label_at(flow.function, flow.cfg.blocks()[exit.to].begin, editor, edit);
    // Nothing may fall into it.
    if (edit.before.count(static_cast<uint32_t>(body.size())) == 0) editor.emit("ret", {});
    editor.label(way);
    editor.copy(store, {}, {});
    editor.emit("bra", {on});
    auto made = editor.take();
    auto& end = edit.before[static_cast<uint32_t>(body.size())];
    end.insert(end.end(), made.begin(), made.end());
    edit.retargeted[from.terminator][body[from.terminator].instruction()->operands[0].name] = way;
    return true;
  }
};

}  // namespace

const Rule* promote_rule() {
  static const Promote rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
