#include "llm/prompt_kernel.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "analysis/structure_text.h"
#include "llm/prompt_values.h"
#include "record/structure.h"
#include "record/timing_text.h"

namespace ptxlab::llm {
namespace {

std::string block_name(const analysis::Structure& structure, uint32_t index) {
  const auto& label = structure.blocks[index].label;
  return label.empty() ? fmt::format("block {}", index) : fmt::format("block {} ({})", index, label);
}

std::string loop_name(const std::optional<uint32_t>& loop) {
  return loop ? fmt::format("loop {}", *loop) : std::string();
}

void add_blocks(data& kernel, const analysis::Structure& structure) {
  data blocks(data::type::list);
  for (const auto& run : analysis::block_runs(structure)) {
    const auto& facts = structure.blocks[run.first];
    const bool one = run.first == run.last;
    data block;
    block.set("block", one ? block_name(structure, run.first) : fmt::format("blocks {} to {}", run.first, run.last));
    block.set("first", fmt::format("{}", run.lines.first));
    block.set("last", fmt::format("{}", run.lines.last));
    block.set("instructions", fmt::format("{}", run.instructions));
    block.set("live", fmt::format("{}", facts.live_at_start));
    block.set("peak", fmt::format("{}", run.peak));
    set_or_false(block, "loop", loop_name(facts.loop));
    set_bool(block, "diverges", one && facts.diverges);
    std::vector<std::string> next;
    for (uint32_t s : structure.blocks[run.last].successors) next.push_back(fmt::format("{}", s));
    set_or_false(block, "next", joined(next));
    blocks.push_back(block);
  }
  kernel.set("blocks", blocks);
}

// "ceil((n - tid.x) / 256) turns, 16 at m=16384 n=4096"
std::string turns(const analysis::LoopFacts& loop, const std::string& size) {
  if (loop.trips.empty()) return "";
  analysis::LoopFacts symbolic = loop;
  symbolic.least_trips.reset();
  const auto words = analysis::trips_text(symbolic);
  if (!loop.most_trips || fmt::format("{}", *loop.most_trips) == loop.trips) return words;
  const auto number = *loop.least_trips == *loop.most_trips
                          ? fmt::format("{}", *loop.most_trips)
                          : fmt::format("{} to {}", *loop.least_trips, *loop.most_trips);
  return size.empty() ? fmt::format("{}, which is {}", words, number)
                      : fmt::format("{}, {} at {}", words, number, size);
}

void add_loops(data& kernel, const analysis::Structure& structure, const std::string& size) {
  data loops(data::type::list);
  for (uint32_t l = 0; l < structure.loops.size(); ++l) {
    const auto& facts = structure.loops[l];
    data loop;
    loop.set("loop", loop_name(l));
    loop.set("first", fmt::format("{}", facts.lines.first));
    loop.set("last", fmt::format("{}", facts.lines.last));
    loop.set("depth", fmt::format("{}", facts.depth));
    loop.set("header", block_name(structure, facts.header));
    set_or_false(loop, "trips", turns(facts, size));
    loop.set("mix", analysis::mix_text(facts.mix, 8));
    loops.push_back(loop);
  }
  kernel.set("loops", loops);
  set_bool(kernel, "has_loops", !structure.loops.empty());
}

void add_accesses(data& kernel, const analysis::Structure& structure) {
  data accesses(data::type::list);
  for (const auto& group : analysis::grouped(structure)) {
    const auto& facts = *group.first;
    data access;
    access.set("line", fmt::format("{}", facts.line));
    access.set("instruction", facts.instruction);
    access.set("bytes", fmt::format("{}", facts.bytes));
    set_or_false(access, "base", facts.base);
    access.set("stride", analysis::lanes_text(facts));
    set_or_false(access, "cost", analysis::cost_text(facts));
    access.set("alignment", facts.alignment < facts.required
                                ? fmt::format("{} of the {} bytes that it needs, as far as is certain", facts.alignment,
                                              facts.required)
                                : fmt::format("{}", std::min<int64_t>(facts.alignment, analysis::Known::kBuffer)));
    set_or_false(access, "loop", loop_name(structure.blocks[facts.block].loop));
    set_or_false(access, "step", facts.loop_step == "0" ? "" : facts.loop_step);
    set_or_false(
        access, "more",
        group.count > 1 ? fmt::format("{} more like it, the last at line {}", group.count - 1, group.last_line) : "");
    accesses.push_back(access);
  }
  kernel.set("accesses", accesses);
  set_bool(kernel, "has_accesses", !structure.accesses.empty());
}

void add_barriers(data& kernel, const analysis::Structure& structure) {
  data barriers(data::type::list);
  for (const auto& facts : structure.barriers) {
    data barrier;
    barrier.set("line", fmt::format("{}", facts.line));
    barrier.set("what", std::string(analysis::name_of(facts.kind)));
    barriers.push_back(barrier);
  }
  kernel.set("barriers", barriers);
  set_bool(kernel, "has_barriers", !structure.barriers.empty());
}

// What the numbers of sizes hold for; empty where none is known.
std::string size_of(const record::Brief& brief, const analysis::Known& known) {
  if (known.parameters.empty() || brief.task.time.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : record::main_size(brief.task)->sizes)
    parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

data kernel_of(const record::Brief& brief, const ptx::Module& module, const launch::Plan& plan,
               const ptx::Function& entry) {
  const auto known = record::known_of(plan, module, entry, &brief.task);
  const auto structure = analysis::structure_of(entry, known);
  const auto size = size_of(brief, known);
  data kernel;
  kernel.set("name", structure.function);
  kernel.set("block_count", fmt::format("{}", structure.blocks.size()));
  kernel.set("loop_count", fmt::format("{}", structure.loops.size()));
  kernel.set("instruction_count", fmt::format("{}", structure.mix.total()));
  kernel.set("mix", analysis::mix_text(structure.mix));
  set_bool(kernel, "live_known", structure.live_known);
  kernel.set("peak", fmt::format("{}", structure.peak));
  kernel.set("peak_block", block_name(structure, structure.peak_block));
  set_or_false(kernel, "size", size);
  add_blocks(kernel, structure);
  add_loops(kernel, structure, size);
  add_accesses(kernel, structure);
  add_barriers(kernel, structure);
  return kernel;
}

std::string entry_occupancy(const record::Brief& brief, const toolchain::Resources& resources,
                            const launch::Plan& plan) {
  for (const auto& launch : plan.launches) {
    if (resources.entry.find(launch.entry) == std::string::npos) continue;
    return record::occupancy_text(brief.target, record::block_of(plan, launch), resources.registers, resources.shared);
  }
  return "";
}

std::string rate_text(uint64_t counted, uint64_t ideal, uint64_t requests, std::string_view unit) {
  const auto per = [&](uint64_t n) { return static_cast<double>(n) / static_cast<double>(requests); };
  return fmt::format("{:.1f} {} a request where {:.1f} would do", per(counted), unit, per(ideal));
}

// What its accesses cost beyond what they would at best; "" where that is little.
std::string excess_text(const record::LineProfile::Counts& counts) {
  if (counts.requests == 0) return "";
  std::string text;
  if (counts.sectors > counts.ideal_sectors + counts.ideal_sectors / 8)
    text = rate_text(counts.sectors, counts.ideal_sectors, counts.requests, "sectors");
  if (counts.passes > counts.ideal_passes + counts.ideal_passes / 8)
    text += (text.empty() ? "" : ", ") +
            rate_text(counts.passes, counts.ideal_passes, counts.requests, "passes over the banks");
  return text;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    for (char& c : line)
      if (c == '\t') c = ' ';
    lines.push_back(line);
  }
  return lines;
}

// Those that are issued most, and those that waste most.
std::vector<const record::LineProfile::Counts*> hottest(const record::LineProfile& profile) {
  constexpr size_t kIssued = 10, kWasteful = 5;
  std::vector<const record::LineProfile::Counts*> all;
  for (const auto& counts : profile.lines)
    if (counts.warps) all.push_back(&counts);
  std::set<const record::LineProfile::Counts*> chosen;
  auto take = [&](size_t most, auto weight) {
    auto order = all;
    std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return weight(*a) > weight(*b); });
    for (size_t i = 0; i < order.size() && i < most && weight(*order[i]) > 0; ++i) chosen.insert(order[i]);
  };
  take(kIssued, [](const auto& c) { return c.requests ? 2 * c.warps : c.warps; });  // accesses wait
  take(kWasteful,
       [](const auto& c) { return excess_text(c).empty() ? 0 : c.sectors - std::min(c.sectors, c.ideal_sectors); });
  take(kWasteful,
       [](const auto& c) { return excess_text(c).empty() ? 0 : c.passes - std::min(c.passes, c.ideal_passes); });
  std::vector<const record::LineProfile::Counts*> lines(chosen.begin(), chosen.end());
  std::sort(lines.begin(), lines.end(), [](const auto* a, const auto* b) { return a->line < b->line; });
  return lines;
}

}  // namespace

