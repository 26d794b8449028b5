// Language features: calls, function pointers, printf, assert, structs by value, constants, switch, local arrays, inline assembly.
#include <cassert>
#include <cstdio>

struct Shape {
  int rows, columns;
  float scale[3];
  const float* data;
  double offset;
};
__constant__ float taps[5] = {1.f, 2.f, 3.f, 2.f, 1.f};
__constant__ int table[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
__device__ const char* greeting = "hello";
__device__ int* pointers[2];

__noinline__ __device__ float polynomial(float x, const Shape& shape) {
  return ((x * shape.scale[0] + shape.scale[1]) * x + shape.scale[2]) * x;
}
__noinline__ __device__ Shape widened(Shape shape, int by) {
  shape.columns += by;
  shape.offset *= 2;
  return shape;
}
__noinline__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ float up(float x) { return x + 1; }
__device__ float down(float x) { return x - 1; }
__device__ float (*steps[2])(float) = {up, down};

__global__ void calls(Shape shape, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(n > 0);
  if (i >= n) {
    printf("%d beyond %d (%f)\n", i, n, shape.scale[0]);
    return;
  }
  Shape wide = widened(shape, 3);
  y[i] = polynomial(shape.data[i], wide) + steps[i & 1](y[i]) + fibonacci(i & 7) + float(wide.offset);
}

__global__ void stencil(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
  float sum = 0;
  for (int t = 0; t < 5; ++t) sum += taps[t] * x[i + t - 2];
  if (i < n - 2) y[i] = sum * table[i & 3][i & 1];
}

__global__ void dispatch(int* x, int what) {
  int i = threadIdx.x, v = x[i];
  switch (what) {
    case 0: v += 1; break;
    case 1: v *= 3; break;
    case 2: v = v / 7; break;
    case 3: v ^= 0x55; break;
    case 4: v = -v; break;
    case 5: v <<= 3; break;
    case 6: v = x[v & 31]; break;
    case 7: v |= i; break;
    case 9: v = __clz(v); break;
    default: v = 0;
  }
  x[i] = v;
}

__global__ void local_array(const int* x, int* y, int n) {
  int counts[40];
  for (int i = 0; i < 40; ++i) counts[i] = i;
  for (int i = 0; i < n; ++i) counts[x[i] % 40]++;
  y[threadIdx.x] = counts[threadIdx.x % 40];
}

__global__ void inline_assembly(unsigned* x, unsigned long long* t) {
  unsigned lane, value;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p bra AGAIN;\n\tmov.u32 %0, 1;\n\tbra DONE;\nAGAIN:\n\tmov.u32 %0, 2;\nDONE:\n}" : "=r"(value) : "r"(lane));
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\t@p bra AGAIN;\n\tadd.u32 %0, %0, 1;\n\tbra DONE;\nAGAIN:\n\tadd.u32 %0, %0, 2;\nDONE:\n}" : "+r"(value) : "r"(lane));
  x[threadIdx.x] = value;
  t[threadIdx.x] = clock64();
}

__global__ void heap(int** x, int n) {
  int* p = (int*)malloc(n * sizeof(int));
  if (p) p[0] = n;
  x[threadIdx.x] = p;
  if (n > 3) free(x[0]);
}
