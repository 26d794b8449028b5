#include "simt/numbers.h"

#include <array>
#include <bit>

#include "base/narrow_float.h"
#include "simt/random_rounding.h"

namespace ptxlab::simt {

using isa::Type;

namespace {

double fp8_value(uint32_t bits, bool e4m3) {
  static const auto kTables = [] {
    std::array<std::array<double, 256>, 2> tables{};
    for (uint32_t i = 0; i < 256; ++i) {
      tables[0][i] = base::widen(i, base::kE5m2);
      tables[1][i] = base::widen(i, base::kE4m3);
    }
    return tables;
  }();
  return kTables[e4m3][bits];
}

}  // namespace

double element_number(uint64_t bits, Type type) {
  switch (type) {
    case Type::f16: return base::f16_to_float(static_cast<uint16_t>(bits));
    case Type::bf16: return base::bf16_to_float(static_cast<uint16_t>(bits));
    case Type::tf32: return std::bit_cast<float>(static_cast<uint32_t>(bits) & 0xffffe000u);
    case Type::e4m3: return fp8_value(static_cast<uint32_t>(bits), true);
    case Type::e5m2: return fp8_value(static_cast<uint32_t>(bits), false);
    case Type::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}

uint64_t element_bits(double value, Type type) {
  if (type == Type::f64) return value == value ? std::bit_cast<uint64_t>(value) : uint64_t{0x7fffffffffffffff};
  base::Random* random = random_rounding();
  if (type == Type::f16) return rounded_narrow(value, base::kF16, random);
  return value == value ? std::bit_cast<uint32_t>(rounded_float(value, random)) : 0x7fffffffu;
}

int32_t element_integer(uint64_t bits, Type type) {
  int width = isa::bits_of(type);
  auto word = static_cast<uint32_t>(bits) & (width == 32 ? ~0u : (1u << width) - 1);
  if (isa::is_signed(type)) return static_cast<int32_t>(word << (32 - width)) >> (32 - width);
  return static_cast<int32_t>(word);
}

}  // namespace ptxlab::simt
