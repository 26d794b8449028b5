// Rotary embedding in place, in the layout of Llama: elements j and j + half of a head turn by the angle of the token's
// position. Build and run: nvcc -O3 -arch=sm_80 rope.cu -o rope && ./rope
#include <cuda_bf16.h>

#include <cmath>
#include <cstdio>
#include <vector>

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

int main() {
  const int tokens = 64, heads_q = 32, heads_k = 8, half = 64, positions_max = 4096;
  std::vector<__nv_bfloat16> q(tokens * heads_q * 2 * half, __float2bfloat16(1.0f));
  std::vector<__nv_bfloat16> k(tokens * heads_k * 2 * half, __float2bfloat16(1.0f));
  std::vector<float> table(positions_max * 2 * half);
  std::vector<int> positions(tokens);
  for (int p = 0; p < positions_max; ++p) {
    for (int j = 0; j < half; ++j) {
      // In double: an f32 angle is off by thousands of units in the last place at position 100,000.
      const double angle = p * std::pow(500000.0, -static_cast<double>(j) / half);
      table[p * 2 * half + j] = static_cast<float>(std::cos(angle));
      table[p * 2 * half + half + j] = static_cast<float>(std::sin(angle));
    }
  }
  for (int t = 0; t < tokens; ++t) positions[t] = 37 * t;
  __nv_bfloat16 *dq, *dk;
  float* dtable;
  int* dpositions;
  cudaMalloc(&dq, q.size() * sizeof(q[0]));
  cudaMalloc(&dk, k.size() * sizeof(k[0]));
  cudaMalloc(&dtable, table.size() * sizeof(float));
  cudaMalloc(&dpositions, positions.size() * sizeof(int));
  cudaMemcpy(dq, q.data(), q.size() * sizeof(q[0]), cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), k.size() * sizeof(k[0]), cudaMemcpyHostToDevice);
  cudaMemcpy(dtable, table.data(), table.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dpositions, positions.data(), positions.size() * sizeof(int), cudaMemcpyHostToDevice);
  rope<<<tokens, 256>>>(dq, dk, dtable, dpositions, heads_q, heads_k, half);
  cudaMemcpy(q.data(), dq, q.size() * sizeof(q[0]), cudaMemcpyDeviceToHost);
  std::printf("q[1, 0, 0] = %g: %s\n", __bfloat162float(q[heads_q * 2 * half]), cudaGetErrorString(cudaGetLastError()));
}
