// C = alpha A B + beta C in f32, row-major, any sizes: a CTA makes a tile of 128 x 128, a thread 8 x 8 of it in registers, as
// four blocks of 4 x 4 so that its shared reads are 16 bytes without conflicts. A's tile lies transposed in shared memory.
// Two buffers: while one is multiplied, the next tile is on its way to registers, so one barrier a step is enough.

constexpr int kTile = 128, kDepth = 8, kPad = 4;

// Four neighbouring elements of a row; what lies outside counts as 0.
__device__ float4 load4(const float* matrix, int row, int column, int rows, int columns) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (row >= rows) return v;
  const float* at = matrix + static_cast<size_t>(row) * columns + column;
  if (columns % 4 == 0) {
    if (column < columns) v = *reinterpret_cast<const float4*>(at);
  } else {
    if (column < columns) v.x = at[0];
    if (column + 1 < columns) v.y = at[1];
    if (column + 2 < columns) v.z = at[2];
    if (column + 3 < columns) v.w = at[3];
  }
  return v;
}

// As in BLAS: where beta is 0, C is not read.
__device__ float updated(float sum, const float* at, float alpha, float beta) {
  return beta == 0.0f ? alpha * sum : alpha * sum + beta * *at;
}

// Four neighbouring elements of C.
__device__ void store4(float* matrix, int row, int column, int rows, int columns, const float* sum, float alpha,
                       float beta) {
  if (row >= rows || column >= columns) return;
  float* at = matrix + static_cast<size_t>(row) * columns + column;
  if (columns % 4 == 0) {
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (beta != 0.0f) v = *reinterpret_cast<const float4*>(at);
    v.x = updated(sum[0], &v.x, alpha, beta);
    v.y = updated(sum[1], &v.y, alpha, beta);
    v.z = updated(sum[2], &v.z, alpha, beta);
    v.w = updated(sum[3], &v.w, alpha, beta);
    *reinterpret_cast<float4*>(at) = v;
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (column + j < columns) at[j] = updated(sum[j], at + j, alpha, beta);
  }
}

__global__ void __launch_bounds__(256, 2)
    sgemm(const float* a, const float* b, float* c, int m, int n, int k, float alpha, float beta) {
  __shared__ __align__(16) float tile_a[2][kDepth][kTile + kPad], tile_b[2][kDepth][kTile];
  const int t = threadIdx.x, first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  const int a_row = t / 2, a_depth = t % 2 * 4, b_depth = t / 32, b_column = t % 32 * 4;
  const int row = t / 16 * 4, column = t % 16 * 4;  // of the thread's first block; the others lie 64 further
  float sum[8][8] = {};

  float4 next_a = load4(a, first_row + a_row, a_depth, m, k);
  float4 next_b = load4(b, b_depth, first_column + b_column, k, n);
  int buffer = 0;
  for (int step = 0; step < k; step += kDepth) {
    tile_a[buffer][a_depth][a_row] = next_a.x;
    tile_a[buffer][a_depth + 1][a_row] = next_a.y;
    tile_a[buffer][a_depth + 2][a_row] = next_a.z;
    tile_a[buffer][a_depth + 3][a_row] = next_a.w;
    *reinterpret_cast<float4*>(&tile_b[buffer][b_depth][b_column]) = next_b;
    __syncthreads();
    if (step + kDepth < k) {
      next_a = load4(a, first_row + a_row, step + kDepth + a_depth, m, k);
      next_b = load4(b, step + kDepth + b_depth, first_column + b_column, k, n);
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 a0 = *reinterpret_cast<const float4*>(&tile_a[buffer][d][row]);
      const float4 a1 = *reinterpret_cast<const float4*>(&tile_a[buffer][d][row + 64]);
      const float4 b0 = *reinterpret_cast<const float4*>(&tile_b[buffer][d][column]);
      const float4 b1 = *reinterpret_cast<const float4*>(&tile_b[buffer][d][column + 64]);
      const float left[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float right[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += left[i] * right[j];
    }
    buffer ^= 1;
  }

#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int y = first_row + row + i % 4 + i / 4 * 64;
    store4(c, y, first_column + column, m, n, &sum[i][0], alpha, beta);
    store4(c, y, first_column + column + 64, m, n, &sum[i][4], alpha, beta);
  }
}
