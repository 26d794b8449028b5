// Tensor maps: the words that a plan file has for their types and modes, and what the driver demands of their numbers (CUDA
// driver API reference, cuTensorMapEncodeTiled). The 128 bytes themselves are the driver's business: their layout is nowhere
// documented, and they hold an address.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/plan.h"
#include "launch/resolved.h"

namespace ptxlab::launch {

// In the order of ResolvedTensorMap's enumerators.
inline constexpr std::array<std::string_view, 13> kTensorMapTypes{
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"};
inline constexpr std::array<std::string_view, 3> kTensorMapInterleaves{"none", "16B", "32B"};
inline constexpr std::array<std::string_view, 4> kTensorMapSwizzles{"none", "32B", "64B", "128B"};
inline constexpr std::array<std::string_view, 4> kTensorMapPromotions{"none", "64B", "128B", "256B"};
inline constexpr std::array<std::string_view, 2> kTensorMapOutsides{"zero", "nan"};

uint32_t element_bytes(ResolvedTensorMap::Type type);

// A map's expressions, evaluated.
struct TensorMapNumbers {
  std::vector<int64_t> dims, strides, box, element_strides;  // element_strides may be empty: 1 each
  uint32_t buffer = 0;
  uint64_t addend = 0;         // bytes from the buffer's start
  uint64_t buffer_bytes = 0;   // of the whole buffer
  std::string_view in_buffer;  // its name, for messages
};

// Errors, each naming the map and standing at the number that breaks a rule: PLAN0033 the driver would not make it, PLAN0034 it
// reaches outside its buffer. `map` has been read without a finding.
base::Result<ResolvedTensorMap> make_tensor_map(const TensorMap& map, const TensorMapNumbers& numbers);

}  // namespace ptxlab::launch
