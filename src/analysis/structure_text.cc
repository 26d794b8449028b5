#include "analysis/structure_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ptxlab::analysis {
namespace {

constexpr uint32_t kDeepest = 12;  // loops beyond this depth are not drawn further in

std::string plural(uint64_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

std::string lines_text(const Lines& lines) {
  return lines.first == lines.last ? fmt::format("line {}", lines.first)
                                   : fmt::format("lines {}-{}", lines.first, lines.last);
}

std::string block_text(const std::array<uint32_t, 3>& block) {
  if (block[0] == 0) return "";
  if (block[1] == 1 && block[2] == 1) return fmt::format("{}", block[0]);
  return block[2] == 1 ? fmt::format("{} x {}", block[0], block[1])
                       : fmt::format("{} x {} x {}", block[0], block[1], block[2]);
}

// A table of left-aligned columns, each as wide as it must be; what is empty everywhere takes no room.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text(std::string_view indent) const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line(indent);
      for (size_t i = 0; i < row.size(); ++i)
        if (widths[i]) line += fmt::format("{:<{}}", row[i], widths[i] + 2);
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "softmax" of "_Z7softmaxPKfPfi", "partial" of "_ZZ12block_reducefbE7partial": the name in front of a mangled one's types.
std::string readable_name(std::string_view name) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t at = 2;
  if (name.starts_with("_ZZ")) {
    for (at = name.size(); at-- > 3;)
      if (name[at - 1] == 'E' && digit(name[at])) break;
  } else if (!name.starts_with("_Z")) {
    return std::string(name);
  }
  size_t length = 0, digits = at;
  while (digits < name.size() && digit(name[digits])) length = length * 10 + static_cast<size_t>(name[digits++] - '0');
  return length == 0 || digits + length > name.size() ? std::string(name) : std::string(name.substr(digits, length));
}

void add_heading(std::string& text, const Structure& s, const std::optional<Assembly>& assembly) {
  const auto name = readable_name(s.function);
  text +=
      fmt::format("{}  ({}{}, {})\n", name, s.entry ? "entry" : "function", name == s.function ? "" : " " + s.function,
                  s.lines.first ? lines_text(s.lines) : "without instructions");
  Table table;
  const auto block = block_text(s.block);
  table.add({"threads of a CTA", block.empty() ? "not known: a warp is taken to be 32 neighbours along x" : block});
  if (!s.directives.empty()) table.add({"directives", fmt::format("{}", fmt::join(s.directives, "; "))});
  if (!s.parameters.empty()) table.add({"parameters", fmt::format("{}", fmt::join(s.parameters, ", "))});
  if (s.mix.total()) table.add({"instructions", fmt::format("{}: {}", s.mix.total(), mix_text(s.mix))});
  std::string live = s.live_known ? fmt::format("{} live at most, in B{}", s.peak, s.peak_block)
                                  : "live ones not computed: the kernel is too large";
  if (assembly)
    live += fmt::format("; {} gives each thread {} for {}, {}", assembly->by, assembly->registers, assembly->target,
                        assembly->spilled ? fmt::format("{} bytes spilled", assembly->spilled) : "nothing spilled");
  table.add({"registers", live});
  if (assembly) {
    std::string made = fmt::format("{} bytes", assembly->code_bytes);
    if (assembly->stack) made += fmt::format(", {} bytes of stack", assembly->stack);
    table.add({"machine code", made});
    if (!assembly->occupancy.empty()) table.add({"occupancy", assembly->occupancy});
  }
  const int shared = assembly ? assembly->shared : static_cast<int>(s.shared_bytes);
  if (shared) table.add({"shared memory", fmt::format("{} bytes, static", shared)});
  std::string rows = table.text("  ");
  text += rows;
  if (s.irreducible) text += "  A cycle of blocks has several ways in: it is not among the loops below.\n";
}

std::string bar(uint32_t live, uint32_t peak) {
  constexpr uint32_t kWidth = 24;
  return peak == 0 ? "" : std::string((live * kWidth + peak - 1) / peak, '#');
}

// Where a block may go on, and whether threads can part there.
std::string next_text(const BlockFacts& block) {
  if (block.successors.empty()) return "end";
  std::vector<std::string> names;
  for (uint32_t b : block.successors) names.push_back(fmt::format("B{}", b));
  return fmt::format("-> {}{}", fmt::join(names, ", "), block.diverges ? " (threads may part)" : "");
}

void add_loop_heads(Table& table, const Structure& s, uint32_t b, std::vector<bool>& told) {
  std::vector<uint32_t> around;
  for (auto loop = s.blocks[b].loop; loop; loop = s.loops[*loop].parent) around.push_back(*loop);
  for (auto it = around.rbegin(); it != around.rend(); ++it) {
    if (told[*it]) continue;
    told[*it] = true;
    const auto& loop = s.loops[*it];
    std::string indent((std::min<uint32_t>(loop.depth, kDeepest) - 1) * 2, ' ');
    auto trips = trips_text(loop);
    table.add({fmt::format("{}loop {}", indent, *it), lines_text(loop.lines), fmt::format("{:>5}", loop.instructions),
               "", trips.empty() ? "turns not known" : trips});
  }
}

std::vector<std::string> row_of(const Structure& s, const BlockRun& run) {
  const auto& first = s.blocks[run.first];
  const std::string indent((first.loop ? std::min<uint32_t>(s.loops[*first.loop].depth, kDeepest) : 0) * 2, ' ');
  const bool one = run.first == run.last;
  const auto name = one ? fmt::format("B{}{}", run.first, first.label.empty() ? "" : " " + first.label)
                        : fmt::format("B{}-B{}, small ones", run.first, run.last);
  return {indent + name, run.lines.first ? lines_text(run.lines) : "", fmt::format("{:>5}", run.instructions),
          s.live_known ? fmt::format("{:>3} {:>3}  {}", first.live_at_start, run.peak, bar(run.peak, s.peak)) : "",
          one ? next_text(first) : ""};
}

void add_blocks(std::string& text, const Structure& s) {
  if (s.mix.total() == 0) return;
  text += "\n  Blocks and loops\n";
  Table table;
  table.add({"", "", "instr", s.live_known ? "live: at start, peak" : "", "then"});
  std::vector<bool> told(s.loops.size(), false);
  for (const auto& run : block_runs(s)) {
    if (s.blocks[run.first].instructions == 0 && s.blocks[run.first].successors.empty()) continue;
    add_loop_heads(table, s, run.first, told);
    table.add(row_of(s, run));
  }
  text += table.text("    ");
  if (s.loops.empty()) return;
  text += "\n  What the loops are made of\n";
  Table mixes;
  for (uint32_t l = 0; l < s.loops.size(); ++l) mixes.add({fmt::format("loop {}", l), mix_text(s.loops[l].mix, 8)});
  text += mixes.text("    ");
}

std::string place_of(const Structure& s, const AccessGroup& group) {
  const auto& loop = s.blocks[group.first->block].loop;
  if (loop) return fmt::format("loop {}", *loop);
  return group.first->block == group.last_block ? fmt::format("B{}", group.last_block)
                                                : fmt::format("B{}-B{}", group.first->block, group.last_block);
}

std::string alignment_text(const AccessFacts& access) {
  if (access.alignment < access.required)
    return fmt::format("aligned to {} of {} bytes", access.alignment, access.required);
  return fmt::format("aligned to {}", std::min<uint32_t>(access.alignment, Known::kBuffer));
}

void add_accesses(std::string& text, const Structure& s) {
  if (s.accesses.empty()) return;
  text += "\n  Memory accesses, as a full warp makes them\n";
  Table table;
  for (const auto& group : grouped(s)) {
    const auto& access = *group.first;
    auto lines = group.count > 1 ? fmt::format("lines {}-{} ({})", access.line, group.last_line, group.count)
                                 : fmt::format("line {}", access.line);
    auto step = access.loop_step.empty() || access.loop_step == "0" ? "" : fmt::format("+{} a turn", access.loop_step);
    table.add({lines, place_of(s, group), access_text(access), readable_name(access.base), lanes_text(access),
               cost_text(access), alignment_text(access), step});
  }
  text += table.text("    ");
}

void add_barriers(std::string& text, const Structure& s) {
  if (s.barriers.empty()) return;
  text += "\n  Barriers, fences and waits\n";
  Table table;
  for (const auto& barrier : s.barriers) {
    const auto& loop = s.blocks[barrier.block].loop;
    table.add({fmt::format("line {}", barrier.line),
               loop ? fmt::format("loop {}", *loop) : fmt::format("B{}", barrier.block),
               std::string(name_of(barrier.kind)), barrier.instruction});
  }
  text += table.text("    ");
}

bool alike(const AccessFacts& a, const AccessFacts& b) {
  return a.space == b.space && a.reads == b.reads && a.writes == b.writes && a.atomic == b.atomic &&
         a.async == b.async && a.bytes == b.bytes && a.vector == b.vector && a.base == b.base &&
         a.lanes.stride == b.lanes.stride && a.lanes.lane_stride == b.lanes.lane_stride &&
         a.lanes.group == b.lanes.group && a.stride_text == b.stride_text && a.loop_step == b.loop_step &&
         a.sectors == b.sectors && a.wavefronts == b.wavefronts &&
         (a.alignment < a.required) == (b.alignment < b.required);
}

}  // namespace

