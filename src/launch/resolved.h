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

// What a tensor map is made of, as the driver is asked for it (CUDA driver API, cuTensorMapEncodeTiled): its numbers for
// types and modes, sizes in elements and innermost first, strides in bytes.
struct ResolvedTensorMap {
  enum class Type : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };
  enum class Interleave : uint8_t { none, bytes16, bytes32 };
  enum class Swizzle : uint8_t { none, bytes32, bytes64, bytes128 };
  enum class Promotion : uint8_t { none, bytes64, bytes128, bytes256 };
  enum class Outside : uint8_t { zero, nan };
  static constexpr uint32_t kBytes = 128, kAlignment = 64;  // of the map itself
  static constexpr size_t kMaxRank = 5;
  std::string name;
  uint32_t buffer = 0;
  uint64_t addend = 0;
  Type type = Type::u8;
  std::vector<uint64_t> dims, strides;  // strides: one fewer
  std::vector<uint32_t> box, element_strides;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::none;
  Outside outside = Outside::zero;
  friend bool operator==(const ResolvedTensorMap&, const ResolvedTensorMap&) = default;
};

// The 128 bytes of the plan's tensor map go to `offset`, once the buffers' addresses are known.
struct TensorMapUse {
  uint32_t offset = 0;
  uint32_t map = 0;
  friend bool operator==(const TensorMapUse&, const TensorMapUse&) = default;
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
  // Where each parameter starts in these bytes. ptxas may place them elsewhere: in front of one that is aligned to 64 bytes it
  // leaves room, so a driver is handed them one by one. Empty: nothing is aligned beyond 8 bytes, and the bytes go as they are.
  std::vector<uint32_t> starts;
  std::vector<Relocation> pointers;
  std::vector<TensorMapUse> tensor_maps;  // among the parameter bytes
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
  std::vector<TensorMapUse> tensor_maps;  // among `value`
  friend bool operator==(const ResolvedSymbol&, const ResolvedSymbol&) = default;
};

struct ResolvedPlan {
  std::vector<ResolvedBuffer> buffers;   // the task's arguments in order, then scratch
  std::vector<ResolvedLaunch> launches;  // in stream order
  std::vector<ResolvedSymbol> symbols;
  std::vector<ResolvedTensorMap> tensor_maps;
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
