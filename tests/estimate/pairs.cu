// Pairs of kernels that compute the same, where counting instructions says one thing and time another. pairs_test.cc says
// which of each pair is faster and why; pairs.ptx is what nvcc -O3 makes of this file (remake it with
// nvcc -O3 -ptx -arch=sm_80 pairs.cu -o pairs.ptx).
#define KERNEL extern "C" __global__ void

// --- loads in flight ---

// One load a turn, and its sum waits for it.
KERNEL row_sums(const float* x, float* y, int n) {
  const float* row = x + static_cast<size_t>(blockIdx.x * blockDim.x / 32 + threadIdx.x / 32) * n;
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x % 32; i < n; i += 32) sum += row[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) y[blockIdx.x * blockDim.x / 32 + threadIdx.x / 32] = sum;
}

// Four loads a turn in four sums.
KERNEL row_sums_unrolled(const float* x, float* y, int n) {
  const float* row = x + static_cast<size_t>(blockIdx.x * blockDim.x / 32 + threadIdx.x / 32) * n;
  float a = 0, b = 0, c = 0, d = 0;
  int i = threadIdx.x % 32;
#pragma unroll 1
  for (; i + 96 < n; i += 128) {
    a += row[i];
    b += row[i + 32];
    c += row[i + 64];
    d += row[i + 96];
  }
#pragma unroll 1
  for (; i < n; i += 32) a += row[i];
  float sum = (a + b) + (c + d);
  for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) y[blockIdx.x * blockDim.x / 32 + threadIdx.x / 32] = sum;
}

// Four elements a thread; a load may not pass the store before it, since both may be the same memory.
KERNEL scale_stores_between(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x * 8 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 8; ++k, i += 256)
    if (i < n) y[i] = 2 * x[i] + 1;
}

// The same through the read-only path: the loads go first.
KERNEL scale_read_only(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x * 8 + threadIdx.x;
  if (i + 7 * 256 < n) {
#pragma unroll
    for (int k = 0; k < 8; ++k, i += 256) y[i] = 2 * __ldg(x + i) + 1;
  } else {
#pragma unroll 1
    for (int k = 0; k < 8; ++k, i += 256)
      if (i < n) y[i] = 2 * __ldg(x + i) + 1;
  }
}

KERNEL copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

KERNEL copy_vectors(const float4* x, float4* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

// --- addresses ---

// Writes are side by side, reads a row apart.
KERNEL transpose(const float* x, float* y, int n) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8) y[static_cast<size_t>(row + k) * n + column] = x[static_cast<size_t>(column) * n + row + k];
}

// Through shared memory: more instructions, both sides side by side. Columns of the tile lie in one bank.
KERNEL transpose_conflicts(const float* x, float* y, int n) {
  __shared__ float tile[32][32];
  int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[static_cast<size_t>(row + k) * n + column];
  __syncthreads();
  column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8) y[static_cast<size_t>(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}

// A row longer by one word: no conflicts.
KERNEL transpose_padded(const float* x, float* y, int n) {
  __shared__ float tile[32][33];
  int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = x[static_cast<size_t>(row + k) * n + column];
  __syncthreads();
  column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int k = 0; k < 32; k += 8) y[static_cast<size_t>(row + k) * n + column] = tile[threadIdx.x][threadIdx.y + k];
}

// A power of two as the stride in shared memory, and an odd one: 256 turns of a butterfly-like exchange.
KERNEL exchange(const float* x, float* y, int stride, int turns) {
  extern __shared__ float s[];
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int t = 0; t < turns; ++t) {
    s[threadIdx.x * stride] = v;
    __syncthreads();
    v += s[((threadIdx.x + 1) % blockDim.x) * stride];
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// Records of 16 floats, a thread a record: neighbouring threads are 64 bytes apart.
KERNEL records_by_thread(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[static_cast<size_t>(i) * 16 + k];
  y[i] = sum;
}

// The same data, one array a field.
KERNEL records_by_field(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[static_cast<size_t>(k) * n + i];
  y[i] = sum;
}

// --- warps, registers, dependences ---

// A chain of dependent multiply-adds, and the same work in four chains.
KERNEL one_chain(const float* x, float* y, int turns) {
  float a = x[threadIdx.x], v = a;
#pragma unroll 4
  for (int t = 0; t < turns; ++t) {
    v = v * a + 1;
    v = v * a + 2;
    v = v * a + 3;
    v = v * a + 4;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

KERNEL four_chains(const float* x, float* y, int turns) {
  float a = x[threadIdx.x], v = a, w = a, s = a, t4 = a;
#pragma unroll 4
  for (int t = 0; t < turns; ++t) {
    v = v * a + 1;
    w = w * a + 2;
    s = s * a + 3;
    t4 = t4 * a + 4;
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = v + w + s + t4;
}

// Follows a list; 96 values are held all the while, or loaded when they are wanted.
template <bool early>
__device__ void follow(const int* next, const float* w, float* y, int turns) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  float held[96];
  if (early)
    for (int k = 0; k < 96; ++k) held[k] = __ldg(w + k * 32 + threadIdx.x % 32);
#pragma unroll 1
  for (int t = 0; t < turns; ++t) at = next[at];
  if (early)
    for (int k = 0; k < 96; ++k) asm volatile("" : "+f"(held[k]));
  float v = at;
  for (int k = 0; k < 96; ++k) v = v * (early ? held[k] : __ldg(w + k * 32 + threadIdx.x % 32)) + 1;
  y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
KERNEL follow_holding(const int* next, const float* w, float* y, int turns) { follow<true>(next, w, y, turns); }
KERNEL follow_then_load(const int* next, const float* w, float* y, int turns) { follow<false>(next, w, y, turns); }

// 64 sums a thread, kept in registers, or in part in thread memory so that six CTAs fit.
template <int sums>
__device__ void outer_product(const float* a, const float* b, float* c, int k) {
  float acc[sums][sums] = {};
#pragma unroll 1
  for (int i = 0; i < k; ++i) {
    float u[sums], v[sums];
    for (int j = 0; j < sums; ++j) u[j] = a[i * 128 + (threadIdx.x % 16) * sums + j];
    for (int j = 0; j < sums; ++j) v[j] = b[i * 128 + (threadIdx.x / 16) * sums + j];
    for (int p = 0; p < sums; ++p)
      for (int q = 0; q < sums; ++q) acc[p][q] += u[p] * v[q];
  }
  for (int p = 0; p < sums; ++p)
    for (int q = 0; q < sums; ++q) c[(static_cast<size_t>(blockIdx.x) * 256 + threadIdx.x) * sums * sums + p * sums + q] = acc[p][q];
}
KERNEL __launch_bounds__(256) outer(const float* a, const float* b, float* c, int k) { outer_product<8>(a, b, c, k); }
KERNEL __launch_bounds__(256, 6) outer_spilled(const float* a, const float* b, float* c, int k) {
  outer_product<8>(a, b, c, k);
}

// --- atomics ---

KERNEL count_each(const int* x, unsigned* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] >= 0) atomicAdd(count + (x[i] & 0), 1u);
}

KERNEL count_by_block(const int* x, unsigned* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int found = __syncthreads_count(i < n && x[i] >= 0);
  if (threadIdx.x == 0) atomicAdd(count, static_cast<unsigned>(found));
}

KERNEL histogram_global(const unsigned char* x, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(bins + x[i], 1u);
}

KERNEL histogram_shared(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(mine + x[i], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(bins + i, mine[i]);
}
