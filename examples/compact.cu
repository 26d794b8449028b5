// Keeps the points above a threshold, in any order, and counts them; what does not fit is counted and dropped.
#include <cuda_runtime.h>

struct __align__(8) Hit {
  unsigned index;
  float value;
};

__global__ void compact(const float* __restrict__ data, int n, float threshold, Hit* hits, unsigned* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && data[i] > threshold;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  const int lane = threadIdx.x & 31;
  unsigned base = 0;
  if (lane == 0 && votes) base = atomicAdd(count, __popc(votes));
  base = __shfl_sync(0xffffffffu, base, 0);
  if (keep) {
    Hit hit;
    hit.index = i;
    hit.value = data[i];
    hits[base + __popc(votes & ((1u << lane) - 1))] = hit;
  }
}

int main() {
  const int n = 1 << 24;
  float* data;
  Hit* hits;
  unsigned* count;
  cudaMalloc(&data, n * sizeof(float));
  cudaMalloc(&hits, n * sizeof(Hit));
  cudaMalloc(&count, sizeof(unsigned));
  cudaMemset(count, 0, sizeof(unsigned));
  compact<<<(n + 255) / 256, 256>>>(data, n, 0.5f, hits, count);
  return cudaDeviceSynchronize();
}
