// Drafts of kernels in the styles that public repositories write them in: each must read back, say what the source says, and
// name what it could not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "launch/plan.h"
#include "ptx/verifier.h"
#include "task/case.h"
#include "task/cuda_declarations.h"
#include "task/draft.h"
#include "task/ptx_uses.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Drafted {
  Draft draft;
  std::string both() const { return draft.task + draft.plan; }
  bool opens(std::string_view part) const {
    return std::any_of(draft.open.begin(), draft.open.end(), [&](const std::string& line) { return has(line, part); });
  }
};

// The draft of a source, which must read back as a task and a plan, with cases that can be made.
Drafted drafted(const std::string& source, const ptx::Module* compiled = nullptr) {
  auto draft = draft_from_cuda("k.cu", source, compiled);
  EXPECT_TRUE(draft.ok()) << base::render(draft.findings(), source);
  if (!draft) return {};
  const base::TemporaryFolder folder("draft");
  std::ofstream(folder.path() / "k.cu") << source;
  std::ofstream(folder.path() / "k.plan.toml") << draft->plan;
  auto plan = launch::read_plan(draft->plan, "k.plan.toml");
  EXPECT_TRUE(plan.ok()) << draft->plan << base::render(plan.findings(), draft->plan);
  auto task = read_task_text(draft->task, folder.path() / "k.task.toml");
  EXPECT_TRUE(task.ok()) << draft->task << base::render(task.findings(), draft->task);
  if (task) {
    auto cases = emulate_cases(*task, 1);
    EXPECT_TRUE(cases.ok());
    if (cases) {
      EXPECT_TRUE(make_case(*task, cases->front()).ok()) << draft->task;
    }
  }
  return {std::move(*draft)};
}

TEST(DraftStyles, LlamaLikeStaticKernelWithHelperFunction) {
  const Drafted d = drafted(R"(
#define CUDA_SILU_BLOCK_SIZE 256
static __global__ void silu_f32(const float * x, float * dst, const int k) {
    const int i = blockDim.x*blockIdx.x + threadIdx.x;
    if (i >= k) { return; }
    dst[i] = x[i] / (1.0f + expf(-x[i]));
}
static void silu_f32_cuda(const float * x, float * dst, const int k, cudaStream_t stream) {
    const int num_blocks = (k + CUDA_SILU_BLOCK_SIZE - 1) / CUDA_SILU_BLOCK_SIZE;
    silu_f32<<<num_blocks, CUDA_SILU_BLOCK_SIZE, 0, stream>>>(x, dst, k);
})");
  EXPECT_TRUE(has(d.draft.plan, "grid = [\"ceildiv(k, 256)\"]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "block = [\"256\"]"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"x\", kind = \"in\", type = \"f32\""));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"dst\", kind = \"out\", type = \"f32\""));
  EXPECT_TRUE(has(d.draft.task, "[tolerance.dst]\nkind = \"float\""));
  EXPECT_TRUE(d.opens("is static"));  // without the compiled form
}

TEST(DraftStyles, TemplateCalledWithExplicitTypes) {
  const Drafted d = drafted(R"(
template <typename scalar_t, int N>
__global__ void gelu_kernel(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, int64_t numel) {
  int64_t i = blockIdx.x * (int64_t)N + threadIdx.x;
  if (i < numel) out[i] = in[i];
}
void launch(const float* in, float* out, int64_t numel) {
  gelu_kernel<float, 128><<<(numel + 127) / 128, 128>>>(in, out, numel);
})");
  ASSERT_EQ(d.draft.instantiate.size(), 1u);
  EXPECT_EQ(d.draft.instantiate[0], "template __global__ void gelu_kernel<float, 128>(const float*, float*, int64_t);");
  EXPECT_TRUE(has(d.draft.task, "[compile]\ninstantiate = [")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"in\", kind = \"in\", type = \"f32\""));
  EXPECT_TRUE(has(d.draft.task, "type = \"s64\", value = \"numel\""));
}