std::vector<BlockRun> block_runs(const Structure& s) {
  constexpr size_t kMany = 48;
  constexpr uint32_t kSmall = 16;
  std::vector<BlockRun> runs;
  for (uint32_t b = 0; b < s.blocks.size(); ++b) {
    const auto& block = s.blocks[b];
    const bool joins = s.blocks.size() > kMany && !runs.empty() && block.instructions <= kSmall &&
                       s.blocks[runs.back().last].instructions <= kSmall &&
                       block.loop == s.blocks[runs.back().last].loop;
    if (!joins) runs.push_back({b, b, {}, 0, 0});
    auto& run = runs.back();
    run.last = b;
    if (block.lines.first && !run.lines.first) run.lines.first = block.lines.first;
    run.lines.last = std::max(run.lines.last, block.lines.last);
    run.instructions += block.instructions;
    run.peak = std::max(run.peak, block.peak);
  }
  return runs;
}

std::vector<AccessGroup> grouped(const Structure& s) {
  std::vector<AccessGroup> groups;
  for (const auto& access : s.accesses) {
    // Different accesses alternate: so any group of this loop may go on.
    auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
      return s.blocks[g.first->block].loop == s.blocks[access.block].loop && alike(*g.first, access);
    });
    if (same == groups.end()) {
      groups.push_back({&access, 1, access.line, access.block});
    } else {
      ++same->count;
      same->last_line = access.line;
      same->last_block = access.block;
    }
  }
  return groups;
}

