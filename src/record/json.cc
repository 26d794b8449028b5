#include "record/json.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/finding_json.h"
#include "base/utf8.h"
#include "record/figures_json.h"
#include "record/json_reader.h"
#include "record/timing_json.h"

namespace ptxlab::record {
namespace {

constexpr GateName kGates[] = {GateName::check, GateName::assemble, GateName::emulate, GateName::execute,
                               GateName::time};
constexpr GateStatus kStatuses[] = {GateStatus::not_run, GateStatus::passed, GateStatus::failed, GateStatus::skipped};

base::Findings read_findings(const Object& object, const char* key) {
  base::Findings findings;
  object.each(key, [&](const json& item, const std::string& where) {
    auto read = base::finding_from_json(item);
    if (!read) throw Wrong{where + " is not a finding"};
    findings.push_back(std::move(*read));
  });
  return findings;
}

Candidate read_candidate_object(const json& value, std::string place) {
  Object object(value, std::move(place));
  object.schema("ptxlab.candidate/1");
  Candidate candidate;
  candidate.name = object.get<std::string>("name");
  candidate.proposer = object.get<std::string>("proposer");
  candidate.idea = object.get<std::string>("idea");
  object.at("ptx");  // it may be empty, not missing
  candidate.ptx = object.text("ptx").value_or("");
  candidate.plan = object.text("plan");
  candidate.cuda = object.text("cuda").value_or("");
  candidate.prompt = object.text("prompt").value_or("");
  candidate.answer = object.text("answer").value_or("");
  candidate.steps = object.optional<int>("steps").value_or(1);
  if (object.has("findings")) candidate.findings = read_findings(object, "findings");
  return candidate;
}

Counters read_counters(const json& value, std::string place) {
  Object object(value, std::move(place));
  Counters counters;
  counters.size = object.get<std::string>("size");
  object.each("list", [&](const json& item, const std::string& where) {
    Object one(item, where);
    counters.list.push_back({one.get<std::string>("name"), one.get<std::string>("unit"), one.get<double>("candidate"),
                             one.optional<double>("baseline")});
  });
  return counters;
}

Gate read_gate(const json& value, const std::string& place) {
  Object object(value, place);
  Gate gate;
  gate.name = named(object.get<std::string>("name"), kGates, object.place("name"));
  gate.status = named(object.get<std::string>("status"), kStatuses, object.place("status"));
  gate.reason = object.get<std::string>("reason");
  gate.milliseconds = object.get<double>("milliseconds");
  gate.findings = read_findings(object, "findings");
  return gate;
}

Verdict read_verdict_object(const json& value, const std::string& place) {
  Object object(value, place);
  object.schema("ptxlab.verdict/1");
  Verdict verdict;
  verdict.outcome = named(object.get<std::string>("outcome"), all_outcomes(), object.place("outcome"));
  verdict.reason = object.get<std::string>("reason");
  verdict.task = object.get<std::string>("task");
  verdict.target = object.get<std::string>("target");
  verdict.oracle = object.get<std::string>("oracle");
  verdict.code_digest = object.get<std::string>("code_digest");
  std::vector<Gate> gates;
  object.each("gates", [&](const json& item, const std::string& where) { gates.push_back(read_gate(item, where)); });
  if (gates.size() != std::size(kGates)) throw Wrong{place + ".gates has not all five gates"};
  for (size_t i = 0; i < gates.size(); ++i) {
    if (gates[i].name != kGates[i]) throw Wrong{place + ".gates are not in their order"};
  }
  verdict.gates = std::move(gates);
  object.each("resources", [&](const json& item, const std::string& where) {
    verdict.resources.push_back(read_resources(item, where));
  });
  object.each("cases", [&](const json& item, const std::string& where) {
    Object one(item, where);
    verdict.cases.push_back({one.get<std::string>("label"), one.get<bool>("right"), one.get<std::string>("summary")});
  });
  verdict.sass = read_sass_list(object, "sass");
  if (object.has("counters")) verdict.counters = read_counters(object.at("counters"), object.place("counters"));
  verdict.estimate = read_estimate(object, value, "estimate");
  verdict.baseline_estimate = read_estimate(object, value, "baseline_estimate");
  verdict.estimated_speedup = object.optional<double>("estimated_speedup");
  if (value.contains("timing") && !value.at("timing").is_null()) {
    auto timing = timing_from_json(value.at("timing"));
    if (!timing) throw Wrong{fmt::format("{}: {}", object.place("timing"), timing.findings().front().message)};
    verdict.timing = std::move(*timing);
  }
  verdict.unexecuted_lines = object.get<std::vector<uint32_t>>("unexecuted_lines");
  if (object.has("profile")) verdict.profile = read_profile(object.at("profile"), object.place("profile"));
  if (object.has("baseline_profile"))
    verdict.baseline_profile = read_profile(object.at("baseline_profile"), object.place("baseline_profile"));
  return verdict;
}

Constraints read_constraints(const json& value, std::string place) {
  Object object(value, std::move(place));
  Constraints constraints;
  constraints.max_registers = object.optional<int>("max_registers");
  constraints.max_shared_bytes = object.optional<int>("max_shared_bytes");
  constraints.max_block_threads = object.optional<int>("max_block_threads");
  constraints.vector_bytes = object.optional<int>("vector_bytes");
  return constraints;
}

Ask read_ask(const json& value, std::string place) {
  Object object(value, place);
  Ask ask;
  auto job = job_named(object.get<std::string>("job"));
  if (!job) throw Wrong{place + ".job is none of optimize, write, repair, reflect"};
  ask.job = *job;
  ask.about = object.optional<size_t>("about");
  ask.strategy = object.optional<std::string>("strategy").value_or("");
  ask.advice = object.optional<std::string>("advice").value_or("");
  ask.temperature = object.optional<double>("temperature");
  return ask;
}

Brief read_brief_object(const json& value, const task::Task& task) {
  Object object(value, "brief");
  object.schema("ptxlab.brief/1");
  Brief brief;
  brief.task = task;
  if (const auto& of_task = value["task"]; of_task.contains("files") && of_task["files"].is_object()) {
    for (const auto& [name, hash] : of_task["files"].items())
      if (hash.is_string()) brief.task_files[name] = hash.get<std::string>();
  }
  auto target = isa::target_named(object.get<std::string>("target"));
  if (!target) throw Wrong{"brief.target names no target"};
  brief.target = *target;
  brief.baseline_ptx = object.get<std::string>("baseline_ptx");
  brief.baseline_plan = object.get<std::string>("baseline_plan");
  brief.source = object.get<std::string>("source");
  auto language = object.optional<std::string>("language").value_or("ptx");
  if (language != "ptx" && language != "cuda") throw Wrong{"brief.language is neither ptx nor cuda"};
  brief.language = language == "cuda" ? Language::cuda : Language::ptx;
  brief.seed = object.get<uint64_t>("seed");
  object.each("baseline_resources", [&](const json& item, const std::string& where) {
    brief.baseline_resources.push_back(read_resources(item, where));
  });
  brief.baseline_sass = read_sass_list(object, "baseline_sass");
  brief.constraints = read_constraints(object.at("constraints"), "brief.constraints");
  if (object.has("hardware"))
    object.each("hardware", [&](const json& item, const std::string& where) {
      Object one(item, where);
      brief.hardware.push_back({one.get<std::string>("name"), one.get<std::string>("value")});
    });
  if (object.has("baseline_profile"))
    brief.baseline_profile = read_profile(object.at("baseline_profile"), object.place("baseline_profile"));
  brief.baseline_estimate = read_estimate(object, value, "baseline_estimate");
  if (object.has("asks"))
    object.each("asks",
                [&](const json& item, const std::string& where) { brief.asks.push_back(read_ask(item, where)); });
  object.each("earlier", [&](const json& item, const std::string& where) {
    Object one(item, where);
    brief.earlier.push_back({read_candidate_object(one.at("candidate"), one.place("candidate")),
                             read_verdict_object(one.at("verdict"), one.place("verdict"))});
  });
  return brief;
}

// Milliseconds since 1970: exact, and the same in every time zone.
Attempt read_attempt_object(const json& value) {
  Object object(value, "attempt");
  object.schema("ptxlab.attempt/1");
  Attempt attempt;
  attempt.id = object.get<int64_t>("id");
  attempt.run = object.get<std::string>("run");
  attempt.at = std::chrono::system_clock::time_point(std::chrono::milliseconds(object.get<int64_t>("at_ms")));
  attempt.task = object.get<std::string>("task");
  attempt.candidate = read_candidate_object(object.at("candidate"), "attempt.candidate");
  const json& brief = object.at("brief");
  attempt.brief_json = brief.is_null() ? "" : base::print_json(brief, -1);
  attempt.verdict = read_verdict_object(object.at("verdict"), "attempt.verdict");
  return attempt;
}

template <class Read>
auto at_the_edge(const Read& read) -> base::Result<decltype(read())> {
  try {
    return read();
  } catch (const Wrong& wrong) {
    return json_finding("REC0001", wrong.message);
  } catch (const json::exception& error) {
    return json_finding("REC0001", error.what());
  }
}

json parse(std::string_view text) { return json::parse(text, nullptr, false); }

}  // namespace

json text_json(const std::string& text) {
  if (base::valid_utf8(text)) return text;
  return {{"base64", base::to_base64(text)}};
}

json to_json(const Candidate& candidate) {
  json out = {{"schema", "ptxlab.candidate/1"},  {"name", candidate.name},
              {"proposer", candidate.proposer},  {"idea", candidate.idea},
              {"ptx", text_json(candidate.ptx)}, {"plan", candidate.plan ? text_json(*candidate.plan) : json()}};
  if (candidate.steps > 1) out["steps"] = candidate.steps;
  if (!candidate.cuda.empty()) out["cuda"] = text_json(candidate.cuda);
  // Only a model's candidates have these.
  if (!candidate.prompt.empty()) out["prompt"] = text_json(candidate.prompt);
  if (!candidate.answer.empty()) out["answer"] = text_json(candidate.answer);
  if (!candidate.findings.empty()) out["findings"] = base::to_json(candidate.findings);
  return out;
}

json to_json(const Constraints& c) {
  return {{"max_registers", or_null(c.max_registers)},
          {"max_shared_bytes", or_null(c.max_shared_bytes)},
          {"max_block_threads", or_null(c.max_block_threads)},
          {"vector_bytes", or_null(c.vector_bytes)}};
}

json to_json(const Verdict& verdict) {
  json gates = json::array(), resources = json::array(), cases = json::array();
  for (const auto& gate : verdict.gates) {
    gates.push_back({{"name", name_of(gate.name)},
                     {"status", name_of(gate.status)},
                     {"reason", gate.reason},
                     {"findings", base::to_json(gate.findings)},
                     {"milliseconds", gate.milliseconds}});
  }
  for (const auto& one : verdict.resources) resources.push_back(to_json(one));
  for (const auto& one : verdict.cases)
    cases.push_back({{"label", one.label}, {"right", one.right}, {"summary", one.summary}});
  json made = {{"schema", "ptxlab.verdict/1"},
               {"outcome", name_of(verdict.outcome)},
               {"reason", verdict.reason},
               {"task", verdict.task},
               {"target", verdict.target},
               {"oracle", verdict.oracle},
               {"gates", std::move(gates)},
               {"resources", std::move(resources)},
               {"cases", std::move(cases)},
               {"estimate", or_null(verdict.estimate)},
               {"baseline_estimate", or_null(verdict.baseline_estimate)},
               {"estimated_speedup", or_null(verdict.estimated_speedup)},
               {"unexecuted_lines", verdict.unexecuted_lines},
               {"code_digest", verdict.code_digest}};
  if (verdict.counters) {
    json list = json::array();
    for (const auto& one : verdict.counters->list)
      list.push_back(
          {{"name", one.name}, {"unit", one.unit}, {"candidate", one.candidate}, {"baseline", or_null(one.baseline)}});
    made["counters"] = {{"size", verdict.counters->size}, {"list", std::move(list)}};
  }
  if (verdict.timing) made["timing"] = to_json(*verdict.timing);
  if (!verdict.sass.empty()) made["sass"] = sass_json(verdict.sass);
  if (verdict.profile) made["profile"] = profile_json(*verdict.profile);
  if (verdict.baseline_profile) made["baseline_profile"] = profile_json(*verdict.baseline_profile);
  return made;
}

json to_json(const Ask& ask) {
  json made = {{"job", name_of(ask.job)}};
  if (ask.about) made["about"] = *ask.about;
  if (!ask.strategy.empty()) made["strategy"] = ask.strategy;
  if (!ask.advice.empty()) made["advice"] = ask.advice;
  if (ask.temperature) made["temperature"] = *ask.temperature;
  return made;
}

// Where it lay, from wherever that is read.
static std::string whole_path(const std::filesystem::path& file) {
  std::error_code error;
  auto whole = file.empty() ? file : std::filesystem::absolute(file, error).lexically_normal();
  return (error ? file : whole).string();
}

json to_json(const Brief& brief) {
  json resources = json::array(), earlier = json::array();
  for (const auto& one : brief.baseline_resources) resources.push_back(to_json(one));
  for (const auto& one : brief.earlier) {
    earlier.push_back({{"candidate", to_json(one.candidate)}, {"verdict", to_json(one.verdict)}});
  }
  json made = {
      {"schema", "ptxlab.brief/1"},
      {"task", {{"name", brief.task.name}, {"version", brief.task.version}, {"file", whole_path(brief.task.file)}}},
      {"target", brief.target.name()},
      {"baseline_ptx", brief.baseline_ptx},
      {"baseline_plan", brief.baseline_plan},
      {"source", brief.source},
      {"baseline_resources", std::move(resources)},
      {"constraints", to_json(brief.constraints)},
      {"earlier", std::move(earlier)},
      {"seed", brief.seed}};
  if (!brief.task_files.empty()) made["task"]["files"] = brief.task_files;
  if (brief.language != Language::ptx) made["language"] = name_of(brief.language);
  if (!brief.baseline_sass.empty()) made["baseline_sass"] = sass_json(brief.baseline_sass);
  for (const auto& fact : brief.hardware) made["hardware"].push_back({{"name", fact.name}, {"value", fact.value}});
  if (brief.baseline_profile) made["baseline_profile"] = profile_json(*brief.baseline_profile);
  if (brief.baseline_estimate) made["baseline_estimate"] = to_json(*brief.baseline_estimate);
  for (const auto& ask : brief.asks) made["asks"].push_back(to_json(ask));
  return made;
}

json to_json(const Attempt& attempt) {
  json brief = attempt.brief_json.empty() ? json() : parse(attempt.brief_json);
  auto at = std::chrono::duration_cast<std::chrono::milliseconds>(attempt.at.time_since_epoch()).count();
  return {{"schema", "ptxlab.attempt/1"},
          {"id", attempt.id},
          {"run", attempt.run},
          {"at_ms", at},
          {"task", attempt.task},
          {"candidate", to_json(attempt.candidate)},
          {"brief", brief.is_discarded() ? json(attempt.brief_json) : std::move(brief)},
          {"verdict", to_json(attempt.verdict)}};
}

base::Result<Candidate> candidate_from_json(const json& value) {
  return at_the_edge([&] { return read_candidate_object(value, "candidate"); });
}

base::Result<Verdict> verdict_from_json(const json& value) {
  return at_the_edge([&] { return read_verdict_object(value, "verdict"); });
}

base::Result<Brief> brief_from_json(const json& value, const task::Task& task) {
  struct Named {
    std::string name;
    int version;
  };
  auto named_task = at_the_edge([&] {
    Object object(Object(value, "brief").at("task"), "brief.task");
    return Named{object.get<std::string>("name"), object.get<int>("version")};
  });
  if (!named_task) return named_task.findings();
  if (named_task->name != task.name || named_task->version != task.version) {
    return json_finding("REC0002", fmt::format("the brief is about task '{}' version {}, not '{}' version {}",
                                               named_task->name, named_task->version, task.name, task.version));
  }
  return at_the_edge([&] { return read_brief_object(value, task); });
}

base::Result<Attempt> attempt_from_json(const json& value) {
  return at_the_edge([&] { return read_attempt_object(value); });
}

base::Result<Candidate> read_candidate(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return json_finding("REC0003", "the candidate is not JSON");
  return candidate_from_json(value);
}

base::Result<Verdict> read_verdict(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return json_finding("REC0003", "the verdict is not JSON");
  return verdict_from_json(value);
}

base::Result<Attempt> read_attempt(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return json_finding("REC0003", "the attempt is not JSON");
  return attempt_from_json(value);
}

}  // namespace ptxlab::record
