#include "llm/prompt_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/structure_text.h"
#include "isa/target.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "record/text.h"

namespace ptxlab::llm {
namespace {

using kainjow::mustache::data;

data list_of(const std::vector<std::string>& texts) {
  data list(data::type::list);
  for (const auto& text : texts) {
    data item;
    item.set("text", text);
    list.push_back(item);
  }
  return list;
}
template <class Range>
std::string joined(const Range& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}
// An absent value is false, so that its section is left out.
void set_or_false(data& into, const std::string& key, const std::string& text) {
  if (text.empty()) {
    into.set(key, data(data::type::bool_false));
  } else {
    into.set(key, text);
  }
}
void set_bool(data& into, const std::string& key, bool value) {
  into.set(key, data(value ? data::type::bool_true : data::type::bool_false));
}

std::string text_of(const task::Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(fmt::format("{} = {}", name, value));
  return joined(parts);
}

std::string kind_of(task::Argument::Kind kind) {
  switch (kind) {
    case task::Argument::Kind::in: return "input buffer of";
    case task::Argument::Kind::out: return "output buffer of";
    case task::Argument::Kind::inout: return "buffer read and written of";
    case task::Argument::Kind::scalar: return "scalar";
    case task::Argument::Kind::structure: return "struct";
  }
  return "";
}

std::string text_of(const task::Tolerance& tolerance) {
  switch (tolerance.kind) {
    case task::Tolerance::Kind::exact: return "every bit";
    case task::Tolerance::Kind::floating:
      if (tolerance.without_terms) return "within what the kernel's own rounding moves it";
      return fmt::format("within the rounding of sums kept in {} over {} terms", isa::name_of(tolerance.accumulate),
                         tolerance.terms.text());
    case task::Tolerance::Kind::unordered: return "the same elements in any order";
    case task::Tolerance::Kind::absolute: return fmt::format("within {} + {} |right|", tolerance.abs, tolerance.rel);
  }
  return "";
}

void add_task(data& values, const task::Task& task) {
  values.set("task", task.name);
  set_or_false(values, "origin", task.origin);
  data arguments(data::type::list);
  for (const auto& argument : task.arguments) {
    data item;
    item.set("name", argument.name);
    item.set("kind", kind_of(argument.kind));
    item.set("type", std::string(isa::name_of(argument.type)));
    std::vector<std::string> shape;
    for (const auto& size : argument.shape) shape.push_back(size.text());
    set_or_false(item, "shape", joined(shape));
    set_or_false(item, "value", argument.value);
    auto tolerance = task.tolerances.find(argument.name);
    set_or_false(item, "tolerance",
                 argument.output() && tolerance != task.tolerances.end() ? text_of(tolerance->second) : "");
    arguments.push_back(item);
  }
  values.set("arguments", arguments);
  std::vector<std::string> where, checked, timed, random;
  for (const auto& condition : task.where) where.push_back(condition.text());
  for (const auto& sizes : task.emulate) checked.push_back(text_of(sizes));
  for (const auto& sizes : task.time) timed.push_back(text_of(sizes.sizes));
  for (const auto& [name, range] : task.random_ranges)
    random.push_back(fmt::format("{} from {} to {}", name, range.first.text(), range.second.text()));
  set_bool(values, "has_where", !where.empty());
  values.set("where", list_of(where));
  values.set("checked_sizes", list_of(checked));
  values.set("timed_sizes", list_of(timed));
  data drawn(data::type::list);
  if (task.random_count > 0) drawn = list_of({joined(random)});
  values.set("random", drawn);
  values.set("parameters", list_of(task.params));
  std::vector<std::string> allowed;
  for (const auto& word : task.allow) allowed.push_back(word == "approx" ? "approximate instructions" : word);
  values.set("allowed", allowed.empty() ? "nothing" : joined(allowed));
}

void add_target(data& values, const record::Brief& brief, const ptx::Module& baseline) {
  const auto& limits = isa::limits_of(brief.target);
  values.set("target", brief.target.name());
  // The baseline's version is one that the user's own tools take.
  auto version = std::max(baseline.version, isa::first_version(brief.target));
  values.set("ptx_version", fmt::format("{}.{}", version / 10, version % 10));
  values.set("sm_threads", fmt::format("{}", limits.max_threads));
  values.set("sm_registers", fmt::format("{}", limits.registers));
  values.set("sm_shared", fmt::format("{}", limits.shared_bytes));
  values.set("thread_registers", fmt::format("{}", limits.max_registers_thread));
  values.set("cta_shared", fmt::format("{}", limits.shared_bytes_cta));
}

void add_constraints(data& values, const record::Constraints& constraints) {
  std::vector<std::string> texts;
  auto add = [&](const std::optional<int>& limit, const char* what) {
    if (limit) texts.push_back(fmt::format("at most {} {}", *limit, what));
  };
  add(constraints.max_registers, "registers a thread, as ptxas counts them");
  add(constraints.max_shared_bytes, "bytes of shared memory a CTA");
  add(constraints.max_block_threads, "threads a CTA");
  add(constraints.vector_bytes, "bytes a thread in one access");
  set_bool(values, "has_constraints", !texts.empty());
  values.set("constraints", list_of(texts));
}

std::string block_name(const analysis::Structure& structure, uint32_t index) {
  const auto& label = structure.blocks[index].label;
  return label.empty() ? fmt::format("block {}", index) : fmt::format("block {} ({})", index, label);
}

data kernel_of(const ptx::Function& function) {
  auto structure = analysis::structure_of(function);
  data kernel;
  kernel.set("name", structure.function);
  kernel.set("block_count", fmt::format("{}", structure.blocks.size()));
  kernel.set("loop_count", fmt::format("{}", structure.loops.size()));
  set_bool(kernel, "live_known", structure.live_known);
  kernel.set("peak", fmt::format("{}", structure.peak));
  kernel.set("peak_block", block_name(structure, structure.peak_block));
  data blocks(data::type::list), loops(data::type::list), accesses(data::type::list);
  auto loop_name = [](const std::optional<uint32_t>& loop) {
    return loop ? fmt::format("loop {}", *loop) : std::string();
  };
  for (uint32_t b = 0; b < structure.blocks.size(); ++b) {
    const auto& facts = structure.blocks[b];
    data block;
    block.set("block", block_name(structure, b));
    block.set("first", fmt::format("{}", facts.lines.first));
    block.set("last", fmt::format("{}", facts.lines.last));
    block.set("instructions", fmt::format("{}", facts.instructions));
    block.set("live", fmt::format("{}", facts.live_at_start));
    block.set("peak", fmt::format("{}", facts.peak));
    set_or_false(block, "loop", loop_name(facts.loop));
    std::vector<std::string> next;
    for (uint32_t s : facts.successors) next.push_back(fmt::format("{}", s));
    set_or_false(block, "next", joined(next));
    blocks.push_back(block);
  }
  for (uint32_t l = 0; l < structure.loops.size(); ++l) {
    const auto& facts = structure.loops[l];
    data loop;
    loop.set("loop", loop_name(l));
    loop.set("first", fmt::format("{}", facts.lines.first));
    loop.set("last", fmt::format("{}", facts.lines.last));
    loop.set("depth", fmt::format("{}", facts.depth));
    loop.set("header", block_name(structure, facts.header));
    loops.push_back(loop);
  }
  for (const auto& facts : structure.accesses) {
    data access;
    access.set("line", fmt::format("{}", facts.line));
    access.set("instruction", facts.instruction);
    access.set("bytes", fmt::format("{}", facts.bytes));
    set_or_false(access, "base", facts.base);
    access.set("stride", analysis::lanes_text(facts));
    set_or_false(access, "cost", analysis::cost_text(facts));
    set_or_false(access, "loop", loop_name(structure.blocks[facts.block].loop));
    set_or_false(access, "step", facts.loop_step);
    accesses.push_back(access);
  }
  kernel.set("blocks", blocks);
  kernel.set("loops", loops);
  kernel.set("accesses", accesses);
  set_bool(kernel, "has_loops", !structure.loops.empty());
  set_bool(kernel, "has_accesses", !structure.accesses.empty());
  return kernel;
}

std::string occupancy_text(const record::Brief& brief, const toolchain::Resources& resources,
                           const launch::Plan& plan) {
  for (const auto& launch : plan.launches) {
    if (resources.entry.find(launch.entry) == std::string::npos || launch.block.empty()) continue;
    // Only where the block's size is a plain number; what depends on sizes has no one occupancy.
    int64_t threads = 1;
    for (const auto& extent : launch.block) {
      const auto& text = extent.text();
      bool number = !text.empty() && text.size() < 5 &&
                    std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!number) return "";
      threads *= std::stol(text);
    }
    auto found = toolchain::occupancy(brief.target, static_cast<int>(threads), resources.registers, resources.shared);
    return fmt::format(
        "{} CTAs of {} threads fit an SM, {:.0f} % of its warps, limited by {}, dynamic shared memory apart",
        found.ctas, threads, found.fraction * 100, found.limited_by);
  }
  return "";
}

// What is in an entry's machine code, one text; "" where nobody looked.
std::string machine_code(const std::vector<toolchain::SassFacts>& all, std::string_view entry) {
  for (const auto& facts : all) {
    if (facts.entry == entry || entry.empty()) return fmt::format("{}", fmt::join(toolchain::sass_lines(facts), ". "));
  }
  return "";
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
    set_or_false(item, "occupancy", occupancy_text(brief, resources, plan));
    set_or_false(item, "machine_code", machine_code(brief.baseline_sass, resources.entry));
    list.push_back(item);
  }
  set_bool(values, "has_resources", !brief.baseline_resources.empty());
  values.set("resources", list);
}

