// Weights in int8 with one f16 scale for each group of neighbouring columns, back to f16: one CTA a row, four columns a
// thread. A group holds a multiple of four columns, so that the four have one scale.
#include <cuda_fp16.h>

struct alignas(8) Four {
  __half at[4];
};

__global__ void dequantise(const signed char* q, const __half* scale, __half* y, unsigned k, unsigned group) {
  const size_t row = blockIdx.x;
  q += row * k;
  scale += row * ((k + group - 1) / group);
  y += row * k;
  const bool wide = k % 4 == 0;
  for (unsigned i = 4 * threadIdx.x; i < k; i += 4 * blockDim.x) {
    const float factor = __half2float(scale[i / group]);
    if (wide) {
      const char4 v = *reinterpret_cast<const char4*>(q + i);
      Four out;
      out.at[0] = __float2half_rn(static_cast<float>(v.x) * factor);
      out.at[1] = __float2half_rn(static_cast<float>(v.y) * factor);
      out.at[2] = __float2half_rn(static_cast<float>(v.z) * factor);
      out.at[3] = __float2half_rn(static_cast<float>(v.w) * factor);
      *reinterpret_cast<Four*>(y + i) = out;
    } else {
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
        if (i + j < k) y[i + j] = __float2half_rn(static_cast<float>(q[i + j]) * factor);
    }
  }
}
