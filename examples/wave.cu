// One step of the acoustic wave equation, eighth order in space: a tile walks along z, its plane in shared memory, its
// neighbours along z in registers, the coefficients in constant memory. Build and run: nvcc -O3 wave.cu -o wave && ./wave
#include <cstdio>
#include <utility>
#include <vector>

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

int main() {
  const int nx = 200, ny = 100, nz = 50;
  const size_t points = static_cast<size_t>(nx + 2 * kRadius) * (ny + 2 * kRadius) * (nz + 2 * kRadius);
  std::vector<float> u(points), v(points, 0.1f), p(points);
  u[points / 2] = 1.0f;
  const float c[kRadius + 1] = {-8.541667f, 1.6f, -0.2f, 0.02539683f, -0.001785714f};
  float *du, *dv, *dp;
  cudaMalloc(&du, points * sizeof(float));
  cudaMalloc(&dv, points * sizeof(float));
  cudaMalloc(&dp, points * sizeof(float));
  cudaMemcpy(du, u.data(), points * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), points * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dp, p.data(), points * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(c_star, c, sizeof(c));
  const dim3 block(kTileX, kTileY), grid((nx + kTileX - 1) / kTileX, (ny + kTileY - 1) / kTileY);
  for (int step = 0; step < 10; ++step) {
    wave_step<<<grid, block>>>(du, dv, dp, nx, ny, nz);
    std::swap(du, dp);
  }
  cudaMemcpy(u.data(), du, points * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("u at the middle = %g: %s\n", u[points / 2], cudaGetErrorString(cudaGetLastError()));
}
