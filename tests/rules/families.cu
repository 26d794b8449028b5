// Kernels as people write them, one a family; families.ptx is `nvcc -O3 -arch=sm_80 -ptx` of this.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t philox(uint32_t counter, uint32_t seed) {
  uint32_t c0 = counter, c1 = 0, c2 = 0, c3 = 0, k0 = seed, k1 = 0xcafef00du;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    uint32_t h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
    k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
  }
  return c0;
}

// Bias, GELU and dropout over a matrix: a 2D grid, guards on row and column.
extern "C" __global__ void bias_gelu_dropout(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ bias,
                                             __nv_bfloat16* __restrict__ y, int rows, int columns, uint32_t seed, float keep) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || column >= columns) return;
  int64_t at = (int64_t)row * columns + column;
  float v = __bfloat162float(x[at]) + __bfloat162float(bias[column]);
  float g = 0.5f * v * (1.f + erff(v * 0.70710678118f));
  float u = philox((uint32_t)at, seed) * 2.3283064e-10f;
  y[at] = __float2bfloat16(u < keep ? g / keep : 0.f);
}

// The same over the flat matrix.
extern "C" __global__ void bias_gelu_dropout_flat(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ bias,
                                             __nv_bfloat16* __restrict__ y, int n, int columns, uint32_t seed, float keep) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  float v = __bfloat162float(x[at]) + __bfloat162float(bias[at % columns]);
  float g = 0.5f * v * (1.f + erff(v * 0.70710678118f));
  float u = philox((uint32_t)at, seed) * 2.3283064e-10f;
  y[at] = __float2bfloat16(u < keep ? g / keep : 0.f);
}

// Rotary embedding in place: one CTA a token, a thread a pair (i, i + half).
extern "C" __global__ void rotary(float* q, const float* __restrict__ cosine, const float* __restrict__ sine,
                                  const int* __restrict__ position, int heads, int dim) {
  int token = blockIdx.x, half = dim / 2;
  const float* c = cosine + (int64_t)position[token] * half;
  const float* s = sine + (int64_t)position[token] * half;
  for (int i = threadIdx.x; i < heads * half; i += blockDim.x) {
    int head = i / half, j = i % half;
    int64_t at = ((int64_t)token * heads + head) * dim + j;
    float a = q[at], b = q[at + half];
    q[at] = a * c[j] - b * s[j];
    q[at + half] = b * c[j] + a * s[j];
  }
}

// bf16, one CTA a (token, head), a thread an index.
extern "C" __global__ void rotary_bf16(__nv_bfloat16* __restrict__ q, const float* __restrict__ cosine, const float* __restrict__ sine,
                                       int heads, int dim) {
  int token = blockIdx.x, head = blockIdx.y, half = dim / 2;
  __nv_bfloat16* row = q + ((int64_t)token * heads + head) * dim;
  for (int j = threadIdx.x; j < half; j += blockDim.x) {
    float c = cosine[token * half + j], s = sine[token * half + j];
    float a = __bfloat162float(row[j]), b = __bfloat162float(row[j + half]);
    row[j] = __float2bfloat16(a * c - b * s);
    row[j + half] = __float2bfloat16(b * c + a * s);
  }
}

// int8 weights with a scale for each group of 128, to bf16.
extern "C" __global__ void dequantise(const int8_t* __restrict__ w, const float* __restrict__ scale, __nv_bfloat16* __restrict__ y,
                                      int64_t n, int group) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16((float)w[i] * scale[i / group]);
}

// The same by rows, f16 scales.
extern "C" __global__ void dequantise_rows(const int8_t* __restrict__ w, const __half* __restrict__ scale, __half* __restrict__ y,
                                           int k, int groups) {
  int row = blockIdx.y;
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= k) return;
  float s = __half2float(scale[(int64_t)row * groups + column / 128]);
  y[(int64_t)row * k + column] = __float2half((float)w[(int64_t)row * k + column] * s);
}

extern "C" __global__ void histogram(const uint8_t* __restrict__ data, unsigned* __restrict__ bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}

#define TILE 16
extern "C" __global__ void sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  __shared__ float as[TILE][TILE + 1], bs[TILE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
  float sum = 0;
  for (int t = 0; t < k; t += TILE) {
    as[ty][tx] = row < m && t + tx < k ? a[(int64_t)row * k + t + tx] : 0.f;
    bs[ty][tx] = t + ty < k && column < n ? b[(int64_t)(t + ty) * n + column] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && column < n) c[(int64_t)row * n + column] = sum;
}

