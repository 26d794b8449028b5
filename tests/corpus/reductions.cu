// Row reductions: the shapes of rmsnorm, softmax, a block sum and a warp scan.
#include <cuda_bf16.h>
#include <math_constants.h>

__global__ void rmsnorm_bf16(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, unsigned n, float eps) {
  __shared__ float part[32];
  const __nv_bfloat16* row = x + size_t(blockIdx.x) * n;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    float v = __bfloat162float(row[i]);
    sum += v * v;
  }
  for (int lane = 16; lane; lane >>= 1) sum += __shfl_xor_sync(~0u, sum, lane);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < (blockDim.x + 31) / 32 ? part[threadIdx.x] : 0.f;
    for (int lane = 16; lane; lane >>= 1) sum += __shfl_xor_sync(~0u, sum, lane);
    if (threadIdx.x == 0) part[0] = rsqrtf(sum / n + eps);
  }
  __syncthreads();
  float scale = part[0];
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
    y[size_t(blockIdx.x) * n + i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(w[i]));
}

__global__ void softmax_f32(const float* __restrict__ x, float* __restrict__ y, int n) {
  extern __shared__ float buffer[];
  const float* row = x + size_t(blockIdx.x) * n;
  float largest = -CUDART_INF_F;
  for (int i = threadIdx.x; i < n; i += blockDim.x) largest = fmaxf(largest, row[i]);
  buffer[threadIdx.x] = largest;
  for (int half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) buffer[threadIdx.x] = fmaxf(buffer[threadIdx.x], buffer[threadIdx.x + half]);
  }
  __syncthreads();
  largest = buffer[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - largest);
  buffer[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) buffer[threadIdx.x] += buffer[threadIdx.x + half];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[size_t(blockIdx.x) * n + i] = expf(row[i] - largest) / buffer[0];
}

__global__ void sum_f64(const double* x, double* total, long long n) {
  double sum = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) sum += x[i];
  atomicAdd(total, sum);
}

__global__ void warp_scan(const int* x, int* y) {
  int v = x[threadIdx.x];
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(~0u, v, d);
    if ((threadIdx.x & 31) >= d) v += other;
  }
  y[threadIdx.x] = v;
}
