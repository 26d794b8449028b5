#include "base/child.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace ptxlab::base {
namespace {

using namespace std::chrono_literals;
Child::Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

TEST(Child, TalksBothWaysMoreThanAnyBufferHolds) {
  auto child = Child::start({"cat"});
  ASSERT_TRUE(child);
  std::string said(100'000, 'x'), heard;
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ((*child)->write(said, in(10s)), Child::Talk::done);
    EXPECT_EQ((*child)->read(said.size(), heard, in(10s)), Child::Talk::done);
  }
  EXPECT_EQ(heard.size(), 300'000u);
  EXPECT_EQ((*child)->stop(), "stopped");
  EXPECT_EQ((*child)->stop(), "stopped");
}

TEST(Child, ADeadlineEndsTheWaitAndKeepsWhatCame) {
  auto child = Child::start({"sh", "-c", "printf abc; sleep 30"});
  ASSERT_TRUE(child);
  std::string heard;
  EXPECT_EQ((*child)->read(4, heard, in(300ms)), Child::Talk::late);
  EXPECT_EQ(heard, "abc");
  std::string much(1 << 24, 'x');  // nobody reads
  EXPECT_EQ((*child)->write(much, in(200ms)), Child::Talk::late);
}

TEST(Child, AnEndIsTold) {
  auto exits = Child::start({"sh", "-c", "echo why >&2; exit 7"});
  ASSERT_TRUE(exits);
  std::string heard;
  EXPECT_EQ((*exits)->read(1, heard, in(10s)), Child::Talk::gone);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ((*exits)->stop(), "exited with 7");
  EXPECT_EQ((*exits)->errors(), "why\n");
  EXPECT_EQ((*exits)->write("x", in(1s)), Child::Talk::gone);
  auto dies = Child::start({"sh", "-c", "kill -SEGV $$"});
  ASSERT_TRUE(dies);
  EXPECT_EQ((*dies)->read(1, heard, in(10s)), Child::Talk::gone);
  std::this_thread::sleep_for(100ms);
  EXPECT_NE((*dies)->stop().find("signal 11"), std::string::npos);
}

TEST(Child, WhatIsNotThereIsNotStarted) {
  auto none = Child::start({"/nonexistent/worker"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.findings()[0].code, "FILE0010");
}

}  // namespace
}  // namespace ptxlab::base
