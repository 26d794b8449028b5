#include "llm/prompt_data.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "isa/target.h"
#include "llm/prompt_kernel.h"
#include "llm/prompt_values.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::llm {
namespace {

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

// What the answer's form calls things.
void add_form(data& values, const record::Brief& brief, const record::Ask& ask) {
  const bool cuda = brief.language == record::Language::cuda;
  set_bool(values, "cuda_arm", cuda);
  values.set("language", cuda ? "CUDA C" : "PTX");
  values.set("did", ask.job == record::Job::write ? "wrote" : ask.job == record::Job::repair ? "mended" : "changed");
  set_or_false(values, "strategy", ask.strategy);
  set_or_false(values, "advice", ask.advice);
}

// A task of the repository says in words what it computes.
void add_description(data& values, const task::Task& task) {
  auto text =
      task.user ? base::Result<std::string>(std::string()) : base::read_file(task.folder / "prompt.md", 1 << 16);
  set_or_false(values, "description", text ? trimmed(*text) : "");
}

// An entry up to its body: name, parameters, directives.
std::string header_of(const ptx::Module& module, const ptx::Function& entry) {
  const auto whole = std::string_view(module.source).substr(entry.span.begin, entry.span.size());
  return trimmed(std::string(whole.substr(0, whole.find('{'))));
}

void add_interface(data& values, const ptx::Module& module, const launch::Plan& plan) {
  std::vector<std::string> headers;
  for (const auto& launch : plan.launches) {
    const auto* entry = module.entry(launch.entry);
    auto text = entry ? header_of(module, *entry) : std::string();
    if (!text.empty() && std::find(headers.begin(), headers.end(), text) == headers.end()) headers.push_back(text);
  }
  values.set("headers", list_of(headers));
}

void add_hardware(data& values, const record::Brief& brief) {
  data list(data::type::list);
  for (const auto& fact : brief.hardware) {
    data item;
    item.set("name", fact.name);
    item.set("value", fact.value);
    list.push_back(item);
  }
  values.set("hardware", list);
}

// Lines of the text as it came to lines of the text that is shown, by the instructions on them.
LineMap lines_of(const ptx::Module& from, const ptx::Module& to) {
  LineMap map;
  for (const auto& function : from.functions) {
    const auto* shown = to.function(function.name);
    if (!shown) continue;
    std::vector<uint32_t> lines;
    for (const auto& statement : shown->body)
      if (const auto* instruction = statement.instruction()) lines.push_back(instruction->line);
    size_t n = 0;
    for (const auto& statement : function.body)
      if (const auto* instruction = statement.instruction(); instruction && n < lines.size())
        map.try_emplace(instruction->line, lines[n++]);
  }
  return map;
}

}  // namespace

base::Result<data> prompt_data(const record::Brief& brief, const record::Ask& ask) {
  const bool about_one = ask.job == record::Job::repair || ask.job == record::Job::reflect;
  if (about_one && (!ask.about || *ask.about >= brief.earlier.size()))
    return base::error(
        "LLM0031", fmt::format("'{}' has to be about an earlier attempt, and there is none", record::name_of(ask.job)),
        "a brief with `earlier`, and an ask with `about`");
  auto original = ptx::check(brief.baseline_ptx, "baseline.ptx");
  if (!original.ok()) return original.findings;
  auto plan = launch::read_plan(brief.baseline_plan, "baseline.plan.toml");
  if (!plan) return plan.findings();
  std::string text = trimmed(without_debug(original.module));
  // Read again, so that lines are those of the text that is shown.
  auto baseline = ptx::check(text, "baseline.ptx");
  if (!baseline.ok()) return baseline.findings;
  data values;
  add_form(values, brief, ask);
  add_task(values, brief.task);
  add_description(values, brief.task);
  add_target(values, brief, baseline.module);
  add_hardware(values, brief);
  add_constraints(values, brief.constraints);
  set_bool(values, "has_source", !brief.source.empty());
  values.set("source", trimmed(brief.source));
  values.set("ptx", text);
  values.set("plan", trimmed(brief.baseline_plan));
  add_interface(values, original.module, *plan);
  add_kernels(values, brief, baseline.module, *plan);
  add_resources(values, brief, *plan);
  add_times(values, brief);
  add_hot_lines(values, brief.baseline_profile, text, lines_of(original.module, baseline.module));
  add_focus(values, brief, ask);
  return values;
}

}  // namespace ptxlab::llm
