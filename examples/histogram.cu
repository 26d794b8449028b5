// How often each byte occurs, counted in shared memory by each warp for itself and carried out by atomics.
// Build and run: nvcc -O3 histogram.cu -o histogram && ./histogram
#include <algorithm>
#include <cstdio>
#include <vector>

constexpr unsigned kWarps = 8, kBins = 256;

__global__ void histogram(const unsigned char* x, unsigned* bins, unsigned n) {
  __shared__ unsigned counts[kWarps][kBins];
#pragma unroll
  for (unsigned w = 0; w < kWarps; ++w) counts[w][threadIdx.x] = 0;
  __syncthreads();
  unsigned* mine = counts[threadIdx.x / 32];
  const uchar4* words = reinterpret_cast<const uchar4*>(x);
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned i = first; i < n / 4; i += gridDim.x * blockDim.x) {
    const uchar4 v = words[i];
    atomicAdd(&mine[v.x], 1u);
    atomicAdd(&mine[v.y], 1u);
    atomicAdd(&mine[v.z], 1u);
    atomicAdd(&mine[v.w], 1u);
  }
  if (first < n % 4) atomicAdd(&mine[x[n / 4 * 4 + first]], 1u);
  __syncthreads();
  unsigned sum = 0;
#pragma unroll
  for (unsigned w = 0; w < kWarps; ++w) sum += counts[w][threadIdx.x];
  if (sum > 0) atomicAdd(&bins[threadIdx.x], sum);
}

int main() {
  const unsigned n = 3840 * 2160;
  std::vector<unsigned char> x(n);
  for (unsigned i = 0; i < n; ++i) x[i] = static_cast<unsigned char>(i * i >> 8);
  std::vector<unsigned> bins(kBins);
  unsigned char* dx;
  unsigned* dbins;
  cudaMalloc(&dx, n);
  cudaMalloc(&dbins, kBins * sizeof(unsigned));
  cudaMemcpy(dx, x.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(dbins, 0, kBins * sizeof(unsigned));
  histogram<<<std::min((n + 16383) / 16384, 1056u), 256>>>(dx, dbins, n);
  cudaMemcpy(bins.data(), dbins, kBins * sizeof(unsigned), cudaMemcpyDeviceToHost);
  std::printf("%u zeros: %s\n", bins[0], cudaGetErrorString(cudaGetLastError()));
}
