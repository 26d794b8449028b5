// RMS normalisation of rows in bf16, one CTA a row. Build and run: nvcc -O3 -arch=sm_80 rmsnorm.cu -o rmsnorm && ./rmsnorm
#include <cuda_bf16.h>

#include <cstdio>
#include <vector>

__global__ void rmsnorm(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, unsigned n, float eps) {
  __shared__ float partial[32];
  const __nv_bfloat16* row = x + static_cast<size_t>(blockIdx.x) * n;
  float sum = 0.0f;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    float v = __bfloat162float(row[i]);
    sum += v * v;
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane == 0) partial[0] = sum;
  }
  __syncthreads();
  float scale = rsqrtf(partial[0] / n + eps);
  __nv_bfloat16* out = y + static_cast<size_t>(blockIdx.x) * n;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(w[i]));
}

int main() {
  const unsigned m = 256, n = 4096;
  std::vector<__nv_bfloat16> x(m * n), w(n), y(m * n);
  for (unsigned i = 0; i < m * n; ++i) x[i] = __float2bfloat16(static_cast<float>(i % 17) - 8.0f);
  for (unsigned i = 0; i < n; ++i) w[i] = __float2bfloat16(1.0f);
  __nv_bfloat16 *dx, *dw, *dy;
  cudaMalloc(&dx, x.size() * sizeof(x[0]));
  cudaMalloc(&dw, w.size() * sizeof(w[0]));
  cudaMalloc(&dy, y.size() * sizeof(y[0]));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(x[0]), cudaMemcpyHostToDevice);
  cudaMemcpy(dw, w.data(), w.size() * sizeof(w[0]), cudaMemcpyHostToDevice);
  rmsnorm<<<m, 256>>>(dx, dw, dy, n, 1e-6f);
  cudaMemcpy(y.data(), dy, y.size() * sizeof(y[0]), cudaMemcpyDeviceToHost);
  std::printf("y[0] = %g: %s\n", __bfloat162float(y[0]), cudaGetErrorString(cudaGetLastError()));
}
