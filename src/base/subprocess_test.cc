#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/thread_pool.h"

namespace ptxlab::base {
namespace {

using End = Outcome::End;
using std::chrono::milliseconds;

Command shell(std::string script) { return {{"sh", "-c", std::move(script)}, "", {}, {}, {}}; }

// True once no process `pid` runs any more (a zombie that init has not reaped yet does not run).
bool dies(pid_t pid) {
  for (int i = 0; i < 200; ++i) {
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    auto status = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!status || status->find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST(Subprocess, ReturnsStatusOutputAndErrors) {
  auto outcome = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(outcome.end, End::exited);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.output, "out\n");
  EXPECT_EQ(outcome.errors, "err\n");
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(describe(outcome), "exited with 3");
  EXPECT_TRUE(run(shell("true")).ok());
}

TEST(Subprocess, CrashIsAnOutcome) {
  auto outcome = run(shell("kill -SEGV $$"));
  EXPECT_EQ(outcome.end, End::signalled);
  EXPECT_EQ(outcome.code, SIGSEGV);
  EXPECT_EQ(describe(outcome), "killed by signal 11 (Segmentation fault)");
}

TEST(Subprocess, HangIsKilledInTime) {
  auto command = shell("echo begun; sleep 60");
  command.limits.wall = milliseconds(200);
  auto outcome = run(command);
  EXPECT_EQ(outcome.end, End::timed_out);
  EXPECT_EQ(outcome.output, "begun\n");
  EXPECT_GE(outcome.wall, milliseconds(200));
  EXPECT_LT(outcome.wall, milliseconds(5000));
  EXPECT_EQ(describe(outcome).substr(0, 16), "ran longer than ");
}

TEST(Subprocess, HangThatIgnoresSignalsAndClosedItsOutputIsKilled) {
  auto command = shell("trap '' TERM INT HUP; exec >/dev/null 2>&1; while :; do sleep 1; done");
  command.limits.wall = milliseconds(200);
  EXPECT_EQ(run(command).end, End::timed_out);
}

TEST(Subprocess, GrandchildrenAreKilledOnTimeout) {
  auto command = shell("sleep 60 & echo $!; wait");
  command.limits.wall = milliseconds(300);
  auto outcome = run(command);
  EXPECT_EQ(outcome.end, End::timed_out);
  pid_t grandchild = atoi(outcome.output.c_str());
  ASSERT_GT(grandchild, 1);
  EXPECT_TRUE(dies(grandchild));
}

// Ctrl-C, or the end of a terminal or a batch job, while a program runs: nothing of it goes on.
TEST(Subprocess, GrandchildrenAreKilledWhenASignalEndsTheProgram) {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_IGN) continue;  // as in a script's background
    TemporaryFolder folder("signal");
    auto told = folder.path() / "pid";
    pid_t program = fork();
    if (program == 0) {
      run(shell("sleep 60 & echo $! >" + told.string() + ".new; mv " + told.string() + ".new " + told.string() +
                "; wait"));
      _exit(0);
    }
    while (!std::filesystem::exists(told)) std::this_thread::sleep_for(milliseconds(5));
    pid_t grandchild = atoi(read_file(told)->c_str());
    ASSERT_GT(grandchild, 1);
    kill(program, number);
    int status = 0;
    ASSERT_EQ(waitpid(program, &status, 0), program);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_TRUE(dies(grandchild));
  }
}

TEST(Subprocess, GrandchildrenLeftBehindAreKilledAndDoNotHoldUp) {
  auto outcome = run(shell("sleep 60 & echo $!"));  // the grandchild holds stdout open
  EXPECT_EQ(outcome.end, End::exited);
  EXPECT_LT(outcome.wall, milliseconds(5000));
  pid_t grandchild = atoi(outcome.output.c_str());
  ASSERT_GT(grandchild, 1);
  EXPECT_TRUE(dies(grandchild));
}

TEST(Subprocess, GrandchildThatLeftTheGroupDoesNotHoldUp) {
  auto outcome = run(shell("setsid sh -c 'echo $$; exec sleep 3' & sleep 0.2; echo done"));
  EXPECT_EQ(outcome.end, End::exited);
  EXPECT_LT(outcome.wall, milliseconds(2500));
  EXPECT_NE(outcome.output.find("done"), std::string::npos);
}

TEST(Subprocess, OutputFloodIsCutAndKilled) {
  auto command = shell("yes");
  command.limits.output = 100'000;
  auto outcome = run(command);
  EXPECT_EQ(outcome.end, End::output_limit);
  EXPECT_EQ(outcome.output.size(), 100'000u);
  command = shell("yes >&2");
  command.limits.output = 100'000;
  outcome = run(command);
  EXPECT_EQ(outcome.end, End::output_limit);
  EXPECT_EQ(outcome.errors.size(), 100'000u);
}

TEST(Subprocess, OutputOfExactlyTheLimitIsFine) {
  auto command = shell("head -c 65536 /dev/zero");
  command.limits.output = 65536;
  auto outcome = run(command);
  EXPECT_TRUE(outcome.ok()) << describe(outcome);
  EXPECT_EQ(outcome.output.size(), 65536u);
}

TEST(Subprocess, ManyLinesOnBothStreamsArriveWhole) {
  auto outcome = run(shell("i=0; while [ $i -lt 10000 ]; do echo line $i; echo error $i >&2; i=$((i+1)); done"));
  ASSERT_TRUE(outcome.ok());
  std::string out, err;
  for (int i = 0; i < 10000; ++i) {
    out += "line " + std::to_string(i) + "\n";
    err += "error " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(outcome.output, out);
  EXPECT_EQ(outcome.errors, err);
}

TEST(Subprocess, BinaryInputComesBackWhole) {
  std::string input;
  for (int i = 0; i < 1'000'000; ++i) input += static_cast<char>(i * 7 + i / 256);
  Command command{{"cat"}, input, {}, {}, {}};
  auto outcome = run(command);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome.output == input);
}

TEST(Subprocess, InputThatNobodyReadsIsFine) {
  Command command{{"true"}, std::string(1'000'000, 'x'), {}, {}, {}};
  EXPECT_TRUE(run(command).ok());
}

TEST(Subprocess, NoInputIsEndOfFileAtOnce) { EXPECT_TRUE(run(Command{{"cat"}, "", {}, {}, {}}).ok()); }

TEST(Subprocess, MissingProgramSaysSo) {
  auto outcome = run(Command{{"ptxlab-no-such-program"}, "", {}, {}, {}});
  EXPECT_EQ(outcome.end, End::not_started);
  EXPECT_EQ(outcome.errors, "no program 'ptxlab-no-such-program' in PATH");
  outcome = run(Command{{"/no/such/program"}, "", {}, {}, {}});
  EXPECT_EQ(outcome.end, End::not_started);
  EXPECT_EQ(describe(outcome), "did not start: cannot execute /no/such/program: No such file or directory");
  EXPECT_EQ(run(Command{}).end, End::not_started);
  EXPECT_EQ(run(Command{{""}, "", {}, {}, {}}).end, End::not_started);
}

TEST(Subprocess, FileThatCannotBeExecutedSaysSo) {
  TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "data";
  ASSERT_TRUE(write_file(path, "no program").empty());
  auto outcome = run(Command{{path.string()}, "", {}, {}, {}});
  EXPECT_EQ(outcome.end, End::not_started);
  EXPECT_NE(outcome.errors.find("Permission denied"), std::string::npos) << outcome.errors;
}

TEST(Subprocess, RunsInTheGivenFolder) {
  TemporaryFolder folder("ptxlab-test");
  auto command = shell("pwd -P");
  command.cwd = folder.path();
  EXPECT_EQ(run(command).output, std::filesystem::canonical(folder.path()).string() + "\n");
  command.cwd = folder.path() / "missing";
  auto outcome = run(command);
  EXPECT_EQ(outcome.end, End::not_started);
  EXPECT_NE(outcome.errors.find("cannot enter"), std::string::npos);
}

TEST(Subprocess, EnvironmentIsAddedToAndReplaced) {
  setenv("PTXLAB_TEST_ONE", "old", 1);
  setenv("PTXLAB_TEST_TWO", "kept", 1);
  auto command = shell("echo $PTXLAB_TEST_ONE $PTXLAB_TEST_TWO $PTXLAB_TEST_THREE");
  command.environment = {{"PTXLAB_TEST_ONE", "new"}, {"PTXLAB_TEST_THREE", "a b=c"}};
  EXPECT_EQ(run(command).output, "new kept a b=c\n");
}

TEST(Subprocess, MemoryLimitHolds) {
  Command command{{"sh", "-c", "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c"}, "", {}, {}, {}};
  EXPECT_EQ(run(command).output, "300000000\n");
  command.limits.address_space = 100'000'000;  // tail keeps all of it in memory
  auto outcome = run(command);
  EXPECT_NE(outcome.output, "300000000\n");
  EXPECT_NE(outcome.errors, "");
}

TEST(Subprocess, FileSizeLimitHolds) {
  TemporaryFolder folder("ptxlab-test");
  auto command = shell("head -c 1000000 /dev/zero > big");
  command.cwd = folder.path();
  command.limits.file_size = 10'000;
  EXPECT_FALSE(run(command).ok());
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "big"), 10'000u);
}

TEST(Subprocess, NetworkIsRefusedWhereAsked) {
  // bash opens a TCP connection for this path; nobody listens on port 9, so the two errors differ.
  if (!run(Command{{"bash", "-c", "true"}, "", {}, {}, {}}).ok()) GTEST_SKIP() << "no bash";
  Command command{{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"}, "", {}, {}, {}};
  auto free = run(command);
  EXPECT_NE(free.errors.find("refused"), std::string::npos) << free.errors;
  command.limits.network = false;
  auto caged = run(command);
  EXPECT_EQ(caged.end, End::exited) << describe(caged);
  EXPECT_NE(caged.errors.find("Permission denied"), std::string::npos) << caged.errors;
  // All else still works.
  auto other = shell("echo a | cat; ls / >/dev/null");
  other.limits.network = false;
  EXPECT_EQ(run(other).output, "a\n");
}

TEST(Subprocess, DescriptorsOfTheCallerStayOut) {
  int leak = dup(1);  // open in the child unless closed
  ASSERT_GT(leak, 2);
  EXPECT_EQ(run(shell("ls /proc/self/fd | wc -l")).output, "4\n");  // 0, 1, 2 and the folder itself
  close(leak);
}

TEST(Subprocess, SignalsIgnoredByTheCallerAreNotInherited) {
  auto before = signal(SIGTERM, SIG_IGN);
  auto outcome = run(shell("kill -TERM $$; echo lives"));
  signal(SIGTERM, before);
  EXPECT_EQ(outcome.end, End::signalled);
  EXPECT_EQ(outcome.code, SIGTERM);
}

TEST(Subprocess, ManyAtOnceKeepTheirOutputsApart) {
  std::vector<Outcome> outcomes(64);
  parallel_for(outcomes.size(), 8, [&](size_t i) {
    outcomes[i] = run(Command{{"cat"}, "input " + std::to_string(i), {}, {}, {}});
  });
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_TRUE(outcomes[i].ok()) << describe(outcomes[i]);
    EXPECT_EQ(outcomes[i].output, "input " + std::to_string(i));
  }
}

TEST(Subprocess, IsStoppedWhereAsked) {
  Command command;
  command.argv = {"/bin/sh", "-c", "echo begun; sleep 60 & sleep 60"};
  int asked = 0;
  command.stop = [&] { return ++asked > 4; };
  auto outcome = run(command);
  EXPECT_EQ(outcome.end, End::stopped);
  EXPECT_EQ(outcome.output, "begun\n");
  EXPECT_LT(outcome.wall, std::chrono::seconds(5));
  EXPECT_EQ(describe(outcome), "was stopped");
}

}  // namespace
}  // namespace ptxlab::base