// The module as a model should see it: without the compiler's notes about source lines, which cost as many tokens as the
// code.
std::string without_debug(ptx::Module module) {
  std::erase_if(module.items, [&](const ptx::Item& item) {
    if (item.kind != ptx::Item::Kind::directive) return false;
    const auto& text = module.directives[item.index];
    return text.starts_with(".file") || text.starts_with(".section");
  });
  for (auto& function : module.functions)
    std::erase_if(function.body, [](const ptx::Statement& s) { return std::holds_alternative<ptx::Loc>(s.what); });
  return ptx::print(module);
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// What the gates said, errors first; more than a dozen say no more than the first.
std::string findings_of(const record::Earlier& earlier) {
  constexpr size_t kMost = 12;
  base::Findings all;
  for (const auto& gate : earlier.verdict.gates) all.insert(all.end(), gate.findings.begin(), gate.findings.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.severity > b.severity; });
  std::string text;
  for (size_t i = 0; i < all.size() && i < kMost; ++i) {
    const auto& place = all[i].place.file;
    bool plan = place.ends_with(".toml"), answer = place.ends_with(".md");
    const std::string& source = answer                           ? earlier.candidate.answer
                                : plan && earlier.candidate.plan ? *earlier.candidate.plan
                                                                 : earlier.candidate.ptx;
    text += base::render(all[i], source);
  }
  if (all.size() > kMost) text += fmt::format("and {} more\n", all.size() - kMost);
  return trimmed(std::move(text));
}

}  // namespace