TEST(DraftStyles, TemplateWhoseArgumentsAreDeduced) {
  const Drafted d = drafted(R"(
template <class T> __global__ void axpy(int n, T a, const T* x, T* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
template <class T> void run(int n, T a, const T* x, T* y) { axpy<<<(n + 63) / 64, 64>>>(n, a, x, y); })");
  EXPECT_TRUE(d.opens("what `T` of the template `axpy` stands for")) << d.both();
  EXPECT_EQ(d.draft.instantiate[0], "template __global__ void axpy<float>(int, float, const float*, float*);");
  EXPECT_TRUE(has(d.draft.task, "{ name = \"y\", kind = \"inout\", type = \"f32\"")) << d.draft.task;
}

TEST(DraftStyles, ConstantMemoryFilledByTheHost) {
  const Drafted d = drafted(R"(
#define R 8
__constant__ float c_kernel[2 * R + 1];
__constant__ int c_n;
__constant__ float c_gain;
extern "C" __global__ void conv(const float* src, float* dst) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < c_n) dst[i] = c_gain * c_kernel[0] * src[i];
}
void setup(float* h, int n) {
  float gain = 0.5f;
  cudaMemcpyToSymbol(c_kernel, h, (2 * R + 1) * sizeof(float));
  cudaMemcpyToSymbol(c_n, &n, sizeof(int));
  cudaMemcpyToSymbol(&c_gain, &gain, sizeof gain);
  conv<<<n / 256, 256>>>(src, dst);
})");
  EXPECT_TRUE(has(d.draft.plan, "{ name = \"c_kernel\", from = \"c_kernel\" }")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "{ name = \"c_n\", from = \"n\" }"));
  EXPECT_TRUE(has(d.draft.plan, "{ name = \"c_gain\", from = \"c_gain\" }"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"c_kernel\", kind = \"in\", type = \"f32\", shape = [\"17\"]"))
      << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "params = [\"n\"]"));
}

TEST(DraftStyles, HostLoopWithBuffersThatChangePlaces) {
  const Drafted d = drafted(R"(
__global__ void jacobi(const float* a, float* b, int n, int phase) { b[threadIdx.x] = a[threadIdx.x] + phase; }
void solve(float* d_a, float* d_b, int n, int iters) {
  dim3 threads(32, 8);
  dim3 blocks((n + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
  for (int it = 0; it < iters; it++) {
    jacobi<<<(n + 31) / 32, 32>>>(d_a, d_b, n, it % 2);
    float* t = d_a; d_a = d_b; d_b = t;
  }
})");
  EXPECT_TRUE(has(d.draft.plan, "for = [\"it\", \"iters\"]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "pick(it % 2, a, d_b)")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "pick(it % 2, d_b, a)")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "\"n\", \"it % 2\"]")) << d.draft.plan;
  EXPECT_TRUE(d.opens("change places"));
}

TEST(DraftStyles, LoopsOfOtherFormsAreNamed) {
  const Drafted d = drafted(R"(
__global__ void step(float* x, int stride) { x[threadIdx.x] += x[threadIdx.x + stride]; }
void reduce(float* x, int n) {
  for (int s = n / 2; s > 0; s >>= 1) step<<<1, 256>>>(x, s);
  while (!done()) { step<<<1, 256>>>(x, 1); }
})");
  EXPECT_TRUE(d.opens("does not count from 0")) << d.both();
  EXPECT_FALSE(has(d.draft.plan, "for ="));
}

TEST(DraftStyles, NestedLoops) {
  const Drafted d = drafted(R"(
__global__ void tile(float* c, int i, int j, int n) { c[i * n + j] = 0; }
void go(float* c, int n, int tiles) {
  for (int i = 0; i < tiles; ++i)
    for (int j = 0; j <= i; ++j)
      tile<<<1, 32>>>(c, i, j, n);
})");
  EXPECT_TRUE(has(d.draft.plan, "for = [[\"i\", \"tiles\"], [\"j\", \"i + 1\"]]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "\"i\", \"j\", \"n\"]")) << d.draft.plan;
}

TEST(DraftStyles, StructByValue) {
  const Drafted d = drafted(R"(
#define DIMS 3
struct Params {
  const float* __restrict__ weights;
  float* out;
  int rows, cols;
  float scale = 1.0f;
  int64_t strides[DIMS];
  __host__ __device__ int size() const { return rows * cols; }
};
__global__ void apply(Params p, const float* x) { p.out[0] = x[0] * p.scale; }
void run(Params p, const float* x) { apply<<<p.rows, 128>>>(p, x); })");
  EXPECT_TRUE(has(d.draft.task, "{ name = \"p\", kind = \"struct\", fields = [")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"weights\", pointer = \"weights\" }"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"rows\", type = \"s32\", value = \"rows\" }"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"scale\", type = \"f32\", value = 1.0 }"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"strides\", type = \"s64\", count = 3, value = 1 }"));
  EXPECT_FALSE(has(d.draft.task, "name = \"size\""));
  EXPECT_TRUE(d.opens("check the values of its fields"));
}

// An integer that the host makes of others is no size of its own, and a template's argument is none at all.
TEST(DraftStyles, IntegersMadeOfOthers) {
  const Drafted d = drafted(R"(
template <int ITEMS> __global__ void scale(const float* x, float* y, int N, int C, int HW) { y[0] = x[0]; }
void run(const float* x, float* y, int N, int C, int H, int W) {
  constexpr int items = 4;
  const int HW = H * W;
  scale<items><<<(N * C * HW + 256 * items - 1) / (256 * items), 256>>>(x, y, N, C, HW);
}
int main() {
  const int N = 32, C = 64, H = 56, W = 56;
  float *x, *y;
  cudaMalloc(&x, sizeof(float) * N * C * H * W);
  cudaMalloc(&y, sizeof(float) * N * C * H * W);
  run(x, y, N, C, H, W);
})");
  EXPECT_TRUE(has(d.draft.task, "{ name = \"HW\", kind = \"scalar\", type = \"s32\", value = \"H * W\" }"))
      << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "params = [\"H\", \"W\", \"N\", \"C\"]")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "time = [{ H = 56, W = 56, N = 32, C = 64 }]")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.plan, "256 * 4")) << d.draft.plan;
}

