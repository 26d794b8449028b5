#include "launch/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <span>

namespace ptxlab::launch {
namespace {

using Map = ResolvedTensorMap;

constexpr int64_t kMaxDim = int64_t{1} << 32;
constexpr int64_t kMaxStride = int64_t{1} << 40;
constexpr int64_t kMaxBox = 256;
constexpr int64_t kMaxElementStride = 8;
constexpr int64_t kGranule = 16;  // bytes that TMA moves at least
constexpr std::array<int64_t, 4> kSwizzleBytes{0, 32, 64, 128};

// A word's number in its list; the reader admits only those.
template <class Enum>
Enum numbered(std::string_view word, std::span<const std::string_view> words) {
  const auto at = std::find(words.begin(), words.end(), word);
  assert(at != words.end() && "the plan's reader admits known words only");
  return static_cast<Enum>(at - words.begin());
}

bool is_float(Map::Type type) {
  switch (type) {
    case Map::Type::f16:
    case Map::Type::f32:
    case Map::Type::f64:
    case Map::Type::bf16:
    case Map::Type::f32_ftz:
    case Map::Type::tf32:
    case Map::Type::tf32_ftz: return true;
    case Map::Type::u8:
    case Map::Type::u16:
    case Map::Type::u32:
    case Map::Type::s32:
    case Map::Type::u64:
    case Map::Type::s64: break;
  }
  return false;
}

class Maker {
 public:
  Maker(const TensorMap& map, const TensorMapNumbers& numbers) : map_(map), numbers_(numbers) {
    made_.name = map.name;
    made_.buffer = numbers.buffer;
    made_.addend = numbers.addend;
    made_.type = numbered<Map::Type>(map.type, kTensorMapTypes);
    made_.interleave = numbered<Map::Interleave>(map.interleave, kTensorMapInterleaves);
    made_.swizzle = numbered<Map::Swizzle>(map.swizzle, kTensorMapSwizzles);
    made_.promotion = numbered<Map::Promotion>(map.l2, kTensorMapPromotions);
    made_.outside = numbered<Map::Outside>(map.oob, kTensorMapOutsides);
    slices_ = made_.interleave == Map::Interleave::bytes32 ? 32 : kGranule;
  }

  base::Result<ResolvedTensorMap> make() {
    const size_t rank = numbers_.dims.size();
    assert(rank >= 1 && rank <= Map::kMaxRank && numbers_.box.size() == rank && numbers_.strides.size() + 1 == rank);
    modes(rank);
    base_address();
    for (size_t i = 0; i < rank; ++i)
      between(numbers_.dims[i], 1, kMaxDim, "dims", i, map_.dims[i], "a dimension has 1 to 2^32 elements");
    for (size_t i = 0; i + 1 < rank; ++i) stride(i);
    box();
    for (size_t i = 0; i < numbers_.element_strides.size(); ++i)
      between(numbers_.element_strides[i], 1, kMaxElementStride, "element_strides", i, map_.element_strides[i],
              "an element stride is between 1 and 8");
    if (!findings_.empty()) return std::move(findings_);
    take();
    reach();
    if (!findings_.empty()) return std::move(findings_);
    return std::move(made_);
  }

 private:
  void error(std::string_view code, const base::Place& place, const std::string& message, std::string hint) {
    findings_.push_back({std::string(code),
                         base::Severity::error,
                         place.line ? place : map_.place,
                         fmt::format("tensor map `{}`: {}", map_.name, message),
                         std::move(hint),
                         {}});
  }
  void refuse(const base::Place& place, const std::string& message, std::string hint) {
    error("PLAN0033", place, message, std::move(hint));
  }
  bool between(int64_t value, int64_t least, int64_t most, const char* key, size_t i, const Expression& from,
               const char* rule) {
    if (value >= least && value <= most) return true;
    refuse(from.origin(), fmt::format("{}[{}] is {}", key, i, value), rule);
    return false;
  }

  void modes(size_t rank) {
    if (made_.interleave != Map::Interleave::none && rank < 3)
      refuse(map_.place, fmt::format("interleave \"{}\" with {} dims", map_.interleave, rank),
             "an interleaved layout has at least 3 dimensions");
    if (made_.interleave == Map::Interleave::bytes32 && made_.swizzle != Map::Swizzle::bytes32)
      refuse(map_.place, fmt::format("interleave \"32B\" with swizzle \"{}\"", map_.swizzle),
             "interleave \"32B\" goes with swizzle = \"32B\" alone");
    if (made_.outside == Map::Outside::nan && !is_float(made_.type))
      refuse(map_.place, fmt::format("oob = \"nan\" with type {}", map_.type),
             "only floating-point elements can be NaN: oob = \"zero\"");
  }

