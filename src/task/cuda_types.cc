#include "task/cuda_types.h"

#include <cstdint>

namespace ptxlab::task {
namespace {

struct TypeRow {
  std::string_view cuda, type;
  int count;  // elements of a vector type
};
constexpr TypeRow kTypes[] = {
    {"float", "f32", 1},
    {"double", "f64", 1},
    {"half", "f16", 1},
    {"__half", "f16", 1},
    {"__nv_bfloat16", "bf16", 1},
    {"nv_bfloat16", "bf16", 1},
    {"__nv_fp8_e4m3", "e4m3", 1},
    {"__nv_fp8_e5m2", "e5m2", 1},
    {"int", "s32", 1},
    {"int32_t", "s32", 1},
    {"signed int", "s32", 1},
    {"unsigned", "u32", 1},
    {"unsigned int", "u32", 1},
    {"uint32_t", "u32", 1},
    {"uint", "u32", 1},
    {"long", "s64", 1},
    {"long int", "s64", 1},
    {"long long", "s64", 1},
    {"long long int", "s64", 1},
    {"int64_t", "s64", 1},
    {"ptrdiff_t", "s64", 1},
    {"unsigned long", "u64", 1},
    {"unsigned long long", "u64", 1},
    {"unsigned long long int", "u64", 1},
    {"uint64_t", "u64", 1},
    {"size_t", "u64", 1},
    {"std::size_t", "u64", 1},
    {"short", "s16", 1},
    {"int16_t", "s16", 1},
    {"unsigned short", "u16", 1},
    {"uint16_t", "u16", 1},
    {"char", "s8", 1},
    {"signed char", "s8", 1},
    {"int8_t", "s8", 1},
    {"unsigned char", "u8", 1},
    {"uint8_t", "u8", 1},
    {"bool", "u8", 1},
    {"float2", "f32", 2},
    {"float3", "f32", 3},
    {"float4", "f32", 4},
    {"double2", "f64", 2},
    {"half2", "f16", 2},
    {"__half2", "f16", 2},
    {"__nv_bfloat162", "bf16", 2},
    {"nv_bfloat162", "bf16", 2},
    {"int2", "s32", 2},
    {"int3", "s32", 3},
    {"int4", "s32", 4},
    {"uint2", "u32", 2},
    {"uint3", "u32", 3},
    {"uint4", "u32", 4},
    {"char2", "s8", 2},
    {"char4", "s8", 4},
    {"uchar2", "u8", 2},
    {"uchar3", "u8", 3},
    {"uchar4", "u8", 4},
    {"short2", "s16", 2},
    {"short4", "s16", 4},
    {"ushort2", "u16", 2},
    {"ushort4", "u16", 4},
    {"longlong2", "s64", 2},
    {"ulonglong2", "u64", 2},
};

}  // namespace

CudaType cuda_type(std::string_view name) {
  for (const TypeRow& row : kTypes)
    if (row.cuda == name) return {row.type, row.count};
  return {};
}

}  // namespace ptxlab::task