std::string mix_text(const InstructionMix& mix, size_t most) {
  std::vector<MixClass> order;
  for (size_t i = 0; i < mix.counts.size(); ++i)
    if (mix.counts[i]) order.push_back(static_cast<MixClass>(i));
  std::stable_sort(order.begin(), order.end(), [&](MixClass a, MixClass b) { return mix[a] > mix[b]; });
  std::vector<std::string> parts;
  for (MixClass part : order) {
    if (parts.size() == most) break;
    parts.push_back(fmt::format("{} {}", name_of(part), mix[part]));
  }
  return fmt::format("{}{}", fmt::join(parts, ", "), order.size() > most ? ", ..." : "");
}

std::string trips_text(const LoopFacts& loop) {
  const std::string prefix = loop.at_most ? "at most " : "";
  if (loop.least_trips && loop.most_trips) {
    if (*loop.least_trips == *loop.most_trips) return prefix + plural(static_cast<uint64_t>(*loop.most_trips), "turn");
    return fmt::format("{}{} to {} turns", prefix, *loop.least_trips, *loop.most_trips);
  }
  return loop.trips.empty() ? "" : fmt::format("{}{} turns", prefix, loop.trips);
}

std::string access_text(const AccessFacts& access) {
  std::string what = access.async    ? access.reads ? "async read" : "async write"
                     : access.atomic ? access.reads ? "atomic" : "reduction"
                     : access.reads  ? "load"
                                     : "store";
  const auto space = access.space == isa::Space::generic ? "generic" : isa::name_of(access.space);
  what += fmt::format(" {}", space);
  if (access.bytes == 0) return what;
  if (access.vector > 1) return what + fmt::format(" {} x {} bytes", access.vector, access.bytes / access.vector);
  return what + fmt::format(" {}", plural(access.bytes, "byte"));
}

std::string lanes_text(const AccessFacts& access) {
  if (access.one_thread) return "one thread for all";
  const auto& lanes = access.lanes;
  auto apart = [&](int64_t stride) {
    if (stride == 0) return std::string("on one address");
    return stride == int64_t{access.bytes} ? std::string("next to each other") : fmt::format("{} bytes apart", stride);
  };
  switch (lanes.stride) {
    case StrideClass::uniform: return "all on one address";
    case StrideClass::affine:
      if (lanes.lane_stride) return apart(*lanes.lane_stride);
      return access.stride_text.empty() ? "a distance apart that sizes decide"
                                        : fmt::format("{} bytes apart", access.stride_text);
    case StrideClass::tiled:
      return fmt::format("{} groups of {}, {}", kLanes / lanes.group, lanes.group,
                         apart(lanes.lane_stride.value_or(0)));
    case StrideClass::pattern: return "a known pattern";
    case StrideClass::irregular: return "irregular";
  }
  return "";
}

std::string cost_text(const AccessFacts& access) {
  auto text = [](uint32_t count, std::string_view one, std::string_view many, uint32_t best) {
    auto said = fmt::format("{} {}", count, count == 1 ? one : many);
    return count > best ? said + fmt::format(", {} at best", best) : said;
  };
  if (access.sectors) return text(*access.sectors, "sector", "sectors", access.lanes.ideal_sectors);
  return access.wavefronts ? text(*access.wavefronts, "pass", "passes", access.lanes.ideal_wavefronts) : "";
}

std::string structure_text(const Structure& structure, const std::optional<Assembly>& assembly) {
  std::string text;
  add_heading(text, structure, assembly);
  add_blocks(text, structure);
  add_accesses(text, structure);
  add_barriers(text, structure);
  return text;
}

}  // namespace ptxlab::analysis
