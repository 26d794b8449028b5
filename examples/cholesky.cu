// Cholesky factors of many small matrices, in place, a warp a matrix; the upper triangle is left as it is.
#include <cuda_runtime.h>

#define N 16

namespace {

__global__ void __launch_bounds__(128) potrf_batched(float* a, int* info, int batch) {
  const int matrix = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (matrix >= batch) return;
  float* A = a + (size_t)matrix * N * N;
  int failed = 0;
  for (int k = 0; k < N; ++k) {
    const float pivot = A[k * N + k];
    if (!(pivot > 0.f)) {
      failed = k + 1;
      break;
    }
    const float root = sqrtf(pivot);
    __syncwarp();
    if (lane == k) A[k * N + k] = root;
    if (lane > k && lane < N) A[lane * N + k] /= root;
    __syncwarp();
    if (lane > k && lane < N)
      for (int j = k + 1; j <= lane; ++j) A[lane * N + j] -= A[lane * N + k] * A[j * N + k];
    __syncwarp();
  }
  if (lane == 0) info[matrix] = failed;
}

}  // namespace

void potrf(float* a, int* info, int batch, cudaStream_t stream) {
  potrf_batched<<<(batch + 3) / 4, 128, 0, stream>>>(a, info, batch);
}
