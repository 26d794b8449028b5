#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/file.h"
#include "base/subprocess.h"

namespace ptxlab::base {
namespace {

using std::chrono::milliseconds;

bool gone(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    auto status = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!status || status->find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// The status with which a program ends that runs another one and is interrupted so many times.
int interrupted_times(int times, bool& grandchild_gone) {
  TemporaryFolder folder("interrupt");
  auto told = (folder.path() / "pid").string();
  pid_t program = fork();
  if (program == 0) {
    signal(SIGINT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    note_interrupts();
    Command command{{"sh", "-c", "sleep 60 & echo $! >" + told + ".new; mv " + told + ".new " + told + "; wait"}};
    if (times == 1) command.stop = interrupted;
    run(command);
    end_as_interrupted();
    _exit(0);
  }
  while (!std::filesystem::exists(told)) std::this_thread::sleep_for(milliseconds(5));
  const pid_t grandchild = atoi(read_file(told)->c_str());
  for (int i = 0; i < times; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(milliseconds(100));
      EXPECT_EQ(waitpid(program, nullptr, WNOHANG), 0) << "the first is only noted";
    }
    kill(program, SIGINT);
  }
  int status = 0;
  EXPECT_EQ(waitpid(program, &status, 0), program);
  grandchild_gone = gone(grandchild);
  return status;
}

TEST(Interrupt, TheFirstIsNotedAndASecondEndsAllAtOnce) {
  EXPECT_FALSE(interrupted());
  end_as_interrupted();  // nothing was noted: it returns
  for (int times : {1, 2}) {
    bool grandchild_gone = false;
    int status = interrupted_times(times, grandchild_gone);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
    EXPECT_TRUE(grandchild_gone) << times;
  }
}

TEST(Interrupt, WhereSignalsAreIgnoredTheyStaySo) {
  pid_t program = fork();
  if (program == 0) {
    signal(SIGINT, SIG_IGN);
    note_interrupts();
    raise(SIGINT);
    _exit(interrupted() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace ptxlab::base
