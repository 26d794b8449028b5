// Blocks of 32 quantised weights with a scale each, unpacked to floats, as llama.cpp-like runtimes store them.
#include <cuda_fp16.h>
#include <stdint.h>

#define QK8_0 32

typedef struct {
  half d;             // scale
  int8_t qs[QK8_0];   // quants
} block_q8_0;
static_assert(sizeof(block_q8_0) == sizeof(half) + QK8_0, "wrong q8_0 block size/padding");

static __global__ void dequantize_block_q8_0(const void* __restrict__ vx, float* __restrict__ y, const int64_t k) {
  const int64_t i = (int64_t)blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= k) return;

  const block_q8_0* x = (const block_q8_0*)vx;
  const int64_t ib = i / QK8_0;
  const int iqs = i % QK8_0;

  y[i] = __half2float(x[ib].d) * x[ib].qs[iqs];
}

void dequantize_row_q8_0_cuda(const void* vx, float* y, const int64_t k, cudaStream_t stream) {
  const int num_blocks = (k + 255) / 256;
  dequantize_block_q8_0<<<num_blocks, 256, 0, stream>>>(vx, y, k);
}
