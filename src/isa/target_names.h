// The targets and their first PTX versions as constexpr data: target.cc answers from it at run time, table.cc reads the
// gates of rows with it at compile time.
#pragma once
#include <array>
#include <bit>
#include <optional>

#include "isa/target.h"

namespace ptxlab::isa {

struct KnownTarget {
  Target target;
  PtxVersion since;  // measured with ptxas 13.0, which for sm_88 is more generous than the manual
  uint16_t family;   // the sm whose 'f' features it has; 0: none
};

// sm_101 is what sm_110 was called before PTX ISA 9.0; both belong to one family.
inline constexpr std::array<KnownTarget, 34> kKnownTargets = {{
    {{50, 0}, 40, 0},      {{52, 0}, 41, 0},      {{53, 0}, 42, 0},      {{60, 0}, 50, 0},      {{61, 0}, 50, 0},
    {{62, 0}, 50, 0},      {{70, 0}, 60, 0},      {{72, 0}, 61, 0},      {{75, 0}, 63, 0},      {{80, 0}, 70, 0},
    {{86, 0}, 71, 0},      {{87, 0}, 74, 0},      {{88, 0}, 74, 0},      {{89, 0}, 78, 0},      {{90, 0}, 78, 0},
    {{90, 'a'}, 80, 0},    {{100, 0}, 86, 100},   {{100, 'a'}, 86, 100}, {{100, 'f'}, 88, 100}, {{101, 0}, 86, 110},
    {{101, 'a'}, 86, 110}, {{101, 'f'}, 88, 110}, {{103, 0}, 88, 100},   {{103, 'a'}, 88, 100}, {{103, 'f'}, 88, 100},
    {{110, 0}, 90, 110},   {{110, 'a'}, 90, 110}, {{110, 'f'}, 90, 110}, {{120, 0}, 87, 120},   {{120, 'a'}, 87, 120},
    {{120, 'f'}, 88, 120}, {{121, 0}, 88, 120},   {{121, 'a'}, 88, 120}, {{121, 'f'}, 88, 120},
}};

constexpr SuffixedTargets bit_of(const Target& target) {
  SuffixedTargets bit = 1;
  for (const KnownTarget& known : kKnownTargets) {
    if (known.target.suffix == 0) continue;
    if (known.target.sm == target.sm && known.target.suffix == target.suffix) return bit;
    bit <<= 1;
  }
  return 0;
}

// By value: comparing pointers into a constexpr array with null is no constant expression under -fsanitize=undefined.
constexpr std::optional<KnownTarget> find_target(uint16_t sm, char suffix) {
  for (const KnownTarget& known : kKnownTargets) {
    if (known.target.sm == sm && known.target.suffix == suffix) return known;
  }
  return std::nullopt;
}

constexpr SuffixedTargets find_admitted(const Target& target) {
  if (target.suffix == 0) return 0;
  if (target.suffix == 'a') return bit_of(target);
  auto self = find_target(target.sm, target.suffix);
  SuffixedTargets set = 0;
  if (!self) return set;
  for (const KnownTarget& known : kKnownTargets) {
    // Within a family what sm_103f has is not there on sm_100f: features only grow with the number.
    if (known.family == self->family && known.target.sm >= self->target.sm) set |= bit_of(known.target);
  }
  return set;
}

// "sm_90a", "90a"; nothing where it names none.
constexpr std::optional<KnownTarget> find_target(std::string_view name) {
  if (name.starts_with("sm_")) name.remove_prefix(3);
  uint32_t sm = 0;
  size_t digits = 0;
  while (digits < name.size() && digits < 4 && name[digits] >= '0' && name[digits] <= '9') {
    sm = sm * 10 + static_cast<uint32_t>(name[digits++] - '0');
  }
  if (digits == 0 || name.size() > digits + 1) return std::nullopt;
  return find_target(static_cast<uint16_t>(sm), digits < name.size() ? name[digits] : '\0');
}

}  // namespace ptxlab::isa
