// The stopwatch on a device of host memory: honest arms, and those that lie in every way that a timed launch could.
#include "gpu/worker/stopwatch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "gpu/host_device.h"

namespace ptxlab::gpu {
namespace {

constexpr uint32_t kElements = 64;

// y[i] = x[i] + 1, by the arms `honest` and `other`.
struct StopwatchTest : ::testing::Test {
  HostDevice device;
  Contest contest;
  std::set<const float*> seen;
  int calls = 0;

  static const float* x(std::span<const uint8_t> parameters) { return at<const float>(parameters, 0); }
  static float* y(std::span<const uint8_t> parameters) { return at<float>(parameters, 8); }
  template <class T>
  static T* at(std::span<const uint8_t> parameters, size_t offset) {
    uint64_t address = 0;
    std::memcpy(&address, parameters.data() + offset, 8);
    return reinterpret_cast<T*>(address);
  }
  static Trouble add_one(std::span<const uint8_t> parameters) {
    for (uint32_t i = 0; i < kElements; ++i) y(parameters)[i] = x(parameters)[i] + 1;
    return std::nullopt;
  }

  StopwatchTest() {
    using Role = launch::ResolvedBuffer::Role;
    using Init = launch::ResolvedBuffer::Init;
    std::vector<float> input(kElements);
    for (uint32_t i = 0; i < kElements; ++i) input[i] = static_cast<float>(i);
    contest.contents = {std::string(reinterpret_cast<const char*>(input.data()), 4 * kElements), ""};
    for (size_t a = 0; a < kArms; ++a) {
      auto& plan = contest.sides.at(a).plan;
      plan.buffers = {{"x", 4 * kElements, Role::in, Init::data}, {"y", 4 * kElements, Role::out, Init::poison}};
      launch::ResolvedLaunch one;
      one.entry = a == 0 ? "honest" : "other";
      one.parameters.resize(16);
      one.pointers = {{0, 0, 0}, {8, 1, 0}};
      plan.launches = {one};
    }
    contest.shared = 2;
    float changed = 77;
    contest.change = {0, 20, std::string(reinterpret_cast<const char*>(&changed), 4)};
    contest.guard = 1024;
    device.kernels["honest"] = add_one;
    device.kernels["other"] = add_one;
  }

