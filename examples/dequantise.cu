// Weight-only int8: each row of weights back to f16, one scale a group of neighbouring columns (a multiple of 4).
// Build and run: nvcc -O3 -arch=sm_80 dequantise.cu -o dequantise && ./dequantise
#include <cuda_fp16.h>

#include <cstdio>
#include <vector>

struct alignas(8) Four {
  __half at[4];
};

__global__ void dequantise(const signed char* q, const __half* scale, __half* y, unsigned k, unsigned group) {
  const size_t row = blockIdx.x;
  q += row * k;
  scale += row * ((k + group - 1) / group);
  y += row * k;
  const bool wide = k % 4 == 0;
  for (unsigned i = 4 * threadIdx.x; i < k; i += 4 * blockDim.x) {
    const float factor = __half2float(scale[i / group]);
    if (wide) {
      const char4 v = *reinterpret_cast<const char4*>(q + i);
      Four out;
      out.at[0] = __float2half_rn(static_cast<float>(v.x) * factor);
      out.at[1] = __float2half_rn(static_cast<float>(v.y) * factor);
      out.at[2] = __float2half_rn(static_cast<float>(v.z) * factor);
      out.at[3] = __float2half_rn(static_cast<float>(v.w) * factor);
      *reinterpret_cast<Four*>(y + i) = out;
    } else {
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
        if (i + j < k) y[i + j] = __float2half_rn(static_cast<float>(q[i + j]) * factor);
    }
  }
}

int main() {
  const unsigned n = 512, k = 4096, group = 128;
  std::vector<signed char> q(n * k);
  std::vector<__half> scale(n * (k / group)), y(n * k);
  for (unsigned i = 0; i < n * k; ++i) q[i] = static_cast<signed char>(i % 251 - 125);
  for (unsigned i = 0; i < scale.size(); ++i) scale[i] = __float2half(0.01f * static_cast<float>(i % 7 + 1));
  signed char* dq;
  __half *dscale, *dy;
  cudaMalloc(&dq, q.size());
  cudaMalloc(&dscale, scale.size() * sizeof(__half));
  cudaMalloc(&dy, y.size() * sizeof(__half));
  cudaMemcpy(dq, q.data(), q.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dscale, scale.data(), scale.size() * sizeof(__half), cudaMemcpyHostToDevice);
  dequantise<<<n, 256>>>(dq, dscale, dy, k, group);
  cudaMemcpy(y.data(), dy, y.size() * sizeof(__half), cudaMemcpyDeviceToHost);
  std::printf("y[0] = %g: %s\n", __half2float(y[0]), cudaGetErrorString(cudaGetLastError()));
}
