#include "rewrite/element_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"

namespace ptxlab::rewrite {
namespace {

using analysis::has_word;
using analysis::kNone;
using analysis::opcode_of;
using analysis::register_use;

const ptx::Instruction* instruction_at(const RegionContext& context, uint32_t statement) {
  return context.flow.function.body[statement].instruction();
}

bool in_body(const ElementRegion& region, uint32_t statement) {
  return std::binary_search(region.body.begin(), region.body.end(), statement);
}

std::string place(const RegionContext& context, uint32_t statement) {
  return rewrite::place(context.flow.function, statement);
}

// What an instruction does that other threads can see or that depends on them.
std::string forbidden(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row) return "is not in the instruction table";
  const auto& e = row->effects;
  if (e.barrier || e.warp_sync || e.fence) return "waits for or exchanges with other threads";
  if (e.call) return "calls a function";
  if (e.ends_thread) return "ends the thread";
  if (e.async) return "completes later";
  if (e.timing) return "reads a clock";
  if (e.atomic && opcode_of(instruction) != "red") return "reads back an atomic's old value";
  if (e.atomic && (has_word(instruction, ".inc") || has_word(instruction, ".dec")))
    return "counts in an order that would change";
  if (has_word(instruction, ".cc") || opcode_of(instruction) == "addc" || opcode_of(instruction) == "subc" ||
      opcode_of(instruction) == "madc")
    return "uses the carry flag";
  if (has_word(instruction, ".volatile") || has_word(instruction, ".acquire") || has_word(instruction, ".release") ||
      has_word(instruction, ".mmio"))
    return "is ordered with other threads' accesses";
  if (opcode_of(instruction) == "brx" || opcode_of(instruction) == "activemask") return "depends on how threads run";
  return "";
}

}  // namespace

bool writes_in(const ElementRegion& region, const Flow& flow, uint32_t reg) {
  for (uint32_t d : flow.definitions.of(reg))
    if (in_body(region, flow.definitions.all()[d].statement)) return true;
  return false;
}

std::string check_instructions(const ElementRegion& region, const RegionContext& context) {
  for (uint32_t statement : region.body) {
    const auto* instruction = instruction_at(context, statement);
    if (!instruction) continue;
    if (auto why = forbidden(*instruction); !why.empty()) return fmt::format("{} {}", place(context, statement), why);
    for (const auto& operand : instruction->operands) {
      if (operand.kind != ptx::Operand::Kind::special) continue;
      auto value = context.flow.values.operand(statement, operand);
      if (!value || !context.uniform.uniform(*value))
        return fmt::format("{} depends on the thread, not only on its element", place(context, statement));
    }
  }
  return "";
}

std::string check_inputs(const ElementRegion& region, const RegionContext& context) {
  const auto& flow = context.flow;
  auto allowed = [&](uint32_t reg) {
    if (reg == region.index_reg) return true;
    for (const auto& pointer : region.pointers)
      if (pointer.reg == reg) return true;
    return std::find(region.accumulators.begin(), region.accumulators.end(), reg) != region.accumulators.end();
  };
  for (uint32_t statement : region.body) {
    const auto* instruction = instruction_at(context, statement);
    if (!instruction) continue;
    for (uint32_t reg : register_use(*instruction).reads) {
      if (allowed(reg)) continue;
      auto reaching = flow.definitions.reaching(statement, reg);
      bool outside = reaching.empty() || std::any_of(reaching.begin(), reaching.end(), [&](uint32_t d) {
                       return !in_body(region, flow.definitions.all()[d].statement);
                     });
      if (!outside) continue;
      auto value = flow.values.read(statement, reg);
      if (!value || !context.uniform.uniform(*value))
        return fmt::format("{} reads {}, which differs from thread to thread", place(context, statement),
                           flow.function.registers[reg].name);
    }
  }
  return "";
}

