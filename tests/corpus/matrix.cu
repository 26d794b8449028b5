// Matrix products: tiled in shared memory, tensor cores through wmma, asynchronous copies.
#include <cuda_pipeline.h>
#include <mma.h>

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile) sgemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile + 1];
  int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += kTile) {
    as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.f;
    bs[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0.f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
template __global__ void sgemm_tiled<16>(const float*, const float*, float*, int, int, int);

__global__ void hgemm_wmma(const half* a, const half* b, float* c, int n, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  for (int t = 0; t < k; t += 16) {
    load_matrix_sync(fa, a + blockIdx.y * 16 * k + t, k);
    load_matrix_sync(fb, b + blockIdx.x * 16 * k + t, k);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, fc, n, mem_row_major);
}

__global__ void copy_pipelined(const float4* x, float4* y, int n) {
  __shared__ float4 stage[2][128];
  int i = blockIdx.x * 128 + threadIdx.x;
  __pipeline_memcpy_async(&stage[0][threadIdx.x], x + i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i < n) y[i] = stage[0][127 - threadIdx.x];
}

__global__ void transpose(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(blockIdx.y * 32 + threadIdx.y + j) * n + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int j = 0; j < 32; j += 8) y[(blockIdx.x * 32 + threadIdx.y + j) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j];
}