// A thread an element, straight from global memory.
extern "C" __global__ void sgemm_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// Radius 4 in 3D, marching along z with the column in registers and a shared tile.
#define R 4
extern "C" __global__ void stencil3d(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz,
                                     float c0, float c1, float c2, float c3, float c4) {
  __shared__ float tile[8 + 2 * R][32 + 2 * R];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  bool inside = x < nx && y < ny;
  int stride = nx * ny, at = y * nx + x;
  float z[2 * R + 1];
#pragma unroll
  for (int i = 0; i < 2 * R; ++i) z[i + 1] = i >= R && inside && i - R < nz ? in[(int64_t)(i - R) * stride + at] : 0.f;
  for (int k = 0; k < nz; ++k) {
#pragma unroll
    for (int i = 0; i < 2 * R; ++i) z[i] = z[i + 1];
    z[2 * R] = inside && k + R < nz ? in[(int64_t)(k + R) * stride + at] : 0.f;
    __syncthreads();
    tile[threadIdx.y + R][threadIdx.x + R] = z[R];
    if (threadIdx.x < R) {
      tile[threadIdx.y + R][threadIdx.x] = x >= R && y < ny && x - R < nx ? in[(int64_t)k * stride + at - R] : 0.f;
      tile[threadIdx.y + R][threadIdx.x + 32 + R] = y < ny && x + 32 < nx ? in[(int64_t)k * stride + at + 32] : 0.f;
    }
    if (threadIdx.y < R) {
      tile[threadIdx.y][threadIdx.x + R] = y >= R && x < nx && y - R < ny ? in[(int64_t)k * stride + at - R * nx] : 0.f;
      tile[threadIdx.y + 8 + R][threadIdx.x + R] = x < nx && y + 8 < ny ? in[(int64_t)k * stride + at + 8 * nx] : 0.f;
    }
    __syncthreads();
    float v = c0 * z[R];
    float w[R + 1] = {c0, c1, c2, c3, c4};
#pragma unroll
    for (int r = 1; r <= R; ++r)
      v += w[r] * (z[R - r] + z[R + r] + tile[threadIdx.y + R - r][threadIdx.x + R] + tile[threadIdx.y + R + r][threadIdx.x + R] +
                   tile[threadIdx.y + R][threadIdx.x + R - r] + tile[threadIdx.y + R][threadIdx.x + R + r]);
    if (inside) out[(int64_t)k * stride + at] = v;
  }
}

// The usual first version: a thread a point, everything from global memory.
extern "C" __global__ void stencil3d_naive(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz, float c0, float c1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 4 || y < 4 || z < 4 || x >= nx - 4 || y >= ny - 4 || z >= nz - 4) return;
  int at = (z * ny + y) * nx + x;
  float v = c0 * in[at];
#pragma unroll
  for (int r = 1; r <= 4; ++r)
    v += c1 / r * (in[at - r] + in[at + r] + in[at - r * nx] + in[at + r * nx] + in[at - r * nx * ny] + in[at + r * nx * ny]);
  out[at] = v;
}

// Already float2.
extern "C" __global__ void scale_pairs(const float2* __restrict__ x, float2* __restrict__ y, int n, float s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float2 v = x[i]; v.x *= s; v.y *= s; y[i] = v; }
}

extern "C" __global__ void axpy_half2(const __half2* __restrict__ x, __half2* __restrict__ y, int n, __half2 a) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = __hfma2(a, x[i], y[i]);
}

// Sum of a row by one thread each: serial loop with unknown trip count.
extern "C" __global__ void dot_rows(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0;
#pragma unroll 1
  for (int j = 0; j < n; ++j) sum += a[(int64_t)j * m + row] * x[j];
  y[row] = sum;
}
// Warp a row: matrix times vector.
extern "C" __global__ void gemv_warp(const __half* __restrict__ a, const __half* __restrict__ x, float* __restrict__ y, int m, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= m) return;
  float sum = 0;
  for (int j = lane; j < n; j += 32) sum += __half2float(a[(int64_t)row * n + j]) * __half2float(x[j]);
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

// Without __restrict__ a compiler must take every pointer for every other.
extern "C" __global__ void accumulate(const float* a, const float* x, float* y, int m, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  for (int j = 0; j < n; ++j) y[row] += a[row * n + j] * x[j];
}

extern "C" __global__ void scale_by_first(const float* s, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * s[0] + s[1];
}

extern "C" __global__ void sum_and_difference(const float* a, const float* b, float* sum, float* difference, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] = a[i] + b[i];
  difference[i] = a[i] - b[i];
}

extern "C" __global__ void two_steps(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = 2.f * x[i];
  float t = x[n - 1 - i];
  y[i] = t > 0 ? t : x[i];
}

// A barrier, an exchange and a volatile access in loops; no rule may touch them.
extern "C" __global__ void barriers(const float* x, float* y, int n, int rounds) {
  __shared__ float tile[64];
  float sum = 0;
  for (int r = 0; r < rounds; ++r) {
    tile[threadIdx.x] = x[(r * 64 + threadIdx.x) % n];
    __syncthreads();
    sum += tile[(threadIdx.x + 1) % 64];
    __syncthreads();
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}

extern "C" __global__ void exchanges(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = __shfl_xor_sync(__activemask(), x[i], 1);
}

extern "C" __global__ void watched(volatile float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] + x[i];
}
