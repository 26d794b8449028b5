// The client against workers that misbehave, and the real one where there is no GPU. What it does with one: `ptxlab run
// --engine gpu` (docs/gpu.md).
#include "gpu/worker_client.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

using namespace std::chrono_literals;

// A script that sends `frames` one after the other, whatever it is asked, and then runs `last`.
struct Player {
  base::TemporaryFolder folder{"ptxlab-worker-test"};
  WorkerOptions options;
  Player(const std::vector<std::string>& frames, const std::string& last) {
    std::string script;
    for (size_t i = 0; i < frames.size(); ++i) {
      auto file = folder.path() / std::to_string(i);
      EXPECT_TRUE(base::write_file(file, frames[i]).empty());
      script += "cat " + file.string() + "; ";
    }
    options.command = {"sh", "-c", script + last};
    options.start = 2s;
  }
  std::string code() const {
    auto worker = Worker::start(options);
    return worker ? "started" : worker.findings()[0].code;
  }
};

std::string greeting(uint32_t protocol = kProtocol, const std::string& trouble = "") {
  Hello hello;
  hello.protocol = protocol;
  hello.trouble = trouble;
  hello.device = "fake";
  return joined(framed(Kind::hello, hello));
}

std::string answer(Done::End end) {
  Done done;
  done.end = end;
  return joined(framed(Kind::done, done));
}

TEST(Worker, OnlyAProperGreetingCounts) {
  EXPECT_EQ(Player({greeting()}, "sleep 30").code(), "started");
  EXPECT_EQ(Player({greeting(kProtocol + 1)}, "sleep 30").code(), "GPU0003");
  EXPECT_EQ(Player({}, "echo hello, I am a worker").code(), "GPU0003");
  EXPECT_EQ(Player({greeting().substr(0, 20)}, "").code(), "GPU0003");
  EXPECT_EQ(Player({}, "exit 1").code(), "GPU0003");
  EXPECT_EQ(Player({}, "sleep 30").code(), "GPU0003");
  EXPECT_EQ(Player({greeting(kProtocol, "no driver")}, "").code(), "GPU0002");
  WorkerOptions none;
  none.command = {"/nonexistent/ptxlab-gpu"};
  EXPECT_EQ(Worker::start(none).findings()[0].code, "GPU0001");
}

TEST(Worker, AHangACrashAndNonsenseEndThatJobOnly) {
  Job job;
  auto hangs = Worker::start(Player({greeting()}, "sleep 30").options);
  // The scripts are gone with their Player; a worker that is started again then says nothing.
  ASSERT_TRUE(hangs);
  auto hung = (*hangs)->run(job, 300ms);
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.findings()[0].code, "GPU0004");

  Player crashes({greeting()}, "head -c 20 >/dev/null; echo out of luck >&2; kill -SEGV $$");
  auto crashing = Worker::start(crashes.options);
  ASSERT_TRUE(crashing);
  for (int again = 0; again < 2; ++again) {  // the second time in a new process
    auto crashed = (*crashing)->run(job, 5s);
    ASSERT_FALSE(crashed);
    EXPECT_EQ(crashed.findings()[0].code, "GPU0005") << crashed.findings()[0].message;
    EXPECT_NE(crashed.findings()[0].message.find("out of luck"), std::string::npos);
  }

  Player nonsense({greeting()}, "yes");
  auto babbling = Worker::start(nonsense.options);
  ASSERT_TRUE(babbling);
  EXPECT_EQ((*babbling)->run(job, 5s).findings()[0].code, "GPU0005");
}

TEST(Worker, AFaultOfTheDeviceIsAnAnswerAndTheNextJobGetsANewWorker) {
  Player faults({greeting(), answer(Done::End::faulted)}, "sleep 30");
  auto worker = Worker::start(faults.options);
  ASSERT_TRUE(worker);
  for (int again = 0; again < 3; ++again) {
    auto done = (*worker)->run(Job(), 5s);
    ASSERT_TRUE(done) << done.findings()[0].message;
    EXPECT_EQ(done->end, Done::End::faulted);
  }
}

