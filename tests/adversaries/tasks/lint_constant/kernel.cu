extern "C" __global__ void bounded(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * a[i] >= 0 ? 1.0f : 0.0f;
}