TEST(DraftStyles, ConstantPointersOfStructsAndVectorsOfThree) {
  const Drafted d = drafted(R"(
struct Params { float dt; int n; float4* pos; const float4* acc; };
__global__ void drift(Params p, float3* vel) { vel[0].x += p.acc[0].x * p.dt; }
void step(Params p, float3* vel) { drift<<<p.n, 128>>>(p, vel); })");
  EXPECT_TRUE(has(d.draft.task, "{ name = \"acc\", kind = \"in\", type = \"f32\"")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"pos\", kind = \"inout\", type = \"f32\"")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "type = \"f32\", shape = [\"n\", \"3\"]")) << d.draft.task;
}

// A switch over head sizes: two instantiations of one template, told apart in the plan.
TEST(DraftStyles, InstantiationsOfOneTemplate) {
  const std::string kernel = R"(
template <int HEAD> __global__ void attend(const float* q, float* o, int len) { extern __shared__ float s[]; o[0] = q[0]; }
void go(const float* q, float* o, int batch, int head, int len) {
  size_t smem = len * sizeof(float);
  switch (head) {
    case 64: attend<64><<<batch, 128, smem>>>(q, o, len); break;
    case 128: attend<128><<<batch, 128, smem>>>(q, o, len); break;
  }
})";
  std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (const char* name : {"_Z6attendILi64EEvPKfPfi", "_Z6attendILi128EEvPKfPfi"})
    ptx +=
        ".visible .entry " + std::string(name) +
        "(.param .u64 a, .param .u64 b, .param .u32 c) {\n.reg .b64 %d<5>;\n.reg .f32 %f;\n"
        "ld.param.u64 %d1, [a];\nld.param.u64 %d2, [b];\nld.global.f32 %f, [%d1];\nst.global.f32 [%d2], %f;\nret;\n}\n";
  const ptx::Checked checked = ptx::check(ptx, "k.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, ptx);
  const Drafted d = drafted(kernel, &checked.module);
  EXPECT_TRUE(has(d.draft.plan, "entry = \"attend<64>\"")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "entry = \"attend<128>\""));
  EXPECT_TRUE(has(d.draft.plan, "shared = \"(len) * 4\"") || has(d.draft.plan, "shared = \"len * 4\"")) << d.draft.plan;
  EXPECT_TRUE(d.opens("are one template: where they are alternatives, keep the one you mean"));
}

