// A target of PTX (".target sm_90a") and what one of its SMs holds.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ptxlab::isa {

// A PTX ISA version times ten: 83 is 8.3.
using PtxVersion = uint16_t;

struct Target {
  uint16_t sm = 0;  // 90
  char suffix = 0;  // 'a', 'f' or 0
  friend bool operator==(const Target&, const Target&) = default;
  std::string name() const;  // "sm_90a"
};

std::optional<Target> target_named(std::string_view name);
std::span<const Target> known_targets();
// The first PTX version that knows the target (manual, "Release Notes").
PtxVersion first_version(const Target& target);

// Per-SM limits (CUDA C++ programming guide, table of technical specifications).
struct SmLimits {
  int max_threads;           // resident threads an SM
  int max_ctas;              // resident CTAs an SM
  int registers;             // 32-bit registers an SM
  int register_unit;         // allocation granularity a warp
  int max_registers_thread;  // 255
  int shared_bytes;          // shared memory an SM
  int shared_bytes_cta;      // largest dynamic shared memory of a CTA, opt-in included
  int reserved_shared_cta;   // what the system takes of each CTA
};
const SmLimits& limits_of(const Target& target);

// A set of the targets with a suffix (sm_90a, sm_100f ...): each is a bit, in the order of known_targets().
using SuffixedTargets = uint32_t;
// The targets that have the features of `target`: sm_90a itself for 'a', the whole family for 'f'; 0 where it has no
// suffix.
SuffixedTargets admitted_by(const Target& target);

// When a form exists: first PTX version and target, and the window in which it was removed. Zero: no condition.
struct Gate {
  PtxVersion ptx_since = 0;
  uint16_t sm_since = 0;
  // Features that come with a suffix alone: the targets that have them; then sm_since is 0.
  SuffixedTargets only_on = 0;
  PtxVersion ptx_until = 0;  // with sm_until: gone from this PTX version on for targets of sm_until and later
  uint16_t sm_until = 0;
  PtxVersion wider_since = 0;  // from this version on targets from `wider_sm` on have it too: fp8 on sm_89
  uint16_t wider_sm = 0;
  friend bool operator==(const Gate&, const Gate&) = default;
};

// What both gates admit. A removal window of `b` replaces one of `a`.
Gate strictest(const Gate& a, const Gate& b);

// Empty where the gate admits; else why not: "needs PTX ISA 7.8 or later", "needs sm_90a", "needs sm_100f or sm_120f".
std::string refusal(const Gate& gate, PtxVersion version, const Target& target);
// The gate in words: "PTX ISA 7.8, sm_90", "" where there is no condition.
std::string description(const Gate& gate);

}  // namespace ptxlab::isa
