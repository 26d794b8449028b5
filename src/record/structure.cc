#include "record/structure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/finding_json.h"
#include "base/nearest.h"
#include "ptx/verifier.h"
#include "task/case.h"

namespace ptxlab::record {
namespace {

std::string text_of(const task::Sizes& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, " "));
}

// Integers among the bytes that a launch passes; a pointer's are not there yet.
void read_parameters(const ptx::Function& entry, const launch::ResolvedLaunch& launch, analysis::Known& known) {
  const auto layout = launch::layout_of(entry);
  for (uint32_t i = 0; i < entry.parameters.size() && i < layout.offsets.size(); ++i) {
    const auto& parameter = entry.parameters[i];
    const uint32_t offset = layout.offsets[i];
    const auto bytes = static_cast<uint32_t>(parameter.bytes());
    const bool pointer =
        std::any_of(launch.pointers.begin(), launch.pointers.end(), [&](const auto& p) { return p.offset == offset; });
    if (pointer || !parameter.dims.empty() || isa::is_float(parameter.type) || bytes > 8 ||
        offset + bytes > launch.parameters.size())
      continue;
    uint64_t value = 0;
    for (uint32_t b = 0; b < bytes; ++b) value |= uint64_t{launch.parameters[offset + b]} << (8 * b);
    // A 32-bit size is an index: what looks negative in it is.
    known.parameters[i] = bytes == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
  }
}

base::Findings read_assembly(const StructureRequest& request, const ptx::Module& module, const isa::Target& target,
                             StructureReport& report) {
  if (!request.ptxas)
    return {{"ASM0001",
             base::Severity::note,
             {request.file},
             "no ptxas on this machine: what it makes of the kernel is not shown",
             "'ptxlab doctor' says where one is looked for",
             {}}};
  toolchain::AssembleOptions options;
  options.target = target;
  auto made = toolchain::assemble(*request.ptxas, request.ptx, request.file, options);
  if (!made) {
    auto findings = made.findings();
    for (auto& finding : findings) finding.severity = base::Severity::warning;
    return findings;
  }
  for (auto& function : report.functions) {
    const auto* resources = made->entry(function.structure.function);
    if (!resources) continue;
    analysis::Assembly assembly;
    assembly.by = "ptxas " + request.ptxas->version;
    assembly.target = target.name();
    assembly.registers = resources->registers;
    assembly.spilled = resources->spill_stores + resources->spill_loads;
    assembly.stack = resources->stack;
    assembly.shared = resources->shared;
    assembly.code_bytes = resources->code_bytes;
    assembly.occupancy = occupancy_text(target, function.structure.block, resources->registers, resources->shared);
    function.assembly = assembly;
  }
  (void)module;
  return {};
}

base::Result<std::vector<const ptx::Function*>> chosen(const StructureRequest& request, const ptx::Module& module) {
  std::vector<const ptx::Function*> functions;
  std::vector<std::string> names;
  for (const auto& function : module.functions) {
    if (!function.has_body) continue;
    names.push_back(function.name);
    if (request.entry.empty()) functions.push_back(&function);
  }
  if (names.empty())
    return base::Finding{"REC0005",
                         base::Severity::error,
                         {request.file},
                         "the module has no function with a body",
                         "there is nothing to describe",
                         {}};
  if (request.entry.empty()) return functions;
  const auto* one = module.entry(request.entry);
  if (!one) one = module.function(request.entry);
  if (one && one->has_body) return std::vector<const ptx::Function*>{one};
  auto near = base::nearest(request.entry, names);
  return base::Finding{
      "REC0004",
      base::Severity::error,
      {request.file},
      fmt::format("the module has no entry '{}'", request.entry),
      near.empty() ? fmt::format("there are: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near),
      {}};
}

}  // namespace

const task::Task::Timed* main_size(const task::Task& task) {
  if (task.time.empty()) return nullptr;
  return &*std::max_element(task.time.begin(), task.time.end(),
                            [](const auto& a, const auto& b) { return a.weight < b.weight; });
}

