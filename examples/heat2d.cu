// Explicit heat equation on a grid, double buffered: the host swaps the fields from step to step.
#include <cuda_runtime.h>
#include <utility>

struct Domain {
  float* material;   // conductivity of each cell; nullptr: 1 everywhere
  int nx, ny;
  float dt;
  double h2;         // cell size squared
  int periodic[2];
};

__global__ void step(const float* __restrict__ from, float* __restrict__ to, Domain d, int parity) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= d.nx) return;
  const int west = x > 0 ? x - 1 : (d.periodic[0] ? d.nx - 1 : x);
  const int east = x + 1 < d.nx ? x + 1 : (d.periodic[0] ? 0 : x);
  const int south = y > 0 ? y - 1 : (d.periodic[1] ? d.ny - 1 : y);
  const int north = y + 1 < d.ny ? y + 1 : (d.periodic[1] ? 0 : y);
  const float c = from[y * d.nx + x];
  // The order of the sum alternates, so that its rounding has no preferred direction.
  float around = parity ? (from[y * d.nx + east] + from[y * d.nx + west]) + (from[north * d.nx + x] + from[south * d.nx + x])
                        : (from[north * d.nx + x] + from[south * d.nx + x]) + (from[y * d.nx + east] + from[y * d.nx + west]);
  const float k = d.material ? d.material[y * d.nx + x] : 1.f;
  to[y * d.nx + x] = c + d.dt * k * (float)((around - 4.f * c) / d.h2);
}

void simulate(float* a, float* b, Domain d, int steps) {
  dim3 grid((d.nx + 127) / 128, d.ny);
  for (int t = 0; t < steps; ++t) {
    step<<<grid, 128>>>(a, b, d, t % 2);
    std::swap(a, b);
  }
}
