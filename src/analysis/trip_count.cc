#include "analysis/trip_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/expression_text.h"
#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

enum class Relation : uint8_t { less, less_equal, greater, greater_equal, unequal, equal };

std::optional<Relation> relation_of(const ptx::Instruction& setp) {
  for (const auto& word : setp.words) {
    if (word == ".lt" || word == ".lo") return Relation::less;
    if (word == ".le" || word == ".ls") return Relation::less_equal;
    if (word == ".gt" || word == ".hi") return Relation::greater;
    if (word == ".ge" || word == ".hs") return Relation::greater_equal;
    if (word == ".ne") return Relation::unequal;
    if (word == ".eq") return Relation::equal;
  }
  return std::nullopt;
}

Relation inverse(Relation r) {
  switch (r) {
    case Relation::less: return Relation::greater_equal;
    case Relation::less_equal: return Relation::greater;
    case Relation::greater: return Relation::less_equal;
    case Relation::greater_equal: return Relation::less;
    case Relation::unequal: return Relation::equal;
    case Relation::equal: return Relation::unequal;
  }
  return r;
}

// "a < b" as "b > a".
Relation mirrored(Relation r) {
  switch (r) {
    case Relation::less: return Relation::greater;
    case Relation::less_equal: return Relation::greater_equal;
    case Relation::greater: return Relation::less;
    case Relation::greater_equal: return Relation::less_equal;
    case Relation::unequal:
    case Relation::equal: return r;
  }
  return r;
}

// The comparison behind a block's branch: "variable <relation> bound" means another round.
struct Test {
  Affine variable, bound;
  Relation relation = Relation::less;
  const Induction* induction = nullptr;
};

// The setp above `branch` in its block that writes the guard's register.
std::optional<uint32_t> setp_of(const ptx::Function& function, const Block& block, uint32_t branch, uint32_t reg) {
  for (uint32_t s = branch; s-- > block.begin;) {
    const auto* instruction = function.body[s].instruction();
    if (!instruction) continue;
    const auto writes = register_use(*instruction).writes;
    if (std::find(writes.begin(), writes.end(), reg) == writes.end()) continue;
    const bool plain = opcode_of(*instruction) == "setp" && !instruction->guard && instruction->operands.size() == 3 &&
                       instruction->operands[0].kind == ptx::Operand::Kind::reg &&
                       !isa::is_float(type_word(*instruction));
    return plain ? std::optional<uint32_t>(s) : std::nullopt;
  }
  return std::nullopt;
}

// The induction of `loop` that the value is, with factor 1, plus what the loop leaves alone.
const Induction* induction_in(const Values& values, const Affine& value, uint32_t loop,
                              const std::vector<bool>& varying) {
  const Induction* found = nullptr;
  for (const auto& term : value.terms) {
    const bool varies = std::any_of(term.factors.begin(), term.factors.end(), [&](AtomId id) { return varying[id]; });
    if (!varies) continue;
    const auto* induction =
        term.factors.size() == 1 && term.coefficient == 1 ? values.induction(term.factors[0]) : nullptr;
    if (!induction || induction->loop != loop || found) return nullptr;
    found = induction;
  }
  return found;
}

std::optional<Affine> value_of(const Values& values, uint32_t statement, const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::integer) {
    const auto bits = static_cast<int64_t>(operand.bits);
    return Affine{bits, {}};
  }
  auto id = values.operand(statement, operand);
  return id ? std::optional<Affine>(values.value(*id)) : std::nullopt;
}

std::optional<Test> test_at(const ptx::Function& function, const Cfg& cfg, const Values& values, uint32_t loop,
                            uint32_t block_index, const std::vector<bool>& varying) {
  const auto& block = cfg.blocks()[block_index];
  if (block.terminator == kNone || block.successors.size() != 2) return std::nullopt;
  const auto& branch = *function.body[block.terminator].instruction();
  if (!branch.guard) return std::nullopt;
  auto at = setp_of(function, block, block.terminator, branch.guard->reg);
  if (!at) return std::nullopt;
  const auto& setp = *function.body[*at].instruction();
  auto left = value_of(values, *at, setp.operands[1]), right = value_of(values, *at, setp.operands[2]);
  auto relation = relation_of(setp);
  if (!left || !right || !relation) return std::nullopt;
  // The first successor is the branch's target, taken where the predicate holds.
  const bool taken_stays = cfg.loops()[loop].contains(block.successors[0]);
  if (taken_stays == cfg.loops()[loop].contains(block.successors[1])) return std::nullopt;
  if (taken_stays == branch.guard->negated) relation = inverse(*relation);
  Test test{*left, *right, *relation, induction_in(values, *left, loop, varying)};
  if (!test.induction) {
    test = {*right, *left, mirrored(*relation), induction_in(values, *right, loop, varying)};
  }
  if (!test.induction || values.mentions_any(test.bound, varying)) return std::nullopt;
  return test;
}

