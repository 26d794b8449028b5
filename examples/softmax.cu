// Softmax along rows, one CTA a row. Build and run: nvcc -O3 softmax.cu -o softmax && ./softmax
#include <cstdio>
#include <vector>

__device__ float block_reduce(float value, bool maximum) {
  __shared__ float partial[32];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int d = 16; d > 0; d >>= 1) {
    float other = __shfl_xor_sync(0xffffffffu, value, d);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  __syncthreads();  // the previous reduction's result has been read by all
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = partial[0];
  for (unsigned i = 1; i < blockDim.x / 32; ++i) value = maximum ? fmaxf(value, partial[i]) : value + partial[i];
  return value;
}

__global__ void softmax(const float* x, float* y, int n) {
  const float* row = x + static_cast<size_t>(blockIdx.x) * n;
  float* out = y + static_cast<size_t>(blockIdx.x) * n;
  float highest = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) highest = fmaxf(highest, row[i]);
  highest = block_reduce(highest, true);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - highest);
  sum = block_reduce(sum, false);
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = expf(row[i] - highest) / sum;
}

int main() {
  const int m = 64, n = 10000;
  std::vector<float> x(m * n), y(m * n);
  for (int i = 0; i < m * n; ++i) x[i] = static_cast<float>(i % 23) * 0.25f;
  float *dx, *dy;
  cudaMalloc(&dx, x.size() * sizeof(float));
  cudaMalloc(&dy, y.size() * sizeof(float));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
  softmax<<<m, 256>>>(dx, dy, n);
  cudaMemcpy(y.data(), dy, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += y[i];
  std::printf("the first row sums to %g: %s\n", sum, cudaGetErrorString(cudaGetLastError()));
}
