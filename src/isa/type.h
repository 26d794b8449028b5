// The types and state spaces of PTX (manual: "Types", "State Spaces").
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxlab::isa {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
  u4,
  s4,
  b1,
  e2m1,
  e2m3,
  e3m2,
  ue8m0,
  ue4m3,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  e2m1x4,
  e2m3x4,
  e3m2x4,
  e4m3x4,
  e5m2x4,
  texref,
  samplerref,
  surfref,  // opaque: handles in variables and parameters
  kEnd,
};

enum class Kind : uint8_t { none, predicate, bits, unsigned_integer, signed_integer, floating };

struct TypeInfo {
  std::string_view name;  // without the dot: "u32"
  uint16_t bits;          // storage: 16 for bf16, 32 for f16x2 and tf32, 8 for e2m1x2; 4 for the lone e2m1, u4, s4
  Kind kind;
  uint8_t lanes;  // 2 for f16x2
  Type element;   // the type of one lane; itself where lanes == 1
};

const TypeInfo& info(Type type);
inline std::string_view name_of(Type type) { return info(type).name; }
inline int bits_of(Type type) { return info(type).bits; }
inline int bytes_of(Type type) { return (info(type).bits + 7) / 8; }
inline bool is_float(Type type) { return info(type).kind == Kind::floating; }
inline bool is_signed(Type type) { return info(type).kind == Kind::signed_integer; }
inline bool is_integer(Type type) {
  return info(type).kind == Kind::signed_integer || info(type).kind == Kind::unsigned_integer;
}

// ".u32" or "u32" to Type::u32; nothing where the word names no type.
std::optional<Type> type_named(std::string_view word);

enum class Space : uint8_t {
  none,
  generic,
  reg,
  constant,
  global,
  local,
  param,
  shared,
  shared_cluster,
  param_func,
  tex
};

std::string_view name_of(Space space);                    // "global", "shared::cluster"; generic gives ""
std::optional<Space> space_named(std::string_view word);  // ".shared::cta" is shared; ".param::entry" is param

}  // namespace ptxlab::isa
