// One step of the acoustic wave equation: p = 2 u - p + v (L u), L the star of 25 points (radius 4, eighth order). A CTA walks
// along z with a tile of 32 x 8 points: its neighbours in x and y come from a plane in shared memory, those along z from a
// queue of nine values in registers, so that each point of u is read from memory once a tile.

constexpr int kRadius = 4, kTileX = 32, kTileY = 8;

__constant__ float c_star[kRadius + 1];  // the star's coefficients by distance

__global__ void __launch_bounds__(kTileX* kTileY)
    wave_step(const float* u, const float* v, float* p, int nx, int ny, int nz) {
  __shared__ float plane[kTileY + 2 * kRadius][kTileX + 2 * kRadius];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int x = blockIdx.x * kTileX + tx, y = blockIdx.y * kTileY + ty;  // without the halo
  const size_t pitch = nx + 2 * kRadius, slice = pitch * (ny + 2 * kRadius);
  // Threads within a halo's width of the last point bring the tile's right and lower halo.
  const bool inside = x < nx && y < ny, reads = x < nx + kRadius && y < ny + kRadius;
  const size_t column = (y + kRadius) * pitch + x + kRadius;
  float queue[2 * kRadius + 1] = {};
  if (reads) {
#pragma unroll
    for (int i = 0; i < 2 * kRadius; ++i) queue[i + 1] = u[i * slice + column];
  }
  for (int z = 0; z < nz; ++z) {
    const size_t level = (z + kRadius) * slice;
#pragma unroll
    for (int i = 0; i < 2 * kRadius; ++i) queue[i] = queue[i + 1];
    if (reads) queue[2 * kRadius] = u[level + kRadius * slice + column];
    __syncthreads();  // the previous plane has been read by all
    if (reads) {
      plane[ty + kRadius][tx + kRadius] = queue[kRadius];
      if (ty < kRadius) {
        plane[ty][tx + kRadius] = u[level + column - kRadius * pitch];
        if (y + kTileY < ny + kRadius) plane[ty + kTileY + kRadius][tx + kRadius] = u[level + column + kTileY * pitch];
      }
      if (tx < kRadius) {
        plane[ty + kRadius][tx] = u[level + column - kRadius];
        if (x + kTileX < nx + kRadius) plane[ty + kRadius][tx + kTileX + kRadius] = u[level + column + kTileX];
      }
    }
    __syncthreads();
    if (inside) {
      float sum = c_star[0] * queue[kRadius];
#pragma unroll
      for (int r = 1; r <= kRadius; ++r)
        sum += c_star[r] * (queue[kRadius - r] + queue[kRadius + r] + plane[ty + kRadius - r][tx + kRadius] +
                            plane[ty + kRadius + r][tx + kRadius] + plane[ty + kRadius][tx + kRadius - r] +
                            plane[ty + kRadius][tx + kRadius + r]);
      const size_t at = level + column;
      p[at] = 2.0f * queue[kRadius] - p[at] + v[at] * sum;
    }
  }
}
