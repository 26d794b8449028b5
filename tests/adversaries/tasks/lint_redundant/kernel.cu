extern "C" __global__ void scaled(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 2 * a[i] + 0 * (float)(__float_as_int(b[i]) & 0);
}
