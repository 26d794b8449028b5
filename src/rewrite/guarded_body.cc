// "if (i < n) body" with one element a thread: the whole kernel but for what computes i.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/recogniser.h"

namespace ptxlab::rewrite {

using analysis::opcode_of;

void Recogniser::try_guarded() {
  const auto& blocks = flow_.cfg.blocks();
  if (blocks.size() < 3 || blocks[0].successors.size() != 2) return;
  // "@p bra EXIT" at the end of the first block; EXIT returns and nothing else.
  uint32_t exit = blocks[0].successors[0];
  auto compare = compare_at(0, 1);
  if (!compare) return;
  auto index = value_of(compare->statement, compare->index);
  if (!index || compare->index.kind != ptx::Operand::Kind::reg) return;
  auto size = indices_.is_global_thread(flow_.values.value(*index));
  if (!size) return;
  ElementRegion region;
  region.shape = ElementRegion::Shape::guarded;
  region.threads = *size;
  if (auto why = match_guarded(exit, *compare, region); !why.empty())
    reject(compare->statement, "body of the guard", why);
  else
    found_.regions.push_back(std::move(region));
}

std::string Recogniser::match_guarded(uint32_t exit, const Compare& compare, ElementRegion& region) {
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
  for (uint32_t b = 1; b < blocks.size(); ++b)
    if (b != exit && (b > exit || !flow_.cfg.reachable(b))) return "its blocks do not stand together";
  if (indices_.nctaid) return "the kernel asks for the size of its grid, which would change";
  region.index_reg = compare.index.id;
  region.index_signed = compare.is_signed;
  region.index_bits = isa::bits_of(flow_.function.registers[region.index_reg].type);
  if (compare.bits != region.index_bits) return "index and bound differ in width";
  region.bound = compare.bound;
  region.insert_at = compare.branch;
  region.covered_end = region.exit_at = blocks[exit].begin;
  if (auto why = collect_dependents(compare, region); !why.empty()) return why;
  collect_body(compare.branch + 1, blocks[exit].begin, {}, region);
  for (uint32_t s = blocks[exit].begin; s < blocks[exit].end; ++s)
    if (const auto* label = std::get_if<ptx::Label>(&body_[s].what))
      region.end_labels.push_back(flow_.function.labels[label->id].name);
  return check_guarded(exit, region);
}

std::string Recogniser::collect_dependents(const Compare& compare, ElementRegion& region) {
  std::set<uint32_t> depends, late_writes;
  uint32_t index_definition = flow_.definitions.only(compare.statement, region.index_reg);
  if (index_definition == kNone) return "its index is written more than once";
  uint32_t defined = flow_.definitions.all()[index_definition].statement;
  depends.insert(region.index_reg);
  for (uint32_t s = 0; s < compare.branch; ++s) {
    const auto* instruction = at(s);
    if (!instruction) continue;
    const auto* row = instruction->form.row;
    if (!row || row->effects.stores || row->effects.atomic || row->effects.barrier || row->effects.warp_sync ||
        row->effects.call || row->effects.async)
      return "code in front of the guard does more than compute";
    if (s <= defined || s == compare.statement) continue;
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

std::string Recogniser::check_guarded(uint32_t exit, ElementRegion& region) {
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
  auto top = top_blocks(1, exit);
  top.push_back(0);
  RegionContext context{flow_, launch_, line_, kNone, top, stride};
  return check_common(region, context, {});
}

uint32_t Recogniser::last_read_of_index(const ElementRegion& region) const {
  for (uint32_t s = region.insert_at; s-- > 0;)
    if (at(s) && flow_.values.read(s, region.index_reg)) return s;
  return 0;
}

}  // namespace ptxlab::rewrite
