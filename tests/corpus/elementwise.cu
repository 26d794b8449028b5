// Elementwise kernels: plain, guarded, grid-stride, vector types, narrow floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void bias_gelu(const float4* x, const float* bias, float4* y, int columns, int total) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    int c = (i * 4) % columns;
    auto gelu = [](float t) { return 0.5f * t * (1.f + tanhf(0.7978845608f * (t + 0.044715f * t * t * t))); };
    y[i] = make_float4(gelu(v.x + bias[c]), gelu(v.y + bias[c + 1]), gelu(v.z + bias[c + 2]), gelu(v.w + bias[c + 3]));
  }
}

__global__ void half_arithmetic(const __half2* a, const __half2* b, __half2* c, __half s) {
  int i = threadIdx.x;
  __half2 t = __hfma2(a[i], b[i], __half2half2(s));
  t = __hmax2(t, __float2half2_rn(0.f));
  if (__hlt(__low2half(t), s)) t = h2exp2(t);
  c[i] = __hadd2(t, __hneg2(b[i]));
}

__global__ void bf16_arithmetic(const __nv_bfloat162* a, __nv_bfloat162* c, float s) {
  int i = threadIdx.x;
  __nv_bfloat162 t = __hmul2(a[i], __float2bfloat162_rn(s));
  t = __hfma2(t, t, a[i]);
  c[i] = __hmin2(__habs2(t), a[i]);
}

__global__ void integer64(const long long* a, unsigned long long* b, int shift) {
  int i = threadIdx.x;
  long long v = a[i];
  b[i] = (unsigned long long)(v / 7) % 1000003ull + __popcll(v) + __clzll(v) + (v >> shift) + __mul64hi(v, v) + __brevll(v);
}

__global__ void bytes(const unsigned char* a, signed char* b, short* c, unsigned short* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = a[i] * 3 - b[i];
  b[i] = (signed char)v;
  c[i] = (short)(c[i] * v);
  d[i] = __byte_perm(v, d[i], 0x5410);
}

__global__ void double_math(double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sqrt(x[i]) + 1.0 / x[i] + fma(x[i], 2.0, floor(x[i])) + rint(x[i]) + fmax(x[i], -0.0);
}

__global__ void float_intrinsics(float* x, int* y) {
  int i = threadIdx.x;
  float v = x[i];
  x[i] = __sinf(v) + __cosf(v) + __expf(v) + __logf(v) + __fdividef(v, 3.f) + __frsqrt_rn(v) + __frcp_rz(v) + __fadd_ru(v, 1.f) +
         __saturatef(v) + copysignf(v, -1.f) + truncf(v) + ceilf(v);
  y[i] = __float2int_rn(v) + __float2int_ru(v) + __float_as_int(v) + __float2uint_rz(v) + __ffs(i) + __vadd2(i, 3) + __sad(i, 4, 5);
  if (isnan(v) || isinf(v)) x[i] = 0;
}