  Measured measure(uint32_t epochs = 3) {
    Stopwatch stopwatch(device, contest);
    opened = stopwatch.open();
    EXPECT_EQ(opened.end, Done::End::executed) << opened.message;
    return stopwatch.measure({epochs, apart});
  }
  Opened opened;
  std::vector<double> apart;
};

TEST_F(StopwatchTest, MeasuresHonestArms) {
  device.costs["other"] = 9;
  Measured measured = measure();
  EXPECT_EQ(measured.end, Done::End::executed) << measured.message;
  EXPECT_TRUE(measured.mismatches.empty());
  ASSERT_EQ(measured.epochs.size(), 3u);
  EXPECT_GT(opened.batch, 1u);  // under 20 us
  EXPECT_GE(opened.sets, opened.batch);
  std::set<int> variants, firsts, sets;
  for (const auto& epoch : measured.epochs) {
    ASSERT_EQ(epoch.pairs.size(), 12u);
    for (const auto& pair : epoch.pairs) {
      EXPECT_NEAR(pair.microseconds[0], 10, 1e-3);
      EXPECT_NEAR(pair.microseconds[1], 9, 1e-3);
      EXPECT_NEAR(pair.mhz[0], 1980, 15);
      variants.insert(pair.variant);
      firsts.insert(static_cast<int>(pair.first));
      sets.insert(pair.set);
    }
  }
  EXPECT_EQ(variants.size(), 2u);
  EXPECT_EQ(firsts.size(), 2u);
  EXPECT_GT(sets.size(), 3u);
  EXPECT_EQ(measured.checked, 3u * 2 * (12 * opened.batch + 1));
  EXPECT_EQ(device.memory.size(), 0u);  // all is given back
}

TEST_F(StopwatchTest, TellsWhatTheArmsPutOut) {
  Stopwatch stopwatch(device, contest);
  Opened first = stopwatch.open();
  ASSERT_EQ(first.end, Done::End::executed) << first.message;
  for (size_t arm = 0; arm < kArms; ++arm) {
    for (size_t variant = 0; variant < kVariants; ++variant) {
      const auto& look = first.looks.at(arm).at(variant);
      EXPECT_EQ(look.as_a, arm == 1);  // the same bits need no second journey
      const auto& contents = first.looks[0].at(variant).contents;
      ASSERT_EQ(contents.size(), 2u);
      EXPECT_TRUE(contents[0].empty());
      float value = 0;
      std::memcpy(&value, contents[1].data() + 20, 4);
      EXPECT_EQ(value, variant == 0 ? 6.0f : 78.0f);
      EXPECT_TRUE(look.unsteady.empty());
      EXPECT_TRUE(look.overruns.empty());
      EXPECT_TRUE(look.changed.empty());
    }
  }
}

TEST_F(StopwatchTest, OutputsThatDifferComeBackFromBoth) {
  device.kernels["other"] = [](std::span<const uint8_t> parameters) {
    add_one(parameters);
    y(parameters)[3] = 5;
    return Trouble();
  };
  measure(0);
  ASSERT_EQ(opened.looks[1][0].contents.size(), 2u);
  EXPECT_FALSE(opened.looks[1][0].as_a);
  EXPECT_NE(opened.looks[1][0].contents[1], opened.looks[0][0].contents[1]);
}

TEST_F(StopwatchTest, FreshMemoryAndModulesEachEpoch) {
  std::set<const float*> addresses;
  device.kernels["other"] = [&](std::span<const uint8_t> parameters) {
    addresses.insert(x(parameters));
    return add_one(parameters);
  };
  measure(4);
  EXPECT_GT(addresses.size(), 4u * 4);
  EXPECT_EQ(device.loads, 2 + 4 * 2);
  EXPECT_GT(device.forgotten, 0);
}

TEST_F(StopwatchTest, LongKernelsAreTimedOneByOne) {
  device.costs["honest"] = device.costs["other"] = 1000;
  Measured measured = measure();
  EXPECT_EQ(opened.batch, 1u);
  EXPECT_LT(opened.pairs, 12u);
  EXPECT_NEAR(measured.epochs.at(0).pairs.at(0).microseconds[0], 1000, 1e-2);
}

// --- arms that lie ----------------------------------------------------------------------------------------------------------

// Computes a few times and counts on its answer lying there still.
TEST_F(StopwatchTest, SkippingLaterLaunchesIsSeen) {
  device.kernels["other"] = [this](std::span<const uint8_t> parameters) {
    return ++calls > 40 ? std::nullopt : add_one(parameters);
  };
  Measured measured = measure();
  ASSERT_FALSE(measured.mismatches.empty());
  for (const auto& mismatch : measured.mismatches) EXPECT_EQ(mismatch.arm, Arm::b);
}

// Remembers the answer by the input's address.
TEST_F(StopwatchTest, RememberingByAddressIsSeen) {
  std::map<const float*, std::vector<float>> answers;
  device.kernels["other"] = [&](std::span<const uint8_t> parameters) {
    auto& answer = answers[x(parameters)];
    if (answer.empty()) {
      add_one(parameters);
      answer.assign(y(parameters), y(parameters) + kElements);
    }
    std::copy(answer.begin(), answer.end(), y(parameters));
    return Trouble();
  };
  contest.change.bytes.clear();  // with one variant this cannot be told from honest work within an epoch's memory ...
  EXPECT_TRUE(measure(1).mismatches.empty());
  float changed = 77;
  contest.change.bytes.assign(reinterpret_cast<const char*>(&changed), 4);  // ... with two it can
  answers.clear();
  EXPECT_FALSE(measure(1).mismatches.empty());
}

// Leaves out the last element after the launches that it takes for a check.
TEST_F(StopwatchTest, DoingLessLaterIsSeen) {
  device.kernels["other"] = [this](std::span<const uint8_t> parameters) {
    uint32_t count = ++calls > 30 ? kElements - 1 : kElements;
    for (uint32_t i = 0; i < count; ++i) y(parameters)[i] = x(parameters)[i] + 1;
    return Trouble();
  };
  EXPECT_FALSE(measure().mismatches.empty());
}

TEST_F(StopwatchTest, ChangedInputsAreSeen) {
  device.kernels["other"] = [this](std::span<const uint8_t> parameters) {
    add_one(parameters);
    if (++calls > 100) const_cast<float*>(x(parameters))[3] = 5;  // not when it is looked at
    return Trouble();
  };
  Measured measured = measure();
  EXPECT_TRUE(std::any_of(measured.mismatches.begin(), measured.mismatches.end(),
                          [](const auto& mismatch) { return mismatch.input; }));
  device.kernels["other"] = [](std::span<const uint8_t> parameters) {
    add_one(parameters);
    const_cast<float*>(x(parameters))[3] = 5;
    return Trouble();
  };
  measure(0);
  EXPECT_EQ(opened.looks[1][0].changed, std::vector<uint32_t>{0});
  EXPECT_TRUE(opened.looks[0][0].changed.empty());
}

TEST_F(StopwatchTest, WritingBeyondABufferIsSeen) {
  device.kernels["other"] = [](std::span<const uint8_t> parameters) {
    y(parameters)[kElements + 1] = 5;
    return add_one(parameters);
  };
  measure(0);
  EXPECT_EQ(opened.looks[1][0].overruns, (std::vector<Overrun>{{1, 4 * kElements + 4, 4}}));
  EXPECT_TRUE(opened.looks[0][0].overruns.empty());
}

TEST_F(StopwatchTest, WhatDependsOnMemoryThatNobodyWroteIsSeen) {
  device.kernels["other"] = [](std::span<const uint8_t> parameters) {
    float old = y(parameters)[7];
    add_one(parameters);
    y(parameters)[7] = old;
    return Trouble();
  };
  Measured measured = measure(1);
  EXPECT_TRUE(opened.looks[1][0].poisoned);
  EXPECT_TRUE(opened.looks[1][0].unsteady.empty());
  EXPECT_FALSE(opened.looks[0][0].poisoned);
  EXPECT_TRUE(measured.mismatches.empty());  // always the same poison
}

// Sums in another order each time: the last bits differ.
struct Unsteady : StopwatchTest {
  float extra = 0;
  Unsteady() {
    contest.elements = {Element::exact, Element::f32};
    device.kernels["other"] = [this](std::span<const uint8_t> parameters) {
      add_one(parameters);
      for (uint32_t i = 0; i < kElements; ++i) y(parameters)[i] += static_cast<float>(++calls % 7) * 1e-5f;
      y(parameters)[9] += extra;
      return Trouble();
    };
    apart = {0, 8 * 1e-4};  // the root of 64 squares of 1e-4
  }
};

TEST_F(Unsteady, WhatDiffersWithinItsBoundsPasses) {
  Measured measured = measure(2);
  EXPECT_EQ(opened.looks[1][0].unsteady, std::vector<uint32_t>{1});
  EXPECT_TRUE(opened.looks[0][0].unsteady.empty());
  EXPECT_TRUE(measured.mismatches.empty());
  EXPECT_EQ(measured.projected, 2 * (12 * opened.batch + 1));
  EXPECT_EQ(measured.checked, 2 * measured.projected);
}

TEST_F(Unsteady, WhatDiffersByMoreIsSeen) {
  Stopwatch stopwatch(device, contest);
  stopwatch.open();
  extra = 0.5;
  EXPECT_FALSE(stopwatch.measure({1, apart}).mismatches.empty());
}

TEST_F(Unsteady, ANewNaNIsSeen) {
  Stopwatch stopwatch(device, contest);
  stopwatch.open();
  extra = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(stopwatch.measure({1, apart}).mismatches.empty());
}

TEST_F(Unsteady, WithoutABoundItCountsAsUnchecked) {
  apart.clear();
  Measured measured = measure(1);
  EXPECT_TRUE(measured.mismatches.empty());
  EXPECT_EQ(measured.projected, 0u);
  EXPECT_EQ(measured.checked, 12u * opened.batch + 1);  // the other arm's alone
}

// --- what goes wrong --------------------------------------------------------------------------------------------------------

TEST_F(StopwatchTest, SaysWhoseCodeIsRefusedAndWhoFaults) {
  contest.sides[1].code = "broken";
  Stopwatch refused(device, contest);
  Opened told = refused.open();
  EXPECT_EQ(told.end, Done::End::refused);
  EXPECT_EQ(told.arm, Arm::b);
  contest.sides[1].code = "";
  bool broken = false;
  device.kernels["other"] = [&](std::span<const uint8_t> parameters) {
    return broken ? Trouble("CUDA_ERROR_ILLEGAL_ADDRESS") : add_one(parameters);
  };
  Stopwatch stopwatch(device, contest);
  EXPECT_EQ(stopwatch.open().end, Done::End::executed);
  broken = true;
  Measured measured = stopwatch.measure({3, {}});
  EXPECT_EQ(measured.end, Done::End::faulted);
  EXPECT_EQ(measured.arm, Arm::b);
  EXPECT_FALSE(device.held);  // the queue does not stand still for ever
}

TEST_F(StopwatchTest, MemoryThatDoesNotFitIsSaid) {
  device.room = 100;
  Stopwatch stopwatch(device, contest);
  EXPECT_EQ(stopwatch.open().end, Done::End::out_of_memory);
}

TEST_F(StopwatchTest, ScratchIsZeroedForEveryExecution) {
  using Role = launch::ResolvedBuffer::Role;
  using Init = launch::ResolvedBuffer::Init;
  auto& plan = contest.sides[1].plan;
  plan.buffers.push_back({"count", 4, Role::scratch, Init::zero});
  plan.launches[0].parameters.resize(24);
  plan.launches[0].pointers.push_back({16, 2, 0});
  int wrong = 0;
  device.kernels["other"] = [&](std::span<const uint8_t> parameters) {
    int32_t* count = at<int32_t>(parameters, 16);
    if ((*count)++ != 0) ++wrong;
    return add_one(parameters);
  };
  EXPECT_TRUE(measure().mismatches.empty());
  EXPECT_EQ(wrong, 0);
}

TEST_F(StopwatchTest, VariablesAreFilledForEveryExecution) {
  contest.sides[1].plan.symbols = {{"taps", 0, 0, 8, {}, {}}};
  device.kernels["other"] = [&](std::span<const uint8_t> parameters) {
    EXPECT_EQ(device.taps, contest.contents[0].view().substr(0, 8));
    device.taps = "overwrit";
    return add_one(parameters);
  };
  EXPECT_TRUE(measure(1).mismatches.empty());
  EXPECT_EQ(opened.batch, 1u);
}

// Both arms and every set of buffers have maps of their own.
TEST_F(StopwatchTest, TensorMapsFollowTheBuffers) {
  for (size_t a = 0; a < kArms; ++a) {
    auto& plan = contest.sides.at(a).plan;
    launch::ResolvedTensorMap map;
    map.name = "tm";
    map.buffer = a == 0 ? 0 : 1;
    map.dims = {kElements}, map.box = {16}, map.element_strides = {1};
    plan.tensor_maps = {map};
    plan.launches[0].parameters.resize(192);
    plan.launches[0].tensor_maps = {{64, 0}};
  }
  auto by_map = [](size_t pointer) {
    return [pointer](std::span<const uint8_t> parameters) {
      EXPECT_EQ(at<const float>(parameters, 64), at<const float>(parameters, pointer));
      return add_one(parameters);
    };
  };
  device.kernels["honest"] = by_map(0);
  device.kernels["other"] = by_map(8);
  Measured measured = measure();
  EXPECT_EQ(measured.end, Done::End::executed) << measured.message;
  EXPECT_TRUE(measured.mismatches.empty());
  EXPECT_GT(opened.sets, 1u);
  EXPECT_LE(device.maps, static_cast<int>(2 * (1 + 3 * opened.sets)));  // once a layout, not once a launch
  device.knows_maps = false;
  Stopwatch stopwatch(device, contest);
  EXPECT_EQ(stopwatch.open().end, Done::End::trouble);
}

TEST_F(StopwatchTest, AModuleThatKeepsStateIsLoadedForEveryExecution) {
  contest.sides[1].reload = true;
  contest.pairs = 3;
  measure(2);
  EXPECT_GT(device.loads, 2 * 3 + 4);
}

TEST_F(StopwatchTest, WhatThrottlesIsTold) {
  device.now.throttle = 0x4;
  device.now.celsius = 85;
  Measured measured = measure(1);
  EXPECT_EQ(measured.epochs.at(0).after.throttle, 4u);
  EXPECT_EQ(measured.epochs.at(0).before.celsius, 85u);
}

}  // namespace
}  // namespace ptxlab::gpu
