#include "serve/tools.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"

namespace ptxlab::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModule = "kernel.ptx";
constexpr const char* kPlan = "kernel.plan.toml";
constexpr size_t kMostText = size_t{16} << 20;

json property(const char* type, const char* description) { return {{"type", type}, {"description", description}}; }

json schema(json properties, json required) {
  properties["timeout_seconds"] = {{"type", "number"},
                                   {"minimum", 1},
                                   {"maximum", 3600},
                                   {"description", "how long it may take; then it is stopped and says so"}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

// Every answer names its form; where the tool could not do its work, `findings` say why.
json answer_schema(const char* form, json properties) {
  properties["schema"] = {{"type", "string"}, {"description", fmt::format("{}, or ptxlab.findings/1", form)}};
  properties["findings"] = {{"type", "array"}, {"items", {{"type", "object"}}}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"schema"}}};
}

const json kPtx = property("string", "the whole PTX module, as text");
const json kPlanText = property("string", "the launch plan, as text (plan.toml)");

std::string text(const json& arguments, const char* name) {
  return arguments.contains(name) && arguments[name].is_string() ? arguments[name].get<std::string>() : "";
}

// "--name=value", so that no value is taken for an option.
void add(std::vector<std::string>& words, const json& arguments, const char* name, const char* option) {
  if (!arguments.contains(name)) return;
  const auto& value = arguments[name];
  words.push_back(fmt::format("{}={}", option, value.is_string() ? value.get<std::string>() : value.dump()));
}

// A task's file as seen from where the server runs, not from the call's own folder.
void add_task(std::vector<std::string>& words, const json& arguments) {
  std::string task = text(arguments, "task");
  if (task.empty()) return;
  std::error_code error;
  if (fs::exists(task, error) && !fs::path(task).is_absolute()) task = fs::absolute(task, error).string();
  words.push_back("--task=" + task);
}

std::vector<std::string> check_words(const json& arguments) {
  if (arguments.value("fix", false)) return {"check", "--json", "--fix", kModule};
  return {"check", "--json", kModule};
}

std::vector<std::string> structure_words(const json& arguments) {
  std::vector<std::string> words = {"structure", "--json"};
  add(words, arguments, "entry", "--entry");
  add(words, arguments, "target", "--target");
  add_task(words, arguments);
  if (arguments.contains("plan")) words.push_back(fmt::format("--plan={}", kPlan));
  words.emplace_back(kModule);
  return words;
}

std::vector<std::string> run_words(const json& arguments) {
  std::vector<std::string> words = {"run", "--json"};
  for (const char* name : {"entry", "grid", "block", "cluster", "shared", "check", "seed", "budget", "launches"})
    add(words, arguments, name, fmt::format("--{}", name).c_str());
  if (arguments.contains("plan")) words.push_back(fmt::format("--plan={}", kPlan));
  for (const auto& one : arguments.value("args", json::array())) words.push_back("--arg=" + one.get<std::string>());
  words.emplace_back(kModule);
  return words;
}

std::vector<std::string> judge_words(const json& arguments) {
  std::vector<std::string> words = {"judge", "--json"};
  add_task(words, arguments);
  for (const char* name : {"target", "until", "seed"}) add(words, arguments, name, fmt::format("--{}", name).c_str());
  if (arguments.contains("plan")) words.push_back(fmt::format("--plan={}", kPlan));
  words.emplace_back(kModule);
  return words;
}

std::vector<std::string> explain_words(const json& arguments) {
  std::vector<std::string> words = {"explain", "--json"};
  if (arguments.contains("code")) words.push_back(text(arguments, "code"));
  return words;
}

std::vector<std::string> tasks_words(const json&) { return {"tasks", "list", "--json"}; }

Answer findings_answer(base::Findings findings) {
  return {{{"schema", "ptxlab.findings/1"}, {"findings", base::to_json(findings)}}, true};
}