TEST(DraftStyles, SizesThatDivide) {
  const Drafted d = drafted(R"(
__global__ void gemm16(const half* a, const half* b, float* c, int M, int N, int K) { c[0] = K; }
void go(const half* a, const half* b, float* c, int M, int N, int K) {
  gemm16<<<dim3(N / 16, M / 64), 32>>>(a, b, c, M, N, K);
})");
  EXPECT_TRUE(has(d.draft.task, "where = [\"M % 64 == 0\", \"N % 16 == 0\"]")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ M = 64, N = 16, K = 1 }")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ M = 64, N = 48, K = 3 }")) << d.draft.task;
}

// Matrices go in and out by instructions of their own.
TEST(PtxUses, MatricesAndAsynchronousCopies) {
  const std::string ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 c, .param .u64 x)
{
  .reg .b64 %d<9>;
  .reg .b32 %r<9>;
  .reg .f32 %f<9>;
  .shared .align 16 .b8 room[64];
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [c];
  ld.param.u64 %d3, [x];
  wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1], 16;
  mov.b32 %f1, %r1;
  wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%d2], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, 16;
  mov.u32 %r1, room;
  cp.async.ca.shared.global [%r1], [%d3], 16;
  ret;
}
)";
  const ptx::Checked checked = ptx::check(ptx, "k.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, ptx);
  const auto uses = uses_of_parameters(checked.module.functions[0]);
  EXPECT_TRUE(uses[0].read && !uses[0].written);
  EXPECT_TRUE(uses[1].written && !uses[1].read);
  EXPECT_TRUE(uses[2].read && !uses[2].written);
  EXPECT_EQ(uses[0].element, isa::Type::f16);
  EXPECT_EQ(uses[1].element, isa::Type::f32);
}

TEST(DraftStyles, LaunchesByCallAndSeveralDim3) {
  const Drafted d = drafted(R"(
__global__ void dot(const float* a, float* partial, float* result, int n) { partial[0] = a[0]; result[0] = n; }
__global__ void blur(float* out, int w, int h) { out[0] = w; }
void run(const float* a, float* partial, float* result, int n, int w, int h) {
  void* args[] = {&a, &partial, &result, &n};
  cudaLaunchCooperativeKernel((void*)dot, 8, 256, args, 1024, 0);
  dim3 b(16, 16), g((w + 15) / 16, (h + 15) / 16);
  blur<<<g, b>>>(result, w, h);
})");
  EXPECT_TRUE(has(d.draft.plan,
                  "entry = \"dot\"\ngrid = [\"8\"]\nblock = [\"256\"]\nshared = \"1024\"\ncooperative = true\n"
                  "args = [\"a\", \"partial\", \"result\", \"n\"]"))
      << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan,
                  "grid = [\"ceildiv(w, 16)\", \"ceildiv(h, 16)\"]\nblock = [\"16\", \"16\"]\nargs = [\"result\", "))
      << d.draft.plan;
}

TEST(DraftStyles, ArraysOfStructs) {
  const Drafted d = drafted(R"(
typedef struct { half d; uint8_t qs[16]; } block_q4_0;
struct Particle { float3_ish pos; float mass; char kind; };
typedef struct float3_tag { float x, y, z; } vec3;
__global__ void unpack(const block_q4_0* blocks, vec3* out, int nb) { out[threadIdx.x].x = blocks[threadIdx.x].d; }
void go(const block_q4_0* b, vec3* o, int nb) { unpack<<<nb, 32>>>(b, o, nb); })");
  EXPECT_TRUE(has(d.draft.task, "{ name = \"blocks\", kind = \"in\", type = \"record\"")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"qs\", type = \"u8\", count = 16 }"));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"out\", kind = \"out\", type = \"record\""));
  EXPECT_TRUE(has(d.draft.task, "[tolerance.out.z]\nkind = \"float\""));
}

