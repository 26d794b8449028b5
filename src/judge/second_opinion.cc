#include "judge/second_opinion.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "launch/tensor_map.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;
using launch::ResolvedBuffer;

Assembly assembly(const toolchain::Tool& ptxas, std::string_view ptx, std::string_view file,
                  toolchain::AssembleOptions how) {
  auto make = [ptxas, text = std::string(ptx), name = std::string(file), how]() -> base::Result<std::string> {
    auto assembled = toolchain::assemble(ptxas, text, name, how);
    if (!assembled) return assembled.findings();
    return std::move(assembled->cubin);
  };
  return {fmt::format("ptxas {} -O{}", ptxas.version, how.optimise), std::move(make)};
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

nlohmann::json to_json(const launch::ResolvedPlan& plan) {
  nlohmann::json buffers = nlohmann::json::array(), launches = nlohmann::json::array();
  for (const auto& buffer : plan.buffers) buffers.push_back({{"name", buffer.name}, {"bytes", buffer.bytes}});
  for (const auto& launch : plan.launches) {
    nlohmann::json pointers = nlohmann::json::array();
    for (const auto& pointer : launch.pointers)
      pointers.push_back({{"offset", pointer.offset}, {"buffer", pointer.buffer}, {"addend", pointer.addend}});
    nlohmann::json maps = nlohmann::json::array();
    for (const auto& use : launch.tensor_maps) maps.push_back({{"offset", use.offset}, {"map", use.map}});
    launches.push_back({{"entry", launch.entry},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"cluster", launch.cluster},
                        {"shared_bytes", launch.shared_bytes},
                        {"cooperative", launch.cooperative},
                        {"parameters", launch.parameters},
                        {"pointers", pointers},
                        {"tensor_maps", maps}});
  }
  nlohmann::json maps = nlohmann::json::array();
  for (const auto& map : plan.tensor_maps) {
    maps.push_back({{"name", map.name},
                    {"buffer", map.buffer},
                    {"addend", map.addend},
                    {"type", launch::kTensorMapTypes.at(static_cast<size_t>(map.type))},
                    {"dims", map.dims},
                    {"strides", map.strides},
                    {"box", map.box},
                    {"element_strides", map.element_strides},
                    {"interleave", launch::kTensorMapInterleaves.at(static_cast<size_t>(map.interleave))},
                    {"swizzle", launch::kTensorMapSwizzles.at(static_cast<size_t>(map.swizzle))},
                    {"l2", launch::kTensorMapPromotions.at(static_cast<size_t>(map.promotion))},
                    {"oob", launch::kTensorMapOutsides.at(static_cast<size_t>(map.outside))}});
  }
  return {{"buffers", buffers}, {"launches", launches}, {"tensor_maps", maps}};
}

std::string story_of(const Suspect& suspect) {
  return fmt::format(
      "# Assembler suspect\n\n"
      "{}\n\n"
      "- comes out wrong: {}{}\n"
      "- comes out right: {}\n\n"
      "`kernel.ptx` passed ptxlab's verifier and, on its CPU engine, all checkers for memory, races and undefined "
      "values; there\n"
      "its results are right. `wrong.cubin` and `right.cubin` are two assemblies of it. `launch.json` says how it is "
      "launched:\n"
      "`parameters` are the entry's bytes, into which the addresses of buffers go at `pointers` and tensor maps at "
      "`tensor_maps`. `NAME.before` and "
      "`NAME.after` hold\n"
      "the buffers before and after the launches, as `wrong.cubin` left them.\n",
      suspect.story, suspect.wrong_name, suspect.opinion.wrong.empty() ? "" : ", " + joined(suspect.opinion.wrong),
      joined(suspect.opinion.right));
}

}  // namespace

std::vector<Assembly> other_assemblies(const Assemblers& assemblers, std::string_view ptx, std::string_view file,
                                       const ptx::Module& module, const toolchain::AssembleOptions& how) {
  std::vector<Assembly> others;
  const toolchain::Tool* first = assemblers.taking(module.version);
  if (!first) return others;
  auto plain = how;
  plain.optimise = 0;
  if (how.optimise != 0) others.push_back(assembly(*first, ptx, file, plain));
  auto add = [&](const toolchain::Tool& tool) {
    if (tool.path != first->path && tool.ptx_version >= module.version)
      others.push_back(assembly(tool, ptx, file, how));
  };
  if (assemblers.witness) add(*assemblers.witness);
  if (assemblers.every) {
    for (const auto& tool : assemblers.every()) {
      if (!assemblers.witness || tool.path != assemblers.witness->path) add(tool);
    }
  }
  return others;
}

SecondOpinion ask_others(const std::vector<Assembly>& assemblies,
                         const std::function<std::optional<bool>(const std::string& cubin)>& is_right) {
  SecondOpinion opinion;
  for (const auto& one : assemblies) {
    auto cubin = one.cubin();
    if (!cubin) continue;
    auto right = is_right(*cubin);
    if (!right) continue;
    if (*right && opinion.right.empty()) opinion.cubin = *cubin;
    (*right ? opinion.right : opinion.wrong).push_back(one.name);
  }
  return opinion;
}

base::Result<fs::path> write_suspect(const Suspect& suspect, const fs::path& folder) {
  fs::path place = folder / base::sha256(suspect.ptx).substr(0, 16);
  std::error_code error;
  fs::create_directories(place, error);
  base::Findings findings;
  auto write = [&](const std::string& name, std::string_view content) {
    if (findings.empty()) findings = base::write_file(place / name, content);
  };
  write("kernel.ptx", suspect.ptx);
  write("wrong.cubin", suspect.wrong_cubin);
  write("right.cubin", suspect.opinion.cubin);
  write("launch.json", to_json(suspect.plan).dump(1) + "\n");
  for (size_t i = 0; i < suspect.plan.buffers.size(); ++i) {
    const auto& name = suspect.plan.buffers[i].name;
    if (i < suspect.inputs.size() && !suspect.inputs[i].empty()) write(name + ".before", suspect.inputs[i]);
    if (i < suspect.outputs.size() && !suspect.outputs[i].empty()) write(name + ".after", suspect.outputs[i]);
  }
  write("README.md", story_of(suspect));
  if (!findings.empty()) return findings;
  return place;
}

}  // namespace ptxlab::judge
