#include "task/draft.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "launch/plan.h"
#include "ptx/parser.h"
#include "task/case.h"
#include "task/cuda_scan.h"
#include "task/cuda_tokens.h"
#include "task/host_expression.h"
#include "task/task.h"

namespace ptxlab::task {
namespace {

const std::filesystem::path kRoot = PTXLAB_SOURCE_DIR;

// A file with what deceives a scanner that is one regular expression.
constexpr const char* kHard = R"cuda(
// __global__ void not_a_kernel(float* a) {}
/* fake<<<1,1>>>(x); */
#include <cuda_fp16.h>
#define TILE 16
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
const char* s = "__global__ void nor_this(int* q) { } kernel<<<1, 2>>>(q)";
const char* raw = R"x(__global__ void nor_raw(int* q) { })x";
using half_t = __half;
typedef unsigned int index_t;
namespace x { __global__ void declared_only(float* p); }
template <typename T, int N = 4>
__global__ void __launch_bounds__(TILE * TILE)
    matmul(const T* __restrict__ A, const T* __restrict__ B, T* C, int M, int N_, int K) {
  __shared__ T tile[TILE][TILE];
  C[blockIdx.y * N_ + blockIdx.x] = A[0] * B[0];
}
static __global__ void
scale(half_t* data,
      index_t count,   // elements
      float factor = 2.0f)
{
  index_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = __float2half(__half2float(data[i]) * factor);
}
extern "C" __global__ void histogram(const unsigned char* in, unsigned int* bins, long long n) {
  for (long long i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[i]], 1u);
}
void host(int M, int N, int K, float* dA, float* dB, float* dC, __half* d, unsigned char* bytes, unsigned* bins) {
  dim3 block(TILE, TILE), grid;
  dim3 blocks((N + TILE - 1) / TILE, CEIL_DIV(M, TILE));
  matmul<float, 4><<<blocks, block, 2 * TILE * TILE * sizeof(float)>>>(dA, dB, dC, M, N, K);
  const int threads = 128;
  size_t count = (size_t)M * N;
  scale<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(d, count, 0.5f);
  for (int step = 0; step < 10; ++step)
    histogram<<<dim3(1), dim3(256, 1, 1)>>>(bytes, bins, 1 << 20);
}
)cuda";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The drafts, written beside a kernel, must read back as a task and a plan.
Task reads_back(const Draft& draft, const std::string& source) {
  const base::TemporaryFolder folder("draft");
  std::ofstream(folder.path() / "k.cu") << source;
  std::ofstream(folder.path() / "k.plan.toml") << draft.plan;
  auto plan = launch::read_plan(draft.plan, "k.plan.toml");
  EXPECT_TRUE(plan.ok()) << draft.plan << base::render(plan.findings(), draft.plan);
  auto task = read_task_text(draft.task, folder.path() / "k.task.toml");
  EXPECT_TRUE(task.ok()) << draft.task << base::render(task.findings(), draft.task);
  return task.ok() ? *task : Task{};
}

TEST(CudaTokens, CommentsStringsAndDirectivesAreNoCode) {
  const CudaTokens all =
      tokenize_cuda("a /* b\n */ c // d\\\n e\n#define N \\\n 4 // four\n\"x\\\"y\" 'q' 1.5e-3f 0x1Fu 1'000 a>>>b<<<c");
  std::vector<std::string> words;
  for (const CudaToken& token : all.tokens) words.emplace_back(token.spelling);
  EXPECT_EQ(words, (std::vector<std::string>{"a", "c", "\"x\\\"y\"", "'q'", "1.5e-3f", "0x1Fu", "1'000", "a", ">>>",
                                             "b", "<<<", "c"}));
  ASSERT_EQ(all.defines.size(), 1u);
  EXPECT_EQ(all.defines[0].name, "N");
  EXPECT_EQ(all.tokens[1].line, 2u);
}