TEST(DraftStyles, NullPointersAndOptionalArguments) {
  const Drafted d = drafted(R"(
__global__ void linear(const float* x, const float* bias, float* y, int n, bool relu) { y[0] = x[0] + (bias ? bias[0] : 0.f); }
int main() {
  int n = 1 << 20; float *x, *y;
  cudaMalloc((void**)&x, n * sizeof(float));
  cudaMalloc(&y, sizeof(float) * n);
  linear<<<n / 256, 256>>>(x, nullptr, y, n, true);
})");
  EXPECT_TRUE(has(d.draft.plan, "args = [\"x\", \"null\", \"y\", \"n\", \"relu\"]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.task, "type = \"u8\", value = \"1\" }")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "shape = [\"n\"]")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "n = 1048576"));
}

TEST(DraftStyles, LongSignatureInSeveralLinesWithAttributes) {
  const Drafted d = drafted(R"(
namespace ops { namespace detail {
template <
    typename T,
    int   kBlock = 256>
__launch_bounds__(kBlock) __global__
void
fused_add(
    T*       __restrict__ const  out,   // [tokens, hidden]
    T const* __restrict__        a,     /* also [tokens, hidden] */
    T const* __restrict__        b,
    int const                    hidden)
{
  for (int i = threadIdx.x; i < hidden; i += kBlock) out[blockIdx.x * hidden + i] = a[blockIdx.x * hidden + i] + b[i];
}
}}
void add(torch::Tensor& out, torch::Tensor& a, torch::Tensor& b) {
  const int hidden = a.size(-1); const int tokens = a.numel() / hidden;
  dim3 grid(tokens), block(std::min(hidden, 1024));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  ops::detail::fused_add<float><<<grid, block, 0, stream>>>(out.data_ptr<float>(), a.data_ptr<float>(), b.data_ptr<float>(), hidden);
})");
  EXPECT_TRUE(has(d.draft.plan, "entry = \"fused_add\"")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"out\", kind = \"out\", type = \"f32\"")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"a\", kind = \"in\", type = \"f32\""));
  EXPECT_TRUE(has(d.draft.task, "{ name = \"b\", kind = \"in\", type = \"f32\""));
  ASSERT_FALSE(d.draft.instantiate.empty());
  EXPECT_TRUE(has(d.draft.instantiate[0], "void ops::detail::fused_add<float")) << d.draft.instantiate[0];
}

