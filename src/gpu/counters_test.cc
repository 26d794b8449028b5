// Recorded in the form that ncu documents for --csv with --metrics: lines of its own around one table.
#include "gpu/counters.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "gpu/wire.h"

namespace ptxlab::gpu {
namespace {

const std::string kTitles =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid "
    "Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";

std::string row(int id, const std::string& kernel, const std::string& metric, const std::string& unit,
                const std::string& value) {
  return "\"" + std::to_string(id) + "\",\"4711\",\"ptxlab-gpu\",\"127.0.0.1\",\"" + kernel +
         "\",\"1\",\"7\",\"(256, 1, 1)\",\"(4096, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",\"" + metric +
         "\",\"" + unit + "\",\"" + value + "\"\n";
}
const std::string kLongScoreboard = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio";

std::string recorded() {
  return "==PROF== Connected to process 4711 (/opt/ptxlab/ptxlab-gpu)\n"
         "==PROF== Profiling \"partial\" - 0: 0%....50%....100% - 14 passes\n"
         "==PROF== Disconnected from process 4711\n" +
         kTitles + row(0, "partial", "dram__bytes_read.sum", "byte", "1,048,576") +
         row(0, "partial", "gpu__time_duration.sum", "nsecond", "3,000") +
         row(0, "partial", "lts__t_sector_hit_rate.pct", "%", "40.00") +
         row(0, "partial", kLongScoreboard, "inst", "6.5") +
         row(0, "partial", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", "n/a") +
         row(1, "finish<int, float>(\"\"x\"\")", "dram__bytes_read.sum", "Kbyte", "2.5") +
         row(1, "finish<int, float>(\"\"x\"\")", "gpu__time_duration.sum", "us", "1") +
         row(1, "finish<int, float>(\"\"x\"\")", "lts__t_sector_hit_rate.pct", "%", "80.00");
}

TEST(Counters, ATableAsNcuPrintsIt) {
  auto launches = read_ncu_csv(recorded());
  ASSERT_TRUE(launches.ok()) << base::render(launches.findings(), "");
  ASSERT_EQ(launches->size(), 2u);
  EXPECT_EQ((*launches)[0].kernel, "partial");
  EXPECT_EQ((*launches)[0].values.at("dram__bytes_read.sum"), 1048576);
  EXPECT_EQ((*launches)[0].values.count("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"), 0u);
  EXPECT_EQ((*launches)[1].kernel, "finish<int, float>(\"x\")");
  EXPECT_EQ((*launches)[1].values.at("dram__bytes_read.sum"), 2500);
  EXPECT_EQ((*launches)[1].values.at("gpu__time_duration.sum"), 1000);
}

TEST(Counters, SumsAddAndSharesAreWeightedByTime) {
  auto all = joined(*read_ncu_csv(recorded()));
  EXPECT_EQ(all.at("dram__bytes_read.sum"), 1051076);
  EXPECT_DOUBLE_EQ(all.at("lts__t_sector_hit_rate.pct"), 50);  // 3 us at 40, 1 us at 80
  EXPECT_DOUBLE_EQ(all.at(kLongScoreboard), 6.5);              // of the one that has it
  EXPECT_EQ(all.count("lts__t_sectors.sum"), 0u);              // nobody read it: nothing is invented
}

std::string code(std::string_view text) {
  auto read = read_ncu_csv(text);
  return read ? "" : read.findings()[0].code;
}
TEST(Counters, WhatIsNoTable) {
  EXPECT_EQ(code("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
                 "Counters on the "
                 "target device 0.\n"),
            "GPU0031");
  EXPECT_EQ(code(""), "GPU0032");
  EXPECT_EQ(code(kTitles), "GPU0032");
  EXPECT_EQ(code("==PROF== Connected\n==WARNING== No kernels were profiled.\n"), "GPU0032");
  EXPECT_NE(read_ncu_csv("==WARNING== No kernels were profiled.\n").findings()[0].message.find("No kernels"),
            std::string::npos);
  EXPECT_EQ(code(kTitles + "\"0\",\"4711\"\n"), "GPU0032");
  EXPECT_EQ(code("\"a\",\"b\"\n\"1\",\"2\"\n"), "GPU0032");
}

// A stand-in for ncu: says what it was asked, reads the job that the worker would, writes a log.
struct FakeNcu {
  base::TemporaryFolder folder{"ptxlab-ncu-test"};
  CountOptions options;
  explicit FakeNcu(const std::string& log, int exit_code = 0) {
    EXPECT_TRUE(base::write_file(folder.path() / "said", log).empty());
    std::string script =
        "#!/bin/sh\necho \"$@\" >\"$(dirname \"$0\")/asked\"\ncat >\"$(dirname \"$0\")/job\"\n"
        "while [ $# -gt 0 ]; do [ \"$1\" = --log-file ] && cp \"$(dirname \"$0\")/said\" \"$2\"; shift; done\nexit " +
        std::to_string(exit_code) + "\n";
    EXPECT_TRUE(base::write_file(folder.path() / "ncu", script).empty());
    std::filesystem::permissions(folder.path() / "ncu", std::filesystem::perms::owner_all);
    options.ncu = folder.path() / "ncu";
    options.worker = {"env", "CUDA_VISIBLE_DEVICES=1", "/opt/ptxlab-gpu"};
    options.wall = std::chrono::seconds(10);
  }
  std::string file(const char* name) const { return *base::read_file(folder.path() / name); }
};

Job a_job() {
  Job job;
  job.code = "cubin";
  launch::ResolvedLaunch launch;
  launch.entry = "partial";
  job.plan.launches = {launch, launch};
  return job;
}

TEST(Counters, NcuIsAskedForThePlansLaunchesAndNoOthers) {
  FakeNcu ncu(recorded());
  auto launches = count(a_job(), ncu.options);
  ASSERT_TRUE(launches.ok()) << base::render(launches.findings(), "");
  EXPECT_EQ(launches->size(), 2u);
  std::string asked = ncu.file("asked");
  EXPECT_NE(asked.find("--kernel-name regex:^(partial)$ --launch-count 2"), std::string::npos) << asked;
  EXPECT_NE(asked.find("--clock-control none"), std::string::npos) << asked;
  EXPECT_NE(asked.find("env CUDA_VISIBLE_DEVICES=1 /opt/ptxlab-gpu"), std::string::npos) << asked;
  EXPECT_EQ(ncu.file("job"), joined(framed(Kind::job, a_job())));
}

TEST(Counters, WhyThereAreNone) {
  FakeNcu denied("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", 1);
  EXPECT_EQ(count(a_job(), denied.options).findings()[0].code, "GPU0031");
  FakeNcu fails("==ERROR== Failed to prepare kernel for profiling\n", 9);
  auto why = count(a_job(), fails.options);
  EXPECT_EQ(why.findings()[0].code, "GPU0032");
  EXPECT_NE(why.findings()[0].message.find("Failed to prepare"), std::string::npos) << why.findings()[0].message;
}

TEST(Counters, AMetricThatThisGpuLacksIsLeftOut) {
  FakeNcu ncu(recorded());
  // Refuses until it is not asked for two metrics any more, as ncu does; one of them is never named.
  ASSERT_TRUE(base::write_file(ncu.folder.path() / "said",
                               "==ERROR== Failed to find metric sm__inst_executed_pipe_tensor.sum\n"
                               "==ERROR== Failed to find metric " +
                                   std::string(kStallPrefix) + "gmma" + std::string(kStallSuffix) + "\n")
                  .empty());
  ASSERT_TRUE(base::write_file(ncu.folder.path() / "table", recorded()).empty());
  ASSERT_TRUE(
      base::write_file(
          ncu.folder.path() / "ncu",
          "#!/bin/sh\nhere=$(dirname \"$0\")\necho x >>\"$here/calls\"\necho \"$@\" >\"$here/asked\"\n"
          "case \"$*\" in *pipe_tensor.sum*|*stalled_gmma*) answer=said; code=1;; *) answer=table; code=0;; esac\n"
          "while [ $# -gt 0 ]; do [ \"$1\" = --log-file ] && cp \"$here/$answer\" \"$2\"; shift; done\nexit $code\n")
          .empty());
  auto launches = count(a_job(), ncu.options);
  ASSERT_TRUE(launches.ok()) << base::render(launches.findings(), "");
  EXPECT_EQ(ncu.file("calls"), "x\nx\n");
  EXPECT_NE(ncu.file("asked").find("lts__t_sectors.sum"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::gpu
