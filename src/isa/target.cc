#include "isa/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/target_names.h"

namespace ptxlab::isa {
namespace {

constexpr auto kTargets = [] {
  std::array<Target, kKnownTargets.size()> targets{};
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = kKnownTargets[i].target;
  return targets;
}();

struct LimitsRow {
  uint16_t sm;
  SmLimits limits;
};

constexpr int kKiB = 1024;

// Sorted by sm; a target between two rows takes the one below.
constexpr LimitsRow kLimits[] = {
    //     threads CTAs registers unit max  shared SM   shared CTA  reserved
    {50, {2048, 32, 65536, 256, 255, 64 * kKiB, 48 * kKiB, 0}},
    {52, {2048, 32, 65536, 256, 255, 96 * kKiB, 48 * kKiB, 0}},
    {53, {2048, 32, 65536, 256, 255, 64 * kKiB, 48 * kKiB, 0}},
    {60, {2048, 32, 65536, 256, 255, 64 * kKiB, 48 * kKiB, 0}},
    {61, {2048, 32, 65536, 256, 255, 96 * kKiB, 48 * kKiB, 0}},
    {62, {2048, 32, 65536, 256, 255, 64 * kKiB, 48 * kKiB, 0}},
    {70, {2048, 32, 65536, 256, 255, 96 * kKiB, 96 * kKiB, 0}},
    {75, {1024, 16, 65536, 256, 255, 64 * kKiB, 64 * kKiB, 0}},
    {80, {2048, 32, 65536, 256, 255, 164 * kKiB, 163 * kKiB, kKiB}},
    {86, {1536, 16, 65536, 256, 255, 100 * kKiB, 99 * kKiB, kKiB}},
    {87, {1536, 16, 65536, 256, 255, 164 * kKiB, 163 * kKiB, kKiB}},
    {88, {1536, 24, 65536, 256, 255, 100 * kKiB, 99 * kKiB, kKiB}},
    {89, {1536, 24, 65536, 256, 255, 100 * kKiB, 99 * kKiB, kKiB}},
    {90, {2048, 32, 65536, 256, 255, 228 * kKiB, 227 * kKiB, kKiB}},
    {100, {2048, 32, 65536, 256, 255, 228 * kKiB, 227 * kKiB, kKiB}},
    {101, {1536, 24, 65536, 256, 255, 228 * kKiB, 227 * kKiB, kKiB}},
    {103, {2048, 32, 65536, 256, 255, 228 * kKiB, 227 * kKiB, kKiB}},
    {110, {1536, 24, 65536, 256, 255, 228 * kKiB, 227 * kKiB, kKiB}},
    {120, {1536, 24, 65536, 256, 255, 100 * kKiB, 99 * kKiB, kKiB}},
};

std::string version_text(PtxVersion version) { return fmt::format("{}.{}", version / 10, version % 10); }

// The fewest names whose features together are the set: families before single targets.
std::string names_of(SuffixedTargets set) {
  std::string text;
  auto take = [&](char suffix) {
    for (const Target& target : kTargets) {
      SuffixedTargets admitted = find_admitted(target);
      if (target.suffix != suffix || target.sm == 101 || !admitted || (set & admitted) != admitted) continue;
      text += (text.empty() ? "" : " or ") + target.name();
      set &= ~admitted;
    }
  };
  take('f');
  take('a');
  return text.empty() ? "no known target" : text;
}

// What to write instead of `target`: its own variant with a suffix where that has the features, else all that have them.
std::string remedy(SuffixedTargets set, PtxVersion version, const Target& target) {
  for (char suffix : {'f', 'a'}) {
    Target variant{target.sm, suffix};
    SuffixedTargets admitted = find_admitted(variant);
    if (admitted && (set & admitted) == admitted && first_version(variant) <= version) return variant.name();
  }
  return names_of(set);
}

}  // namespace

std::string Target::name() const {
  std::string text = "sm_" + std::to_string(sm);
  if (suffix) text += suffix;
  return text;
}

std::optional<Target> target_named(std::string_view name) {
  if (!name.starts_with("sm_")) return std::nullopt;
  auto known = find_target(name);
  if (!known) return std::nullopt;
  return known->target;
}

std::span<const Target> known_targets() { return kTargets; }

PtxVersion first_version(const Target& target) {
  auto known = find_target(target.sm, target.suffix);
  return known ? known->since : 0;
}

const SmLimits& limits_of(const Target& target) {
  const SmLimits* best = &kLimits[0].limits;
  for (const LimitsRow& row : kLimits) {
    if (row.sm <= target.sm) best = &row.limits;
  }
  return *best;
}

SuffixedTargets admitted_by(const Target& target) { return find_admitted(target); }

Gate strictest(const Gate& a, const Gate& b) {
  Gate both = a;
  both.ptx_since = std::max(a.ptx_since, b.ptx_since);
  both.sm_since = std::max(a.sm_since, b.sm_since);
  if (a.wider_since || b.wider_since) {
    both.wider_since =
        std::max(a.wider_since ? a.wider_since : a.ptx_since, b.wider_since ? b.wider_since : b.ptx_since);
    both.wider_sm = std::max(a.wider_since ? a.wider_sm : a.sm_since, b.wider_since ? b.wider_sm : b.sm_since);
  }
  both.only_on = a.only_on && b.only_on ? a.only_on & b.only_on : a.only_on | b.only_on;
  if (b.ptx_until) {
    both.ptx_until = b.ptx_until;
    both.sm_until = b.sm_until;
  }
  return both;
}

std::string refusal(const Gate& gate, PtxVersion version, const Target& target) {
  if (gate.only_on && !(gate.only_on & bit_of(target))) {
    std::string text = "needs " + remedy(gate.only_on, std::max(version, gate.ptx_since), target);
    return version < gate.ptx_since ? text + " and PTX ISA " + version_text(gate.ptx_since) : text;
  }
  if (version < gate.ptx_since) return fmt::format("needs PTX ISA {} or later", version_text(gate.ptx_since));
  bool wider = gate.wider_since && version >= gate.wider_since;
  uint16_t lowest = wider ? std::min(gate.sm_since, gate.wider_sm) : gate.sm_since;
  if (target.sm < lowest) {
    bool helps = gate.wider_since && !wider && target.sm >= gate.wider_sm;
    return helps ? fmt::format("needs PTX ISA {} or later on sm_{}", version_text(gate.wider_since), target.sm)
                 : fmt::format("needs sm_{} or later", gate.wider_since ? gate.wider_sm : lowest);
  }
  if (gate.ptx_until && version >= gate.ptx_until && target.sm >= gate.sm_until) {
    return fmt::format("was removed in PTX ISA {} for sm_{} and later", version_text(gate.ptx_until), gate.sm_until);
  }
  return "";
}

std::string description(const Gate& gate) {
  std::string text;
  if (gate.ptx_since) text = "PTX ISA " + version_text(gate.ptx_since);
  std::string on = gate.only_on ? names_of(gate.only_on) : gate.sm_since ? "sm_" + std::to_string(gate.sm_since) : "";
  if (!on.empty()) text += (text.empty() ? "" : ", ") + on;
  if (gate.ptx_until) {
    text += fmt::format("{}until PTX ISA {} on sm_{}", text.empty() ? "" : ", ", version_text(gate.ptx_until),
                        gate.sm_until);
  }
  return text;
}

}  // namespace ptxlab::isa
