// AdamW: parameters and both moments are updated in place.
#include <cuda_runtime.h>
#include <math.h>

__device__ inline float lerp_(float a, float b, float t) { return fmaf(t, b, fmaf(-t, a, a)); }

extern "C" __global__ void adamw(float* __restrict__ params, const float* __restrict__ grads, float* __restrict__ m,
                                 float* __restrict__ v, long num_parameters, float lr, float beta1, float beta2,
                                 float beta1_correction, float beta2_correction, float eps, float weight_decay) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= num_parameters) return;
  float g = grads[i];
  float m_i = lerp_(g, m[i], beta1);
  m[i] = m_i;
  float v_i = lerp_(g * g, v[i], beta2);
  v[i] = v_i;
  m_i /= beta1_correction;
  v_i /= beta2_correction;
  params[i] -= lr * (m_i / (sqrtf(v_i) + eps) + weight_decay * params[i]);
}

void adamw_step(float* params, float* grads, float* m, float* v, long n, int t, float lr, float b1, float b2, float eps,
                float wd) {
  adamw<<<(n + 511) / 512, 512>>>(params, grads, m, v, n, lr, b1, b2, 1.0f - powf(b1, t), 1.0f - powf(b2, t), eps, wd);
}
