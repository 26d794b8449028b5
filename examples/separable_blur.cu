// A separable blur in two passes, its taps in constant memory.
#include <cuda_runtime.h>

#define RADIUS 4

namespace blur {

__constant__ float c_taps[2 * RADIUS + 1];
__constant__ int c_clamp;

// Outside the image the edge's pixel goes on, or zeros do.
__device__ inline float at(const float* image, int i, int n, size_t stride) {
  if (c_clamp) {
    i = min(max(i, 0), n - 1);
  } else if (i < 0 || i >= n) {
    return 0.f;
  }
  return image[i * stride];
}

__global__ void rows(const float* src, float* dst, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.f;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += c_taps[k + RADIUS] * at(src + size_t(y) * w, x + k, w, 1);
  dst[size_t(y) * w + x] = sum;
}

__global__ void columns(const float* src, float* dst, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.f;
#pragma unroll
  for (int k = -RADIUS; k <= RADIUS; ++k) sum += c_taps[k + RADIUS] * at(src + x, y + k, h, w);
  dst[size_t(y) * w + x] = sum;
}

}  // namespace blur

void gaussian_blur(const float* h_taps, const float* src, float* tmp, float* dst, int w, int h, int clamp) {
  cudaMemcpyToSymbol(blur::c_taps, h_taps, sizeof(float) * (2 * RADIUS + 1));
  cudaMemcpyToSymbol(blur::c_clamp, &clamp, sizeof(int));
  dim3 block(32, 8), grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
  blur::rows<<<grid, block>>>(src, tmp, w, h);
  blur::columns<<<grid, block>>>(tmp, dst, w, h);
}
