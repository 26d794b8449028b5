// The names, widths and kinds of types and state spaces as constexpr data: type.cc answers from it at run time,
// table.cc reads the rows with it at compile time.
#pragma once
#include <array>

#include "isa/type.h"

namespace ptxlab::isa {

inline constexpr size_t kTypes = static_cast<size_t>(Type::kEnd);

// In the order of the enumeration; type.cc asserts that at compile time.
inline constexpr std::array<TypeInfo, kTypes> kTypeInfo = {{
    {"", 0, Kind::none, 1, Type::none},
    {"pred", 1, Kind::predicate, 1, Type::pred},
    {"b8", 8, Kind::bits, 1, Type::b8},
    {"b16", 16, Kind::bits, 1, Type::b16},
    {"b32", 32, Kind::bits, 1, Type::b32},
    {"b64", 64, Kind::bits, 1, Type::b64},
    {"b128", 128, Kind::bits, 1, Type::b128},
    {"u8", 8, Kind::unsigned_integer, 1, Type::u8},
    {"u16", 16, Kind::unsigned_integer, 1, Type::u16},
    {"u32", 32, Kind::unsigned_integer, 1, Type::u32},
    {"u64", 64, Kind::unsigned_integer, 1, Type::u64},
    {"s8", 8, Kind::signed_integer, 1, Type::s8},
    {"s16", 16, Kind::signed_integer, 1, Type::s16},
    {"s32", 32, Kind::signed_integer, 1, Type::s32},
    {"s64", 64, Kind::signed_integer, 1, Type::s64},
    {"f16", 16, Kind::floating, 1, Type::f16},
    {"f16x2", 32, Kind::floating, 2, Type::f16},
    {"bf16", 16, Kind::floating, 1, Type::bf16},
    {"bf16x2", 32, Kind::floating, 2, Type::bf16},
    {"tf32", 32, Kind::floating, 1, Type::tf32},
    {"f32", 32, Kind::floating, 1, Type::f32},
    {"f32x2", 64, Kind::floating, 2, Type::f32},
    {"f64", 64, Kind::floating, 1, Type::f64},
    {"e4m3", 8, Kind::floating, 1, Type::e4m3},
    {"e5m2", 8, Kind::floating, 1, Type::e5m2},
    {"e4m3x2", 16, Kind::floating, 2, Type::e4m3},
    {"e5m2x2", 16, Kind::floating, 2, Type::e5m2},
    {"u16x2", 32, Kind::unsigned_integer, 2, Type::u16},
    {"s16x2", 32, Kind::signed_integer, 2, Type::s16},
    {"u8x4", 32, Kind::unsigned_integer, 4, Type::u8},
    {"s8x4", 32, Kind::signed_integer, 4, Type::s8},
    {"u4", 4, Kind::unsigned_integer, 1, Type::u4},
    {"s4", 4, Kind::signed_integer, 1, Type::s4},
    {"b1", 1, Kind::bits, 1, Type::b1},
    {"e2m1", 4, Kind::floating, 1, Type::e2m1},
    {"e2m3", 8, Kind::floating, 1, Type::e2m3},
    {"e3m2", 8, Kind::floating, 1, Type::e3m2},
    {"ue8m0", 8, Kind::floating, 1, Type::ue8m0},
    {"ue4m3", 8, Kind::floating, 1, Type::ue4m3},
    {"e2m1x2", 8, Kind::floating, 2, Type::e2m1},
    {"e2m3x2", 16, Kind::floating, 2, Type::e2m3},
    {"e3m2x2", 16, Kind::floating, 2, Type::e3m2},
    {"ue8m0x2", 16, Kind::floating, 2, Type::ue8m0},
    {"e2m1x4", 16, Kind::floating, 4, Type::e2m1},
    {"e2m3x4", 32, Kind::floating, 4, Type::e2m3},
    {"e3m2x4", 32, Kind::floating, 4, Type::e3m2},
    {"e4m3x4", 32, Kind::floating, 4, Type::e4m3},
    {"e5m2x4", 32, Kind::floating, 4, Type::e5m2},
    {"texref", 64, Kind::bits, 1, Type::texref},
    {"samplerref", 64, Kind::bits, 1, Type::samplerref},
    {"surfref", 64, Kind::bits, 1, Type::surfref},
}};

constexpr std::string_view without_dot(std::string_view word) { return word.starts_with('.') ? word.substr(1) : word; }

constexpr Type find_type(std::string_view word) {
  word = without_dot(word);
  for (size_t i = 1; i < kTypes; ++i) {
    if (kTypeInfo[i].name == word) return static_cast<Type>(i);
  }
  return Type::none;
}

constexpr Space find_space(std::string_view word) {
  word = without_dot(word);
  if (word == "global") return Space::global;
  if (word == "shared" || word == "shared::cta") return Space::shared;
  if (word == "shared::cluster") return Space::shared_cluster;
  if (word == "local") return Space::local;
  if (word == "param" || word == "param::entry") return Space::param;
  if (word == "param::func") return Space::param_func;
  if (word == "const") return Space::constant;
  if (word == "reg") return Space::reg;
  if (word == "tex") return Space::tex;
  return Space::none;
}

}  // namespace ptxlab::isa
