// Histograms, tickets, votes, matches, cooperative groups, fences.
#include <cooperative_groups.h>

__global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__device__ unsigned tickets;
__global__ void last_block(float* x, float* out) {
  __shared__ bool last;
  x[blockIdx.x] = 1.f;
  __threadfence();
  if (threadIdx.x == 0) last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) out[threadIdx.x] = x[threadIdx.x];
}

__global__ void atomic_kinds(int* i, unsigned long long* u, float* f, unsigned* b) {
  atomicMax(i, 3);
  atomicMin(i, -3);
  atomicExch(i + 1, 4);
  atomicCAS(i + 2, 5, 6);
  atomicAnd(b, 0xffu);
  atomicOr(b + 1, 1u);
  atomicXor(b + 2, 2u);
  atomicAdd(u, 1ull);
  f[1] = atomicAdd(f, 1.f);
  atomicDec(b + 3, 7u);
}

__global__ void votes(const int* x, unsigned* y) {
  int v = x[threadIdx.x];
  unsigned active = __activemask();
  y[0] = __ballot_sync(~0u, v > 0);
  y[1] = __any_sync(active, v > 1) + __all_sync(~0u, v > 2);
  y[2] = __match_any_sync(~0u, v);
  y[3] = __syncthreads_count(v) + __syncthreads_or(v > 3);
  y[4] = __reduce_add_sync(~0u, v);
  __syncwarp();
}

namespace cg = cooperative_groups;
__global__ void groups(int* x) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = x[block.thread_rank()];
  for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
  block.sync();
  if (tile.thread_rank() == 0) x[block.group_index().x] = v;
  cg::this_grid().sync();
}
