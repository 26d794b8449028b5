// ptxlab tasks list | show | lint | oracles: the kernel problems under tasks/, whether each can tell right from wrong, and
// their references for machines without a compiler.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/finding_json.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"
#include "judge/lint.h"
#include "task/reference_program.h"
#include "task/task.h"

namespace ptxlab::cli {
namespace {

std::filesystem::path folder() { return root() / "tasks"; }

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::string_view name_of(task::Argument::Kind kind) {
  switch (kind) {
    case task::Argument::Kind::in: return "in";
    case task::Argument::Kind::out: return "out";
    case task::Argument::Kind::inout: return "inout";
    case task::Argument::Kind::scalar: return "scalar";
    case task::Argument::Kind::structure: return "struct";
  }
  return "";
}

std::string_view name_of(task::Tolerance::Kind kind) {
  switch (kind) {
    case task::Tolerance::Kind::exact: return "exact";
    case task::Tolerance::Kind::floating: return "float";
    case task::Tolerance::Kind::unordered: return "unordered";
    case task::Tolerance::Kind::absolute: return "absolute";
  }
  return "";
}

// A type's name, or the fields of a struct or a record: "{d: f16, qs: s8[32]}".
std::string type_text(const task::Argument& argument) {
  if (argument.fields.empty()) return std::string(isa::name_of(argument.type));
  std::string text;
  for (const auto& field : argument.fields) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", field.name,
                        field.type == isa::Type::none ? "-> " + field.buffer : std::string(isa::name_of(field.type)));
    if (field.count > 1) text += fmt::format("[{}]", field.count);
  }
  return "{" + text + "}";
}

nlohmann::json sizes_json(const std::vector<task::Sizes>& sizes) { return sizes; }

nlohmann::json as_json(const task::Task& task) {
  nlohmann::json arguments = nlohmann::json::array(), timed = nlohmann::json::array();
  for (const auto& argument : task.arguments) {
    nlohmann::json shape = nlohmann::json::array();
    for (const auto& extent : argument.shape) shape.push_back(extent.text());
    arguments.push_back({{"name", argument.name},
                         {"kind", name_of(argument.kind)},
                         {"type", type_text(argument)},
                         {"shape", std::move(shape)},
                         {"value", argument.value}});
  }
  for (const auto& time : task.time) timed.push_back({{"sizes", time.sizes}, {"weight", time.weight}});
  nlohmann::json tolerances = nlohmann::json::object();
  for (const auto& [output, tolerance] : task.tolerances) tolerances[output] = name_of(tolerance.kind);
  return {{"name", task.name},           {"version", task.version},
          {"split", task.split},         {"level", task.level},
          {"objective", task.objective}, {"origin", task.origin},
          {"tags", task.tags},           {"targets", task.targets},
          {"allow", task.allow},         {"params", task.params},
          {"arguments", arguments},      {"emulate", sizes_json(task.emulate)},
          {"random", task.random_count}, {"time", timed},
          {"tolerance", tolerances},     {"reference", task.reference.has_value()},
          {"file", task.file.string()}};
}

std::string sizes_text(const task::Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::string as_text(const task::Task& task) {
  std::string text = fmt::format("{} (version {}, {}, level {})\n", task.name, task.version, task.split, task.level);
  auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<10} {}\n", name, value);
  };
  line("origin", task.origin);
  line("objective", task.objective);
  line("tags", joined(task.tags));
  line("targets", joined(task.targets));
  line("allow", joined(task.allow));
  line("params", joined(task.params));
  for (const auto& argument : task.arguments) {
    std::string shape;
    for (const auto& extent : argument.shape) shape += fmt::format("[{}]", extent.text());
    line(argument.name, fmt::format("{} {}{}{}", name_of(argument.kind), type_text(argument), shape,
                                    argument.value.empty() ? "" : " = " + argument.value));
  }
  for (const auto& [output, tolerance] : task.tolerances)
    line("tolerance", fmt::format("{}: {}{}", output, name_of(tolerance.kind),
                                  tolerance.reason.empty() ? "" : ", " + tolerance.reason));
  line("oracle", task.reference ? task.reference->string() : "the kernel itself, on the engine");
  std::vector<std::string> sizes;
  for (const auto& one : task.emulate) sizes.push_back(sizes_text(one));
  line("emulate", fmt::format("{}{}", fmt::join(sizes, "; "),
                              task.random_count ? fmt::format("; {} drawn", task.random_count) : ""));
  sizes.clear();
  for (const auto& one : task.time) sizes.push_back(sizes_text(one.sizes));
  line("time", fmt::format("{}", fmt::join(sizes, "; ")));
  line("file", task.file.string());
  return text;
}

int list(Words words) {
  bool json = false;
  Options options("tasks list", "Lists the tasks under tasks/.", "ptxlab tasks list\nptxlab tasks list --json");
  options.flag("--json", json, "Print one JSON object (ptxlab.tasks/1)");
  if (auto code = options.parse(words)) return *code;
  nlohmann::json all = nlohmann::json::array();
  base::Findings findings;
  std::string text;
  for (const auto& name : task::list_tasks(folder())) {
    auto task = task::find_task(name, folder());
    if (!task.ok()) {
      findings.insert(findings.end(), task.findings().begin(), task.findings().end());
      continue;
    }
    all.push_back(as_json(*task));
    text += fmt::format("{:<34} {:<9} level {}  {}\n", name, task->split, task->level, joined(task->tags));
  }
  if (json) {
    print_json({{"schema", "ptxlab.tasks/1"}, {"tasks", std::move(all)}, {"findings", base::to_json(findings)}});
  } else {
    print(text);
    if (!findings.empty()) print_findings(findings, "");
  }
  return findings.empty() ? kExitDone : kExitNo;
}