std::array<uint32_t, 3> block_of(const launch::Plan& plan, const launch::Launch& launch) {
  std::map<std::string, int64_t, std::less<>> lets;
  auto names = [&](std::string_view name) -> std::optional<int64_t> {
    auto found = lets.find(name);
    return found == lets.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
  for (const auto& [name, expression] : plan.lets)
    if (auto value = expression.evaluate(names)) lets[name] = *value;
  std::array<uint32_t, 3> block{1, 1, 1};
  for (size_t i = 0; i < launch.block.size() && i < 3; ++i) {
    auto value = launch.block[i].evaluate(names);
    if (!value || *value < 1 || *value > launch::kMaxThreadsPerCta) return {};
    block[i] = static_cast<uint32_t>(*value);
  }
  return block;
}

analysis::Known known_of(const launch::Plan& plan, const ptx::Module& module, const ptx::Function& entry,
                         const task::Task* task) {
  analysis::Known known;
  const auto launched = std::find_if(plan.launches.begin(), plan.launches.end(),
                                     [&](const auto& launch) { return module.entry(launch.entry) == &entry; });
  if (launched == plan.launches.end()) return known;
  known.names = launched->arguments;
  known.block = block_of(plan, *launched);
  const auto* timed = task ? main_size(*task) : nullptr;
  if (!timed) return known;
  auto data = task::bind_case(*task, task::case_of(timed->sizes, 1));
  if (!data) return known;
  auto resolved = launch::resolve(plan, module, data->binding);
  if (!resolved) return known;
  for (const auto& launch : resolved->launches) {
    if (launch.entry != entry.name) continue;
    known.block = launch.block;
    read_parameters(entry, launch, known);
    return known;
  }
  return known;
}

std::string occupancy_text(const isa::Target& target, const std::array<uint32_t, 3>& block, int registers, int shared) {
  if (block[0] == 0) return "";
  const auto threads = static_cast<int>(block[0] * block[1] * block[2]);
  const auto found = toolchain::occupancy(target, threads, registers, shared);
  return fmt::format(
      "{} CTA{} of {} threads fit{} an SM, {:.0f} % of its warps, limited by {}, dynamic shared memory apart",
      found.ctas, found.ctas == 1 ? "" : "s", threads, found.ctas == 1 ? "s" : "", found.fraction * 100,
      found.limited_by);
}

base::Result<StructureReport> describe_structure(const StructureRequest& request) {
  auto checked = ptx::check(request.ptx, request.file);
  if (!checked.ok()) return checked.findings;
  const auto& module = checked.module;
  auto functions = chosen(request, module);
  if (!functions) return functions.findings();
  launch::Plan plan;
  if (!request.plan.empty()) {
    auto read = launch::read_plan(request.plan, request.plan_file);
    if (!read) return read.findings();
    plan = *std::move(read);
  }
  StructureReport report;
  const auto target = request.target.value_or(module.target);
  report.file = request.file;
  report.target = target.name();
  report.version = fmt::format("{}.{}", module.version / 10, module.version % 10);
  report.findings = checked.findings;
  for (const auto* function : *functions) {
    const auto known = known_of(plan, module, *function, request.task);
    if (!known.parameters.empty()) report.size = text_of(main_size(*request.task)->sizes);
    report.functions.push_back({analysis::structure_of(*function, known), std::nullopt});
  }
  auto said = read_assembly(request, module, target, report);
  report.findings.insert(report.findings.end(), said.begin(), said.end());
  return report;
}

std::string text(const StructureReport& report) {
  std::string text = fmt::format("{}: PTX {}, for {}{}\n", report.file, report.version, report.target,
                                 report.size.empty() ? "" : ", numbers of sizes are those at " + report.size);
  for (const auto& function : report.functions)
    text += "\n" + analysis::structure_text(function.structure, function.assembly);
  return text;
}

nlohmann::json to_json(const StructureReport& report) {
  nlohmann::json json = {{"schema", "ptxlab.structure/1"},
                         {"file", report.file},
                         {"target", report.target},
                         {"ptx_version", report.version},
                         {"size", report.size.empty() ? nlohmann::json(nullptr) : nlohmann::json(report.size)},
                         {"functions", nlohmann::json::array()},
                         {"findings", base::to_json(report.findings)}};
  for (const auto& function : report.functions)
    json["functions"].push_back(analysis::structure_json(function.structure, function.assembly));
  return json;
}

}  // namespace ptxlab::record
