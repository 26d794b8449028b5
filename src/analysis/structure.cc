#include "analysis/structure.h"

#include <algorithm>

#include "analysis/cfg.h"
#include "analysis/expression_text.h"
#include "analysis/liveness.h"
#include "analysis/memory_facts.h"
#include "analysis/registers.h"
#include "analysis/trip_count.h"
#include "ptx/printer.h"

namespace ptxlab::analysis {
namespace {

void widen(Lines& lines, const Lines& more) {
  if (!more.first) return;
  lines.first = lines.first ? std::min(lines.first, more.first) : more.first;
  lines.last = std::max(lines.last, more.last);
}

std::optional<BarrierFacts::Kind> barrier_kind(const ptx::Instruction& instruction) {
  const auto opcode = opcode_of(instruction);
  using Kind = BarrierFacts::Kind;
  if (opcode == "bar" && has_word(instruction, ".warp")) return Kind::warp;
  if (opcode == "barrier" && has_word(instruction, ".cluster")) return Kind::cluster;
  if (opcode == "bar" || opcode == "barrier") return Kind::cta;
  if (opcode == "griddepcontrol") return Kind::grid;
  if (opcode == "mbarrier") {
    const bool waits = has_word(instruction, ".try_wait") || has_word(instruction, ".test_wait");
    const bool arrives = has_word(instruction, ".arrive") || has_word(instruction, ".arrive_drop");
    return waits || arrives ? std::optional(Kind::mbarrier) : std::nullopt;
  }
  if (opcode == "membar" || opcode == "fence") return Kind::fence;
  const bool waits_for_copies =
      opcode == "cp" && (has_word(instruction, ".wait_group") || has_word(instruction, ".wait_all") ||
                         has_word(instruction, ".wait_group.read"));
  const bool waits_for_products = (opcode == "wgmma" && has_word(instruction, ".wait_group")) ||
                                  (opcode == "tcgen05" && has_word(instruction, ".wait"));
  if (waits_for_copies || waits_for_products) return Kind::async_wait;
  return std::nullopt;
}

// What the text says of a CTA's threads comes before what a caller knows: it is a promise.
std::array<uint32_t, 3> block_of(const ptx::Function& function, const Known& known) {
  auto required = function.directive(".reqntid");
  if (required.empty()) return known.block;
  std::array<uint32_t, 3> block{1, 1, 1};
  for (size_t i = 0; i < required.size() && i < 3; ++i) block[i] = required[i];
  return block;
}

// Everything that Structure is filled from.
class Reading {
 public:
  Reading(const ptx::Function& function, const Known& known)
      : function_(function),
        known_(known),
        cfg_(function),
        liveness_(function, cfg_),
        values_(function, cfg_, liveness_),
        evaluator_(function, cfg_, values_, known_),
        cta_(function, cfg_, values_, Group::cta) {}

  Structure read() {
    describe_function();
    for (uint32_t b = 0; b < cfg_.blocks().size(); ++b) add_block(b);
    for (uint32_t l = 0; l < cfg_.loops().size(); ++l) add_loop(l);
    s_.accesses = memory_facts(function_, cfg_, values_, evaluator_, known_);
    return std::move(s_);
  }

 private:
  void describe_function() {
    s_.function = function_.name;
    s_.entry = function_.entry;
    s_.directives = function_.directives;
    s_.block = known_.block;
    for (uint32_t i = 0; i < function_.parameters.size(); ++i)
      s_.parameters.push_back(parameter_name(function_, i, known_));
    for (const auto& variable : function_.variables)
      if (variable.space == isa::Space::shared) s_.shared_bytes += static_cast<uint32_t>(variable.bytes());
    for (const auto& reg : function_.registers) s_.named_registers += static_cast<uint32_t>(units_of(reg));
    s_.irreducible = cfg_.irreducible();
    s_.live_known = liveness_.computed();
    s_.peak = liveness_.peak();
    s_.peak_block = liveness_.peak_block();
  }

  void add_block(uint32_t b) {
    const auto& block = cfg_.blocks()[b];
    BlockFacts facts;
    for (uint32_t s = block.begin; s < block.end; ++s) {
      const auto& statement = function_.body[s];
      if (const auto* label = std::get_if<ptx::Label>(&statement.what); label && facts.instructions == 0)
        facts.label = function_.labels[label->id].name;
      const auto* instruction = statement.instruction();
      if (!instruction) continue;
      ++facts.instructions;
      widen(facts.lines, {instruction->line, instruction->line});
      facts.mix.add(class_of(*instruction));
      if (auto kind = barrier_kind(*instruction))
        s_.barriers.push_back({*kind, instruction->line, b, ptx::print(*instruction, function_)});
    }
    facts.successors = block.successors;
    if (cfg_.loop_of(b) != kNone) facts.loop = cfg_.loop_of(b);
    for (uint32_t reg : liveness_.live_in(b))
      facts.live_at_start += static_cast<uint32_t>(units_of(function_.registers[reg]));
    if (b < liveness_.pressure().size()) facts.peak = liveness_.pressure()[b];
    facts.diverges = block.successors.size() > 1 && !cta_.uniform_branch(b);
    s_.mix.add(facts.mix);
    widen(s_.lines, facts.lines);
    s_.blocks.push_back(std::move(facts));
  }

  void add_loop(uint32_t l) {
    const auto& loop = cfg_.loops()[l];
    LoopFacts facts;
    facts.header = loop.header;
    facts.depth = loop.depth;
    if (loop.parent != kNone) facts.parent = loop.parent;
    facts.blocks = loop.blocks;
    for (uint32_t b : loop.blocks) {
      widen(facts.lines, s_.blocks[b].lines);
      facts.mix.add(s_.blocks[b].mix);
      facts.instructions += s_.blocks[b].instructions;
    }
    auto trips = trips_of(function_, cfg_, values_, l, evaluator_, known_);
    facts.trips = std::move(trips.text);
    facts.least_trips = trips.least;
    facts.most_trips = trips.most;
    facts.at_most = trips.at_most;
    s_.loops.push_back(std::move(facts));
  }

  const ptx::Function& function_;
  const Known known_;
  Cfg cfg_;
  Liveness liveness_;
  Values values_;
  LaneEvaluator evaluator_;
  Uniform cta_;
  Structure s_;
};

}  // namespace

std::string_view name_of(BarrierFacts::Kind kind) {
  switch (kind) {
    case BarrierFacts::Kind::cta: return "all threads of the CTA";
    case BarrierFacts::Kind::warp: return "lanes of a warp";
    case BarrierFacts::Kind::mbarrier: return "mbarrier";
    case BarrierFacts::Kind::async_wait: return "asynchronous work";
    case BarrierFacts::Kind::fence: return "fence";
    case BarrierFacts::Kind::cluster: return "CTAs of the cluster";
    case BarrierFacts::Kind::grid: return "the grid before";
  }
  return "";
}

Structure structure_of(const ptx::Function& function, const Known& known) {
  Known all = known;
  all.block = block_of(function, known);
  return Reading(function, all).read();
}

}  // namespace ptxlab::analysis
