#include "estimate/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>

#include "base/random.h"

namespace ptxlab::estimate {
namespace {

TEST(Cache, TheOldestMakesRoom) {
  Cache cache(2);
  cache.touch(1).valid = 1;
  cache.touch(2).valid = 2;
  cache.touch(1);
  EXPECT_EQ(cache.touch(3).valid, 0u);  // 2 was the oldest
  EXPECT_EQ(cache.touch(1).valid, 1u);
  EXPECT_EQ(cache.find(2), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

// Beside a list that is searched.
TEST(Cache, AgreesWithAPlainList) {
  const size_t lines = 37;
  Cache cache(lines);
  std::list<uint64_t> order;
  std::map<uint64_t, uint32_t> valid;
  base::Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    uint64_t key = random.below(random.below(2) ? 50 : 5);
    auto it = std::find(order.begin(), order.end(), key);
    bool there = it != order.end();
    EXPECT_EQ(there, cache.find(key) != nullptr);
    if (there) order.erase(it);
    if (!there && order.size() == lines) {
      valid.erase(order.front());
      order.pop_front();
    }
    order.push_back(key);
    auto& line = cache.touch(key);
    EXPECT_EQ(line.valid, valid[key]);
    line.valid |= 1u << random.below(4);
    valid[key] = line.valid;
  }
}

}  // namespace
}  // namespace ptxlab::estimate
