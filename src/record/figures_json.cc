#include "record/figures_json.h"

#include <array>
#include <map>
#include <utility>

namespace ptxlab::record {
namespace {

// A line's counts in the order of "columns", so that a long kernel's profile stays short.
constexpr std::array kProfileColumns = {"line",    "warps",         "threads", "requests",
                                        "sectors", "ideal_sectors", "passes",  "ideal_passes"};

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

std::vector<Estimate::Part> read_parts(const Object& object, const json& value, const char* key, const char* figure) {
  std::vector<Estimate::Part> parts;
  if (!value.contains(key)) return parts;
  object.each(key, [&](const json& item, const std::string& where) {
    Object part(item, where);
    parts.push_back({part.get<std::string>("name"), part.get<double>(figure)});
  });
  return parts;
}

}  // namespace

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

// A list that verdicts and briefs of earlier versions lack.
std::vector<toolchain::SassFacts> read_sass_list(const Object& object, const char* key) {
  std::vector<toolchain::SassFacts> all;
  if (!object.has(key)) return all;
  object.each(key, [&](const json& item, const std::string& where) { all.push_back(read_sass_facts(item, where)); });
  return all;
}

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

json sass_json(const std::vector<toolchain::SassFacts>& facts) {
  json list = json::array();
  for (const auto& one : facts) list.push_back(to_json(one));
  return list;
}

}  // namespace ptxlab::record