int show(Words words) {
  std::string word;
  bool json = false;
  Options options("tasks show", "Shows one task.",
                  "ptxlab tasks show norm/rmsnorm_bf16\nptxlab tasks show kernel.task.toml --json");
  options.argument("TASK", word, "A name under tasks/, a task folder, or a .task.toml");
  options.flag("--json", json, "Print one JSON object (ptxlab.tasks/1)");
  if (auto code = options.parse(words)) return *code;
  auto task = task::find_task(word, folder());
  if (!task.ok()) return refuse(task.findings());
  if (json) {
    print_json({{"schema", "ptxlab.tasks/1"}, {"tasks", {as_json(*task)}}, {"findings", nlohmann::json::array()}});
  } else {
    print(as_text(*task));
  }
  return kExitDone;
}

nlohmann::json as_json(const judge::LintReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : report.rows)
    rows.push_back({{"what", row.what}, {"result", judge::name_of(row.result)}, {"detail", row.detail}});
  return {{"task", report.task},
          {"ok", report.ok()},
          {"rows", std::move(rows)},
          {"findings", base::to_json(report.findings)}};
}

// By their names; every task where none is given.
base::Result<std::vector<task::Task>> find_all(std::vector<std::string> names) {
  if (names.empty()) names = task::list_tasks(folder());
  std::vector<task::Task> found;
  for (const auto& name : names) {
    auto task = task::find_task(name, folder());
    if (!task.ok()) return task.findings();
    found.push_back(*std::move(task));
  }
  return found;
}

int lint(Words words) {
  std::vector<std::string> names;
  judge::LintOptions lint;
  bool json = false;
  Options options(
      "tasks lint",
      "Can the task tell right from wrong? Its baseline must pass, and every planted fault must fail in a case.",
      "ptxlab tasks lint norm/rmsnorm_bf16\nptxlab tasks lint --json");
  options.optional_arguments("TASK", names,
                             "Names under tasks/, task folders, or .task.toml files; all tasks where none is given");
  options.value("--seed", "N", lint.seed, "Draws inputs, sizes and schedules");
  options.flag("--json", json, "Print one JSON object (ptxlab.lint/1)");
  if (auto code = options.parse(words)) return *code;
  auto found = find_all(std::move(names));
  if (!found.ok()) return refuse(found.findings());
  nlohmann::json all = nlohmann::json::array();
  bool ok = true;
  for (const auto& task : *found) {
    auto report = judge::lint(task, lint);
    ok = ok && report.ok();
    all.push_back(as_json(report));
    if (!json) print(judge::text(report));
  }
  if (json) print_json({{"schema", "ptxlab.lint/1"}, {"tasks", std::move(all)}});
  return ok ? kExitDone : kExitNo;
}

int oracles(Words words) {
  std::vector<std::string> names;
  std::string to;
  bool json = false;
  Options options(
      "tasks oracles",
      "Compiles references for machines without a compiler: copy the files into oracles/ beside ptxlab there.",
      "ptxlab tasks oracles --to oracles kernel.task.toml");
  options.optional_arguments("TASK", names,
                             "Names under tasks/, task folders, or .task.toml files; all tasks where none is given");
  options.value("--to", "DIR", to, "Where the programs are written, each named for what it was made from");
  options.flag("--json", json, "Print one JSON object (ptxlab.oracles/1)");
  if (auto code = options.parse(words)) return *code;
  if (to.empty()) return refuse("CLI0035", "--to is missing", "'ptxlab tasks oracles --help' has an example");
  auto found = find_all(std::move(names));
  if (!found.ok()) return refuse(found.findings());
  nlohmann::json all = nlohmann::json::array();
  std::string text;
  for (const auto& task : *found) {
    if (!task.reference) {
      text += fmt::format("{}: no reference, the kernel itself is the oracle: nothing to compile\n", task.name);
      continue;
    }
    auto made = task::make_portable_reference(task, to);
    if (!made.ok()) return refuse(made.findings(), kExitInfrastructure);
    all.push_back({{"task", task.name}, {"reference", task.reference->string()}, {"program", made->string()}});
    text += fmt::format("{}: {}\n", task.name, made->string());
  }
  if (json) {
    print_json({{"schema", "ptxlab.oracles/1"}, {"oracles", std::move(all)}});
  } else {
    print(text);
  }
  return kExitDone;
}

constexpr Command kTaskCommands[] = {
    {"list", "The tasks under tasks/", list},
    {"show", "One task: interface, sizes, tolerance", show},
    {"lint", "Can a task tell right from wrong? Plants faults that it must catch", lint},
    {"oracles", "References as programs, for machines without a compiler", oracles},
};

}  // namespace

int tasks(Words words) { return run_subcommand("tasks", kTaskCommands, words); }

}  // namespace ptxlab::cli
