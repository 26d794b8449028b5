// Elements of matrices as numbers, and back: what the products of mma and wmma share.
#pragma once
#include <cstdint>

#include "isa/type.h"

namespace ptxlab::simt {

// The exact value of a floating element; tf32 ignores its low bits.
double element_number(uint64_t bits, isa::Type type);
// Rounded to f16, f32 or f64, to the nearest or as random_rounding.h says; NaN is canonical.
uint64_t element_bits(double value, isa::Type type);
// Of integers of 4, 8 and 32 bits.
int32_t element_integer(uint64_t bits, isa::Type type);

}  // namespace ptxlab::simt