// What a command says on stderr when it cannot do its work, back as findings: "[place: ]error[CODE]: message", then perhaps "hint: ...".
base::Findings findings_in(const std::string& said) {
  static const std::regex kFinding(R"(^(?:(.+?):(?:(\d+):(?:(\d+):)?)? )?(error|warning|note)\[([A-Z]+\d+)\]: (.*)$)");
  static const std::regex kHint(R"(^\s*hint: (.*)$)");
  base::Findings findings;
  for (size_t at = 0; at < said.size();) {
    size_t end = std::min(said.find('\n', at), said.size());
    std::string line = said.substr(at, std::min<size_t>(end - at, 4000));
    at = end + 1;
    std::smatch found;
    if (std::regex_match(line, found, kFinding)) {
      base::Finding finding = base::error(found[5].str(), found[6].str());
      finding.place.file = found[1].str();
      if (found[2].matched) finding.place.line = static_cast<uint32_t>(std::stoul(found[2].str().substr(0, 9)));
      if (found[4] == "warning") finding.severity = base::Severity::warning;
      if (found[4] == "note") finding.severity = base::Severity::note;
      findings.push_back(std::move(finding));
    } else if (std::regex_match(line, found, kHint) && !findings.empty()) {
      findings.back().hint = found[1].str();
    }
  }
  return findings;
}

// Whether a call may name this task: by its name, or by a path that really leads below one of the folders.
bool may_name(const std::string& task, const std::vector<fs::path>& folders) {
  std::error_code error;
  const fs::path path = task;
  auto real = fs::canonical(path, error);
  if (error) return !path.is_absolute() && std::find(path.begin(), path.end(), "..") == path.end();
  return std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
    auto below = real.lexically_relative(fs::canonical(folder, error));
    return !error && !below.empty() && *below.begin() != "..";
  });
}

std::optional<base::Finding> refused(const Tool& tool, const json& arguments, const Calling& calling) {
  auto wrong = [&](std::string what) {
    return base::error("MCP0001", fmt::format("{}: {}", tool.name, what), "tools/list shows what it takes");
  };
  if (auto what = mismatch(tool.input, arguments); !what.empty()) return wrong(what);
  for (const auto& [name, value] : arguments.items()) {
    if (value.is_string() && value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return wrong(fmt::format("'{}' holds a zero byte", name));
  }
  for (const auto& one : arguments.value("args", json::array())) {
    if (one.get_ref<const std::string&>().find(":@") != std::string::npos)
      return wrong("an argument names a file: here values stand in the call itself");
  }
  if (auto task = text(arguments, "task"); !task.empty() && !may_name(task, calling.tasks)) {
    return base::error(
        "MCP0005", fmt::format("{}: the task '{}' lies where none is read", tool.name, task.substr(0, 200)),
        "a task of 'tasks' by its name, or one below the folder that the server was started in; 'ptxlab mcp "
        "--tasks DIR' names another");
  }
  auto code = text(arguments, "code");
  if (!std::all_of(code.begin(), code.end(), [](unsigned char c) { return isalnum(c); }))
    return wrong(fmt::format("'{}' is no code", code.substr(0, 40)));
  return std::nullopt;
}

Answer read(const Tool& tool, const base::Outcome& outcome, std::chrono::seconds limit) {
  using End = base::Outcome::End;
  if (outcome.end == End::timed_out) {
    return findings_answer({base::error("MCP0002", fmt::format("{} was not done after {} s", tool.name, limit.count()),
                                        "timeout_seconds gives it longer")});
  }
  if (outcome.end == End::stopped)
    return findings_answer({base::error("MCP0003", fmt::format("{} was given up", tool.name))});
  if (outcome.end == End::exited) {
    auto content = json::parse(outcome.output, nullptr, false);
    if (content.is_object()) return {std::move(content), false};
    auto findings = findings_in(outcome.errors);
    if (!findings.empty()) return findings_answer(std::move(findings));
  }
  auto words = outcome.errors.substr(0, 300);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return findings_answer({base::error(
      "MCP0004",
      fmt::format("{} {} and gave no answer{}{}", tool.name, base::describe(outcome), words.empty() ? "" : ": ", words),
      "that is a fault of ptxlab or of this machine")});
}

}  // namespace