void add_kernels(data& values, const record::Brief& brief, const ptx::Module& module, const launch::Plan& plan) {
  data kernels(data::type::list);
  std::vector<const ptx::Function*> shown;
  for (const auto& launch : plan.launches) {
    const auto* entry = module.entry(launch.entry);
    if (!entry || std::find(shown.begin(), shown.end(), entry) != shown.end()) continue;
    shown.push_back(entry);
    kernels.push_back(kernel_of(brief, module, plan, *entry));
  }
  values.set("kernels", kernels);
}

void add_resources(data& values, const record::Brief& brief, const launch::Plan& plan) {
  data list(data::type::list);
  for (const auto& resources : brief.baseline_resources) {
    data item;
    item.set("entry", resources.entry);
    item.set("registers", fmt::format("{}", resources.registers));
    item.set("spilled", fmt::format("{}", resources.spill_stores + resources.spill_loads));
    item.set("stack", fmt::format("{}", resources.stack));
    item.set("shared", fmt::format("{}", resources.shared));
    item.set("code", fmt::format("{}", resources.code_bytes));
    set_or_false(item, "occupancy", entry_occupancy(brief, resources, plan));
    set_or_false(item, "machine_code", machine_code(brief.baseline_sass, resources.entry));
    list.push_back(item);
  }
  set_bool(values, "has_resources", !brief.baseline_resources.empty());
  values.set("resources", list);
}

