// For tests: an element of a float buffer as a number, as the worker's projection kernel reads it.
#pragma once
#include <cstdint>
#include <cstring>

#include "base/narrow_float.h"
#include "gpu/contest.h"

namespace ptxlab::gpu {

inline double element_value(Element type, const void* data, uint64_t i) {
  auto at = [&]<class T>(T value) {
    std::memcpy(&value, static_cast<const char*>(data) + i * sizeof value, sizeof value);
    return value;
  };
  switch (type) {
    case Element::exact: break;
    case Element::f16: return base::f16_to_double(at(uint16_t{}));
    case Element::bf16: return base::bf16_to_double(at(uint16_t{}));
    case Element::f32: return static_cast<double>(at(float{}));
    case Element::f64: return at(double{});
  }
  return 0;
}

}  // namespace ptxlab::gpu
