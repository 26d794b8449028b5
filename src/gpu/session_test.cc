// The worker's session on a device of host memory, whose kernels are functions by the entry's name.
#include "gpu/worker/session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string_view>

#include "gpu/host_device.h"
#include "gpu/worker/canary.h"
#include "gpu/worker/placed_plan.h"

namespace ptxlab::gpu {
namespace {

char* pointer(std::span<const uint8_t> parameters, size_t at) {
  uint64_t address = 0;
  std::memcpy(&address, parameters.data() + at, 8);
  return reinterpret_cast<char*>(address);
}

struct SessionTest : ::testing::Test {
  HostDevice device;
  Arena arena{device};
  Job job;
  SessionTest() {
    using Role = launch::ResolvedBuffer::Role;
    using Init = launch::ResolvedBuffer::Init;
    job.plan.buffers = {
        {"x", 5, Role::in, Init::data}, {"y", 5, Role::out, Init::poison}, {"z", 3, Role::inout, Init::zero}};
    job.contents = {"abcde", "", ""};
    job.guard = 4096;
    launch::ResolvedLaunch one;
    one.entry = "k";
    one.parameters.resize(24);
    one.pointers = {{0, 0, 0}, {8, 1, 1}, {16, 2, 0}};
    job.plan.launches = {one};
    device.kernels["k"] = [](std::span<const uint8_t>) { return Trouble(); };
  }
};

TEST_F(SessionTest, GivesTheContentsAndTakesThemBack) {
  device.kernels["k"] = [](std::span<const uint8_t> parameters) {
    std::memcpy(pointer(parameters, 8), pointer(parameters, 0), 4);  // y + 1: four bytes fit
    ++*pointer(parameters, 16);
    return Trouble();
  };
  job.launches = 2;
  Done done = execute(device, arena, job);
  ASSERT_EQ(done.end, Done::End::executed) << done.message;
  EXPECT_EQ(done.contents, (std::vector<std::string>{"abcde",
                                                     "\xa5"
                                                     "abcd",
                                                     std::string("\2\0\0", 3)}));
  EXPECT_TRUE(done.overruns.empty());
  EXPECT_EQ(done.milliseconds, 0.02);  // two launches of 10 us
  arena.release();
  EXPECT_TRUE(device.memory.empty());
}

TEST_F(SessionTest, SeesWritesBeforeAndBehindABuffer) {
  device.kernels["k"] = [](std::span<const uint8_t> parameters) {
    std::memset(pointer(parameters, 16) + 3, 0, 2);     // right behind z
    std::memset(pointer(parameters, 8) - 1 - 8, 0, 4);  // 8 bytes before y
    return Trouble();
  };
  Done done = execute(device, arena, job);
  EXPECT_EQ(done.overruns, (std::vector<Overrun>{{1, -8, 4}, {2, 3, 2}}));
}

TEST_F(SessionTest, PoisonFillsWhatNobodyInitialises) {
  for (uint8_t poison : {0x00, 0x5a}) {
    job.poison = poison;
    Done done = execute(device, arena, job);
    EXPECT_EQ(done.contents.at(1), std::string(5, static_cast<char>(poison)));
  }
  EXPECT_EQ(device.loads, 2);  // a new module for every job
}

TEST_F(SessionTest, VariablesAreFilledBeforeTheFirstLaunch) {
  job.plan.symbols = {{"taps", 0, 1, 3, {}, {}}};
  EXPECT_EQ(execute(device, arena, job).end, Done::End::executed);
  EXPECT_EQ(device.taps, std::string("bcd\0\0\0\0\0", 8));
  job.plan.symbols[0].name = "tapes";
  Done none = execute(device, arena, job);
  EXPECT_EQ(none.end, Done::End::trouble);
  EXPECT_NE(none.message.find("tapes"), std::string::npos);
  launch::ResolvedSymbol address;
  address.name = "taps";
  address.value.resize(8);
  address.pointers = {{0, 2, 1}};
  job.plan.symbols = {address};
  device.kernels["k"] = [&](std::span<const uint8_t> parameters) {
    EXPECT_EQ(pointer({reinterpret_cast<const uint8_t*>(device.taps.data()), 8}, 0), pointer(parameters, 16) + 1);
    return Trouble();
  };
  EXPECT_EQ(execute(device, arena, job).end, Done::End::executed);
  job.plan.symbols[0].value.resize(12);
  EXPECT_NE(execute(device, arena, job).message.find("12 are given"), std::string::npos);
}

TEST_F(SessionTest, EveryEndHasItsName) {
  job.code = "broken";
  Done refused = execute(device, arena, job);
  EXPECT_EQ(refused.end, Done::End::refused);
  EXPECT_NE(refused.message.find("line 3"), std::string::npos);
  job.code = "";
  device.room = 9000;
  EXPECT_EQ(execute(device, arena, job).end, Done::End::out_of_memory);
  EXPECT_TRUE(device.memory.empty());
  device.room = 1 << 24;
  job.contents[0] = "abc";
  EXPECT_EQ(execute(device, arena, job).end, Done::End::trouble);
  job.contents[0] = "abcde";
  device.kernels["k"] = [&](std::span<const uint8_t>) {
    device.late = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";
    return Trouble();
  };
  Done faulted = execute(device, arena, job);
  EXPECT_EQ(faulted.end, Done::End::faulted);
  EXPECT_EQ(faulted.launch, 0u);
  EXPECT_NE(faulted.message.find("ILLEGAL_ADDRESS"), std::string::npos);
}

launch::ResolvedTensorMap a_map(uint32_t buffer, uint64_t addend) {
  launch::ResolvedTensorMap map;
  map.name = "tm";
  map.buffer = buffer;
  map.addend = addend;
  map.dims = {77}, map.box = {16}, map.element_strides = {1};
  return map;
}

TEST_F(SessionTest, TensorMapsAreMadeForWhereTheBuffersLie) {
  job.plan.tensor_maps = {a_map(1, 0), a_map(0, 3)};
  auto& launch = job.plan.launches[0];
  launch.parameters.assign(24 + 128 + 128, 9);
  launch.tensor_maps = {{152, 0}, {24, 1}};
  device.kernels["k"] = [](std::span<const uint8_t> parameters) {
    EXPECT_EQ(pointer(parameters, 24), pointer(parameters, 0) + 3);
    EXPECT_EQ(pointer(parameters, 152), pointer(parameters, 8) - 1);  // the pointer is to y + 1
    EXPECT_EQ(parameters[32], 77);                                    // and so on: all 128 bytes
    EXPECT_EQ(parameters[151], 0);
    return Trouble();
  };
  EXPECT_EQ(execute(device, arena, job).end, Done::End::executed);
  EXPECT_EQ(device.maps, 2);
}

TEST_F(SessionTest, ATensorMapInAVariable) {
  device.taps.assign(128, 'x');
  launch::ResolvedSymbol symbol;
  symbol.name = "taps";
  symbol.value.resize(128);
  symbol.tensor_maps = {{0, 0}};
  job.plan.tensor_maps = {a_map(2, 1)};
  job.plan.symbols = {symbol};
  device.kernels["k"] = [&](std::span<const uint8_t> parameters) {
    EXPECT_EQ(pointer({reinterpret_cast<const uint8_t*>(device.taps.data()), 128}, 0), pointer(parameters, 16) + 1);
    return Trouble();
  };
  EXPECT_EQ(execute(device, arena, job).end, Done::End::executed);
}

TEST_F(SessionTest, AMapThatIsNotMadeIsNoFaultOfTheKernel) {
  job.plan.tensor_maps = {a_map(0, 0)};
  device.knows_maps = false;
  Done done = execute(device, arena, job);
  EXPECT_EQ(done.end, Done::End::trouble);
  EXPECT_EQ(done.message, "the tensor map 'tm': the driver is too old for tensor maps");
  EXPECT_EQ(device.launches, 0);
}

TEST_F(SessionTest, ALaunchThatIsNotTakenIsToldFromAFault) {
  job.plan.launches.push_back(job.plan.launches[0]);
  job.plan.launches[1].entry = "large";
  job.plan.launches[1].shared_bytes = 200'000;
  device.kernels["large"] = [](std::span<const uint8_t>) {
    return Trouble("CUDA_ERROR_INVALID_VALUE: invalid argument");
  };
  device.most.shared = 232'448;
  device.most.shared_static = 40'960;
  Done refused = execute(device, arena, job);
  EXPECT_EQ(refused.end, Done::End::unlaunched);
  EXPECT_EQ(refused.launch, 1u);
  EXPECT_EQ(refused.message,
            "CUDA_ERROR_INVALID_VALUE: invalid argument: 200000 bytes of dynamic shared memory and 40960 of the code's "
            "own, a "
            "CTA has at most 232448");
  // The same answer may be the fault of the launch before.
  device.late = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered";
  Done faulted = execute(device, arena, job);
  EXPECT_EQ(faulted.end, Done::End::faulted);
  EXPECT_EQ(faulted.message, *device.late);
  EXPECT_EQ(faulted.launch, UINT32_MAX);
}

TEST(PlacedPlan, WordsForWhatIsTooMuch) {
  launch::ResolvedLaunch launch;
  launch.grid = {200, 1, 1}, launch.block = {512, 2, 1}, launch.cluster = {16, 1, 1};
  launch.shared_bytes = 1000;
  launch.cooperative = true;
  LaunchLimits limits;
  EXPECT_EQ(excess(launch, limits), "");  // nothing is known
  limits.shared = 1000, limits.threads = 1024, limits.resident = 200, limits.clusters = 1;
  EXPECT_EQ(excess(launch, limits), "");
  limits.threads = 512;
  EXPECT_EQ(excess(launch, limits), ": 1024 threads a CTA, with this code's registers at most 512");
  limits.threads = 1024, limits.resident = 132;
  EXPECT_EQ(excess(launch, limits), ": a cooperative grid of 200 CTAs, of which 132 fit on this GPU at a time");
  limits.resident = 264, limits.clusters = 0;
  EXPECT_EQ(excess(launch, limits), ": no cluster of 16 CTAs of this kind fits on this GPU");
}

TEST_F(SessionTest, ZeroedScratchIsZeroWheneverThePlanBegins) {
  job.plan.buffers.push_back({"part", 4, launch::ResolvedBuffer::Role::scratch, launch::ResolvedBuffer::Init::zero});
  job.contents.emplace_back();
  job.plan.launches[0].parameters.resize(32);
  job.plan.launches[0].pointers.push_back({24, 3, 0});
  job.launches = 3;
  device.kernels["k"] = [](std::span<const uint8_t> parameters) {
    EXPECT_EQ((*pointer(parameters, 24))++, 0);
    ++*pointer(parameters, 16);  // what the task reads and writes goes on
    return Trouble();
  };
  Done done = execute(device, arena, job);
  EXPECT_EQ(done.contents.at(2)[0], 3);
  EXPECT_EQ(done.contents.at(3)[0], 1);
}

TEST_F(SessionTest, TheModuleOfTheJobBeforeStaysWhereThatIsAsked) {
  execute(device, arena, job);
  EXPECT_EQ(device.loads, 1);
  job.keep_module = true;
  EXPECT_EQ(execute(device, arena, job).end, Done::End::executed);
  EXPECT_EQ(device.loads, 1);
}

// Another beginning each time, and nothing of what the job before put out, within its own memory or beyond.
TEST_F(SessionTest, AJobFindsNothingOfTheOneBefore) {
  std::set<char*> places;
  device.kernels["k"] = [&](std::span<const uint8_t> parameters) {
    char* y = pointer(parameters, 8);
    places.insert(y);
    const auto& [begin, block] = *device.memory.begin();
    std::string_view all(block.get(), device.sizes.at(begin));
    EXPECT_EQ(all.find("secret answer"), std::string_view::npos);
    std::memcpy(y, "secret answer", 13);
    return Trouble();
  };
  for (int n = 0; n < 20; ++n) execute(device, arena, job);
  EXPECT_GT(places.size(), 10u);
}

TEST(Canary, KnowsASaneDeviceFromABrokenOne) {
  struct Broken : HostDevice {
    bool forgets = false, miscounts = false;
    Trouble copy(Address to, Address from, uint64_t bytes) override {
      return HostDevice::copy(to, from, forgets ? bytes - 1 : bytes);
    }
    Trouble end_digest(uint64_t& sum) override {
      auto why = HostDevice::end_digest(sum);
      if (miscounts) ++sum;
      return why;
    }
  } device;
  EXPECT_FALSE(run_canary(device));
  device.forgets = true;
  EXPECT_TRUE(run_canary(device));
  device.forgets = false, device.miscounts = true;
  EXPECT_TRUE(run_canary(device));
  EXPECT_TRUE(device.memory.empty());
}

}  // namespace
}  // namespace ptxlab::gpu
