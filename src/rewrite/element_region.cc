#include "rewrite/element_region.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/loop_front.h"
#include "rewrite/recogniser.h"

namespace ptxlab::rewrite {

using analysis::opcode_of;

Recognised Recogniser::run() {
  for (uint32_t l = 0; l < flow_.cfg.loops().size(); ++l) {
    bool inside = std::any_of(taken_.begin(), taken_.end(), [&](uint32_t outer) {
      return flow_.cfg.loops()[outer].contains(flow_.cfg.loops()[l].header);
    });
    if (!inside) try_loop(l);
  }
  if (found_.regions.empty()) try_guarded();
  return std::move(found_);
}

void Recogniser::reject(uint32_t statement, const std::string& what, const std::string& why) {
  uint32_t line = 0;
  for (uint32_t i = statement; i < body_.size() && line == 0; ++i)
    if (const auto* instruction = at(i)) line = instruction->line;
  found_.rejected.push_back(fmt::format("{} at line {} of {}: {}", what, line, flow_.function.name, why));
}

std::optional<Compare> Recogniser::compare_at(uint32_t block, uint32_t continue_to) const {
  const auto& b = flow_.cfg.blocks()[block];
  if (b.terminator == kNone || b.successors.size() != 2) return std::nullopt;
  const auto& branch = *at(b.terminator);
  if (opcode_of(branch) != "bra" || !branch.guard) return std::nullopt;
  auto compare =
      compare_of(b.terminator, branch.guard->reg, b.terminator, b.successors[0] != continue_to, branch.guard->negated);
  return compare;
}

std::optional<Compare> Recogniser::compare_of(uint32_t statement, uint32_t reg, uint32_t branch, bool leaves,
                                              bool negated) const {
  uint32_t d = flow_.definitions.only(statement, reg);
  if (d == kNone) return std::nullopt;
  Compare compare;
  compare.branch = branch;
  compare.statement = flow_.definitions.all()[d].statement;
  compare.taken_continues = !leaves;
  const auto& setp = *at(compare.statement);
  auto type = analysis::type_word(setp);
  if (opcode_of(setp) != "setp" || setp.operands.size() != 3 || setp.words.size() != 3 || !isa::is_integer(type))
    return std::nullopt;
  compare.is_signed = isa::is_signed(type);
  compare.bits = isa::bits_of(type);
  // The relation that holds while the loop or body goes on.
  bool holds = compare.taken_continues != negated;
  const auto& word = setp.words[1];
  compare.index = setp.operands[1];
  compare.bound = setp.operands[2];
  if ((word == ".lt" && holds) || (word == ".ge" && !holds)) return compare;
  std::swap(compare.index, compare.bound);
  if ((word == ".gt" && holds) || (word == ".le" && !holds)) return compare;
  return std::nullopt;
}

bool Recogniser::written_in_loop(const analysis::Loop& loop, uint32_t reg) const {
  for (uint32_t d : flow_.definitions.of(reg))
    if (loop.contains(flow_.cfg.block_of(flow_.definitions.all()[d].statement))) return true;
  return false;
}

bool Recogniser::constant_in_loop(const analysis::Loop& loop, const ptx::Operand& operand) const {
  if (operand.kind == ptx::Operand::Kind::integer) return true;
  return operand.kind == ptx::Operand::Kind::reg && !written_in_loop(loop, operand.id);
}

std::optional<Recogniser::Entry> Recogniser::guarded_entry(uint32_t header, analysis::ValueId index,
                                                           const Affine& bound) const {
  for (uint32_t below = header; below != kNone; below = flow_.cfg.dominator(below)) {
    uint32_t above = flow_.cfg.dominator(below);
    if (above == kNone) return std::nullopt;
    const auto& into = flow_.cfg.blocks()[below].predecessors;
    // `below` is entered from `above` alone, loops' own back edges apart.
    bool only = std::all_of(into.begin(), into.end(),
                            [&](uint32_t from) { return from == above || flow_.cfg.dominates(below, from); });
    if (!only) continue;
    auto guard = compare_at(above, below);
    if (!guard) continue;
    auto left = value_of(guard->statement, guard->index), right = value_of(guard->statement, guard->bound);
    if (left && right && *left == index && flow_.values.value(*right) == bound) return Entry{above, below, *guard};
  }
  return std::nullopt;
}

std::optional<analysis::ValueId> Recogniser::value_of(uint32_t statement, const ptx::Operand& operand) const {
  return flow_.values.operand(statement, operand);
}

std::optional<uint32_t> Recogniser::update_of(const analysis::Loop& loop, uint32_t reg) const {
  std::optional<uint32_t> found;
  for (uint32_t d : flow_.definitions.of(reg)) {
    const auto& definition = flow_.definitions.all()[d];
    if (!loop.contains(flow_.cfg.block_of(definition.statement))) continue;
    if (found || definition.partial) return std::nullopt;
    found = definition.statement;
  }
  return found;
}

std::optional<ptx::Operand> Recogniser::step_operand(uint32_t update, uint32_t reg) const {
  const auto* instruction = at(update);
  if (opcode_of(*instruction) == "mov" && instruction->operands[1].kind == ptx::Operand::Kind::reg) {
    uint32_t d = flow_.definitions.only(update, instruction->operands[1].id);
    if (d == kNone) return std::nullopt;
    instruction = at(flow_.definitions.all()[d].statement);
  }
  if (opcode_of(*instruction) != "add" || instruction->operands.size() != 3) return std::nullopt;
  for (int i : {1, 2})
    if (instruction->operands[i].kind == ptx::Operand::Kind::reg && instruction->operands[i].id == reg)
      return instruction->operands[3 - i];
  return std::nullopt;
}

void Recogniser::try_loop(uint32_t l) {
  const auto& loop = flow_.cfg.loops()[l];
  // A loop that no thread index starts is none of ours, and no news.
  const analysis::Induction* index = nullptr;
  for (const auto& induction : flow_.values.inductions())
    if (induction.loop == l) {
      const auto& initial = flow_.values.value(induction.initial);
      auto start = Indices::divided(initial, indices_.scale_of(initial));
      if (indices_.is_tid(start) || indices_.is_global_thread(start)) index = &induction;
    }
  if (!index) return;
  ElementRegion region, unrolled;
  if (auto why = match_loop(l, region); !why.empty()) {
    auto other = match_unrolled(l, *index, unrolled);
    if (!other.empty()) {
      reject(flow_.cfg.blocks()[loop.header].begin, "loop", other == "not unrolled" ? why : other);
      return;
    }
    region = std::move(unrolled);
  }
  taken_.push_back(l);
  found_.regions.push_back(std::move(region));
}

std::string Recogniser::match_loop(uint32_t l, ElementRegion& region) {
  const auto& loop = flow_.cfg.loops()[l];
  const auto& blocks = flow_.cfg.blocks();
  for (size_t i = 1; i < loop.blocks.size(); ++i)
    if (blocks[loop.blocks[i]].begin != blocks[loop.blocks[i - 1]].end) return "its blocks do not stand together";
  if (loop.blocks.front() != loop.header) return "its header is not its first block";
  if (loop.exits.size() != 1 || loop.latches.size() != 1) return "it has more than one way out or back";
  uint32_t before = kNone;
  for (uint32_t from : blocks[loop.header].predecessors)
    if (!loop.contains(from)) before = before == kNone && flow_.cfg.reachable(from) ? from : kNone - 1;
  if (before >= kNone - 1) return "it is entered from several places";
  if (auto why = no_front(flow_, l); !why.empty()) return why;
  bool top = loop.exits[0].from == loop.header && loop.blocks.size() > 1;
  if (!top && loop.exits[0].from != loop.latches[0]) return "it is left from its middle";
  uint32_t exit_block = loop.exits[0].from;
  uint32_t go_on = top ? exit_block + 1 : loop.header;
  auto compare = compare_at(exit_block, go_on);
  if (!compare) return "it does not end by an index that reaches a bound";
  if (!loop.contains(flow_.cfg.block_of(compare->statement))) return "its condition does not change";
  auto index = find_index(l, *compare, top);
  if (!index) return "the index it compares is not one that grows by a fixed step";
  if (!constant_in_loop(loop, compare->bound)) return "its bound changes";
  auto bound = value_of(compare->statement, compare->bound);
  if (!bound) return "its bound is not known";
  if (!top) {
    auto entry = guarded_entry(loop.header, index->initial, flow_.values.value(*bound));
    if (!entry || entry->compare.is_signed != compare->is_signed || entry->compare.bits != compare->bits)
      return "its first round is not guarded by the bound";
  }

  region.index_reg = index->reg;
  region.index_bits = isa::bits_of(flow_.function.registers[index->reg].type);
  region.index_signed = compare->is_signed;
  region.bound = compare->bound;
  region.insert_at = blocks[loop.header].begin;
  region.loop = l;
  region.covered_end = blocks[loop.blocks.back()].end;
  region.exit_at = blocks[loop.exits[0].to].begin;
  if (compare->bits != region.index_bits) return "index and bound differ in width";
  if (auto why = match_mapping(loop, *index, region); !why.empty()) return why;
  std::set<uint32_t> skipped{compare->branch};
  if (!at(compare->branch)->guard) return "its branch is not conditional";
  if (blocks[loop.latches[0]].terminator != kNone) skipped.insert(blocks[loop.latches[0]].terminator);
  if (only_feeds(compare->statement, compare->branch)) skipped.insert(compare->statement);
  if (auto why = match_inductions(l, *index, region, skipped); !why.empty()) return why;
  collect_body(blocks[loop.header].begin, blocks[loop.blocks.back()].end, skipped, region);
  // The header's own labels lead back; the copies need none of them.
  std::erase_if(region.body, [&](uint32_t s) {
    const auto* label = std::get_if<ptx::Label>(&body_[s].what);
    if (!label || flow_.cfg.block_of(s) != loop.header) return false;
    region.inner_labels.erase(flow_.function.labels[label->id].name);
    return true;
  });
  if (auto why = check_loop(l, *index, region); !why.empty()) return why;
  return check_left_behind(region, loop.exits[0].to);
}

const analysis::Induction* Recogniser::find_index(uint32_t l, const Compare& compare, bool top) const {
  auto value = value_of(compare.statement, compare.index);
  if (!value) return nullptr;
  for (const auto& induction : flow_.values.inductions()) {
    if (induction.loop != l) continue;
    Affine atom{0, {{{induction.atom}, 1}}};
    auto next = top ? std::optional<Affine>(atom) : add(atom, flow_.values.value(induction.step));
    if (next && *next == flow_.values.value(*value)) return &induction;
  }
  return nullptr;
}

std::string Recogniser::match_mapping(const analysis::Loop& loop, const analysis::Induction& index,
                                      ElementRegion& region) {
  int64_t scale = indices_.scale_of(flow_.values.value(index.initial));
  const auto start = Indices::divided(flow_.values.value(index.initial), scale);
  const auto step = Indices::divided(flow_.values.value(index.step), scale);
  if (scale > 1 && region.index_bits == 64 && !region.index_signed) return "its index is unsigned and has 64 bits";
  region.index_scale = scale;
  auto update = update_of(loop, index.reg);
  auto operand = update ? step_operand(*update, index.reg) : std::nullopt;
  if (!operand || !constant_in_loop(loop, *operand)) return "its step is not at hand in front of it";
  region.step = *operand;
  if (auto size = indices_.is_cta_size(step); size && indices_.is_tid(start)) {
    region.shape = ElementRegion::Shape::cta_stride;
    region.threads = *size;
    return "";
  }
  auto size = indices_.is_grid_size(step), from = indices_.is_global_thread(start);
  if (size && from && *size == *from) {
    region.shape = ElementRegion::Shape::grid_stride;
    region.threads = *size;
    return "";
  }
  return fmt::format("from {} in steps of {} is not the stride of a CTA or grid",
                     flow_.values.describe(flow_.values.value(index.initial), flow_.function),
                     flow_.values.describe(flow_.values.value(index.step), flow_.function));
}

bool Recogniser::only_feeds(uint32_t statement, uint32_t user) const {
  for (const auto& d : analysis::register_use(*at(statement)).writes)
    for (uint32_t definition : flow_.definitions.of(d))
      if (flow_.definitions.all()[definition].statement == statement)
        for (uint32_t use : flow_.definitions.uses(definition))
          if (use != user) return false;
  return true;
}

std::string Recogniser::match_inductions(uint32_t l, const analysis::Induction& index, ElementRegion& region,
                                         std::set<uint32_t>& skipped, uint32_t counter) {
  const auto& loop = flow_.cfg.loops()[l];
  const auto& step = flow_.values.value(index.step);
  for (const auto& induction : flow_.values.inductions()) {
    if (induction.loop != l) continue;
    auto update = update_of(loop, induction.reg);
    if (!update) return "an index is written more than once a round";
    if (induction.reg == counter) {
      skipped.insert(*update);
      continue;
    }
    const auto& own = flow_.values.value(induction.step);
    int64_t unit = step.is_constant() ? step.constant : step.terms[0].coefficient;
    int64_t size = own.is_constant() ? own.constant : own.terms[0].coefficient;
    auto scaled = unit != 0 && size % unit == 0 ? scale(step, size / unit) : std::nullopt;
    if (!scaled || *scaled != own)
      return fmt::format("{} does not move along with the index", flow_.function.registers[induction.reg].name);
    skipped.insert(*update);
    if (induction.reg != index.reg) region.pointers.push_back({induction.reg, size / unit * region.index_scale});
  }
  return "";
}

void Recogniser::collect_body(uint32_t begin, uint32_t end, const std::set<uint32_t>& skipped, ElementRegion& region) {
  for (uint32_t s = begin; s < end; ++s) {
    if (skipped.count(s) || is_unused_label_or_pragma(body_[s])) continue;
    if (const auto* label = std::get_if<ptx::Label>(&body_[s].what))
      region.inner_labels.insert(flow_.function.labels[label->id].name);
    region.body.push_back(s);
  }
}

std::vector<uint32_t> Recogniser::top_blocks(uint32_t first, uint32_t last) const {
  std::vector<uint32_t> found{first};
  for (uint32_t b = first; b != last && b != kNone && found.size() <= flow_.cfg.blocks().size();) {
    b = flow_.cfg.post_dominator(b);
    if (b != kNone) found.push_back(b);
  }
  return found;
}

std::string Recogniser::check_loop(uint32_t l, const analysis::Induction& index, ElementRegion& region) {
  const auto& loop = flow_.cfg.loops()[l];
  auto varying = flow_.values.varying(flow_.cfg, l);
  std::vector<std::pair<AtomId, int64_t>> moving{{index.atom, region.index_scale}};
  for (const auto& induction : flow_.values.inductions())
    for (const auto& pointer : region.pointers)
      if (induction.loop == l && induction.reg == pointer.reg) moving.emplace_back(induction.atom, pointer.stride);
  auto stride = [&, moving](const Affine& address) -> std::optional<int64_t> {
    Affine rest = address;
    int64_t sum = 0;
    for (const auto& [atom, each] : moving) {
      int64_t coefficient = address.coefficient(atom);
      if (coefficient == 0) continue;
      auto without = add(rest, Affine{0, {{{atom}, -coefficient}}});
      if (!without) return std::nullopt;
      rest = *without;
      sum += coefficient * each;
    }
    return flow_.values.mentions_any(rest, varying) ? std::nullopt : std::optional<int64_t>(sum);
  };
  bool cta = region.shape == ElementRegion::Shape::cta_stride;
  RegionContext context{flow_, launch_, cta ? row_ : line_, l, top_blocks(loop.header, loop.latches[0]), stride, {}};
  if (auto bound = flow_.values.at_start(flow_.cfg.block_of(region.insert_at), region.bound.id);
      region.bound.kind == ptx::Operand::Kind::reg && bound)
    context.bound = flow_.values.value(*bound);
  if (region.bound.kind == ptx::Operand::Kind::reg) {
    auto bound = flow_.values.at_start(flow_.cfg.block_of(region.insert_at), region.bound.id);
    if (!bound || !context.uniform.uniform(*bound)) return "its bound differs from thread to thread";
  }
  std::vector<uint32_t> carried;
  for (uint32_t reg : flow_.liveness.live_in(loop.header)) {
    bool moves = reg == index.reg || std::any_of(region.pointers.begin(), region.pointers.end(),
                                                 [&](const auto& pointer) { return pointer.reg == reg; });
    if (!moves && writes_in(region, flow_, reg)) carried.push_back(reg);
  }
  if (auto why = check_reads_of_index(loop, region); !why.empty()) return why;
  return check_common(region, context, carried);
}

// Of what the original's statements write, only accumulators may be wanted afterwards.
std::string Recogniser::check_left_behind(const ElementRegion& region, uint32_t exit) const {
  for (uint32_t reg : flow_.liveness.live_in(exit)) {
    if (std::find(region.accumulators.begin(), region.accumulators.end(), reg) != region.accumulators.end()) continue;
    for (uint32_t d : flow_.definitions.of(reg)) {
      uint32_t s = flow_.definitions.all()[d].statement;
      if (s >= region.insert_at && s < region.covered_end)
        return fmt::format("{} is used after it", flow_.function.registers[reg].name);
    }
  }
  return "";
}

std::string Recogniser::check_reads_of_index(const analysis::Loop& loop, const ElementRegion& region) const {
  std::vector<uint32_t> moving{region.index_reg};
  for (const auto& pointer : region.pointers) moving.push_back(pointer.reg);
  for (uint32_t s : region.body) {
    const auto* instruction = at(s);
    if (!instruction) continue;
    for (uint32_t reg : analysis::register_use(*instruction).reads)
      if (std::find(moving.begin(), moving.end(), reg) != moving.end() &&
          flow_.values.read(s, reg) != flow_.values.at_start(loop.header, reg))
        return fmt::format("{} is read after it has moved on", flow_.function.registers[reg].name);
  }
  return "";
}

std::string Recogniser::check_common(ElementRegion& region, const RegionContext& context,
                                     const std::vector<uint32_t>& carried) {
  if (auto why = check_instructions(region, context); !why.empty()) return why;
  if (auto why = check_reductions(region, context, carried); !why.empty()) return why;
  if (auto why = check_inputs(region, context); !why.empty()) return why;
  find_accesses(region, context);
  if (auto why = check_memory(region, context); !why.empty()) return why;
  if (region.accesses.empty()) return "no access of neighbouring elements is adjacent in memory";
  return "";
}

Recognised recognise(const Flow& flow, const launch::Launch& launch) {
  if (!flow.complete()) {
    Recognised nothing;
    nothing.rejected.push_back(flow.function.name + ": its control flow is irreducible or too large");
    return nothing;
  }
  return Recogniser(flow, launch).run();
}

}  // namespace ptxlab::rewrite