void add_times(data& values, const record::Brief& brief) {
  std::vector<std::string> times, estimates;
  std::string device;
  for (auto it = brief.earlier.rbegin(); it != brief.earlier.rend() && times.empty(); ++it) {
    if (!it->verdict.timing) continue;
    device = it->verdict.timing->device;
    for (const auto& one : it->verdict.timing->sizes) {
      auto text = fmt::format("{}: {} ({}; half of the executions lie within {:.1f} %)", one.size,
                              record::microseconds_text(one.baseline_us), one.baseline, 100 * one.baseline_spread);
      if (one.floor_us > 0)
        text += fmt::format("; no kernel can be faster than {}", record::microseconds_text(one.floor_us));
      if (one.bytes > 0 && one.baseline_us > 0)
        text += fmt::format("; {:.0f} GB/s of the bytes that have to be moved", one.bytes / one.baseline_us / 1e3);
      times.push_back(text);
    }
  }
  if (times.empty() && brief.baseline_estimate) {
    const auto& e = *brief.baseline_estimate;
    // A task of one size needs no name for it.
    estimates.push_back(fmt::format("{}{}about {} on {}, within {:.0f} %, bound by {}", e.size,
                                    e.size.empty() ? "" : ": ", record::microseconds_text(e.size_ns / 1000), e.device,
                                    100 * e.uncertainty, e.bound_by));
    std::vector<std::string> limits;
    for (const auto& limit : e.limits)
      if (limits.size() < 5)
        limits.push_back(fmt::format("{} {}", limit.name, record::microseconds_text(limit.value / 1000)));
    if (!limits.empty()) estimates.push_back(fmt::format("alone each would need: {}", fmt::join(limits, ", ")));
    estimates.push_back(fmt::format("{} CTAs resident an SM, limited by {}; {:.1f} waves", e.resident_ctas,
                                    e.occupancy_limit, e.waves));
    if (e.dram_bytes > 0) estimates.push_back(fmt::format("{:.1f} MB moved to and from DRAM", e.dram_bytes / 1e6));
  }
  set_bool(values, "has_times", !times.empty());
  values.set("device", device);
  values.set("times", list_of(times));
  set_bool(values, "has_estimate", !estimates.empty());
  values.set("estimates", list_of(estimates));
}

void add_hot_lines(data& values, const std::optional<record::LineProfile>& profile, const std::string& text,
                   const LineMap& map) {
  data list(data::type::list);
  uint64_t issued = 0;
  if (profile)
    for (const auto& counts : profile->lines) issued += counts.warps;
  const auto lines = lines_in(text);
  if (issued > 0) {
    for (const auto* counts : hottest(*profile)) {
      auto at = map.find(counts->line);
      const uint32_t line = at == map.end() ? counts->line : at->second;
      data item;
      item.set("line", fmt::format("{}", line));
      item.set("instruction", line >= 1 && line <= lines.size() ? lines[line - 1] : "");
      item.set("share",
               fmt::format("{:.1f}", 100.0 * static_cast<double>(counts->warps) / static_cast<double>(issued)));
      set_or_false(item, "cost", excess_text(*counts));
      list.push_back(item);
    }
  }
  set_bool(values, "has_hot", issued > 0);
  values.set("hot_of", profile ? profile->of : "");
  values.set("hot", list);
}

}  // namespace ptxlab::llm