TEST(CudaTokens, AnythingEnds) {
  for (const char* text : {"\"open", "'", "/* open", "R\"x(open", "#", "#define", "\\", "1'", "\xff\xfe\x80", "R\"",
                           "<<<", "#define N /* open"}) {
    tokenize_cuda(text);
    scan_cuda(text);
    scan_cuda(std::string("__global__ void k(") + text);
    scan_cuda(std::string("__global__ void k(int* a) { a[0] = 1; } void h() { k<<<") + text);
  }
}

TEST(CudaScan, FindsWhatIsThereAndNothingElse) {
  const CudaScan scan = scan_cuda(kHard);
  ASSERT_EQ(scan.kernels.size(), 3u);
  EXPECT_EQ(scan.kernels[0].name, "matmul");
  EXPECT_TRUE(scan.kernels[0].is_template);
  EXPECT_EQ(scan.kernels[0].parameters.size(), 6u);
  EXPECT_EQ(scan.kernels[0].template_parameters, (std::vector<std::string>{"T", "N"}));
  EXPECT_EQ(scan.kernels[0].parameters[0].type, "T");
  EXPECT_TRUE(scan.kernels[0].parameters[0].constant);
  EXPECT_TRUE(scan.kernels[0].parameters[2].written);
  EXPECT_FALSE(scan.kernels[0].parameters[2].read);
  EXPECT_EQ(scan.kernels[1].name, "scale");
  EXPECT_TRUE(scan.kernels[1].is_static);
  EXPECT_TRUE(scan.kernels[1].parameters[0].read && scan.kernels[1].parameters[0].written);
  EXPECT_EQ(scan.kernels[1].parameters[2].type, "float");
  EXPECT_EQ(scan.kernels[2].parameters[1].type, "unsigned int");
  EXPECT_TRUE(scan.kernels[2].parameters[1].written);
  ASSERT_EQ(scan.launches.size(), 3u);
  EXPECT_EQ(scan.launches[0].template_arguments, (std::vector<std::string>{"float", "4"}));
  EXPECT_EQ(scan.launches[0].grid.size(), 2u);
  EXPECT_EQ(scan.launches[0].block, (std::vector<std::string>{"TILE", "TILE"}));
  EXPECT_EQ(scan.launches[1].arguments.size(), 3u);
  EXPECT_TRUE(scan.launches[2].in_loop);
  EXPECT_FALSE(scan.launches[1].in_loop);
}

TEST(CudaScan, FollowsLocalPointers) {
  const CudaScan scan = scan_cuda(
      "__global__ void k(const float* x, float* y, float* z, int n) {\n"
      "  float* out = y + blockIdx.x * n; float4* v = reinterpret_cast<float4*>(z);\n"
      "  out[threadIdx.x] = x[0]; v[0].x += 1;\n}");
  ASSERT_EQ(scan.kernels.size(), 1u);
  const auto& parameters = scan.kernels[0].parameters;
  EXPECT_TRUE(parameters[1].written && !parameters[1].read && !parameters[1].passed_on);
  EXPECT_TRUE(parameters[2].written && parameters[2].read);
}

TEST(HostExpression, BecomesAPlans) {
  const auto names = [](std::string_view name) -> std::optional<std::string> {
    if (name == "threads") return "256";
    if (name == "blocks") return "(n + threads - 1) / threads";
    if (name == "n" || name == "m") return std::string(name);
    return std::nullopt;
  };
  const auto plan = [&](std::string_view host) { return plan_expression(host, names).value_or("?"); };
  EXPECT_EQ(plan("(n + 255) / 256"), "ceildiv(n, 256)");
  EXPECT_EQ(plan("(n + threads - 1) / threads"), "ceildiv(n, 256)");
  EXPECT_EQ(plan("blocks * 2"), "ceildiv(n, 256) * 2");
  EXPECT_EQ(plan("(n * m + 256 - 1) / 256"), "ceildiv(n * m, 256)");
  EXPECT_EQ(plan("(unsigned int)((n + 127) / 128)"), "ceildiv(n, 128)");
  EXPECT_EQ(plan("static_cast<int>(n)"), "n");
  EXPECT_EQ(plan("std::min(n, 1024u)"), "min(n, 1024)");
  EXPECT_EQ(plan("CEIL_DIV(n, 4)"), "ceildiv(n, 4)");
  EXPECT_EQ(plan("1'024"), "1024");
  EXPECT_EQ(plan("(n + 255) / 128"), "(n + 255) / 128");
  EXPECT_EQ(plan("other"), "?");
  EXPECT_EQ(plan("f(n)"), "?");
  EXPECT_EQ(plan("n * 1.5"), "?");
  EXPECT_EQ(plan("\"n\""), "?");
  EXPECT_EQ(plan(""), "?");
  EXPECT_EQ(host_value("4 * threads", names).value_or(0), 1024);
  EXPECT_FALSE(host_value("4 * n", names).has_value());
}

