// Rotary embedding in place, in the layout of Llama and GPT-NeoX: elements j and j + half of a head turn by the angle of
// the token's position. One CTA a token; its row of cosines and sines comes from a table, as inference servers keep it.
#include <cuda_bf16.h>

__global__ void rope(__nv_bfloat16* q, __nv_bfloat16* k, const float* table, const int* positions, int heads_q,
                     int heads_k, int half) {
  const size_t token = blockIdx.x;
  const float* cosines = table + static_cast<size_t>(positions[token]) * 2 * half;
  const float* sines = cosines + half;
  const int pairs_q = heads_q * half, pairs = pairs_q + heads_k * half;
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
    const bool of_q = i < pairs_q;
    const int pair = of_q ? i : i - pairs_q, head = pair / half, j = pair - head * half;
    __nv_bfloat16* row = of_q ? q + (token * heads_q + head) * 2 * half : k + (token * heads_k + head) * 2 * half;
    const float a = __bfloat162float(row[j]), b = __bfloat162float(row[j + half]);
    const float c = cosines[j], s = sines[j];
    row[j] = __float2bfloat16(a * c - b * s);
    row[j + half] = __float2bfloat16(b * c + a * s);
  }
}
