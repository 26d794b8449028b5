// Spans, "did you mean", seeded random numbers and the thread pool.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/nearest.h"
#include "base/random.h"
#include "base/span.h"
#include "base/thread_pool.h"

namespace ptxlab::base {
namespace {

TEST(Span, PlaceCountsFromOne) {
  std::string_view source = "ab\n\ncde";
  EXPECT_EQ(place_of(source, {0, 2}, "f"), (Place{"f", 1, 1, 2}));
  EXPECT_EQ(place_of(source, {2, 3}, "f"), (Place{"f", 1, 3, 1}));  // the newline ends its line
  EXPECT_EQ(place_of(source, {3, 4}, "f"), (Place{"f", 2, 1, 1}));
  EXPECT_EQ(place_of(source, {5, 7}, "f"), (Place{"f", 3, 2, 2}));
  EXPECT_EQ(place_of(source, {7, 7}, "f"), (Place{"f", 3, 4, 1}));    // the end of the text
  EXPECT_EQ(place_of(source, {90, 95}, "f"), (Place{"f", 3, 4, 5}));  // beyond it
  EXPECT_EQ(place_of("", {0, 0}, "f"), (Place{"f", 1, 1, 1}));
}

TEST(Nearest, DistanceCountsEditsAndNeighboursExchanged) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ftz", "fzt"), 1u);
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  std::vector<std::string> known = {"add", "sub", "mul", "shfl", "throughput"};
  EXPECT_EQ(nearest("ad", known), "add");
  EXPECT_EQ(nearest("muul", known), "mul");
  EXPECT_EQ(nearest("shlf", known), "shfl");
  EXPECT_EQ(nearest("shlf", std::vector<std::string>{"shf", "shfl", "shl"}), "shfl");  // as near as the others
  EXPECT_EQ(nearest("throughtput", known), "throughput");
  EXPECT_EQ(nearest("zzz", known), "");
  EXPECT_EQ(nearest("completely", known), "");
  EXPECT_EQ(nearest("add", std::vector<std::string>{}), "");
}

TEST(Random, StreamIsFixedForEver) {
  // SplitMix64 from seed 1234567, as published with the generator.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(5);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen[random.below(7)];
  for (int count : seen) EXPECT_NEAR(count, 1000, 150);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(~uint64_t{0}), ~uint64_t{0});
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  Random random(9);
  double sum = 0, squares = 0, uniform = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    double x = random.normal(), u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += x;
    squares += x * x;
    uniform += u;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(uniform / kCount, 0.5, 0.01);
}

TEST(Random, DerivedSeedsDiffer) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (auto purpose : {"inputs", "schedule", "addresses", ""}) seeds.insert(derive_seed(seed, purpose));
  }
  EXPECT_EQ(seeds.size(), 400u);
  EXPECT_EQ(derive_seed(1, "a"), derive_seed(1, "a"));
}

TEST(ThreadPool, RunsEachJobOnce) {
  for (size_t threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(runs.size(), threads, [&](size_t i) { ++runs[i]; });
    for (auto& count : runs) ASSERT_EQ(count, 1);
  }
  parallel_for(0, 4, [](size_t) { FAIL(); });
}

TEST(ThreadPool, NeverMoreAtOnceThanAsked) {
  std::atomic<int> now{0}, most{0};
  parallel_for(40, 3, [&](size_t) {
    int running = ++now;
    int seen = most;
    while (running > seen && !most.compare_exchange_weak(seen, running)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --now;
  });
  EXPECT_LE(most, 3);
  EXPECT_GE(core_count(), 1u);
}

}  // namespace
}  // namespace ptxlab::base
