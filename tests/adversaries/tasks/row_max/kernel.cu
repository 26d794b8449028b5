extern "C" __global__ void row_max(const float* x, float* best, int* at, int n) {
  __shared__ float values[128];
  __shared__ int places[128];
  const float* row = x + (size_t)blockIdx.x * n;
  float value = row[0];
  int place = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    if (row[i] > value || (row[i] == value && i < place)) value = row[i], place = i;
  values[threadIdx.x] = value;
  places[threadIdx.x] = place;
  __syncthreads();
  for (int d = 64; d > 0; d /= 2) {
    if (threadIdx.x < d) {
      float other = values[threadIdx.x + d];
      int there = places[threadIdx.x + d];
      if (other > values[threadIdx.x] || (other == values[threadIdx.x] && there < places[threadIdx.x]))
        values[threadIdx.x] = other, places[threadIdx.x] = there;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) best[blockIdx.x] = values[0], at[blockIdx.x] = places[0];
}
