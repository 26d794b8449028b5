#include "toolchain/cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/file.h"
#include "base/hash.h"

namespace ptxlab::toolchain {
namespace {

TEST(Cache, KeepsAndForgets) {
  base::TemporaryFolder folder("ptxlab-cache-test");
  Cache cache(folder.path(), 3000);
  std::string key = base::sha256("a");
  EXPECT_EQ(cache.get(key), std::nullopt);
  cache.put(key, "content");
  EXPECT_EQ(cache.get(key), "content");
  cache.put(key, "");
  EXPECT_EQ(cache.get(key), "");
}

TEST(Cache, ADamagedFileCountsAsNothing) {
  base::TemporaryFolder folder("ptxlab-cache-test");
  Cache cache(folder.path());
  std::string key = base::sha256("a");
  cache.put(key, "content");
  std::ofstream(folder.path() / key.substr(0, 2) / key, std::ios::app) << "x";
  EXPECT_EQ(cache.get(key), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / key.substr(0, 2) / key));
}

TEST(Cache, ShrinksByTheLastUse) {
  base::TemporaryFolder folder("ptxlab-cache-test");
  Cache cache(folder.path(), 10'000);
  std::vector<std::string> keys;
  auto now = std::filesystem::file_time_type::clock::now();
  for (int i = 0; i < 12; ++i) {
    keys.push_back(base::sha256(std::to_string(i)));
    cache.put(keys.back(), std::string(1000, 'x'));
    std::filesystem::last_write_time(folder.path() / keys.back().substr(0, 2) / keys.back(),
                                     now - std::chrono::hours(20 - i));
  }
  EXPECT_TRUE(cache.get(keys[0]));  // the oldest, but used just now
  cache.shrink();
  EXPECT_TRUE(cache.get(keys[0]));
  EXPECT_FALSE(cache.get(keys[1]));
  EXPECT_TRUE(cache.get(keys[11]));
}

TEST(Cache, AFolderThatCannotBeWrittenIsNoTrouble) {
  base::TemporaryFolder folder("ptxlab-cache-test");
  std::ofstream(folder.path() / "file") << "x";
  Cache cache(folder.path() / "file");
  cache.put(base::sha256("a"), "content");
  EXPECT_EQ(cache.get(base::sha256("a")), std::nullopt);
}

}  // namespace
}  // namespace ptxlab::toolchain