base::Result<data> prompt_data(const record::Brief& brief) {
  auto original = ptx::check(brief.baseline_ptx, "baseline.ptx");
  if (!original.ok()) return original.findings;
  auto plan = launch::read_plan(brief.baseline_plan, "baseline.plan.toml");
  if (!plan) return plan.findings();
  std::string text = trimmed(without_debug(original.module));
  // Read again, so that lines are those of the text that is shown.
  auto baseline = ptx::check(text, "baseline.ptx");
  if (!baseline.ok()) return baseline.findings;
  data values;
  add_task(values, brief.task);
  add_target(values, brief, baseline.module);
  add_constraints(values, brief.constraints);
  set_bool(values, "has_source", !brief.source.empty());
  values.set("source", trimmed(brief.source));
  values.set("ptx", text);
  values.set("plan", trimmed(brief.baseline_plan));
  data kernels(data::type::list);
  std::vector<const ptx::Function*> shown;
  for (const auto& launch : plan->launches) {
    const auto* entry = baseline.module.entry(launch.entry);
    if (!entry || std::find(shown.begin(), shown.end(), entry) != shown.end()) continue;
    shown.push_back(entry);
    kernels.push_back(kernel_of(*entry));
  }
  values.set("kernels", kernels);
  add_resources(values, brief, *plan);
  return values;
}

std::vector<size_t> most_telling(const std::vector<record::Earlier>& earlier) {
  std::vector<size_t> order;
  for (size_t i = earlier.size(); i-- > 0;) order.push_back(i);
  auto speed = [&](size_t i) {
    return record::is_right(earlier[i].verdict.outcome) ? earlier[i].verdict.estimated_speedup.value_or(1) : 0.0;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return speed(a) > speed(b); });
  return order;
}

void add_earlier(data& values, const record::Brief& brief, const std::vector<size_t>& shown) {
  data list(data::type::list);
  for (size_t i : shown) {
    const auto& earlier = brief.earlier[i];
    data item;
    item.set("number", fmt::format("{}", i + 1));
    item.set("name", earlier.candidate.name);
    item.set("outcome", std::string(record::name_of(earlier.verdict.outcome)));
    item.set("reason", earlier.verdict.reason);
    set_or_false(item, "idea", earlier.candidate.idea);
    const auto& speedup = earlier.verdict.estimated_speedup;
    set_or_false(item, "estimate", speedup ? fmt::format("{:.2f}", *speedup) : "");
    set_or_false(item, "machine_code", machine_code(earlier.verdict.sass, ""));
    const auto& counters = earlier.verdict.counters;
    set_or_false(item, "counters", counters ? trimmed(record::counters_text(*counters)) : "");
    std::string findings = findings_of(earlier);
    set_bool(item, "has_findings", !findings.empty());
    item.set("findings", findings);
    set_or_false(item, "ptx", trimmed(earlier.candidate.ptx));
    set_or_false(item, "plan", trimmed(earlier.candidate.plan.value_or("")));
    list.push_back(item);
  }
  set_bool(values, "has_earlier", !brief.earlier.empty());
  values.set("earlier", list);
  size_t missing = brief.earlier.size() - shown.size();
  values.set("left_out", missing ? fmt::format("{} more are not shown.", missing) : "");
}

}  // namespace ptxlab::llm
