// Faults in an output buffer, such as wrong kernels leave them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "task/compare.h"
#include "task/fill.h"
#include "task/mutants.h"

namespace ptxlab::task {
namespace {

using isa::Type;
using Bytes = std::span<uint8_t>;
using Shape = std::vector<int64_t>;

size_t width_of(Type type) { return static_cast<size_t>(isa::bytes_of(type)); }
size_t count_of(Bytes bytes, Type type) { return bytes.size() / width_of(type); }
Bytes slice(Bytes bytes, Type type, size_t from, size_t count) {
  return bytes.subspan(from * width_of(type), count * width_of(type));
}

// True where the fault changed something.
bool changed(Bytes bytes, const std::vector<uint8_t>& before) {
  return std::memcmp(bytes.data(), before.data(), bytes.size()) != 0;
}

template <class F>
bool map(Bytes bytes, Type type, F&& f) {
  const std::vector<uint8_t> before(bytes.begin(), bytes.end());
  for (size_t i = 0; i < count_of(bytes, type); ++i) store_element(bytes, type, i, f(element(bytes, type, i)));
  return changed(bytes, before);
}

bool fill_zero(Bytes bytes) {
  const std::vector<uint8_t> before(bytes.begin(), bytes.end());
  std::fill(bytes.begin(), bytes.end(), 0);
  return changed(bytes, before);
}

bool zeros(Bytes bytes, Type, const Shape&) { return fill_zero(bytes); }
bool scaled(Bytes bytes, Type type, const Shape&) {
  return map(bytes, type, [](double v) { return 0.9 * v; });
}
bool raised(Bytes bytes, Type type, const Shape&) {
  // 16 units of the type's precision, as a kernel in a narrower format would be off.
  const double factor = isa::is_float(type) ? 1 + 16 * float_limits(type).unit : 1.0625;
  return map(bytes, type, [&](double v) { return v * factor; });
}
bool constant(Bytes bytes, Type type, const Shape&) {
  double sum = 0;
  const size_t count = count_of(bytes, type);
  for (size_t i = 0; i < count; ++i) {
    const double v = element(bytes, type, i);
    if (std::isfinite(v)) sum += v / static_cast<double>(count);
  }
  return map(bytes, type, [&](double) { return sum; });
}
bool rows_rotated(Bytes bytes, Type type, const Shape& shape) {
  if (shape.empty()) return false;
  const std::vector<uint8_t> before(bytes.begin(), bytes.end());
  const size_t row = shape.size() == 1 ? width_of(type) : static_cast<size_t>(shape.back()) * width_of(type);
  if (bytes.size() <= row) return false;
  std::rotate(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(row), bytes.end());
  return changed(bytes, before);
}
bool tile_dropped(Bytes bytes, Type type, const Shape&) {
  const size_t count = count_of(bytes, type), tile = std::min<size_t>(32, (count + 1) / 2);
  return fill_zero(slice(bytes, type, (count - tile) / 2, tile));
}
bool tail_dropped(Bytes bytes, Type type, const Shape&) {
  return fill_zero(slice(bytes, type, count_of(bytes, type) - 1, 1));
}
bool shifted(Bytes bytes, Type type, const Shape&) {
  const std::vector<uint8_t> before(bytes.begin(), bytes.end());
  std::memmove(bytes.data() + width_of(type), bytes.data(), bytes.size() - width_of(type));
  return changed(bytes, before);
}
bool not_a_number(Bytes bytes, Type type, const Shape&) {
  if (!isa::is_float(type)) return false;
  const size_t at = count_of(bytes, type) / 2;
  if (std::isnan(element(bytes, type, at))) return false;
  store_element(bytes, type, at, std::numeric_limits<double>::quiet_NaN());
  return true;
}

}  // namespace

const std::vector<OutputMutant>& output_mutants() {
  static const std::vector<OutputMutant> mutants{
      {"zeros", "every element is 0", zeros},
      {"scaled", "every element times 0.9", scaled},
      {"raised", "every element too large by 16 units of its precision", raised},
      {"constant", "every element is the mean of the right ones", constant},
      {"rows_rotated", "each row holds its neighbour's values", rows_rotated},
      {"tile_dropped", "32 elements in the middle are 0", tile_dropped},
      {"tail_dropped", "the last element is 0", tail_dropped},
      {"shifted", "each element holds its predecessor's value", shifted},
      {"nan", "one element in the middle is NaN", not_a_number},
  };
  return mutants;
}

}  // namespace ptxlab::task
