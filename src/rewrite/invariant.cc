// Rule "invariant": what a loop loads again and again from one place is loaded once in front of it. nvcc and ptxas do that only
// where nothing in the loop is stored, or the source says __restrict__: any store might change it. Here the plan says which
// buffers are different ones.
//
// Needs: a load whose address no round changes, without guard, that every round and every way out passes; no store in the loop
// that may touch its memory; nothing in the loop that is ordered with other threads.
//
// The judge confirms: the same outputs, also where the loop is never entered.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/loop_front.h"
#include "rewrite/rules.h"
#include "rewrite/single_writes.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;
using analysis::opcode_of;

class Invariant final : public Rule {
 public:
  std::string_view name() const override { return "invariant"; }
  Family family() const override { return Family::loops; }
  std::string_view description() const override { return "loads once in front of a loop what no round changes"; }
  std::vector<Choice> choices(const Subject&) const override { return {{"loads", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t count = 0;
    std::string refused;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0160", entry_name + ": its control flow is irreducible or too large");
      Aliasing aliasing(flow, launches_of(*subject.module, *subject.plan, entry));
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body) count += rewrite(flow, aliasing, function, refused);
    }
    if (count == 0) return refusal("RW0161", refused.empty() ? "no loop loads from one place in every round" : refused);
    Rewritten result;
    result.name = "invariant";
    result.idea =
        fmt::format("{} load{} that no round changes moved in front of the loop", count, count > 1 ? "s" : "");
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  static bool always_passed(const Flow& flow, const analysis::Loop& loop, uint32_t statement) {
    uint32_t block = flow.cfg.block_of(statement);
    auto passes = [&](uint32_t from) { return flow.cfg.dominates(block, from); };
    return std::all_of(loop.latches.begin(), loop.latches.end(), passes) &&
           std::all_of(loop.exits.begin(), loop.exits.end(), [&](const auto& exit) { return passes(exit.from); });
  }

  // Why the load has to stay; empty where it may go.
  static std::string stays(const Flow& flow, const Aliasing& aliasing, uint32_t l, const std::set<uint32_t>& invariants,
                           const analysis::MemoryAccess& load) {
    const auto& loop = flow.cfg.loops()[l];
    const auto& instruction = *flow.function.body[load.statement].instruction();
    SingleWrites single(flow);
    auto say = [&](const std::string& why) { return place(flow.function, load.statement) + " " + why; };
    for (const auto& operand : instruction.operands)
      if (operand.kind == ptx::Operand::Kind::vector) return say("loads a vector");
    if (!plain_access(instruction) || instruction.guard) return say("is guarded or ordered");
    auto use = analysis::register_use(instruction);
    if (use.writes.size() != 1 || single.writer(use.writes[0]) == kNone)
      return say("writes a register that something else writes too");
    for (uint32_t reg : use.reads)
      if (!invariant_in(flow, l, invariants, load.statement, reg)) return say("has an address that changes");
    if (!always_passed(flow, loop, load.statement)) return say("is not passed by every round");
    for (uint32_t b : loop.blocks)
      for (uint32_t s = flow.cfg.blocks()[b].begin; s < flow.cfg.blocks()[b].end; ++s) {
        const auto* other = flow.function.body[s].instruction();
        if (!other) continue;
        auto ordered = ordering_of(*other);
        bool atomic = other->form.row && other->form.row->effects.atomic && flow.access(s);
        if (!ordered.empty() && !atomic) return say("must not pass " + place(flow.function, s) + ", which " + ordered);
        if (other->form.row && other->form.row->effects.ends_thread) return say("may not be reached at all");
        const auto* access = flow.access(s);
        if (access && access->writes && aliasing.may_overlap(load, *access) && !aliasing.never_written(load))
          return say("may read what " + place(flow.function, s) + " writes");
      }
    return "";
  }

  static size_t rewrite(const Flow& flow, const Aliasing& aliasing, ptx::Function& function, std::string& refused) {
    Editor editor(function, "inv");
    BodyEdit edit;
    size_t count = 0;
    for (uint32_t l = 0; l < flow.cfg.loops().size(); ++l) {
      auto invariants = loop_invariants(flow, l);
      std::vector<uint32_t> moved;
      for (const auto& access : flow.accesses) {
        uint32_t block = flow.cfg.block_of(access.statement);
        if (!access.reads || access.writes || flow.cfg.loop_of(block) != l) continue;
        auto why = no_front(flow, l);
        if (why.empty()) why = stays(flow, aliasing, l, invariants, access);
        if (why.empty())
          moved.push_back(access.statement);
        else if (refused.empty() || refused.ends_with("has an address that changes"))
          refused = why;
      }
      if (moved.empty()) continue;
      editor.comment("ptxlab rule invariant: loaded once for all rounds.");
      std::map<uint32_t, uint32_t> renamed;
      for (uint32_t load : moved) {
        const auto& address = flow.function.body[load].instruction()->operands[1];
        if (!address.elements.empty() && address.elements[0].kind == ptx::Operand::Kind::reg)
          for (uint32_t s : invariant_slice(flow, l, invariants, load, address.elements[0].id)) {
            uint32_t old = analysis::register_use(*flow.function.body[s].instruction()).writes[0];
            if (renamed.count(old)) continue;
            auto reads = renamed;
            reads[old] = renamed[old] = editor.fresh(editor.type(old));
            editor.copy(flow.function.body[s], reads, {});
          }
        editor.copy(flow.function.body[load], renamed, {});
        edit.removed.emplace_back(load, load + 1);
        ++count;
      }
      put_in_front(flow, l, editor.take(), editor, edit);
    }
    if (count == 0) return 0;
    function.body = edit.apply(std::move(function.body));
    editor.declare();
    return count;
  }
};

}  // namespace

const Rule* invariant_rule() {
  static const Invariant rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