  // Buffers themselves start at multiples of 256 at least.
  void base_address() {
    if (numbers_.addend % static_cast<uint64_t>(slices_) == 0) return;
    refuse(map_.buffer_place, fmt::format("it starts at byte {} of `{}`", numbers_.addend, numbers_.in_buffer),
           fmt::format("its first byte lies at a multiple of {}", slices_));
  }

  void stride(size_t i) {
    const int64_t stride = numbers_.strides[i];
    const base::Place place = map_.strides[i].origin();
    if (!between(stride, 1, kMaxStride - 1, "strides", i, map_.strides[i], "a stride is positive and below 2^40 bytes"))
      return;
    if (stride % slices_ != 0)
      refuse(place, fmt::format("strides[{}] is {} bytes", i, stride),
             fmt::format("a stride is a multiple of {} bytes; pad the rows, or load without a tensor map", slices_));
  }

  void box() {
    const int64_t width = element_bytes(made_.type);
    bool good = true;
    for (size_t i = 0; i < numbers_.box.size(); ++i)
      good &= between(numbers_.box[i], 1, kMaxBox, "box", i, map_.box[i], "a box has 1 to 256 elements a dimension");
    if (!good || made_.interleave != Map::Interleave::none) return;
    const int64_t inner = numbers_.box[0] * width;
    if (inner % kGranule != 0)
      refuse(map_.box[0].origin(),
             fmt::format("box[0] is {} elements of {} bytes = {} bytes", numbers_.box[0], width, inner),
             "the innermost row of a box is a multiple of 16 bytes");
    const int64_t most = kSwizzleBytes.at(static_cast<size_t>(made_.swizzle));
    if (most != 0 && inner > most)
      refuse(map_.box[0].origin(), fmt::format("box[0] is {} bytes with swizzle \"{}\"", inner, map_.swizzle),
             fmt::format("with that swizzle the innermost row of a box has at most {} bytes", most));
  }

  void take() {
    made_.dims.assign(numbers_.dims.begin(), numbers_.dims.end());
    made_.strides.assign(numbers_.strides.begin(), numbers_.strides.end());
    for (int64_t n : numbers_.box) made_.box.push_back(static_cast<uint32_t>(n));
    for (int64_t n : numbers_.element_strides) made_.element_strides.push_back(static_cast<uint32_t>(n));
    made_.element_strides.resize(made_.dims.size(), 1);
  }

  // The last element must lie in the buffer. Of an interleaved layout it is not documented where the slices lie.
  void reach() {
    if (made_.interleave != Map::Interleave::none) return;
    using Wide = unsigned __int128;  // 2^32 elements times 2^40 bytes
    Wide end = Wide{made_.addend} + Wide{made_.dims[0]} * element_bytes(made_.type);
    for (size_t i = 1; i < made_.dims.size(); ++i) end += Wide{made_.dims[i] - 1} * made_.strides[i - 1];
    if (end <= numbers_.buffer_bytes) return;
    const Wide shown = std::min<Wide>(end, ~uint64_t{0});
    error(
        "PLAN0034", map_.buffer_place,
        fmt::format("it ends at byte {} of `{}`, which has {}", static_cast<uint64_t>(shown), numbers_.in_buffer,
                    numbers_.buffer_bytes),
        "dims are in elements and strides in bytes, both innermost first; what lies outside dims is filled, not read");
  }

  const TensorMap& map_;
  const TensorMapNumbers& numbers_;
  ResolvedTensorMap made_;
  int64_t slices_ = kGranule;  // what addresses and strides are multiples of
  base::Findings findings_;
};

}  // namespace

uint32_t element_bytes(ResolvedTensorMap::Type type) {
  switch (type) {
    case Map::Type::u8: return 1;
    case Map::Type::u16:
    case Map::Type::f16:
    case Map::Type::bf16: return 2;
    case Map::Type::u32:
    case Map::Type::s32:
    case Map::Type::f32:
    case Map::Type::f32_ftz:
    case Map::Type::tf32:
    case Map::Type::tf32_ftz: return 4;
    case Map::Type::u64:
    case Map::Type::s64:
    case Map::Type::f64: return 8;
  }
  assert(false && "an unknown type");
  return 1;
}

base::Result<ResolvedTensorMap> make_tensor_map(const TensorMap& map, const TensorMapNumbers& numbers) {
  return Maker(map, numbers).make();
}

}  // namespace ptxlab::launch
