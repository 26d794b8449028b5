// y = dropout(gelu(x + bias)), one CTA a row. The random words come from a counter (Philox 4x32-10): four neighbouring
// columns share one block of four words, so a thread takes four columns, by 8-byte accesses where rows keep to them.
#include <cuda_bf16.h>

__device__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xd2511f53u, counter.x), low0 = 0xd2511f53u * counter.x;
    const unsigned high1 = __umulhi(0xcd9e8d57u, counter.z), low1 = 0xcd9e8d57u * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  return counter;
}

__device__ __nv_bfloat16 element(__nv_bfloat16 x, __nv_bfloat16 bias, unsigned word, unsigned drop, float scale) {
  const float v = __bfloat162float(x) + __bfloat162float(bias);
  const float gelu = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  return __float2bfloat16(word < drop ? 0.0f : gelu * scale);
}

struct alignas(8) Four {
  __nv_bfloat16 at[4];
};

__global__ void bias_gelu_dropout(const __nv_bfloat16* x, const __nv_bfloat16* bias, __nv_bfloat16* y, unsigned n,
                                  unsigned long long seed, unsigned long long offset, unsigned drop, float scale) {
  const unsigned row = blockIdx.x;
  x += static_cast<size_t>(row) * n;
  y += static_cast<size_t>(row) * n;
  const uint2 key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
  const bool wide = n % 4 == 0;
  for (unsigned group = threadIdx.x; group < (n + 3) / 4; group += blockDim.x) {
    const uint4 random =
        philox(make_uint4(group, row, static_cast<unsigned>(offset), static_cast<unsigned>(offset >> 32)), key);
    const unsigned word[4] = {random.x, random.y, random.z, random.w};
    const unsigned column = 4 * group;
    if (wide) {
      const Four in = *reinterpret_cast<const Four*>(x + column), b = *reinterpret_cast<const Four*>(bias + column);
      Four out;
#pragma unroll
      for (int j = 0; j < 4; ++j) out.at[j] = element(in.at[j], b.at[j], word[j], drop, scale);
      *reinterpret_cast<Four*>(y + column) = out;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (column + j < n) y[column + j] = element(x[column + j], bias[column + j], word[j], drop, scale);
    }
  }
}
