// Bias, GELU and dropout of a transformer's MLP in one pass, the mask from a counter (Philox 4x32-10).
// Build and run: nvcc -O3 -arch=sm_80 bias_gelu_dropout.cu -o bias_gelu_dropout && ./bias_gelu_dropout
#include <cuda_bf16.h>

#include <cstdio>
#include <vector>

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

int main() {
  const unsigned m = 256, n = 4096;
  std::vector<__nv_bfloat16> x(m * n), bias(n), y(m * n);
  for (unsigned i = 0; i < m * n; ++i) x[i] = __float2bfloat16(static_cast<float>(i % 13) * 0.5f - 3.0f);
  for (unsigned i = 0; i < n; ++i) bias[i] = __float2bfloat16(0.25f);
  __nv_bfloat16 *dx, *dbias, *dy;
  cudaMalloc(&dx, x.size() * sizeof(x[0]));
  cudaMalloc(&dbias, bias.size() * sizeof(bias[0]));
  cudaMalloc(&dy, y.size() * sizeof(y[0]));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(x[0]), cudaMemcpyHostToDevice);
  cudaMemcpy(dbias, bias.data(), bias.size() * sizeof(bias[0]), cudaMemcpyHostToDevice);
  const float p = 0.1f;
  bias_gelu_dropout<<<m, 256>>>(dx, dbias, dy, n, 0x5eed00001234ull, 8, static_cast<unsigned>(p * 4294967296.0),
                                1.0f / (1.0f - p));
  cudaMemcpy(y.data(), dy, y.size() * sizeof(y[0]), cudaMemcpyDeviceToHost);
  unsigned dropped = 0;
  for (const __nv_bfloat16 v : y) dropped += __bfloat162float(v) == 0.0f;
  std::printf("%u of %u dropped: %s\n", dropped, m * n, cudaGetErrorString(cudaGetLastError()));
}
