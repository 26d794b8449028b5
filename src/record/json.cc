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
#include "record/timing_json.h"

namespace ptxlab::record {
namespace {

using nlohmann::json;

// A wrong JSON value: thrown inside this file only, and turned into a finding at its edge.
struct Wrong {
  std::string message;
};

base::Finding finding(const char* code, std::string message) {
  return base::error(code, std::move(message), "write it as `ptxlab ... --json` prints it");
}

// Reads the members of one object; messages name the place as "verdict.gates[2].name".
class Object {
 public:
  Object(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value_.is_object()) throw Wrong{place_ + " is not an object"};
  }
  void schema(std::string_view wanted) const {
    std::string got = get<std::string>("schema");
    if (got != wanted) throw Wrong{fmt::format("{}.schema is '{}', wanted '{}'", place_, got, wanted)};
  }
  const json& at(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end()) throw Wrong{fmt::format("{} has no '{}'", place_, key)};
    return *member;
  }
  template <class T>
  T get(const char* key) const {
    try {
      return at(key).get<T>();
    } catch (const json::exception&) {
      throw Wrong{fmt::format("{}.{} has the wrong type", place_, key)};
    }
  }
  template <class T>
  std::optional<T> optional(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end() || member->is_null()) return std::nullopt;
    return get<T>(key);
  }
  bool has(const char* key) const { return value_.contains(key); }
  // A text, or the bytes of {"base64": "..."} where it was not UTF-8.
  std::optional<std::string> text(const char* key) const {
    auto member = value_.find(key);
    if (member == value_.end() || !member->is_object()) return optional<std::string>(key);
    auto bytes = base::from_base64(Object(*member, place(key)).get<std::string>("base64"));
    if (!bytes) throw Wrong{fmt::format("{}.base64 is no base64", place(key))};
    return bytes;
  }
  template <class Read>
  void each(const char* key, const Read& read) const {
    const json& list = at(key);
    if (!list.is_array()) throw Wrong{fmt::format("{}.{} is not a list", place_, key)};
    for (size_t i = 0; i < list.size(); ++i) read(list[i], fmt::format("{}.{}[{}]", place_, key, i));
  }
  std::string place(const char* key) const { return fmt::format("{}.{}", place_, key); }

 private:
  const json& value_;
  std::string place_;
};

template <class Name, size_t n>
Name named(const std::string& word, const Name (&all)[n], const std::string& place) {
  for (Name name : all) {
    if (name_of(name) == word) return name;
  }
  throw Wrong{fmt::format("{} is '{}', which is none of its values", place, word)};
}

constexpr GateName kGates[] = {GateName::check, GateName::assemble, GateName::emulate, GateName::execute,
                               GateName::time};
constexpr GateStatus kStatuses[] = {GateStatus::not_run, GateStatus::passed, GateStatus::failed, GateStatus::skipped};
constexpr OutcomeName kOutcomes[] = {OutcomeName::malformed, OutcomeName::rejected,      OutcomeName::faulted,
                                     OutcomeName::wrong,     OutcomeName::unverified,    OutcomeName::slower,
                                     OutcomeName::same,      OutcomeName::faster,        OutcomeName::unstable,
                                     OutcomeName::cheating,  OutcomeName::infrastructure};

// The plain counts of SASS facts, by the names that JSON gives them.
template <class Facts>
auto counts_of(Facts& facts) {
  return std::array{std::pair{"instructions", &facts.instructions},
                    std::pair{"in_loops", &facts.in_loops},
                    std::pair{"loops", &facts.loops},
                    std::pair{"calls", &facts.calls},
                    std::pair{"local_loads", &facts.local_loads},
                    std::pair{"local_stores", &facts.local_stores},
                    std::pair{"local_in_loops", &facts.local_in_loops},
                    std::pair{"async_copies", &facts.async_copies},
                    std::pair{"bulk_copies", &facts.bulk_copies},
                    std::pair{"tensor_copies", &facts.tensor_copies},
                    std::pair{"matrix_loads", &facts.matrix_loads}};
}

template <class T>
json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    return to_json(*value);
  } else {
    return *value;
  }
}

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

toolchain::Resources read_resources(const json& value, std::string place) {
  Object object(value, std::move(place));
  toolchain::Resources resources;
  resources.entry = object.get<std::string>("entry");
  resources.registers = object.get<int>("registers");
  resources.spill_stores = object.get<int>("spill_stores");
  resources.spill_loads = object.get<int>("spill_loads");
  resources.stack = object.get<int>("stack");
  resources.shared = object.get<int>("shared");
  resources.barriers = object.get<int>("barriers");
  resources.code_bytes = object.get<uint64_t>("code_bytes");
  resources.max_threads = object.get<int>("max_threads");
  return resources;
}

toolchain::SassFacts::Widths read_widths(const Object& object, const char* key) {
  toolchain::SassFacts::Widths widths;
  for (const auto& [bits, count] : object.get<std::map<std::string, uint64_t>>(key))
    widths[std::atoi(bits.c_str())] = count;
  return widths;
}