std::optional<Affine> minus(const Affine& a, const Affine& b) {
  auto negated = scale(b, -1);
  return negated ? add(a, *negated) : std::nullopt;
}

// What has to be walked, from the first value tested to the bound, and by how much in each round; both counted upwards.
struct Walk {
  Affine distance;
  Affine step;
};

std::optional<Walk> walk_of(const Values& values, const Test& test, bool bottom) {
  const Affine& step = values.value(test.induction->step);
  // The value tested in the first round.
  auto first = minus(test.variable, Affine{0, {{{test.induction->atom}, 1}}});
  if (first) first = add(*first, values.value(test.induction->initial));
  // Behind the body one round has been done already when the test is made for the first time.
  if (first && bottom) first = minus(*first, step);
  if (!first) return std::nullopt;
  switch (test.relation) {
    case Relation::less:
    case Relation::less_equal: {
      auto distance = minus(test.bound, *first);
      if (distance && test.relation == Relation::less_equal) ++distance->constant;
      return distance ? std::optional<Walk>({*distance, step}) : std::nullopt;
    }
    case Relation::greater:
    case Relation::greater_equal: {
      auto distance = minus(*first, test.bound);
      auto down = scale(step, -1);
      if (distance && test.relation == Relation::greater_equal) ++distance->constant;
      return distance && down ? std::optional<Walk>({*distance, *down}) : std::nullopt;
    }
    case Relation::unequal: {
      const bool falls = step.is_constant() && step.constant < 0;
      auto distance = falls ? minus(*first, test.bound) : minus(test.bound, *first);
      auto size = falls ? scale(step, -1) : std::optional<Affine>(step);
      return distance && size ? std::optional<Walk>({*distance, *size}) : std::nullopt;
    }
    case Relation::equal: return std::nullopt;
  }
  return std::nullopt;
}

std::string text_of(const Walk& walk, const Values& values, const ptx::Function& function, const Known& known) {
  auto distance = expression_text(walk.distance, values, function, known);
  if (walk.step == Affine{1, {}}) return distance;
  const bool several = walk.distance.terms.size() + (walk.distance.constant != 0) > 1;
  auto step = expression_text(walk.step, values, function, known);
  if (walk.step.terms.size() + (walk.step.constant != 0) > 1 || step.find('*') != std::string::npos)
    step = "(" + step + ")";
  return fmt::format("ceil({} / {})", several ? "(" + distance + ")" : distance, step);
}

}  // namespace

Trips trips_of(const ptx::Function& function, const Cfg& cfg, const Values& values, uint32_t loop,
               const LaneEvaluator& evaluator, const Known& known) {
  Trips trips;
  const auto& l = cfg.loops()[loop];
  const auto varying = values.varying(cfg, loop);
  for (const auto& exit : l.exits) {
    auto test = test_at(function, cfg, values, loop, exit.from, varying);
    if (!test) continue;
    const bool bottom = std::find(l.latches.begin(), l.latches.end(), exit.from) != l.latches.end();
    auto walk = walk_of(values, *test, bottom);
    if (!walk) continue;
    walk->distance = values.at_loop_start(walk->distance);
    trips.text = text_of(*walk, values, function, known);
    trips.at_most = l.exits.size() > 1;
    if (!evaluator.exact(walk->distance) || !evaluator.exact(walk->step)) return trips;
    for (size_t round = 0; round < kRounds; ++round) {
      auto distance = evaluator.lanes(walk->distance, round), step = evaluator.lanes(walk->step, round);
      if (!distance || !step) return trips;
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if ((*step)[lane] <= 0) return Trips{};
        const int64_t whole = (*distance)[lane] / (*step)[lane];
        const int64_t rounds =
            std::max<int64_t>(bottom ? 1 : 0, whole + ((*distance)[lane] % (*step)[lane] > 0 ? 1 : 0));
        trips.least = std::min(trips.least.value_or(rounds), rounds);
        trips.most = std::max(trips.most.value_or(rounds), rounds);
      }
    }
    return trips;
  }
  return trips;
}

}  // namespace ptxlab::analysis
