#include "loop/brief.h"

#include <gtest/gtest.h>

namespace ptxlab::loop {
namespace {

TEST(Brief, HardwareIsThatOfTheTargetOrSaysWhoseItIs) {
  auto task = task::find_task("elementwise/vector_add_f32", "tasks");
  ASSERT_TRUE(task.ok());
  auto device = [&](const char* target) {
    judge::Baseline baseline;
    baseline.target = *isa::target_named(target);
    auto brief = make_brief(*task, baseline, {}, 1);
    return brief.hardware.empty() ? "" : brief.hardware[0].name + ": " + brief.hardware[0].value;
  };
  EXPECT_TRUE(device("sm_90a").starts_with("device: H200")) << device("sm_90a");
  EXPECT_TRUE(device("sm_121").starts_with("device, of sm_120 as the nearest that is known: ")) << device("sm_121");
  EXPECT_EQ(device("sm_75"), "");
}

}  // namespace
}  // namespace ptxlab::loop