TEST(HostExpression, ConstantsThatLeanOnThemselvesEnd) {
  EXPECT_FALSE(plan_expression("a", [](std::string_view name) -> std::optional<std::string> {
                 return name == "a" ? "b + 1" : "a + 1";
               }).has_value());
}

TEST(Draft, OfTheExamplesIsWhatTheirAuthorsWrote) {
  for (const char* name : {"vector_add", "rmsnorm", "softmax"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path kernel = kRoot / "examples" / (std::string(name) + ".cu");
    auto source = base::read_file(kernel);
    ASSERT_TRUE(source.ok());
    auto draft = draft_from_cuda(kernel, *source, nullptr);
    ASSERT_TRUE(draft.ok());
    const Task drafted = reads_back(*draft, *source);
    auto written = read_task(task_file_of(kernel));
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(drafted.params, written->params);
    ASSERT_EQ(drafted.arguments.size(), written->arguments.size());
    for (size_t i = 0; i < drafted.arguments.size(); ++i) {
      const Argument &mine = drafted.arguments[i], &theirs = written->arguments[i];
      EXPECT_EQ(mine.name, theirs.name);
      EXPECT_EQ(mine.kind, theirs.kind) << mine.name;
      EXPECT_EQ(mine.type, theirs.type) << mine.name;
      EXPECT_EQ(mine.shape.size(), theirs.shape.size()) << mine.name;
      for (size_t d = 0; d < mine.shape.size(); ++d) EXPECT_EQ(mine.shape[d].text(), theirs.shape[d].text());
    }
    auto drafted_plan = launch::read_plan(draft->plan, "");
    auto plan_text = base::read_file(plan_file_of(kernel));
    ASSERT_TRUE(drafted_plan.ok() && plan_text.ok());
    EXPECT_EQ(print(*drafted_plan), print(*launch::read_plan(*plan_text, "")));
    EXPECT_TRUE(draft->open.empty()) << draft->open[0];
    ASSERT_TRUE(emulate_cases(drafted, 1).ok());
  }
}

TEST(Draft, OfAHardFile) {
  auto draft = draft_from_cuda("hard.cu", kHard, nullptr);
  ASSERT_TRUE(draft.ok());
  reads_back(*draft, kHard);
  EXPECT_TRUE(has(draft->plan, "grid = [\"ceildiv(N_, 16)\", \"ceildiv(M, 16)\"]")) << draft->plan;
  EXPECT_TRUE(has(draft->plan, "shared = \"2048\"")) << draft->plan;
  EXPECT_TRUE(has(draft->task,
                  "template __global__ void matmul<float, 4>(const float*, const float*, float*, int, int, int);"));
  EXPECT_TRUE(has(draft->plan, "for = [\"step\", \"10\"]"));
  EXPECT_TRUE(has(draft->plan, "grid = [\"ceildiv((M * N_), 128)\"]")) << draft->plan;
  EXPECT_TRUE(has(draft->task, "{ name = \"A\", kind = \"in\", type = \"f32\"")) << draft->task;
  EXPECT_TRUE(has(draft->task, "{ name = \"data\", kind = \"inout\", type = \"f16\""));
  EXPECT_TRUE(has(draft->task, "{ name = \"factor\", kind = \"scalar\", type = \"f32\", value = 0.5 }"));
  EXPECT_TRUE(has(draft->task, "[tolerance.bins]\nkind = \"exact\""));
  EXPECT_GT(draft->open.size(), 4u);
  auto alone = draft_from_cuda("hard.cu", "template <class T> __global__ void k(T* y, int n) { y[0] = 0; }", nullptr);
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(has(alone->plan, "what `T` of the template `k` stands for could not be seen")) << alone->plan;
  alone = draft_from_cuda("hard.cu", "__global__ void k(Unknown* y, int n) { y[0] = 0; }", nullptr);
  ASSERT_TRUE(alone.ok());
  EXPECT_TRUE(has(alone->task, "# ? the element type `Unknown` of `y` is not known here")) << alone->task;
}

TEST(Draft, WithoutALaunchSaysWhatIsGuessed) {
  auto draft = draft_from_cuda("k.cu", "__global__ void k(float* y, int n, float a) { y[0] = a; }", nullptr);
  ASSERT_TRUE(draft.ok());
  reads_back(*draft, "");
  EXPECT_TRUE(has(draft->plan, "no launch of `k` was found")) << draft->plan;
  EXPECT_TRUE(has(draft->task, "the value of `a` is not known")) << draft->task;
}

TEST(Draft, BuffersThatPassFromLaunchToLaunchAreOne) {
  const char* source =
      "__global__ void a(const float* x, float* t, int n) { t[0] = x[0]; }\n"
      "__global__ void b(const float* t, float* y, int n) { y[0] = t[0]; }\n"
      "void h(float* dx, float* dt, float* dy, int n) { a<<<1, 32>>>(dx, dt, n); b<<<1, 32>>>(dt, dy, n); }";
  auto draft = draft_from_cuda("k.cu", source, nullptr);
  ASSERT_TRUE(draft.ok());
  const Task task = reads_back(*draft, source);
  EXPECT_EQ(task.arguments.size(), 4u) << draft->task;
  EXPECT_TRUE(has(draft->task, "make it scratch in the plan"));
  EXPECT_TRUE(has(draft->plan, "args = [\"t\", \"y\", \"n\"]")) << draft->plan;
}

TEST(Draft, FromCompiledCodeKnowsWhatTheKernelDoes) {
  const std::filesystem::path ptx = kRoot / "tasks/norm/rmsnorm_bf16/baseline.ptx";
  auto text = base::read_file(ptx);
  auto source = base::read_file(kRoot / "examples/rmsnorm.cu");
  ASSERT_TRUE(text.ok() && source.ok());
  const ptx::Parsed parsed = ptx::parse(*text, "baseline.ptx");
  auto draft = draft_from_cuda("rmsnorm.cu", *source, &parsed.module);
  ASSERT_TRUE(draft.ok());
  EXPECT_TRUE(has(draft->task, "allow = [\"approx\"]"));
  auto alone = draft_from_ptx("rmsnorm.ptx", parsed.module);
  ASSERT_TRUE(alone.ok());
  reads_back(*alone, *text);
  EXPECT_TRUE(has(alone->task, "{ name = \"p3\", kind = \"scalar\", type = \"u32\"")) << alone->task;
  EXPECT_TRUE(has(alone->task, "{ name = \"p4\", kind = \"scalar\", type = \"f32\""));
}

TEST(Draft, BadInput) {
  EXPECT_EQ(draft_from_cuda("k.cu", "int main() {}", nullptr).findings()[0].code, "TASK0020");
  EXPECT_EQ(draft_from_cuda("k.cu", "", nullptr).findings()[0].code, "TASK0020");
  EXPECT_EQ(draft_from_cuda("k.cu", std::string(size_t{9} << 20, ' '), nullptr).findings()[0].code, "TASK0021");
  std::string hostile;
  for (int i = 0; i < 20'000; ++i) hostile += "__global__ void k(int* a, int n) { dim3 g(((((n << ";
  const auto draft = draft_from_cuda("k.cu", hostile, nullptr);  // only has to end
  (void)draft;
  EXPECT_EQ(draft_from_ptx("k.ptx", ptx::Module{}).findings()[0].code, "TASK0020");
}

}  // namespace
}  // namespace ptxlab::task
