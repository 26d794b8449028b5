// "if (i < n) body" with one element a thread: the whole kernel but for what computes i.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/recogniser.h"

namespace ptxlab::rewrite {

using analysis::opcode_of;

namespace {

// The predicates that an or.pred puts together, `negated` as the whole is; fewer than two where it is none.
void parts_of_or(const Flow& flow, uint32_t statement, uint32_t reg,
                 std::vector<std::pair<uint32_t, uint32_t>>& parts) {
  std::vector<std::pair<uint32_t, uint32_t>> open{{statement, reg}};
  while (!open.empty() && parts.size() < 16) {
    auto [at, wanted] = open.back();
    open.pop_back();
    uint32_t d = flow.definitions.only(at, wanted);
    uint32_t by = d == kNone ? kNone : flow.definitions.all()[d].statement;
    const auto* instruction = by == kNone ? nullptr : flow.function.body[by].instruction();
    bool joins = instruction && opcode_of(*instruction) == "or" && instruction->operands.size() == 3 &&
                 analysis::type_word(*instruction) == isa::Type::pred && !instruction->operands[1].negated &&
                 !instruction->operands[2].negated && instruction->operands[1].kind == ptx::Operand::Kind::reg &&
                 instruction->operands[2].kind == ptx::Operand::Kind::reg;
    if (!joins) {
      parts.emplace_back(at, wanted);
      continue;
    }
    open.emplace_back(by, instruction->operands[1].id);
    open.emplace_back(by, instruction->operands[2].id);
  }
}

}  // namespace

// "@p bra EXIT" where p is one comparison, or several of them or-ed: one says where the elements end, the others are the same
// for the whole row.
std::optional<Compare> Recogniser::guard_at(uint32_t block, ElementRegion& region, std::string& why) const {
  const auto& b = flow_.cfg.blocks()[block];
  const auto& branch = *at(b.terminator);
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  parts_of_or(flow_, b.terminator, branch.guard->reg, parts);
  if (parts.size() < 2) return compare_at(block, block + 1);
  if (branch.guard->negated) return std::nullopt;
  std::optional<Compare> found;
  for (const auto& [statement, reg] : parts) {
    auto compare = compare_of(statement, reg, b.terminator, true, false);
    auto index = compare ? value_of(compare->statement, compare->index) : std::nullopt;
    if (index && indices_.is_global_thread(flow_.values.value(*index))) {
      if (found) {
        why = "its guard compares the index twice";
        return std::nullopt;
      }
      found = compare;
      continue;
    }
    // The same for all threads of the row, whatever it asks.
    uint32_t d = flow_.definitions.only(statement, reg);
    const auto* asks = d == kNone ? nullptr : at(flow_.definitions.all()[d].statement);
    bool same = asks && opcode_of(*asks) == "setp" && asks->operands.size() == 3;
    for (uint32_t read : same ? analysis::register_use(*asks).reads : std::vector<uint32_t>{}) {
      auto value = flow_.values.read(flow_.definitions.all()[d].statement, read);
      same = same && value && line_.uniform(*value);
    }
    if (!same) {
      why = asks ? place(flow_.function, flow_.definitions.all()[d].statement) +
                       " guards it too, and not a whole row alike"
                 : "its guard has parts that are no comparisons";
      return std::nullopt;
    }
    region.leave_if.push_back({reg, false});
  }
  return found;
}

void Recogniser::try_guarded() {
  const auto& blocks = flow_.cfg.blocks();
  // Guards one after the other, all to one way out that returns and does nothing else.
  uint32_t exit = kNone;
  for (uint32_t b = 0; b + 1 < blocks.size(); ++b) {
    uint32_t t = blocks[b].terminator;
    if (t == kNone || blocks[b].successors.size() != 2 || blocks[b].successors[1] != b + 1) return;
    if (b > 0 && (blocks[b].predecessors.size() != 1 || blocks[b].successors[0] != exit)) return;
    if (opcode_of(*at(t)) != "bra" || !at(t)->guard) return;
    exit = blocks[b].successors[0];
    ElementRegion region;
    std::string why;
    auto compare = guard_at(b, region, why);
    auto index = compare ? value_of(compare->statement, compare->index) : std::nullopt;
    auto size = index && compare->index.kind == ptx::Operand::Kind::reg
                    ? indices_.is_global_thread(flow_.values.value(*index))
                    : std::nullopt;
    if (!why.empty()) {
      reject(t, "body of the guard", why);
      return;
    }
    if (!size) {
      if (line_.uniform_branch(b)) continue;
      return;
    }
    region.shape = ElementRegion::Shape::guarded;
    region.threads = *size;
    if (why = match_guarded(b, exit, *compare, region); !why.empty())
      reject(compare->statement, "body of the guard", why);
    else
      found_.regions.push_back(std::move(region));
    return;
  }
}

std::string Recogniser::match_guarded(uint32_t guard, uint32_t exit, const Compare& compare, ElementRegion& region) {
  const auto& blocks = flow_.cfg.blocks();
  for (uint32_t s = blocks[exit].begin; s < blocks[exit].end; ++s)
    if (const auto* instruction = at(s);
        instruction && opcode_of(*instruction) != "ret" && opcode_of(*instruction) != "exit")
      return "code follows that the threads without an element execute too";
  if (compare.bound.kind != ptx::Operand::Kind::reg && compare.bound.kind != ptx::Operand::Kind::integer)
    return "its bound is neither a register nor a number";
  auto bound = value_of(compare.statement, compare.bound);
  if (compare.bound.kind == ptx::Operand::Kind::reg && (!bound || !line_.uniform(*bound)))
    return "its bound differs from thread to thread";
  for (uint32_t b = guard + 1; b < blocks.size(); ++b)
    if (b != exit && (b > exit || !flow_.cfg.reachable(b))) return "its blocks do not stand together";
  if (indices_.nctaid) return "the kernel asks for the size of its grid, which would change";
  region.index_reg = compare.index.id;
  region.index_signed = compare.is_signed;
  region.index_bits = isa::bits_of(flow_.function.registers[region.index_reg].type);
  if (compare.bits != region.index_bits) return "index and bound differ in width";
  region.bound = compare.bound;
  region.insert_at = blocks[guard].terminator;
  region.covered_end = region.exit_at = blocks[exit].begin;
  if (auto why = collect_dependents(compare, region); !why.empty()) return why;
  collect_body(region.insert_at + 1, blocks[exit].begin, {}, region);
  for (uint32_t s = blocks[exit].begin; s < blocks[exit].end; ++s)
    if (const auto* label = std::get_if<ptx::Label>(&body_[s].what))
      region.end_labels.push_back(flow_.function.labels[label->id].name);
  return check_guarded(guard, exit, region);
}

std::string Recogniser::collect_dependents(const Compare& compare, ElementRegion& region) {
  std::set<uint32_t> depends, late_writes;
  uint32_t index_definition = flow_.definitions.only(compare.statement, region.index_reg);
  if (index_definition == kNone) return "its index is written more than once";
  uint32_t defined = flow_.definitions.all()[index_definition].statement;
  depends.insert(region.index_reg);
  for (uint32_t s = 0; s < region.insert_at; ++s) {
    const auto* instruction = at(s);
    if (!instruction || opcode_of(*instruction) == "bra") continue;
    const auto* row = instruction->form.row;
    if (!row || row->effects.stores || row->effects.atomic || row->effects.barrier || row->effects.warp_sync ||
        row->effects.call || row->effects.async)
      return "code in front of the guard does more than compute";
    if (s <= defined || s == compare.statement) continue;
    // What joins the guard's parts is made anew.
    if (analysis::type_word(*instruction) == isa::Type::pred && opcode_of(*instruction) == "or") continue;
    auto use = analysis::register_use(*instruction);
    bool from_index = std::any_of(use.reads.begin(), use.reads.end(), [&](uint32_t r) { return depends.count(r); });
    for (uint32_t reg : use.writes) {
      if (reg == region.index_reg) return "its index is written more than once";
      if (flow_.definitions.of(reg).size() > 1) return "a register in front of the guard is written more than once";
      if (from_index) depends.insert(reg);
    }
    if (from_index) region.body.push_back(s);
  }
  return "";
}

std::string Recogniser::check_guarded(uint32_t guard, uint32_t exit, ElementRegion& region) {
  auto varying = std::vector<bool>(flow_.values.atom_count());
  for (AtomId id = 0; id < varying.size(); ++id) varying[id] = !line_.uniform_atom(id);
  auto index = *flow_.values.read(region.insert_at ? last_read_of_index(region) : 0, region.index_reg);
  Affine per_element = flow_.values.value(index);
  auto stride = [this, per_element, varying](const Affine& address) -> std::optional<int64_t> {
    int64_t coefficient = address.coefficient(*indices_.tid);
    auto moved = scale(per_element, -coefficient);
    auto rest = moved ? add(address, *moved) : std::nullopt;
    if (!rest || flow_.values.mentions_any(*rest, varying)) return std::nullopt;
    return coefficient;
  };
  // Two different things may stand for the thread: the index's own parts are not uniform, but the index is given.
  auto top = top_blocks(guard + 1, exit);
  for (uint32_t b = 0; b <= guard; ++b) top.push_back(b);
  RegionContext context{flow_, launch_, line_, kNone, top, stride, {}};
  return check_common(region, context, {});
}

uint32_t Recogniser::last_read_of_index(const ElementRegion& region) const {
  for (uint32_t s = region.insert_at; s-- > 0;)
    if (at(s) && flow_.values.read(s, region.index_reg)) return s;
  return 0;
}

}  // namespace ptxlab::rewrite
