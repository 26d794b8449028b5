#include "judge/gpu_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "judge/fake_gpu.h"

namespace ptxlab::judge {
namespace {

using namespace std::chrono_literals;

GpuResult fake() { return std::unique_ptr<gpu::Runner>(std::make_unique<FakeGpu>()); }
GpuResult broken() {
  base::Finding finding;
  finding.code = "GPU0001";
  finding.message = "the GPU worker does not start";
  return finding;
}

TEST(GpuPool, StartsAGpuWhenItIsNeededAndOnce) {
  int started = 0;
  GpuPool pool({[&] { return ++started, fake(); }});
  EXPECT_EQ(started, 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.with([](GpuResult& gpu) { return gpu.ok(); }));
  EXPECT_EQ(started, 1);
}

TEST(GpuPool, SaysWhyThereIsNone) {
  auto code = [](GpuResult& gpu) { return gpu ? "" : gpu.findings()[0].code; };
  EXPECT_EQ(GpuPool({}).with(code), "GPU0002");
  GpuPool pool({broken, broken});
  EXPECT_EQ(pool.with(code), "GPU0001");
  EXPECT_EQ(pool.with(code), "GPU0001");
}

TEST(GpuPool, PassesOverOneThatDoesNotStart) {
  int tried = 0;
  GpuPool pool({[&] { return ++tried, broken(); }, fake});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pool.with([](GpuResult& gpu) { return gpu.ok(); }));
  EXPECT_EQ(tried, 1);
}

// Two GPUs, four threads: never more than two at work, both at work at once, and no GPU in two hands.
TEST(GpuPool, EachGpuDoesOneThingAtATimeAndAllWork) {
  GpuPool pool({fake, fake});
  std::atomic<int> at_work{0}, most{0};
  std::atomic<bool> shared{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        pool.with([&](GpuResult& gpu) {
          auto& jobs = static_cast<FakeGpu&>(**gpu).jobs;
          int before = ++jobs, now = ++at_work;
          if (now > most) most = now;
          std::this_thread::sleep_for(3ms);
          if (jobs != before) shared = true;
          --at_work;
          return true;
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 2);
  EXPECT_FALSE(shared);
}

}  // namespace
}  // namespace ptxlab::judge
