// How often each byte occurs: every warp counts in a histogram of its own in shared memory, so that equal neighbours of
// other warps do not wait for each other; then a thread a bin adds the eight up and one atomic carries the sum out.

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
