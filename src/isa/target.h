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
  uint16_t sm = 0;      // 90
  char suffix = 0;      // 'a', 'f' or 0
  friend bool operator==(const Target&, const Target&) = default;
  std::string name() const;  // "sm_90a"
};

std::optional<Target> target_named(std::string_view name);
std::span<const Target> known_targets();
// The first PTX version that knows the target (manual, "Release Notes").
PtxVersion first_version(const Target& target);

// Per-SM limits (CUDA C++ programming guide, table of technical specifications).
struct SmLimits {
  int max_threads;            // resident threads an SM
  int max_ctas;               // resident CTAs an SM
  int registers;              // 32-bit registers an SM
  int register_unit;          // allocation granularity a warp
  int max_registers_thread;   // 255
  int shared_bytes;           // shared memory an SM
  int shared_bytes_cta;       // largest dynamic shared memory of a CTA, opt-in included
  int reserved_shared_cta;    // what the system takes of each CTA
};
const SmLimits& limits_of(const Target& target);

// When a form exists: first PTX version and target, and the windows in which it was removed. Zero: no condition.
struct Gate {
  PtxVersion ptx_since = 0;
  uint16_t sm_since = 0;
  char sm_suffix = 0;         // 'a': that arch-specific target only; 'f': its family
  PtxVersion ptx_until = 0;   // with sm_until: gone from this PTX version on for targets of sm_until and later
  uint16_t sm_until = 0;
};

// Empty where the gate admits; else why not: "needs PTX ISA 7.8 or later", "needs sm_90a".
std::string refusal(const Gate& gate, PtxVersion version, const Target& target);

}  // namespace ptxlab::isa
