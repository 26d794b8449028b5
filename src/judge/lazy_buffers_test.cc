// Parts of a fill are as legal as the whole: indices within their bounds, orders unbroken from chunk to chunk.
#include "judge/lazy_buffers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/finding.h"
#include "task/task.h"

namespace ptxlab::judge {
namespace {

constexpr const char* kTask = R"(schema = "ptxlab.task/1"
name = "test/gather"
version = 1
split = "train"
level = 1
objective = "throughput"
origin = "test"
targets = ["sm_80"]
params = ["n", "m"]
arg = [
  { name = "x", kind = "in", type = "f32", shape = ["n"], fill = ["normal"] },
  { name = "i", kind = "in", type = "s32", shape = ["n"], fill = [{ uniform = [3, "m - 1"] }] },
  { name = "offsets", kind = "in", type = "s32", shape = ["n"], fill = [{ offsets = ["m"] }] },
  { name = "order", kind = "in", type = "u32", shape = ["n"], fill = ["permutation"] },
  { name = "y", kind = "out", type = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", type = "s32", value = "n" },
]
[sizes]
emulate = [{ n = 4, m = 9 }]
time = [{ n = 1000000, m = 5000 }]
[tolerance.y]
kind = "exact"
)";

class Fills : public testing::Test {
 protected:
  void SetUp() override {
    auto read = task::read_task_text(kTask, PTXLAB_SOURCE_DIR "/tasks/elementwise/vector_add_f32/task.toml");
    ASSERT_TRUE(read.ok()) << base::render(read.findings(), kTask);
    task_ = std::move(*read);
    auto data = task::bind_case(task_, task::case_of(task_.time.at(0).sizes, 7));
    ASSERT_TRUE(data.ok()) << data.findings().front().message;
    data_ = std::move(*data);
    fill_ = fill_of(task_, data_);
  }
  template <class T>
  std::vector<T> chunk(size_t buffer, uint64_t index, uint64_t bytes = kFillChunk) {
    std::vector<T> values(bytes / sizeof(T));
    fill_(buffer, index * kFillChunk, {reinterpret_cast<uint8_t*>(values.data()), bytes});
    return values;
  }
  task::Task task_;
  task::CaseData data_;
  FillChunk fill_;
};

TEST_F(Fills, ValuesAreDrawnAndDifferByChunk) {
  auto a = chunk<float>(0, 0), b = chunk<float>(0, 1);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, chunk<float>(0, 0));
  double squares = 0;
  for (float v : a) squares += v * v;
  EXPECT_NEAR(squares / static_cast<double>(a.size()), 1, 0.2);
}

TEST_F(Fills, IndicesStayWithinTheirBounds) {
  for (uint64_t c : {0, 1, 17, 100})
    for (int v : chunk<int>(1, c)) {
      ASSERT_GE(v, 3);
      ASSERT_LT(v, 5000);
    }
}

TEST_F(Fills, OffsetsGrowThroughTheWholeBuffer) {
  int last = 0;
  for (uint64_t c : {0, 1, 2, 120, 243})
    for (int v : chunk<int>(2, c)) {
      ASSERT_GE(v, last);
      ASSERT_LE(v, 5000);
      last = v;
    }
  EXPECT_GT(last, 4900);
  EXPECT_EQ(chunk<int>(2, 0).front(), 0);
}

TEST_F(Fills, APermutationNamesPlacesOfItsBuffer) {
  for (uint64_t c : {0, 3, 244})
    for (unsigned v : chunk<unsigned>(3, c, 2048)) ASSERT_LT(v, 1'000'000u);
}

TEST_F(Fills, OutputsAreNotFilled) {
  for (float v : chunk<float>(4, 0)) ASSERT_EQ(v, 0);
}

}  // namespace
}  // namespace ptxlab::judge