const std::vector<Tool>& tools() {
  using std::chrono::seconds;
  static const std::vector<Tool> kTools = {
      {"check", "Is this legal PTX?",
       "Parses and verifies a PTX module against the instruction table: syntax, names, types, widths, state spaces, "
       "targets. Every fault "
       "comes with its line, a hint, and where there is one a certain mend. Needs no GPU and no toolkit; milliseconds.",
       schema({{"ptx", kPtx}, {"fix", property("boolean", "also mend what has one certain mend, and return the text")}},
              {"ptx"}),
       answer_schema("ptxlab.check/1", {{"files", {{"type", "array"}}}}), seconds(60), check_words},
      {"structure", "What a kernel looks like",
       "Blocks, loops, live registers by block, the instruction mix, each memory access with its stride and width, "
       "barriers.",
       schema({{"ptx", kPtx},
               {"entry", property("string", "this function alone")},
               {"plan", kPlanText},
               {"task", property("string", "with a plan: put numbers to sizes, those of this task's main timed case")},
               {"target", property("string", "such as sm_90a")}},
              {"ptx"}),
       answer_schema("ptxlab.structure/1", json::object()), seconds(60), structure_words},
      {"run", "Execute a kernel on the CPU",
       "Executes a kernel on an exact engine with checkers for out-of-bounds and misaligned accesses, races, "
       "uninitialised values, divergent "
       "barriers and wrong shuffles; returns what the buffers hold afterwards (their first 64 elements) and every "
       "fault. Arguments, in order, "
       "such as u32:4, f32:1.5, "
       "in:f32:1,2,3, out:f32:16, inout:s32:1,2, same:0, null.",
       schema(
           {{"ptx", kPtx},
            {"entry", property("string", "the kernel, where the module has several")},
            {"grid", property("string", "CTAs: X, X,Y or X,Y,Z")},
            {"block", property("string", "threads of a CTA: X, X,Y or X,Y,Z")},
            {"cluster", property("string", "CTAs of a cluster")},
            {"shared", {{"type", "integer"}, {"minimum", 0}, {"description", "bytes of dynamic shared memory"}}},
            {"plan", kPlanText},
            {"args", {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", "the arguments, in order"}}},
            {"check", property("string", "checkers: all, none, or a list of their names")},
            {"seed", {{"type", "integer"}, {"minimum", 0}, {"description", "draws schedules and addresses"}}},
            {"budget", {{"type", "integer"}, {"minimum", 1}, {"description", "thread instructions it may take"}}},
            {"launches", {{"type", "integer"}, {"minimum", 1}, {"description", "how often, on the same memory"}}}},
           {"ptx"}),
       answer_schema("ptxlab.run/1", json::object()), seconds(120), run_words},
      {"judge", "Take a candidate through the gates",
       "The whole judgement of a candidate for a task: legal, within policy, assembled by ptxas, executed on every "
       "case with all checkers "
       "watching and compared with the right answers, and, where there is a GPU, executed and timed there beside the "
       "baseline. The verdict "
       "explains itself by findings.",
       schema({{"ptx", kPtx},
               {"task", property("string", "a task's name (the tool 'tasks' lists them), or the path of a .task.toml")},
               {"plan", kPlanText},
               {"target", property("string", "such as sm_90a")},
               {"until",
                {{"type", "string"},
                 {"enum", {"check", "assemble", "emulate", "execute", "time"}},
                 {"description", "the last gate that runs"}}},
               {"seed", {{"type", "integer"}, {"minimum", 0}, {"description", "draws inputs, sizes and schedules"}}}},
              {"ptx", "task"}),
       answer_schema("ptxlab.verdict/1", {{"outcome", {{"type", "string"}}}, {"reason", {{"type", "string"}}}}),
       seconds(600), judge_words},
      {"explain", "What a finding's code means",
       "What a code such as PTX0302 means, why it happens, and what is right instead, with a wrong and a right "
       "example; without a code, all.",
       schema({{"code", property("string", "as findings show it")}}, json::array()),
       answer_schema("ptxlab.codes/1", {{"codes", {{"type", "array"}}}}), seconds(60), explain_words},
      {"tasks", "Which tasks there are", "The kernel problems that 'judge' knows by name.",
       schema(json::object(), json::array()), answer_schema("ptxlab.tasks/1", {{"tasks", {{"type", "array"}}}}),
       seconds(60), tasks_words},
  };
  return kTools;
}

std::string mismatch(const json& schema, const json& value, const std::string& where) {
  auto what = where.empty() ? std::string("the argument") : fmt::format("'{}'", where);
  if (schema.contains("type")) {
    auto type = schema["type"].get<std::string>();
    bool fits = type == "object"    ? value.is_object()
                : type == "array"   ? value.is_array()
                : type == "string"  ? value.is_string()
                : type == "boolean" ? value.is_boolean()
                : type == "integer" ? value.is_number_integer()
                                    : value.is_number();
    if (!fits) return fmt::format("{} is no {}", what, type);
  }
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return fmt::format("{} is none of {}", what, schema["enum"].dump());
  if (value.is_number()) {
    if (schema.contains("minimum") && value < schema["minimum"])
      return fmt::format("{} is less than {}", what, schema["minimum"].dump());
    if (schema.contains("maximum") && value > schema["maximum"])
      return fmt::format("{} is more than {}", what, schema["maximum"].dump());
  }
  if (value.is_string() && value.get_ref<const std::string&>().size() > kMostText)
    return fmt::format("{} is longer than {} MiB", what, kMostText >> 20);
  if (value.is_array() && schema.contains("items")) {
    for (const auto& item : value) {
      if (auto wrong = mismatch(schema["items"], item, where); !wrong.empty()) return wrong;
    }
  }
  if (!value.is_object()) return "";
  const auto properties = schema.value("properties", json::object());
  for (const auto& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) return fmt::format("'{}' is missing", name.get<std::string>());
  }
  for (const auto& [name, part] : value.items()) {
    if (!properties.contains(name)) {
      if (schema.value("additionalProperties", true)) continue;
      return fmt::format("there is no '{}'", name.substr(0, 40));
    }
    if (auto wrong = mismatch(properties[name], part, name); !wrong.empty()) return wrong;
  }
  return "";
}

Answer call(const Tool& tool, const json& arguments, const Calling& calling, const Runner& run) {
  if (auto finding = refused(tool, arguments, calling)) return findings_answer({*finding});
  base::TemporaryFolder folder("ptxlab-tool");
  for (auto [name, file] : {std::pair{"ptx", kModule}, {"plan", kPlan}}) {
    if (!arguments.contains(name)) continue;
    if (auto failed = base::write_file(folder.path() / file, text(arguments, name)); !failed.empty())
      return findings_answer(std::move(failed));
  }
  auto limit = tool.limit;
  if (arguments.contains("timeout_seconds"))
    limit = std::chrono::seconds(static_cast<int64_t>(arguments["timeout_seconds"].get<double>()));
  limit = std::min(limit, calling.longest);
  base::Command command;
  command.argv = tool.words(arguments);
  command.argv.insert(command.argv.begin(), calling.program.string());
  command.cwd = folder.path();
  command.limits.wall = limit;
  command.stop = calling.stop;
  return read(tool, run(command), limit);
}

}  // namespace ptxlab::serve
