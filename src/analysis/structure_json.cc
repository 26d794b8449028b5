#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/structure_text.h"

namespace ptxlab::analysis {
namespace {

using nlohmann::json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}
json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json to_json(const Lines& lines) { return {lines.first, lines.last}; }

json to_json(const InstructionMix& mix) {
  json object = json::object();
  for (size_t i = 0; i < mix.counts.size(); ++i)
    if (mix.counts[i]) object[std::string(name_of(static_cast<MixClass>(i)))] = mix.counts[i];
  return object;
}

json to_json(const BlockFacts& block, bool live_known) {
  return {{"label", or_null(block.label)},
          {"lines", to_json(block.lines)},
          {"successors", block.successors},
          {"loop", or_null(block.loop)},
          {"instructions", block.instructions},
          {"live_at_start", live_known ? json(block.live_at_start) : json(nullptr)},
          {"live_peak", live_known ? json(block.peak) : json(nullptr)},
          {"diverges", block.diverges},
          {"mix", to_json(block.mix)}};
}

json to_json(const LoopFacts& loop) {
  return {{"lines", to_json(loop.lines)},
          {"header", loop.header},
          {"depth", loop.depth},
          {"parent", or_null(loop.parent)},
          {"blocks", loop.blocks},
          {"instructions", loop.instructions},
          {"mix", to_json(loop.mix)},
          {"trips",
           {{"text", or_null(loop.trips)},
            {"least", or_null(loop.least_trips)},
            {"most", or_null(loop.most_trips)},
            {"at_most", loop.at_most}}}};
}

json to_json(const AccessFacts& access, const Structure& s) {
  const bool global = access.sectors.has_value(), shared = access.wavefronts.has_value();
  const auto space = access.space == isa::Space::generic ? "generic" : isa::name_of(access.space);
  return {{"line", access.line},
          {"block", access.block},
          {"loop", or_null(s.blocks[access.block].loop)},
          {"instruction", access.instruction},
          {"space", std::string(space)},
          {"reads", access.reads},
          {"writes", access.writes},
          {"atomic", access.atomic},
          {"async", access.async},
          {"one_thread", access.one_thread},
          {"bytes", access.bytes},
          {"vector", access.vector},
          {"base", or_null(access.base)},
          {"stride", std::string(name_of(access.lanes.stride))},
          {"lane_stride", or_null(access.lanes.lane_stride)},
          {"lane_stride_text", or_null(access.stride_text)},
          {"lanes_together", access.lanes.group},
          {"contiguous", access.contiguous()},
          {"loop_step", or_null(access.loop_step)},
          {"alignment", {{"known", access.alignment}, {"required", access.required}}},
          {"sectors",
           global ? json{{"expected", *access.sectors}, {"at_best", access.lanes.ideal_sectors}} : json(nullptr)},
          {"bank_passes", shared ? json{{"expected", *access.wavefronts}, {"at_best", access.lanes.ideal_wavefronts}}
                                 : json(nullptr)}};
}

json to_json(const Assembly& assembly) {
  return {{"by", assembly.by},
          {"target", assembly.target},
          {"registers", assembly.registers},
          {"spilled", assembly.spilled},
          {"stack", assembly.stack},
          {"shared", assembly.shared},
          {"code_bytes", assembly.code_bytes},
          {"occupancy", or_null(assembly.occupancy)}};
}

}  // namespace

json structure_json(const Structure& s, const std::optional<Assembly>& assembly) {
  json object = {{"function", s.function},
                 {"entry", s.entry},
                 {"lines", to_json(s.lines)},
                 {"parameters", s.parameters},
                 {"directives", s.directives},
                 {"cta_threads", s.block[0] ? json(s.block) : json(nullptr)},
                 {"shared_bytes", s.shared_bytes},
                 {"instructions", s.mix.total()},
                 {"mix", to_json(s.mix)},
                 {"named_registers", s.named_registers},
                 {"live_peak", s.live_known ? json(s.peak) : json(nullptr)},
                 {"live_peak_block", s.live_known ? json(s.peak_block) : json(nullptr)},
                 {"irreducible", s.irreducible},
                 {"ptxas", assembly ? to_json(*assembly) : json(nullptr)},
                 {"blocks", json::array()},
                 {"loops", json::array()},
                 {"accesses", json::array()},
                 {"barriers", json::array()}};
  for (const auto& block : s.blocks) object["blocks"].push_back(to_json(block, s.live_known));
  for (const auto& loop : s.loops) object["loops"].push_back(to_json(loop));
  for (const auto& access : s.accesses) object["accesses"].push_back(to_json(access, s));
  for (const auto& barrier : s.barriers)
    object["barriers"].push_back({{"line", barrier.line},
                                  {"block", barrier.block},
                                  {"waits_for", std::string(name_of(barrier.kind))},
                                  {"instruction", barrier.instruction}});
  return object;
}

}  // namespace ptxlab::analysis
