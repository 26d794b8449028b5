#include "llm/resolve.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ptxlab::llm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using End = Resolved::End;

TEST(Resolve, NumbersAreTheirOwnAddressesAndNamesAreLookedUp) {
  auto never = [](const std::string&) -> std::vector<std::string> {
    ADD_FAILURE() << "looked up";
    return {};
  };
  for (const char* host : {"127.0.0.1", "::1", "fd00::ab"}) {
    auto resolved = resolve(host, Clock::now() + milliseconds(100), {}, never);
    EXPECT_EQ(resolved.end, End::found);
    EXPECT_EQ(resolved.addresses, std::vector<std::string>{host});
  }
  auto local = resolve("localhost", Clock::now() + std::chrono::seconds(10));
  EXPECT_EQ(local.end, End::found);
  auto none = resolve("nowhere", Clock::now() + std::chrono::seconds(10), {},
                      [](const std::string&) { return std::vector<std::string>(); });
  EXPECT_EQ(none.end, End::unknown);
}

TEST(Resolve, AResolverThatHangsHoldsNobodyUp) {
  static std::atomic<bool> over = false;  // the thread outlives this test
  auto hangs = [](const std::string&) {
    while (!over) std::this_thread::sleep_for(milliseconds(5));
    return std::vector<std::string>{"127.0.0.1"};
  };
  auto start = Clock::now();
  EXPECT_EQ(resolve("slow", start + milliseconds(150), {}, hangs).end, End::late);
  EXPECT_GE(Clock::now() - start, milliseconds(150));
  EXPECT_EQ(resolve(
                "slow", start + std::chrono::seconds(60), [] { return true; }, hangs)
                .end,
            End::stopped);
  EXPECT_LT(Clock::now() - start, milliseconds(5000));
  over = true;
}

}  // namespace
}  // namespace ptxlab::llm