namespace {

enum class Reduction : uint8_t { none, sum, product, minimum, maximum, bit_and, bit_or, bit_xor };

// Which reduction an instruction continues when its operand `acc` is the running value.
Reduction reduction_of(const ptx::Instruction& instruction, size_t acc) {
  auto opcode = opcode_of(instruction);
  if (has_word(instruction, ".sat") || has_word(instruction, ".wide") || has_word(instruction, ".hi"))
    return Reduction::none;
  if (opcode == "fma" || opcode == "mad") return acc == 3 ? Reduction::sum : Reduction::none;
  if (opcode == "add") return Reduction::sum;
  if (opcode == "sub") return acc == 1 ? Reduction::sum : Reduction::none;
  if (opcode == "mul") return Reduction::product;
  if (opcode == "min") return Reduction::minimum;
  if (opcode == "max") return Reduction::maximum;
  if (opcode == "and") return Reduction::bit_and;
  if (opcode == "or") return Reduction::bit_or;
  if (opcode == "xor") return Reduction::bit_xor;
  return Reduction::none;
}

// The operand through which `reg` enters as the running value, 0 where it does not or does so twice.
size_t accumulator_operand(const ptx::Instruction& instruction, uint32_t reg) {
  size_t found = 0;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    if (instruction.operands[i].kind == ptx::Operand::Kind::reg && instruction.operands[i].id == reg)
      found = found ? 100 : i;
  return found == 100 ? 0 : found;
}

// Follows the value that statement `last` writes back to `reg` through single uses of one kind of reduction: the
// temporaries of an unrolled body. Fills the statements passed.
bool chain_back(const ElementRegion& region, const RegionContext& context, uint32_t reg, uint32_t last,
                std::vector<uint32_t>& chain) {
  const auto& definitions = context.flow.definitions;
  Reduction kind = Reduction::none;
  for (uint32_t at = last; chain.size() < 64;) {
    const auto* instruction = instruction_at(context, at);
    if (!instruction || instruction->guard) return false;
    chain.push_back(at);
    if (size_t acc = accumulator_operand(*instruction, reg)) {
      Reduction here = reduction_of(*instruction, acc);
      return here != Reduction::none && (kind == Reduction::none || here == kind);
    }
    uint32_t next = kNone;
    for (size_t i = 1; i < instruction->operands.size(); ++i) {
      if (instruction->operands[i].kind != ptx::Operand::Kind::reg) continue;
      Reduction here = reduction_of(*instruction, i);
      uint32_t d = definitions.only(at, instruction->operands[i].id);
      if (here == Reduction::none || d == kNone || definitions.uses(d).size() != 1) continue;
      uint32_t statement = definitions.all()[d].statement;
      if (!in_body(region, statement) || (kind != Reduction::none && here != kind)) continue;
      const auto* before = instruction_at(context, statement);
      bool leads = accumulator_operand(*before, reg) || opcode_of(*before) == opcode_of(*instruction);
      if (leads && (next == kNone || accumulator_operand(*before, reg))) {
        next = statement;
        kind = here;
      }
    }
    if (next == kNone) return false;
    at = next;
  }
  return false;
}

// Every definition of `reg` in the body continues the same reduction, and nothing else there reads it.
std::string check_reduction(ElementRegion& region, const RegionContext& context, uint32_t reg, Reduction& kind) {
  const auto& flow = context.flow;
  const auto& name = flow.function.registers[reg].name;
  std::set<uint32_t> members;
  kind = Reduction::none;
  bool changes_rounding = false;
  for (uint32_t d : flow.definitions.of(reg)) {
    uint32_t statement = flow.definitions.all()[d].statement;
    if (!in_body(region, statement)) continue;
    const auto* instruction = instruction_at(context, statement);
    std::vector<uint32_t> chain;
    size_t direct = accumulator_operand(*instruction, reg);
    if (direct)
      chain.push_back(statement);
    else if (!chain_back(region, context, reg, statement, chain))
      return fmt::format("{} is carried from element to element, and not as a reduction", name);
    const auto* first = instruction_at(context, chain.back());
    Reduction here = reduction_of(*first, accumulator_operand(*first, reg));
    if (here == Reduction::none || (kind != Reduction::none && here != kind))
      return fmt::format("{} is carried from element to element, and not as a reduction", name);
    kind = here;
    members.insert(chain.begin(), chain.end());
    if (isa::is_float(analysis::type_word(*instruction)) && (kind == Reduction::sum || kind == Reduction::product))
      changes_rounding = true;
  }
  for (uint32_t statement : region.body) {
    const auto* instruction = instruction_at(context, statement);
    if (!instruction || members.count(statement)) continue;
    auto reads = register_use(*instruction).reads;
    if (std::find(reads.begin(), reads.end(), reg) != reads.end())
      return fmt::format("{} uses the running value of {}", place(context, statement), name);
  }
  region.float_accumulators = region.float_accumulators || changes_rounding;
  return "";
}

std::string_view word_of(Reduction kind) {
  switch (kind) {
    case Reduction::none:
    case Reduction::product: return "";
    case Reduction::sum: return ".add";
    case Reduction::minimum: return ".min";
    case Reduction::maximum: return ".max";
    case Reduction::bit_and: return ".and";
    case Reduction::bit_or: return ".or";
    case Reduction::bit_xor: return ".xor";
  }
  return "";
}

// What a use outside the body does with one thread's share of a reduction.
enum class Use : uint8_t { passes_on, exchanges, ends_in_exchange, other };

Use use_of_share(const ptx::Instruction& instruction, uint32_t reg, Reduction kind) {
  auto opcode = opcode_of(instruction);
  if (opcode == "mov" || opcode == "selp" || opcode == "cvt") return Use::passes_on;
  if (opcode == "shfl" || opcode == "redux") return Use::exchanges;
  if (opcode == "red" || opcode == "atom")
    return has_word(instruction, word_of(kind)) ? Use::ends_in_exchange : Use::other;
  if (opcode == "st" && analysis::space_word(instruction) == isa::Space::shared) return Use::ends_in_exchange;
  size_t at = accumulator_operand(instruction, reg);
  return at && reduction_of(instruction, at) == kind ? Use::passes_on : Use::other;
}

// Is every share of an accumulator combined with the other threads' before anything else is made of it, and by the same
// operation? Else each thread's own share is part of the result, and that share would change.
bool combined_across_threads(const ElementRegion& region, const RegionContext& context, uint32_t reg, Reduction kind) {
  const auto& definitions = context.flow.definitions;
  std::vector<uint32_t> open;
  std::set<uint32_t> seen, exchanged;
  for (uint32_t d : definitions.of(reg))
    if (in_body(region, definitions.all()[d].statement)) open.push_back(d);
  bool any = false;
  // First what has passed an exchange already: that may be used as one likes.
  auto follow = [&](uint32_t use, auto&& with) {
    for (uint32_t written : register_use(*instruction_at(context, use)).writes)
      for (uint32_t next : definitions.of(written))
        if (definitions.all()[next].statement == use) with(next);
  };
  std::vector<uint32_t> shares = open;
  while (!open.empty() && seen.size() < 512) {
    uint32_t d = open.back();
    open.pop_back();
    if (!seen.insert(d).second) continue;
    for (uint32_t use : definitions.uses(d)) {
      if (in_body(region, use)) continue;
      auto does = use_of_share(*instruction_at(context, use), definitions.all()[d].reg, kind);
      any = any || does == Use::exchanges || does == Use::ends_in_exchange;
      bool out = does == Use::exchanges || exchanged.count(d);
      follow(use, [&](uint32_t next) {
        if (out && exchanged.insert(next).second) seen.erase(next);
        if (out || does == Use::passes_on) open.push_back(next);
      });
    }
  }
  if (!any || seen.size() >= 512) return false;
  seen.clear();
  while (!shares.empty()) {
    uint32_t d = shares.back();
    shares.pop_back();
    if (exchanged.count(d) || !seen.insert(d).second) continue;
    for (uint32_t use : definitions.uses(d)) {
      if (in_body(region, use)) continue;
      auto does = use_of_share(*instruction_at(context, use), definitions.all()[d].reg, kind);
      if (does == Use::other) return false;
      if (does == Use::passes_on) follow(use, [&](uint32_t next) { shares.push_back(next); });
    }
  }
  return true;
}

}  // namespace

