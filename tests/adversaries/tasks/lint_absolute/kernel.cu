extern "C" __global__ void softmax(const float* x, float* y, int n) {
  __shared__ float part[256];
  const float* row = x + (size_t)blockIdx.x * n;
  float s = 0;
  for (int i = threadIdx.x; i < n; i += 256) s += __expf(fminf(row[i], 60.f));
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += 256) y[(size_t)blockIdx.x * n + i] = __expf(fminf(row[i], 60.f)) / part[0];
}