TEST(DraftStyles, MacrosAndOldC) {
  const Drafted d = drafted(R"(
#define N (1024 * 1024)
#define THREADS_PER_BLOCK 512
__global__ void add(int *a, int *b, int *c) {
  int index = threadIdx.x + blockIdx.x * blockDim.x;
  c[index] = a[index] + b[index];
}
int main(void) {
  int *a, *b, *c, *d_a, *d_b, *d_c;
  int size = N * sizeof(int);
  cudaMalloc((void **)&d_a, size);
  cudaMalloc((void **)&d_b, size);
  cudaMalloc((void **)&d_c, size);
  add<<<N/THREADS_PER_BLOCK,THREADS_PER_BLOCK>>>(d_a, d_b, d_c);
  return 0;
})");
  EXPECT_TRUE(has(d.draft.plan, "block = [\"512\"]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.plan, "grid = [\"N / 512\"]")) << d.draft.plan;
  EXPECT_TRUE(has(d.draft.task, "time = [{ N = 1048576 }]")) << d.draft.task;  // a size, although no kernel is told
  EXPECT_TRUE(has(d.draft.task, "{ name = \"c\", kind = \"out\", type = \"s32\"")) << d.draft.task;
}

// --- what the compiled instructions show ---

// A CSR product: row pointers in pairs, columns as indices, y updated in place.
constexpr const char* kSpmv = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry _Z4spmviPKiS0_PKfS2_Pf(.param .u32 n, .param .u64 ptr, .param .u64 col, .param .u64 val, .param .u64 x, .param .u64 y)
{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .f32 %f<5>;
  .reg .b64 %rd<20>;
  ld.param.u32 %r1, [n];
  ld.param.u64 %rd1, [ptr];
  ld.param.u64 %rd2, [col];
  ld.param.u64 %rd3, [val];
  ld.param.u64 %rd4, [x];
  ld.param.u64 %rd5, [y];
  cvta.to.global.u64 %rd6, %rd1;
  mov.u32 %r2, %tid.x;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra DONE;
  mul.wide.s32 %rd7, %r2, 4;
  add.s64 %rd8, %rd6, %rd7;
  ld.global.u32 %r3, [%rd8];
  ld.global.u32 %r4, [%rd8+4];
  mov.f32 %f1, 0f00000000;
LOOP:
  setp.ge.s32 %p2, %r3, %r4;
  @%p2 bra STORE;
  mul.wide.s32 %rd9, %r3, 4;
  add.s64 %rd10, %rd2, %rd9;
  ld.global.u32 %r5, [%rd10];
  add.s64 %rd11, %rd3, %rd9;
  ld.global.f32 %f2, [%rd11];
  mul.wide.s32 %rd12, %r5, 4;
  add.s64 %rd13, %rd4, %rd12;
  ld.global.f32 %f3, [%rd13];
  fma.rn.f32 %f1, %f2, %f3, %f1;
  add.s32 %r3, %r3, 1;
  bra LOOP;
STORE:
  add.s64 %rd14, %rd5, %rd7;
  ld.global.f32 %f4, [%rd14];
  add.f32 %f4, %f4, %f1;
  st.global.f32 [%rd14], %f4;
DONE:
  ret;
}
)";

TEST(PtxUses, FindsIndicesPairsAndUpdatesInPlace) {
  const ptx::Checked checked = ptx::check(kSpmv, "k.ptx");
  ASSERT_TRUE(checked.ok()) << base::render(checked.findings, kSpmv);
  const std::vector<PtxUse> uses = uses_of_parameters(checked.module.functions[0]);
  ASSERT_EQ(uses.size(), 6u);
  EXPECT_FALSE(uses[0].address);
  EXPECT_TRUE(uses[1].read && !uses[1].written && uses[1].neighbours);
  EXPECT_EQ(uses[1].indexes, (std::set<uint32_t>{2, 3}));
  EXPECT_EQ(uses[2].indexes, (std::set<uint32_t>{4}));
  EXPECT_FALSE(uses[2].neighbours);
  EXPECT_TRUE(uses[3].indexes.empty());
  EXPECT_TRUE(uses[5].read && uses[5].written);
  EXPECT_EQ(uses[4].element, isa::Type::f32);
}

TEST(DraftStyles, CompiledCodeBoundsIndicesAndSettlesKinds) {
  const ptx::Checked checked = ptx::check(kSpmv, "k.ptx");
  ASSERT_TRUE(checked.ok());
  const Drafted d = drafted(R"(
__device__ float row(const int* ptr, const int* col, const float* val, const float* x, int r);
__device__ void store(float* y, int r, float v);
__global__ void spmv(int n, const int* ptr, const int* col, const float* val, const float* x, float* y) {
  int r = threadIdx.x;
  if (r < n) store(y, r, row(ptr, col, val, x, r));
}
void go(int n, int nnz, int cols) {
  int *ptr, *col; float *val, *x, *y;
  cudaMalloc(&ptr, (n + 1) * sizeof(int));
  cudaMalloc(&col, nnz * sizeof(int));
  cudaMalloc(&val, nnz * sizeof(float));
  cudaMalloc(&x, cols * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  spmv<<<(n + 255) / 256, 256>>>(n, ptr, col, val, x, y);
})",
                            &checked.module);
  EXPECT_TRUE(
      has(d.draft.task,
          "{ name = \"ptr\", kind = \"in\", type = \"s32\", shape = [\"n + 1\"], fill = { offsets = [\"nnz\"] } }"))
      << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "shape = [\"nnz\"], fill = { uniform = [0, \"cols - 1\"] } }")) << d.draft.task;
  EXPECT_TRUE(has(d.draft.task, "{ name = \"y\", kind = \"inout\"")) << d.draft.task;
  EXPECT_TRUE(d.opens("running sums up to nnz are a guess"));
  EXPECT_TRUE(d.opens("the values of `col` reach `x`"));
}