std::string check_reductions(ElementRegion& region, const RegionContext& context,
                             const std::vector<uint32_t>& carried) {
  for (uint32_t reg : carried) {
    Reduction kind;
    if (auto why = check_reduction(region, context, reg, kind); !why.empty()) return why;
    if (!combined_across_threads(region, context, reg, kind))
      return fmt::format("each thread keeps its own {}: it is not combined with other threads'",
                         context.flow.function.registers[reg].name);
    region.accumulators.push_back(reg);
  }
  return "";
}

namespace {

bool computes_address(const ptx::Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row || instruction.guard || instruction.operands.empty()) return false;
  const auto& e = row->effects;
  return instruction.operands[0].kind == ptx::Operand::Kind::reg &&
         !(e.loads || e.stores || e.atomic || e.barrier || e.warp_sync || e.fence || e.branch || e.call ||
           e.ends_thread || e.async || e.timing);
}

// Statements of the body that compute `reg` as `statement` reads it; false where that is not straight arithmetic.
bool slice(const ElementRegion& region, const RegionContext& context, uint32_t statement, uint32_t reg,
           std::set<uint32_t>& into) {
  std::vector<std::pair<uint32_t, uint32_t>> open{{statement, reg}};
  const auto& flow = context.flow;
  while (!open.empty()) {
    auto [at, wanted] = open.back();
    open.pop_back();
    if (!writes_in(region, flow, wanted)) continue;
    uint32_t d = flow.definitions.only(at, wanted);
    if (d == kNone) return false;
    uint32_t by = flow.definitions.all()[d].statement;
    if (!in_body(region, by)) return false;
    if (into.count(by)) continue;
    const auto* instruction = instruction_at(context, by);
    if (!computes_address(*instruction)) return false;
    into.insert(by);
    for (uint32_t input : register_use(*instruction).reads) open.emplace_back(by, input);
  }
  return true;
}

