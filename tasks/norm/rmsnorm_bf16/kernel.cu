// y = x / sqrt(mean(x^2) + eps) * w, one CTA a row, sums in f32: first every thread its strided share, then the warps by
// shuffles, then the CTA through shared memory.
#include <cuda_bf16.h>

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