TEST(Worker, WithoutAGpuTheRealOneSaysSo) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU here";
  WorkerOptions options;
  auto worker = Worker::start(options);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.findings()[0].code, "GPU0002") << worker.findings()[0].message;
}

// The way of --gpu ssh:..., with a stand-in for ssh that runs the far side's line here.
struct FarAway : ::testing::Test {
  void SetUp() override {
    auto ssh = folder.path() / "ssh";
    ASSERT_TRUE(
        base::write_file(ssh,
                         "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *\" lost \"*) echo 'ssh: connect to host "
                         "lost: no route' >&2; exit 255;; esac\nexec sh -c \"$last\"\n")
            .empty());
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    path = std::getenv("PATH");
    setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path.c_str(), 1); }
  // A worker in a folder whose name wants quoting, which says `frames` and stays.
  std::string worker(const std::string& frames) {
    auto place = folder.path() / "my lab";
    std::filesystem::create_directories(place);
    EXPECT_TRUE(base::write_file(place / "frames", frames).empty());
    EXPECT_TRUE(
        base::write_file(place / "ptxlab-gpu", "#!/bin/sh\ncat \"$(dirname \"$0\")/frames\"\nsleep 30\n").empty());
    std::filesystem::permissions(place / "ptxlab-gpu", std::filesystem::perms::owner_all);
    return (place / "ptxlab-gpu").string();
  }
  base::Result<std::unique_ptr<Worker>> start(const std::string& words) {
    auto places = places_named(words);
    if (!places) return places.findings();
    return Worker::start({places->front().command, 5s});
  }
  base::TemporaryFolder folder{"ptxlab-ssh-test"};
  std::string path;
};

TEST_F(FarAway, AWorkerAnswersThroughSsh) {
  auto there = start("ssh:me@box:" + worker(greeting() + answer(Done::End::executed)) + "#1");
  ASSERT_TRUE(there.ok()) << base::render(there.findings(), "");
  EXPECT_EQ((*there)->hello().device, "fake");
  auto done = (*there)->run({}, 5s);
  ASSERT_TRUE(done.ok()) << base::render(done.findings(), "");
  EXPECT_EQ(done->end, Done::End::executed);
}

TEST_F(FarAway, WhatSshSaysIsSaid) {
  auto lost = start("ssh:lost");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.findings()[0].code, "GPU0003");
  EXPECT_NE(lost.findings()[0].message.find("no route"), std::string::npos) << lost.findings()[0].message;
  auto absent = start("ssh:box:/nonexistent/ptxlab-gpu");
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.findings()[0].message.find("/nonexistent/ptxlab-gpu"), std::string::npos);
}

TEST_F(FarAway, PtxlabGpuSaysWhereTheWorkerIsThatNobodyNames) {
  setenv("PTXLAB_GPU", ("ssh:box:" + worker(greeting())).c_str(), 1);
  auto there = Worker::start({});
  setenv("PTXLAB_GPU", "none", 1);
  auto none = Worker::start({});
  setenv("PTXLAB_GPU", "everything", 1);
  auto wrong = Worker::start({});
  unsetenv("PTXLAB_GPU");
  EXPECT_TRUE(there.ok());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.findings()[0].code, "GPU0002");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.findings()[0].code, "GPU0020");
}

// A worker that lost its canary is replaced and the job asked again, once.
TEST(Worker, ALostCanaryIsNoJobsFault) {
  Player lost({greeting(), answer(Done::End::lost)}, "sleep 30");
  auto worker = Worker::start(lost.options);
  ASSERT_TRUE(worker);
  auto done = (*worker)->run({}, 2s);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.findings()[0].code, "GPU0007");
}

TEST(Worker, WithoutAContestNothingIsMeasured) {
  Player player({greeting()}, "sleep 30");
  auto worker = Worker::start(player.options);
  ASSERT_TRUE(worker);
  auto measured = (*worker)->measure({}, 1s);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.findings()[0].code, "GPU0006");
}

}  // namespace
}  // namespace ptxlab::gpu