std::optional<ElementAccess> adjacent(const ElementRegion&, const RegionContext& context, uint32_t statement) {
  const auto& flow = context.flow;
  const auto* access = flow.access(statement);
  const auto* instruction = instruction_at(context, statement);
  if (!access || !instruction || instruction->guard || access->atomic) return std::nullopt;
  if (access->space != isa::Space::global || !plain_access(*instruction)) return std::nullopt;
  uint32_t block = flow.cfg.block_of(statement);
  if (std::find(context.top_blocks.begin(), context.top_blocks.end(), block) == context.top_blocks.end())
    return std::nullopt;
  auto stride = context.stride(access->address);
  if (!stride || *stride != access->bytes || access->bytes == 0 || access->bytes > 16) return std::nullopt;
  for (size_t i = 2; i < instruction->operands.size(); ++i)
    if (instruction->operands[i].kind != ptx::Operand::Kind::reg) return std::nullopt;
  ElementAccess found;
  found.statement = statement;
  found.store = access->writes;
  found.bytes = access->bytes;
  const auto& address = instruction->operands[access->writes ? 0 : 1];
  const auto& value = instruction->operands[access->writes ? 1 : 0];
  if (address.kind != ptx::Operand::Kind::address || address.elements.empty() ||
      address.elements[0].kind != ptx::Operand::Kind::reg)
    return std::nullopt;
  found.address_reg = address.elements[0].id;
  found.offset = address.offset;
  found.lanes = access->vector;
  bool is_vector = value.kind == ptx::Operand::Kind::vector;
  for (uint32_t lane = 0; lane < found.lanes; ++lane) {
    if (is_vector && lane >= value.elements.size()) return std::nullopt;
    const auto& one = is_vector ? value.elements[lane] : value;
    if (one.kind == ptx::Operand::Kind::reg)
      found.value_regs.push_back(one.id);
    else if (access->writes || one.kind == ptx::Operand::Kind::sink)
      found.value_regs.push_back(kNone);
    else
      return std::nullopt;
  }
  // Some lane has to say what registers the elements travel in.
  if (found.lanes > 1 && found.value_regs[0] == kNone) return std::nullopt;
  auto start = flow.values.at_loop_start(access->address);
  found.group_shift = static_cast<uint32_t>(static_cast<uint64_t>(start.constant) % 64);
  return found;
}

}  // namespace

void find_accesses(ElementRegion& region, const RegionContext& context) {
  std::set<uint32_t> statements;
  for (uint32_t statement : region.body)
    if (auto found = adjacent(region, context, statement)) {
      auto with = statements;
      if (!slice(region, context, statement, found->address_reg, with)) continue;
      statements = std::move(with);
      region.accesses.push_back(*found);
    }
  region.address_slice.assign(statements.begin(), statements.end());
}

