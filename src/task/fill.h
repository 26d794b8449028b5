// What inputs are made of: one row of a buffer at a time, so that a row is the same whatever else is made, and a lazily
// filled buffer can make any row alone.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "isa/type.h"

namespace ptxlab::task {

struct FillSpec {
  std::string name;     // a fill's name, or a special class: zeros, denormals, large
  std::string special;  // "", "nan" or "inf": planted over the fill
  isa::Type type = isa::Type::f32;
  bool bounded = false;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  uint64_t seed = 0;  // of this buffer
};

// Fills one row; `bytes` holds whole elements of spec.type.
void fill_row(const FillSpec& spec, uint64_t row, std::span<uint8_t> bytes);

// Fills a buffer row by row, many at once where it is large. A row longer than kLongRow elements whose values do not lean on each
// other is made in pieces of that length, each like a row of its own.
inline constexpr uint64_t kLongRow = uint64_t{1} << 20;
void fill_rows(const FillSpec& spec, uint64_t row_bytes, std::span<uint8_t> bytes);

// Writes a value as an element: rounded to nearest even for floats, saturated for integers.
void store_element(std::span<uint8_t> bytes, isa::Type type, uint64_t index, double value);

// The smallest normal and the largest finite value of a floating-point type, and half a unit of its last place at 1.
struct FloatLimits {
  double smallest_normal, largest, unit;  // unit: 2^-24 for f32
  bool infinities;
};
FloatLimits float_limits(isa::Type type);

}  // namespace ptxlab::task