toolchain::SassFacts read_sass_facts(const json& value, std::string place) {
  Object object(value, std::move(place));
  toolchain::SassFacts facts;
  facts.entry = object.get<std::string>("entry");
  for (const auto& [key, into] : counts_of(facts)) *into = object.get<uint64_t>(key);
  for (const auto& [name, count] : object.get<std::map<std::string, uint64_t>>("mix")) {
    auto part = toolchain::sass_class_named(name);
    if (!part) throw Wrong{fmt::format("{} has '{}', which is no class", object.place("mix"), name)};
    facts.mix[*part] = count;
  }
  facts.global_loads = read_widths(object, "global_loads");
  facts.global_stores = read_widths(object, "global_stores");
  facts.shared_loads = read_widths(object, "shared_loads");
  facts.shared_stores = read_widths(object, "shared_stores");
  facts.matrix = object.get<std::map<std::string, uint64_t>>("matrix");
  return facts;
}

// A list that verdicts and briefs of earlier versions lack.
std::vector<toolchain::SassFacts> read_sass_list(const Object& object, const char* key) {
  std::vector<toolchain::SassFacts> all;
  if (!object.has(key)) return all;
  object.each(key, [&](const json& item, const std::string& where) { all.push_back(read_sass_facts(item, where)); });
  return all;
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

// A line's counts in the order of "columns", so that a long kernel's profile stays short.
constexpr std::array kProfileColumns = {"line",    "warps",         "threads", "requests",
                                        "sectors", "ideal_sectors", "passes",  "ideal_passes"};

json profile_json(const LineProfile& profile) {
  json lines = json::array();
  for (const auto& one : profile.lines)
    lines.push_back(
        {one.line, one.warps, one.threads, one.requests, one.sectors, one.ideal_sectors, one.passes, one.ideal_passes});
  return {{"of", profile.of}, {"columns", kProfileColumns}, {"lines", std::move(lines)}};
}

LineProfile read_profile(const json& value, std::string place) {
  Object object(value, std::move(place));
  LineProfile profile;
  profile.of = object.get<std::string>("of");
  for (const auto& row : object.get<std::vector<std::vector<uint64_t>>>("lines")) {
    if (row.size() != kProfileColumns.size() || row[0] > UINT32_MAX)
      throw Wrong{object.place("lines") + " has a line that does not fit its columns"};
    profile.lines.push_back({static_cast<uint32_t>(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], row[7]});
  }
  return profile;
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

std::vector<Estimate::Part> read_parts(const Object& object, const json& value, const char* key, const char* figure) {
  std::vector<Estimate::Part> parts;
  if (!value.contains(key)) return parts;
  object.each(key, [&](const json& item, const std::string& where) {
    Object part(item, where);
    parts.push_back({part.get<std::string>("name"), part.get<double>(figure)});
  });
  return parts;
}

std::optional<Estimate> read_estimate(const Object& parent, const json& value, const char* key) {
  if (!value.contains(key) || value.at(key).is_null()) return std::nullopt;
  Object object(value.at(key), parent.place(key));
  Estimate estimate;
  estimate.nanoseconds = object.get<double>("nanoseconds");
  estimate.issue_slots = object.get<double>("issue_slots");
  estimate.sectors = object.get<double>("sectors");
  estimate.occupancy = object.get<double>("occupancy");
  estimate.bound_by = object.get<std::string>("bound_by");
  // Verdicts of earlier versions have no more than this.
  auto number = [&](const char* name, double& into) { into = object.optional<double>(name).value_or(0); };
  number("uncertainty", estimate.uncertainty);
  number("size_ns", estimate.size_ns);
  number("launch_ns", estimate.launch_ns);
  number("dram_bytes", estimate.dram_bytes);
  number("l2_bytes", estimate.l2_bytes);
  number("l1_hit_bytes", estimate.l1_hit_bytes);
  number("bank_conflicts", estimate.bank_conflicts);
  number("scattered_passes", estimate.scattered_passes);
  number("waves", estimate.waves);
  number("tail", estimate.tail);
  estimate.size = object.optional<std::string>("size").value_or("");
  estimate.device = object.optional<std::string>("device").value_or("");
  estimate.resident_ctas = object.optional<int>("resident_ctas").value_or(0);
  estimate.occupancy_limit = object.optional<std::string>("occupancy_limit").value_or("");
  estimate.limits = read_parts(object, value.at(key), "limits", "nanoseconds");
  estimate.waits = read_parts(object, value.at(key), "waits", "share");
  estimate.assumptions = object.optional<std::vector<std::string>>("assumptions").value_or(std::vector<std::string>{});
  return estimate;
}

Verdict read_verdict_object(const json& value, const std::string& place) {
  Object object(value, place);
  object.schema("ptxlab.verdict/1");
  Verdict verdict;
  verdict.outcome = named(object.get<std::string>("outcome"), kOutcomes, object.place("outcome"));
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
    return finding("REC0001", wrong.message);
  } catch (const json::exception& error) {
    return finding("REC0001", error.what());
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

json to_json(const toolchain::Resources& r) {
  return {{"entry", r.entry},
          {"registers", r.registers},
          {"spill_stores", r.spill_stores},
          {"spill_loads", r.spill_loads},
          {"stack", r.stack},
          {"shared", r.shared},
          {"barriers", r.barriers},
          {"code_bytes", r.code_bytes},
          {"max_threads", r.max_threads}};
}

json to_json(const toolchain::SassFacts& facts) {
  json mix = json::object();
  for (const auto& [part, count] : facts.mix) mix[std::string(toolchain::name_of(part))] = count;
  auto widths = [](const toolchain::SassFacts::Widths& accesses) {
    json made = json::object();
    for (const auto& [bits, count] : accesses) made[std::to_string(bits)] = count;
    return made;
  };
  json made = {{"entry", facts.entry},
               {"mix", std::move(mix)},
               {"global_loads", widths(facts.global_loads)},
               {"global_stores", widths(facts.global_stores)},
               {"shared_loads", widths(facts.shared_loads)},
               {"shared_stores", widths(facts.shared_stores)},
               {"matrix", facts.matrix}};
  for (const auto& [key, count] : counts_of(facts)) made[key] = *count;
  return made;
}

json to_json(const Constraints& c) {
  return {{"max_registers", or_null(c.max_registers)},
          {"max_shared_bytes", or_null(c.max_shared_bytes)},
          {"max_block_threads", or_null(c.max_block_threads)},
          {"vector_bytes", or_null(c.vector_bytes)}};
}

json to_json(const Estimate& e) {
  auto list = [](const std::vector<Estimate::Part>& parts, const char* figure) {
    json made = json::array();
    for (const auto& part : parts) made.push_back({{"name", part.name}, {figure, part.value}});
    return made;
  };
  return {{"nanoseconds", e.nanoseconds},
          {"uncertainty", e.uncertainty},
          {"size", e.size},
          {"size_ns", e.size_ns},
          {"device", e.device},
          {"bound_by", e.bound_by},
          {"launch_ns", e.launch_ns},
          {"occupancy", e.occupancy},
          {"occupancy_limit", e.occupancy_limit},
          {"resident_ctas", e.resident_ctas},
          {"waves", e.waves},
          {"tail", e.tail},
          {"issue_slots", e.issue_slots},
          {"sectors", e.sectors},
          {"dram_bytes", e.dram_bytes},
          {"l2_bytes", e.l2_bytes},
          {"l1_hit_bytes", e.l1_hit_bytes},
          {"bank_conflicts", e.bank_conflicts},
          {"scattered_passes", e.scattered_passes},
          {"limits", list(e.limits, "nanoseconds")},
          {"waits", list(e.waits, "share")},
          {"assumptions", e.assumptions}};
}

namespace {

json sass_json(const std::vector<toolchain::SassFacts>& facts) {
  json list = json::array();
  for (const auto& one : facts) list.push_back(to_json(one));
  return list;
}

}  // namespace

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

json to_json(const Brief& brief) {
  json resources = json::array(), earlier = json::array();
  for (const auto& one : brief.baseline_resources) resources.push_back(to_json(one));
  for (const auto& one : brief.earlier) {
    earlier.push_back({{"candidate", to_json(one.candidate)}, {"verdict", to_json(one.verdict)}});
  }
  json made = {
      {"schema", "ptxlab.brief/1"},
      {"task", {{"name", brief.task.name}, {"version", brief.task.version}, {"file", brief.task.file.string()}}},
      {"target", brief.target.name()},
      {"baseline_ptx", brief.baseline_ptx},
      {"baseline_plan", brief.baseline_plan},
      {"source", brief.source},
      {"baseline_resources", std::move(resources)},
      {"constraints", to_json(brief.constraints)},
      {"earlier", std::move(earlier)},
      {"seed", brief.seed}};
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
    return finding("REC0002", fmt::format("the brief is about task '{}' version {}, not '{}' version {}",
                                          named_task->name, named_task->version, task.name, task.version));
  }
  return at_the_edge([&] { return read_brief_object(value, task); });
}

base::Result<Attempt> attempt_from_json(const json& value) {
  return at_the_edge([&] { return read_attempt_object(value); });
}

base::Result<Candidate> read_candidate(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return finding("REC0003", "the candidate is not JSON");
  return candidate_from_json(value);
}

base::Result<Verdict> read_verdict(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return finding("REC0003", "the verdict is not JSON");
  return verdict_from_json(value);
}

base::Result<Attempt> read_attempt(std::string_view text) {
  json value = parse(text);
  if (value.is_discarded()) return finding("REC0003", "the attempt is not JSON");
  return attempt_from_json(value);
}

}  // namespace ptxlab::record
