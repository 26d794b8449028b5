#include "loop/cuda_candidate.h"

#include <gtest/gtest.h>

#include "ptx/verifier.h"

namespace ptxlab::loop {
namespace {

std::string codes(const base::Findings& findings) {
  std::string all;
  for (const auto& finding : findings)
    all += (all.empty() ? "" : " ") + finding.code + "@" + std::to_string(finding.place.line);
  return all;
}

TEST(CudaPolicy, TakesKernelsWithCudasHeaders) {
  EXPECT_EQ(codes(cuda_policy(
                "#include <cuda_fp16.h>\n  #  include \"mma.h\" // ok\n#define N 4\n__global__ void k() {}\n", "x")),
            "");
  EXPECT_EQ(codes(cuda_policy("// #include <fstream>\n/* #include \"/etc/passwd\" */ __global__ void k();", "x")), "");
}

// Whatever spelling a preprocessor knows of it.
TEST(CudaPolicy, NoOtherFileIsRead) {
  EXPECT_EQ(codes(cuda_policy("\n#include \"/etc/passwd\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#include <../../etc/passwd>", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("#inc\\\nlude \"secret\"", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("#inc\\\r\nlude \"secret\"", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("%:include \"secret\"", "x")), "CUC0010@1");
  // A trigraph is a '#' or nothing at all, as the compiler is called.
  EXPECT_EQ(codes(cuda_policy("\n?\?=include \"secret\"", "x")), "CUC0011@2");
  EXPECT_EQ(codes(cuda_policy("?\?=inc?\?/\nlude \"secret\"", "x")), "CUC0011@1 CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("// x ?\?/\n#include \"secret\"", "x")), "CUC0011@1 CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#inc\\ \t\nlude \"secret\"", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("\xEF\xBB\xBF#include \"secret\"", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("#include\f\"secret\"", "x")), "CUC0010@1");
  EXPECT_EQ(codes(cuda_policy("/* a\n */ # /* b */ include /* c */ \"secret\"", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#define F \"secret\"\n#include F", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#include_next <stdint.h>", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("#import \"secret\"\n#embed \"secret\"", "x")), "CUC0011@1 CUC0011@2");
  EXPECT_EQ(codes(cuda_policy("#if __has_include(\"/home/someone/.ssh/id\")", "x")), "CUC0011@1");
  // A comment that is none hides nothing.
  EXPECT_EQ(codes(cuda_policy("const char* s = \"/*\";\n#include \"secret\"\n// */", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("char c = '\"'; const char* s = \"/*\";\n#include \"secret\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("int n = 1'000; // '\n#include \"secret\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("const char* s = \"\\\"/*\";\n#include \"secret\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#define A L'/*'\n#include \"secret\"\n#define B L'*/'\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#define A 1'/*'\n#include \"secret\"\n#define B 1'*/'\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#define A 0x1p+1'/*'\n#include \"secret\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("int n = 0xf'f'0; // '\n#include \"secret\"\n", "x")), "CUC0010@2");
  EXPECT_EQ(codes(cuda_policy("#if 0\nit's /*\n#endif\n#include \"secret\"\n", "x")), "CUC0010@4");
  EXPECT_EQ(codes(cuda_policy("auto s = R\"x(\" /* )x\";\n#include \"secret\"\n", "x")).substr(0, 9), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("__shared__ float R; asm(\"//\"); FOR\"x\";\n", "x")), "");
  // A message of the compiler shows the line of the file that it believes to be in.
  EXPECT_EQ(codes(cuda_policy("#line 1 \"/etc/passwd\"\n#error x", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("# 1 \"/etc/passwd\"\n", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("#pragma GCC dependency \"/etc/passwd\"", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("_Pragma(\"GCC dependency \\\"secret\\\"\")", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("#define P(x) _Pragma(#x)\nP(GCC x)", "x")), "CUC0011@1");
  EXPECT_EQ(codes(cuda_policy("#pragma unroll 4\n_Pragma(\"unroll\")\n# pragma nv_diag_suppress 177\n#\n", "x")), "");
  EXPECT_EQ(codes(cuda_policy(std::string(2 << 20, ' '), "x")), "CUC0012@0");
}

class CudaCandidate : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!toolchain::installed().nvcc) GTEST_SKIP() << "no nvcc on this machine";
  }
  record::Candidate compiled(std::string cuda) {
    record::Candidate candidate;
    candidate.cuda = std::move(cuda);
    EXPECT_TRUE(compile_candidate(*toolchain::installed().nvcc, task, *isa::target_named("sm_80"), candidate).empty());
    return candidate;
  }
  task::Task task;
};

TEST_F(CudaCandidate, BecomesPtxThatIsLegal) {
  auto candidate =
      compiled("extern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= 2; }\nint main() { return 1; }\n");
  EXPECT_EQ(codes(candidate.findings), "");
  EXPECT_TRUE(ptx::check(candidate.ptx, "x").ok());
  EXPECT_NE(candidate.ptx.find(".entry k("), std::string::npos);
}

TEST_F(CudaCandidate, MayIncludeEveryHeaderThatTheHintNames) {
  auto candidate = compiled(
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n#include <cooperative_groups.h>\n"
      "#include <cuda_pipeline.h>\n#include <cmath>\n#include <cuda/barrier>\n__global__ void k(half* x) { x[0] = "
      "x[1]; }\n");
  EXPECT_EQ(codes(candidate.findings), "");
  EXPECT_NE(candidate.ptx, "");
}

TEST_F(CudaCandidate, ThatDoesNotCompileSaysWhereAndNothingOfThisMachine) {
  auto candidate = compiled("__global__ void k(float* x) {\n  x[0] = y;\n}\n");
  ASSERT_EQ(codes(candidate.findings), "CUC0002@2");
  EXPECT_EQ(candidate.findings[0].place.file, kCudaFile);
  EXPECT_NE(candidate.findings[0].message.find("\"y\" is undefined"), std::string::npos)
      << candidate.findings[0].message;
  EXPECT_EQ(candidate.ptx, "");
  auto error = compiled("#error stop\n");
  EXPECT_EQ(codes(error.findings).substr(0, 7), "CUC0002");
  EXPECT_EQ(error.findings[0].message.find("/tmp"), std::string::npos) << error.findings[0].message;
}

}  // namespace
}  // namespace ptxlab::loop
