// A launch plan with every expression evaluated: what an engine or a GPU worker executes. Needs base alone.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ptxlab::launch {

struct ResolvedBuffer {
  enum class Role : uint8_t { in, out, inout, scratch };
  enum class Init : uint8_t { data, poison, zero };
  std::string name;
  uint64_t bytes = 0;
  Role role = Role::in;
  Init init = Init::data;
  friend bool operator==(const ResolvedBuffer&, const ResolvedBuffer&) = default;
};

// The address of `buffer` plus `addend` goes into the parameter bytes at `offset`, 8 bytes, little-endian.
struct Relocation {
  uint32_t offset = 0;
  uint32_t buffer = 0;
  uint64_t addend = 0;
  friend bool operator==(const Relocation&, const Relocation&) = default;
};

using Dim3 = std::array<uint32_t, 3>;

struct ResolvedLaunch {
  std::string entry;  // as in the PTX
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  Dim3 cluster{1, 1, 1};
  uint32_t shared_bytes = 0;  // dynamic shared memory
  bool cooperative = false;
  std::vector<uint8_t> parameters;  // the entry's .param space, laid out as the entry declares it
  std::vector<Relocation> pointers;
  friend bool operator==(const ResolvedLaunch&, const ResolvedLaunch&) = default;
};

// A module's variable that is filled from its first byte on after every load of the module: from a buffer's initial
// bytes, or with bytes into which addresses go as into parameters.
struct ResolvedSymbol {
  static constexpr uint32_t kNoBuffer = ~uint32_t{0};
  std::string name;  // as in the PTX
  uint32_t buffer = kNoBuffer;
  uint64_t addend = 0, bytes = 0;  // of the buffer
  std::vector<uint8_t> value;      // where no buffer is named
  std::vector<Relocation> pointers;
  friend bool operator==(const ResolvedSymbol&, const ResolvedSymbol&) = default;
};

struct ResolvedPlan {
  std::vector<ResolvedBuffer> buffers;   // the task's arguments in order, then scratch
  std::vector<ResolvedLaunch> launches;  // in stream order
  std::vector<ResolvedSymbol> symbols;
  friend bool operator==(const ResolvedPlan&, const ResolvedPlan&) = default;
};

// The entries that a plan launches, each as often as it does.
inline std::vector<std::string> entries_of(const ResolvedPlan& plan) {
  std::vector<std::string> entries;
  for (const auto& launch : plan.launches) entries.push_back(launch.entry);
  return entries;
}

// Hardware limits every launch obeys (CUDA C++ programming guide): 1024 threads a CTA, grid 2^31-1 x 65535 x 65535.
inline constexpr uint32_t kMaxThreadsPerCta = 1024;

}  // namespace ptxlab::launch
