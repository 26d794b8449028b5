#include "gpu/worker/abandoned.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace ptxlab::gpu {
namespace {

using namespace std::chrono_literals;

// A child that is stuck for ten seconds and never reads; how it ends after our end was closed.
int end_of_stuck_child(std::array<int, 2> ends, bool close_ours) {
  pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    end_when_abandoned(ends[0], 20ms);
    usleep(close_ours ? 10'000'000 : 200'000);
    _exit(7);
  }
  close(ends[0]);
  EXPECT_EQ(write(ends[1], "unread", 6), 6);
  if (close_ours) close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!close_ours) close(ends[1]);
  return WEXITSTATUS(status);
}

TEST(Abandoned, AStuckWorkerEndsWhenNobodyIsThere) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  EXPECT_EQ(end_of_stuck_child(ends, true), 4);
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(end_of_stuck_child(ends, true), 4);
}

TEST(Abandoned, AWorkerIsLeftAloneWhileSomebodyIs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(end_of_stuck_child(ends, false), 7);
}

}  // namespace
}  // namespace ptxlab::gpu
