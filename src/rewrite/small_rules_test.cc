// Rules "readonly" and "block": what they change, and when they keep their hands off.
#include <gtest/gtest.h>

#include "rewrite/rules.h"
#include "rewrite/test_subject.h"

namespace ptxlab::rewrite {
namespace {

using Kind = task::Tolerance::Kind;

std::string said(const Rule* rule, const TestSubject& subject, Choice choice) {
  EXPECT_FALSE(base::has_error(subject.findings)) << base::render(subject.findings, subject.text);
  auto result = rule->apply(subject.subject(), choice);
  return result.ok() ? result->ptx + result->plan : "refused: " + result.findings().front().message;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const auto kCopy = module_of(R"(
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.global.f32 %f1, [%rd1];
  ld.global.f32 %f2, [%rd2];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd2], %f3;
  ret;
)");

TEST(Readonly, OnlyWhatIsNeverWritten) {
  auto text = said(readonly_rule(), {kCopy, plan_of("k", "1", "32", "\"x\", \"y\", \"n\""), Kind::exact}, {"nc", 0});
  EXPECT_TRUE(has(text, "ld.global.nc.f32 %f1, [%rd1];")) << text;
  EXPECT_TRUE(has(text, "ld.global.f32 %f2, [%rd2];"));
  // The plan passes one buffer twice.
  EXPECT_TRUE(
      has(said(readonly_rule(), {kCopy, plan_of("k", "1", "32", "\"x\", \"x + 4\", \"n\""), Kind::exact}, {"nc", 0}),
          "refused"));
}

TEST(Readonly, UnknownStoresAndOrderedLoads) {
  auto unknown = kCopy;
  unknown.replace(unknown.find("st.global.f32 [%rd2]"), 20, "ld.global.u64 %rd3, [%rd1+8];\n st.global.f32 [%rd3]");
  EXPECT_TRUE(
      has(said(readonly_rule(), {unknown, plan_of("k", "1", "32", "\"x\", \"y\", \"n\""), Kind::exact}, {"nc", 0}),
          "not known"));
  auto ordered = kCopy;
  ordered.replace(ordered.find("ld.global.f32 %f1"), 17, "ld.volatile.global.f32 %f1");
  EXPECT_TRUE(
      has(said(readonly_rule(), {ordered, plan_of("k", "1", "32", "\"x\", \"y\", \"n\""), Kind::exact}, {"nc", 0}),
          "refused"));
}

TEST(Block, GridFollowsWhereTheIndexDoes) {
  auto add = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32");
  auto text = said(block_rule(), add, {"512", 512});
  EXPECT_TRUE(has(text, "ceildiv(n, 512)")) << text;
  EXPECT_TRUE(has(text, "block = [\"512\"]")) << text;
  auto rows = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/norm/rmsnorm_bf16");
  text = said(block_rule(), rows, {"128", 128});
  EXPECT_TRUE(has(text, "grid = [\"m\"]")) << text;
  EXPECT_TRUE(has(text, "block = [\"128\"]"));
}

TEST(Block, KeepsToWhatTheKernelIsMadeFor) {
  auto kernels = *base::read_file(std::string(PTXLAB_SOURCE_DIR) + "/src/analysis/testdata/kernels.ptx");
  EXPECT_TRUE(
      has(said(block_rule(), {kernels, plan_of("scale_rows", "m", "256", "\"x\", \"y\", \"n\", \"s\""), Kind::exact},
               {"128", 128}),
          "refused"));
  TestSubject unclear(kernels, plan_of("relu_rows", "max(1, n / 64)", "64", "\"x\", \"y\", \"n\""), Kind::exact);
  EXPECT_TRUE(has(said(block_rule(), unclear, {"128", 128}), "not plain"));
  auto room = module_of(R"(
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mul.lo.u32 %r3, %r1, 16;
  mov.u32 %r4, room;
  add.u32 %r5, %r4, %r3;
  st.shared.u32 [%r5], %r2;
  ret;
)");
  EXPECT_TRUE(
      has(said(block_rule(), {room, plan_of("k", "1", "128", "\"x\", \"y\", \"n\""), Kind::exact}, {"512", 512}),
          "no room"));
  EXPECT_FALSE(
      has(said(block_rule(), {room, plan_of("k", "1", "128", "\"x\", \"y\", \"n\""), Kind::exact}, {"256", 256}),
          "refused"));
  auto rows = TestSubject::of_folder(PTXLAB_SOURCE_DIR "/tasks/norm/rmsnorm_bf16");
  rows.task.tolerances["out"].kind = Kind::exact;
  EXPECT_TRUE(has(said(block_rule(), rows, {"128", 128}), "another order"));
}

}  // namespace
}  // namespace ptxlab::rewrite