namespace {

bool shared_space(const analysis::MemoryAccess& access) { return access.space == isa::Space::shared; }

bool may_overlap(const RegionContext& context, const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) {
  return Aliasing(context.flow, {&context.launch}).may_overlap(a, b);
}

bool same_element(const analysis::MemoryAccess& a, const analysis::MemoryAccess& b) {
  return a.parameter && a.parameter == b.parameter && a.address == b.address && a.bytes == b.bytes;
}

bool is_barrier(const ptx::Instruction& instruction) {
  return (opcode_of(instruction) == "bar" || opcode_of(instruction) == "barrier") &&
         !has_word(instruction, ".arrive") && !instruction.guard;
}

// Can control get from just before statement `from` to statement `to` without passing a barrier of the CTA?
bool reaches_without_barrier(const RegionContext& context, uint32_t from, uint32_t to) {
  const auto& flow = context.flow;
  const auto& blocks = flow.cfg.blocks();
  std::set<uint32_t> seen;
  std::vector<uint32_t> open{from};
  while (!open.empty()) {
    uint32_t at = open.back();
    open.pop_back();
    uint32_t block = flow.cfg.block_of(at);
    bool stopped = false;
    for (uint32_t i = at; i < blocks[block].end && !stopped; ++i) {
      if (i == to) return true;
      const auto* instruction = flow.function.body[i].instruction();
      stopped = instruction && is_barrier(*instruction);
    }
    if (stopped) continue;
    for (uint32_t next : blocks[block].successors)
      if (blocks[next].begin < blocks[next].end && seen.insert(next).second) open.push_back(blocks[next].begin);
  }
  return false;
}

// "row[j]" and "row[j + half]" with 0 <= j < half: what lies as far apart as the range is long cannot meet, whichever elements
// the two belong to.
bool apart_by_bound(const ElementRegion& region, const RegionContext& context, const analysis::MemoryAccess& a,
                    const analysis::MemoryAccess& b) {
  if (!context.bound || !a.parameter || a.parameter != b.parameter || a.bytes != b.bytes) return false;
  auto stride = context.stride(a.address), other = context.stride(b.address);
  if (!stride || stride != other || *stride != static_cast<int64_t>(a.bytes) || region.index_scale != 1) return false;
  auto minus = scale(b.address, -1);
  auto difference = minus ? add(a.address, *minus) : std::nullopt;
  auto length = scale(*context.bound, *stride);
  auto back = length ? scale(*length, -1) : std::nullopt;
  return difference && length && back && (*difference == *length || *difference == *back);
}

std::string check_inside(ElementRegion& region, const RegionContext& context,
                         const std::vector<const analysis::MemoryAccess*>& inside) {
  for (const auto* store : inside) {
    if (!store->writes) continue;
    for (const auto* load : inside) {
      if (!load->reads || load->writes || !may_overlap(context, *store, *load)) continue;
      if (apart_by_bound(region, context, *store, *load)) continue;
      if (!same_element(*store, *load) || load->statement > store->statement)
        return fmt::format("{} may read what {} writes", place(context, load->statement),
                           place(context, store->statement));
    }
  }
  // A vector store comes at the end of its group: it must not overtake a scalar store to the same memory.
  auto vectorised = [&](uint32_t statement) {
    return std::any_of(region.accesses.begin(), region.accesses.end(),
                       [&](const auto& a) { return a.statement == statement; });
  };
  for (const auto* store : inside) {
    if (!store->writes || vectorised(store->statement)) continue;
    std::erase_if(region.accesses, [&](const ElementAccess& access) {
      return access.store && may_overlap(context, *context.flow.access(access.statement), *store);
    });
  }
  return "";
}

}  // namespace

std::string check_memory(ElementRegion& region, const RegionContext& context) {
  const auto& flow = context.flow;
  std::vector<const analysis::MemoryAccess*> inside, outside;
  for (const auto& access : flow.accesses) {
    if (in_body(region, access.statement))
      inside.push_back(&access);
    else if (access.statement < region.insert_at || access.statement >= region.covered_end)
      outside.push_back(&access);
  }
  if (auto why = check_inside(region, context, inside); !why.empty()) return why;
  for (const auto* access : outside) {
    if (!access->writes || shared_space(*access) || access->space == isa::Space::local) continue;
    region.only_writer = false;
    // Other CTAs may do the elements now: what one CTA adds up is another number.
    if (region.shape == ElementRegion::Shape::grid_stride && !region.accumulators.empty() && !access->atomic)
      return fmt::format("{} may keep what one CTA alone has added up", place(context, access->statement));
  }
  // In a loop around this one the body meets itself.
  bool nested = context.loop != kNone && flow.cfg.loops()[context.loop].parent != kNone;
  if (nested) outside.insert(outside.end(), inside.begin(), inside.end());
  for (const auto* in : inside)
    for (const auto* out : outside) {
      if ((!in->writes && !out->writes) || !may_overlap(context, *in, *out)) continue;
      bool self = in_body(region, out->statement);
      bool apart = region.shape == ElementRegion::Shape::cta_stride;
      if (apart) {
        uint32_t target = self ? region.insert_at : out->statement;
        apart = !reaches_without_barrier(context, region.exit_at, target) &&
                (self || !reaches_without_barrier(context, out->statement, region.insert_at));
      }
      if (!apart)
        return fmt::format("{} and {} may touch the same memory with no barrier between", place(context, in->statement),
                           place(context, out->statement));
    }
  return "";
}

}  // namespace ptxlab::rewrite
