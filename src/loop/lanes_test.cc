#include "loop/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace ptxlab::loop {
namespace {

// Until it holds, or for long.
void wait_for(const std::function<bool()>& holds) {
  for (int i = 0; i < 20'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Lanes, ALaneHasNoMoreAtWorkThanItsPlaces) {
  Lanes lanes({2, 3});
  std::atomic<int> busy[2] = {0, 0}, most[2] = {0, 0}, done = 0;
  for (size_t lane : {0, 1}) {
    for (int i = 0; i < 50; ++i)
      lanes.add_last(lane, [&, lane] {
        int now = ++busy[lane], before = most[lane];
        while (now > before && !most[lane].compare_exchange_weak(before, now)) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --busy[lane];
        ++done;
      });
  }
  lanes.work(100);
  EXPECT_EQ(done, 100);
  EXPECT_LE(most[0], 2);
  EXPECT_LE(most[1], 3);
}

// Two servers that take long: neither waits for the other, however many questions the first one has.
TEST(Lanes, ALongLaneLeavesTheOthersTheirPlaces) {
  Lanes lanes({1, 2, 2});
  std::atomic<int> first = 0, second = 0;
  std::atomic<bool> met = false;
  const auto meet = [&](std::atomic<int>& mine, const std::atomic<int>& other) {
    ++mine;
    wait_for([&] { return met || other > 0; });
    met = met || other > 0;
  };
  for (int i = 0; i < 100; ++i) lanes.add_last(1, [&] { meet(first, second); });
  lanes.add_last(2, [&] { meet(second, first); });
  lanes.work(100);
  EXPECT_TRUE(met);
  EXPECT_EQ(first, 100);
}

TEST(Lanes, WhatJobsBringForthIsDoneTooAndTheFirstBeforeTheRest) {
  Lanes lanes({1, 1});
  std::string order;
  lanes.add_last(0, [&] {
    order += 'a';
    lanes.add_first(0, [&] { order += 'b'; });
  });
  lanes.add_last(0, [&] { order += 'c'; });
  lanes.work(1);
  EXPECT_EQ(order, "abc");
}

TEST(Lanes, AClosedLaneWaitsUntilOthersHaveOpenedIt) {
  Lanes lanes({1, 1});
  std::atomic<int> unjudged = 2;
  lanes.open_while(1, [&] { return unjudged == 0; });
  int seen = -1;
  lanes.add_last(1, [&] { seen = unjudged; });
  for (int i = 0; i < 2; ++i) lanes.add_last(0, [&] { --unjudged; });
  lanes.work(10);
  EXPECT_EQ(seen, 0);
}

}  // namespace
}  // namespace ptxlab::loop
