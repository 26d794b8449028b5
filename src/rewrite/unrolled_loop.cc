// The loop that nvcc unrolls by U (a power of two), where the CTA's size is a constant C:
//
//   if (tid >= n) goto exit
//   e = n - 1 - tid; rounds = (e >> log2 C) + 1; r = rounds & (U - 1)
//   r times: body(i); i += C                     <- the element's body, once: this is what gets grouped
//   if (e < (U - 1) * C) goto exit
//   while (i < n): body(i), body(i + C), ...; i += U * C
//
// New code goes in front of all of it, with the few statements of the prologue that set up the loop's registers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/registers.h"
#include "rewrite/recogniser.h"

namespace ptxlab::rewrite {

using analysis::Atom;
using analysis::opcode_of;

namespace {

const auto* kNotUnrolled = "not unrolled";

// The atom that a value is, with nothing added; null where it is more than that.
const Atom* single_atom(const analysis::Values& values, const Affine& value) {
  if (value.constant != 0 || value.terms.size() != 1 || value.terms[0].coefficient != 1 ||
      value.terms[0].factors.size() != 1)
    return nullptr;
  return &values.atom(value.terms[0].factors[0]);
}

std::optional<int64_t> number(const analysis::Values& values, analysis::ValueId id) {
  const auto& value = values.value(id);
  return value.is_constant() ? std::optional<int64_t>(value.constant) : std::nullopt;
}

}  // namespace

// What n is, from the number of rounds that the loop counts down.
std::optional<Affine> Recogniser::bound_of_rounds(uint32_t l, const analysis::Induction& index, uint32_t& unrolled,
                                                  uint32_t& counter, std::set<uint32_t>& skipped) const {
  const auto& loop = flow_.cfg.loops()[l];
  const auto& latch = flow_.cfg.blocks()[loop.latches[0]];
  const auto& step = flow_.values.value(index.step);
  if (latch.terminator == kNone || latch.successors.size() != 2 || latch.successors[0] != loop.header)
    return std::nullopt;
  const auto& branch = *at(latch.terminator);
  uint32_t d =
      branch.guard && !branch.guard->negated ? flow_.definitions.only(latch.terminator, branch.guard->reg) : kNone;
  if (d == kNone || !step.is_constant() || step.constant <= 0) return std::nullopt;
  uint32_t s = flow_.definitions.all()[d].statement;
  const auto& setp = *at(s);
  if (opcode_of(setp) != "setp" || setp.words.size() != 3 || setp.words[1] != ".ne" || setp.operands.size() != 3 ||
      setp.operands[2].kind != ptx::Operand::Kind::integer || setp.operands[2].bits != 0)
    return std::nullopt;
  auto counted = value_of(s, setp.operands[1]);
  for (const auto& induction : flow_.values.inductions()) {
    if (induction.loop != l || !counted || flow_.values.value(induction.step) != Affine{-1, {}}) continue;
    if (flow_.values.value(*counted) != Affine{-1, {{{induction.atom}, 1}}}) continue;
    // rounds & (U - 1)
    const auto* masked = single_atom(flow_.values, flow_.values.value(induction.initial));
    if (!masked || masked->kind != Atom::Kind::operation || masked->words != "and.b32") return std::nullopt;
    auto mask = number(flow_.values, masked->operands[1]);
    if (!mask || *mask <= 0 || *mask > 15 || (*mask & (*mask + 1)) != 0) return std::nullopt;
    auto rounds = add(flow_.values.value(masked->operands[0]), Affine{-1, {}});
    const auto* shifted = rounds ? single_atom(flow_.values, *rounds) : nullptr;
    if (!shifted || shifted->words != "shr.u32") return std::nullopt;
    auto by = number(flow_.values, shifted->operands[1]);
    if (!by || *by < 0 || *by > 10 || int64_t{1} << *by != step.constant) return std::nullopt;
    unrolled = static_cast<uint32_t>(*mask + 1);
    counter = induction.reg;
    skipped = {latch.terminator, s};
    // e = n - 1 - first, so n = e + 1 + first.
    auto sum = add(flow_.values.value(shifted->operands[0]), Affine{1, {}});
    return sum ? add(*sum, flow_.values.value(index.initial)) : std::nullopt;
  }
  return std::nullopt;
}

// The loop of U bodies, and the branch around it: as many accesses and as much floating-point work as U bodies have.
std::string Recogniser::check_main_loop(const ElementRegion& region, uint32_t first, uint32_t exit, uint32_t l,
                                        const Affine& bound, int64_t step, uint32_t unrolled) const {
  const auto& blocks = flow_.cfg.blocks();
  uint32_t main = kNone;
  for (uint32_t other = 0; other < flow_.cfg.loops().size(); ++other) {
    uint32_t header = flow_.cfg.loops()[other].header;
    if (header < first || header >= exit || other == l) continue;
    if (main != kNone) return "more loops stand beside it";
    main = other;
  }
  if (main == kNone) return "the unrolled loop beside it was not found";
  const auto& loop = flow_.cfg.loops()[main];
  if (loop.latches.size() != 1 || loop.exits.size() != 1 || loop.exits[0].to != exit)
    return "the unrolled loop ends elsewhere";
  auto compare = compare_at(loop.latches[0], loop.header);
  const auto* index = compare ? find_index(main, *compare, false) : nullptr;
  auto right = compare ? value_of(compare->statement, compare->bound) : std::nullopt;
  if (!index || !right || flow_.values.value(*right) != bound || index->reg != region.index_reg ||
      flow_.values.value(index->step) != Affine{step * unrolled, {}})
    return "the unrolled loop does not run to the same bound";
  auto work = [&](auto&& inside) {
    std::map<std::string, uint32_t> counts;
    for (uint32_t s = blocks[first].begin; s < blocks[exit].begin; ++s) {
      const auto* instruction = at(s);
      if (!instruction || !inside(s)) continue;
      bool access = flow_.access(s) != nullptr;
      if (access || isa::is_float(analysis::type_word(*instruction)))
        counts[std::string(opcode_of(*instruction))] += access ? 1000 : 1;
    }
    return counts;
  };
  auto one = work([&](uint32_t s) { return std::binary_search(region.body.begin(), region.body.end(), s); });
  auto many = work([&](uint32_t s) { return loop.contains(flow_.cfg.block_of(s)); });
  for (auto& [opcode, count] : one) count *= unrolled;
  // Constants of the body may be set up in front of the unrolled loop or once for all copies.
  one.erase("mov"), many.erase("mov");
  return one == many ? "" : "the unrolled loop does other work than as many bodies";
}

std::string Recogniser::collect_setup(uint32_t l, uint32_t first, uint32_t counter, ElementRegion& region) const {
  const auto& loop = flow_.cfg.loops()[l];
  std::set<uint32_t> needed;
  for (uint32_t reg : flow_.liveness.live_in(loop.header))
    if (reg != counter) needed.insert(reg);
  uint32_t block = flow_.cfg.dominator(loop.header);
  for (; block != kNone && block >= first; block = flow_.cfg.dominator(block)) {
    if (flow_.cfg.loop_of(block) != flow_.cfg.loops()[l].parent) return "its prologue has a loop";
    for (uint32_t s = flow_.cfg.blocks()[block].end; s-- > flow_.cfg.blocks()[block].begin;) {
      const auto* instruction = at(s);
      if (!instruction) continue;
      auto use = analysis::register_use(*instruction);
      if (std::none_of(use.writes.begin(), use.writes.end(), [&](uint32_t reg) { return needed.count(reg); })) continue;
      const auto* row = instruction->form.row;
      if (!row || use.partial || row->effects.stores || row->effects.atomic || row->effects.barrier ||
          row->effects.warp_sync || row->effects.call || row->effects.async)
        return "its prologue does more than compute";
      for (uint32_t reg : use.writes) {
        needed.erase(reg);
        // Done early, it must not change what the prologue itself still reads.
        if (flow_.liveness.live_in(first, reg)) return "its prologue changes a register that it reads";
      }
      needed.insert(use.reads.begin(), use.reads.end());
      region.setup.push_back(s);
    }
  }
  std::reverse(region.setup.begin(), region.setup.end());
  return "";
}

std::string Recogniser::match_unrolled(uint32_t l, const analysis::Induction& index, ElementRegion& region) {
  const auto& loop = flow_.cfg.loops()[l];
  const auto& blocks = flow_.cfg.blocks();
  if (loop.latches.size() != 1 || loop.exits.size() != 1 || loop.exits[0].from != loop.latches[0] ||
      loop.blocks.size() != 1 || !indices_.is_tid(flow_.values.value(index.initial)))
    return kNotUnrolled;
  uint32_t unrolled = 0, counter = kNone;
  std::set<uint32_t> skipped;
  auto bound = bound_of_rounds(l, index, unrolled, counter, skipped);
  if (!bound) return kNotUnrolled;
  auto entry = guarded_entry(loop.header, index.initial, *bound);
  if (!entry) return "its first round is not guarded by the bound";
  uint32_t first = entry->below, exit = blocks[entry->above].successors[0] == first
                                            ? blocks[entry->above].successors[1]
                                            : blocks[entry->above].successors[0];
  if (first != entry->above + 1 || exit <= loop.header || blocks[first].predecessors.size() != 1)
    return "its blocks do not stand together";
  for (uint32_t b = first; b < exit; ++b)
    for (uint32_t to : blocks[b].successors)
      if (to < first || to > exit) return "it is left from its middle";
  region.shape = ElementRegion::Shape::cta_stride;
  region.threads = static_cast<uint32_t>(flow_.values.value(index.step).constant);
  region.index_reg = index.reg;
  region.index_bits = isa::bits_of(flow_.function.registers[index.reg].type);
  region.index_signed = entry->compare.is_signed;
  region.bound = entry->compare.bound;
  region.insert_at = blocks[first].begin;
  region.covered_end = region.exit_at = blocks[exit].begin;
  if (entry->compare.bits != region.index_bits) return "index and bound differ in width";
  auto update = update_of(loop, index.reg);
  auto step = update ? step_operand(*update, index.reg) : std::nullopt;
  if (!step || step->kind != ptx::Operand::Kind::integer) return "its step is not at hand in front of it";
  region.step = *step;
  if (auto why = match_inductions(l, index, region, skipped, counter); !why.empty()) return why;
  collect_body(blocks[loop.header].begin, blocks[loop.header].end, skipped, region);
  std::erase_if(region.body, [&](uint32_t s) { return std::holds_alternative<ptx::Label>(body_[s].what); });
  region.inner_labels.clear();
  if (auto why = check_main_loop(region, first, exit, l, *bound, region.threads, unrolled); !why.empty()) return why;
  if (auto why = collect_setup(l, first, counter, region); !why.empty()) return why;
  if (auto why = check_loop(l, index, region); !why.empty()) return why;
  return check_left_behind(region, exit);
}

}  // namespace ptxlab::rewrite