TEST(DraftStyles, FromPtxAloneByTheMangledName) {
  const ptx::Checked checked = ptx::check(kSpmv, "k.ptx");
  ASSERT_TRUE(checked.ok());
  auto draft = draft_from_ptx("k.ptx", checked.module);
  ASSERT_TRUE(draft.ok());
  EXPECT_TRUE(has(draft->task, "{ name = \"p1\", kind = \"in\", type = \"s32\"")) << draft->task;
  EXPECT_TRUE(has(draft->task, "{ name = \"p3\", kind = \"in\", type = \"f32\"")) << draft->task;
  EXPECT_TRUE(has(draft->task, "{ name = \"p5\", kind = \"inout\", type = \"f32\"")) << draft->task;
  EXPECT_TRUE(has(draft->task, "{ name = \"p0\", kind = \"scalar\", type = \"s32\"")) << draft->task;
  EXPECT_TRUE(has(draft->task, "offsets")) << draft->task;
}

TEST(DraftStyles, FromTritonsPtx) {
  const auto drafted = [](const std::string& name) {
    const auto text = base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/tests/corpus/triton/" + name);
    EXPECT_TRUE(text.ok());
    const ptx::Checked checked = ptx::check(*text, "k.ptx");
    auto draft = draft_from_ptx("k.ptx", checked.module);
    EXPECT_TRUE(draft.ok());
    return *draft;
  };
  // The block is what .reqntid demands, elements are what is computed with them, the scratch pointers stay null.
  const Draft sum = drafted("vector_add.triton_3.6.sm_90.ptx");
  EXPECT_TRUE(has(sum.plan, "block = [\"128\"]")) << sum.plan;
  EXPECT_TRUE(has(sum.plan, "args = [\"p0\", \"p1\", \"p2\", \"p3\", \"null\", \"null\"]")) << sum.plan;
  EXPECT_TRUE(has(sum.task, "params = [\"p3\"]")) << sum.task;
  EXPECT_TRUE(has(sum.task, "{ name = \"p1\", kind = \"in\", type = \"f32\"")) << sum.task;
  EXPECT_TRUE(has(sum.task, "{ name = \"p2\", kind = \"out\", type = \"f32\"")) << sum.task;
  for (const std::string& line : sum.open) EXPECT_FALSE(has(line, "block") || has(line, "what `")) << line;
  const Draft product = drafted("matmul.triton_3.6.sm_80.ptx");
  EXPECT_TRUE(has(product.task, "{ name = \"p0\", kind = \"in\", type = \"f16\"")) << product.task;
  EXPECT_TRUE(has(product.plan, "\"null\", \"null\"]")) << product.plan;
  EXPECT_TRUE(has(product.plan, "`global_smem` is shared memory whose bytes the launch gives")) << product.plan;
  EXPECT_FALSE(has(product.task + product.plan, "cudaMalloc")) << product.task;
}

TEST(CudaDeclarations, AnythingEnds) {
  for (const char* text : {"struct", "struct A", "struct A {", "struct A { int", "struct A { int x[",
                           "typedef struct {", "__constant__", "__constant__ float c[", "cudaMemcpyToSymbol(",
                           "cudaMemcpyToSymbol(a", "for", "for (", "for (int i = 0; i < n; ++i) k<<<", "while (",
                           "do {", "for (;;) for (;;)", "} ) ] struct A { } ; {", "struct A : B<int> { int x; };"})
    scan_declarations(text);
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "struct A { for (int i = 0; i < 5; ++i) { ";
  scan_declarations(deep);
}

}  // namespace
}  // namespace ptxlab::task
