// Shapes of loops and bodies that nvcc makes differently; kernels.ptx is `nvcc -O3 -arch=sm_80 -ptx` of this.
#include <cuda_bf16.h>
#define THREADS 256

extern "C" __global__ void add_grid_stride(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

extern "C" __global__ void scale_grid_stride_64(const float* __restrict__ x, float* __restrict__ y, size_t n, float s) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (; i < n; i += stride) y[i] = x[i] * s;
}

// The size of the CTA is a constant: nvcc unrolls by four and moves pointers.
extern "C" __global__ void sum_of_squares(const float* __restrict__ x, float* __restrict__ y, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += THREADS) sum += row[i] * row[i];
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

extern "C" __global__ void scale_rows(const float* __restrict__ x, float* __restrict__ y, int n, float s) {
  for (int i = threadIdx.x; i < n; i += THREADS) y[(size_t)blockIdx.x * n + i] = x[(size_t)blockIdx.x * n + i] * s;
}

extern "C" __global__ void scale_rows_rolled(const float* x, float* y, int n, float s) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += THREADS) y[(size_t)blockIdx.x * n + i] = x[(size_t)blockIdx.x * n + i] * s;
}

// A guarded body with a branch inside and an access that is no neighbour's neighbour.
extern "C" __global__ void bias_gelu(const __nv_bfloat16* x, const __nv_bfloat16* b, __nv_bfloat16* y, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = __bfloat162float(x[i]) + __bfloat162float(b[i % columns]);
  y[i] = __float2bfloat16(0.5f * v * (1.f + erff(v * 0.70710678f)));
}

extern "C" __global__ void relu_rows(const float* x, float* y, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column < n) {
    float v = x[row * n + column];
    y[row * n + column] = v > 0 ? v : 0;
  }
}

// In place, and with an early way out.
extern "C" __global__ void clip_in_place(double* x, int n, double limit) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n) {
    double v = x[i];
    if (v != v) return;
    x[i] = v > limit ? limit : v;
  }
}

extern "C" __global__ void threshold_bytes(const unsigned char* x, unsigned char* y, unsigned n, unsigned limit) {
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] > limit ? 255 : 0;
}
