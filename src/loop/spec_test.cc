#include "loop/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "loop/lock.h"

namespace ptxlab::loop {
namespace {

const std::string kHead = "schema = \"ptxlab.spec/1\"\nname = \"x\"\n";
const std::string kArm = "[[arm]]\nname = \"rules\"\nproposer = \"rules\"\n";

std::string codes(std::string_view text) {
  auto spec = read_spec(text, "spec.toml");
  std::string all;
  for (const auto& finding : spec.findings()) all += (all.empty() ? "" : " ") + finding.code;
  return all;
}

TEST(Spec, IsReadWithItsDefaults) {
  auto spec = read_spec(kHead + "tasks = [\"all\", \"!gemm/sgemm_f32\"]\nk = 4\n" + kArm, "spec.toml");
  ASSERT_TRUE(spec.ok()) << base::render(spec.findings(), "");
  EXPECT_EQ(spec->k, 4);
  EXPECT_EQ(spec->turns, 1);
  EXPECT_EQ(spec->stop, Stop::right);
  EXPECT_EQ(spec->arms.at(0).parallel, 4);
  EXPECT_FALSE(spec->target);
  auto full =
      read_spec(kHead +
                    "tasks = [\"norm/*\"]\nk = 2\nturns = 3\nstop = \"turns\"\nseed = 9\ntarget = \"sm_90a\"\n"
                    "until = \"emulate\"\n[constraints]\nmax_registers = 64\n" +
                    "[[arm]]\nproposer = \"openai:m@http://localhost/v1\"\nlanguage = \"cuda\"\njob = \"write\"\n"
                    "without = [\"structure\"]\nsettings = \"temperature=0.8\"\nbudget = \"dollars=2\"\nparallel = 8\n",
                "spec.toml");
  ASSERT_TRUE(full.ok()) << base::render(full.findings(), "");
  EXPECT_EQ(full->arms[0].name, full->arms[0].proposer);
  EXPECT_EQ(full->arms[0].language, record::Language::cuda);
  EXPECT_EQ(full->arms[0].job, record::Job::write);
  EXPECT_EQ(full->until, record::GateName::emulate);
  EXPECT_EQ(full->constraints.max_registers, 64);
}

TEST(Spec, WhatIsWrongHasItsCode) {
  const std::string tasks = "tasks = [\"all\"]\n";
  EXPECT_EQ(codes("schema = "), "BENCH0001");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\nsampels = 3\n" + kArm), "BENCH0002");
  EXPECT_EQ(codes(kHead + tasks + "k = 0\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1000000000\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = -1\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = \"many\"\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\nturns = 0\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + kArm), "BENCH0004");
  EXPECT_EQ(codes(kHead + "k = 1\n" + kArm), "BENCH0004");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\n"), "BENCH0004");
  EXPECT_EQ(codes(kHead + "tasks = []\nk = 1\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + "tasks = [3]\nk = 1\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\nseed = -2\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\ntarget = \"sm_1\"\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\nuntil = \"tme\"\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\n" + kArm + kArm), "BENCH0003");  // one name twice
  EXPECT_EQ(codes(kHead + tasks + "k = 1\n[[arm]]\nproposer = \"rules,files:x\"\n"), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\n[[arm]]\nname = \"x\"\n"), "BENCH0004");
  EXPECT_EQ(codes(kHead + tasks + "k = 1\n[[arm]]\nproposer = \"rules\"\nlanguage = \"rust\"\n"), "BENCH0003");
  EXPECT_EQ(codes("schema = \"ptxlab.spec/9\"\nname = \"x\"\n" + tasks + "k = 1\n" + kArm), "BENCH0003");
  EXPECT_EQ(codes(kHead + tasks + "k = 10000\nturns = 100\n" + kArm + "[[arm]]\nproposer = \"files:x\"\n"),
            "BENCH0007");
}

TEST(Spec, PlaceholdersStandForTheQuestion) {
  EXPECT_EQ(expand("files:a/{task}/{sample}.{turn}-{arm}{x}", "m", "norm/x", 3, 2), "files:a/norm/x/3.2-m{x}");
}

LockParts parts() {
  LockParts made;
  made.tasks = "tasks";
  made.program = "1", made.build = "b";
  made.toolchain = {{"ptxas", "13.0.88"}};
  made.baseline = [](const task::Task& task, const isa::Target& target) -> base::Result<const judge::Baseline*> {
    static std::map<std::string, judge::Baseline> all;
    auto read = judge::read_baseline(task, target, {});
    if (!read) return read.findings();
    return &(all[task.name] = *std::move(read));
  };
  return made;
}

base::Result<Lock> locked(const std::string& tasks, const std::string& arm = kArm) {
  auto spec = read_spec(kHead + "tasks = [" + tasks + "]\nk = 1\n" + arm, "spec.toml");
  if (!spec) return spec.findings();
  return make_lock(*std::move(spec), parts());
}

std::string names(const base::Result<Lock>& lock) {
  std::string all;
  if (!lock) return lock.findings().front().code;
  for (const auto& task : lock->tasks) all += (all.empty() ? "" : " ") + task.task.name;
  return all;
}

TEST(Lock, ChoosesTasks) {
  EXPECT_EQ(names(locked("\"softmax/*\", \"elementwise/vector_add_f32\"")),
            "elementwise/vector_add_f32 softmax/softmax_f32");
  EXPECT_EQ(names(locked("\"family:softmax\"")), "softmax/softmax_f32");
  EXPECT_EQ(names(locked("\"softmax/*\", \"elementwise/vector_add_f32\", \"!softmax/softmax_f32\"")),
            "elementwise/vector_add_f32");
  EXPECT_EQ(locked("\"all\"")->tasks.size(), task::list_tasks("tasks").size());
  EXPECT_EQ(names(locked("\"softmax/sotmax_f32\"")), "BENCH0005");
  EXPECT_EQ(names(locked("\"nothing/*\"")), "BENCH0005");
  EXPECT_EQ(names(locked("\"colour:red\"")), "BENCH0005");
  EXPECT_EQ(names(locked("\"!softmax/softmax_f32\"")), "BENCH0005");
  EXPECT_EQ(names(locked("\"softmax/*\"", "[[arm]]\nproposer = \"files:no_such_folder\"\n")), "BENCH0006");
  EXPECT_EQ(names(locked("\"softmax/*\"", "[[arm]]\nproposer = \"rules\"\nlanguage = \"cuda\"\n")), "BENCH0006");
}

TEST(Lock, SaysWhatChanged) {
  auto lock = locked("\"softmax/*\"");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(differences(lock->json, locked("\"softmax/*\"")->json).empty());
  auto now = lock->json;
  now["toolchain"]["ptxas"] = "13.1.1";
  now["tasks"]["softmax/softmax_f32"]["files"]["kernel.cu"] = std::string(64, 'a');
  now["tasks"]["softmax/softmax_f32"]["files"]["new.cu"] = std::string(64, 'a');
  now["device"] = "H200";
  auto changes = differences(lock->json, now);
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0], "device: nothing is now H200");
  EXPECT_NE(changes[1].find("kernel.cu: "), std::string::npos);
  EXPECT_NE(changes[1].find(" is now aaaaaaaa..."), std::string::npos);
  EXPECT_NE(changes[2].find("new.cu is new"), std::string::npos);
  EXPECT_EQ(changes[3], "toolchain.ptxas: 13.0.88 is now 13.1.1");
  // The text of a lock reads back as the same spec.
  auto spec = spec_of_lock(nlohmann::json::parse(lock->text()));
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->arms.size(), 1u);
}

TEST(Lock, IsTheSameInWhateverOrderAndUnderWhateverBudget) {
  const std::string rules = "[[arm]]\nproposer = \"rules\"\n",
                    files = "[[arm]]\nproposer = \"files:docs/measurements\"\nbudget = \"requests=3\"\n",
                    larger = "[[arm]]\nproposer = \"files:docs/measurements\"\nbudget = \"requests=9\"\n";
  auto one = locked("\"softmax/softmax_f32\", \"elementwise/vector_add_f32\"", rules + files),
       other = locked("\"elementwise/vector_add_f32\", \"softmax/*\"", larger + rules);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(differences(one->json, other->json).empty()) << differences(one->json, other->json).front();
  EXPECT_EQ(differences(one->json, locked("\"softmax/*\"", rules + files)->json),
            std::vector<std::string>{"tasks.elementwise/vector_add_f32 is gone"});
  auto rebuilt = one->json;
  rebuilt["program"]["build"] = "c";
  EXPECT_EQ(differences(one->json, rebuilt), std::vector<std::string>{"program.build: b is now c"});
  EXPECT_TRUE(differences_but_program(one->json, rebuilt).empty());
  rebuilt["device"] = "H200";
  EXPECT_EQ(differences_but_program(one->json, rebuilt).size(), 1u);
}

// A file is looked for beside the spec, a name among the tasks, and neither where the program was started.
TEST(Lock, WhereOneStandsDecidesNothing) {
  base::TemporaryFolder folder("lock");
  const auto here = std::filesystem::current_path();
  const auto root = std::filesystem::absolute("tasks");
  std::filesystem::create_directories(folder.path() / "softmax");
  std::filesystem::copy(root / "softmax/softmax_f32", folder.path() / "softmax/softmax_f32");
  ASSERT_TRUE(base::write_file(folder.path() / "softmax/softmax_f32/more.txt", "x").empty());
  ASSERT_TRUE(base::write_file(folder.path() / "x.task.toml", "x").empty());
  const auto lock = [&](const std::string& tasks) {
    auto spec = read_spec(kHead + "tasks = [" + tasks + "]\nk = 1\n" + kArm, (here / "spec.toml").string());
    EXPECT_TRUE(spec.ok());
    auto with = parts();
    with.tasks = root;
    return make_lock(*std::move(spec), with);
  };
  std::filesystem::current_path(folder.path());
  auto named = lock("\"softmax/softmax_f32\""), file = lock("\"x.task.toml\"");
  std::filesystem::rename("softmax", "mine");
  auto below = lock("\"mine/softmax_f32\"");
  std::filesystem::current_path(here);
  ASSERT_TRUE(named.ok());
  EXPECT_FALSE(named->json["tasks"]["softmax/softmax_f32"]["files"].contains("more.txt"));
  EXPECT_EQ(names(file), "BENCH0005");
  EXPECT_EQ(names(below), "BENCH0005");
}

TEST(Lock, FactsOfTheBaselinesCode) {
  auto facts = [](const char* task) { return locked("\"" + std::string(task) + "\"")->json["tasks"][task]["facts"]; };
  auto softmax = facts("softmax/softmax_f32"), add = facts("elementwise/vector_add_f32");
  const auto has = [](const nlohmann::json& list, const char* fact) {
    return std::find(list.begin(), list.end(), fact) != list.end();
  };
  EXPECT_TRUE(has(softmax, "loops") && has(softmax, "barriers") && has(softmax, "shared memory"));
  EXPECT_FALSE(has(add, "barriers"));
  EXPECT_FALSE(has(add, "fragments"));
}

}  // namespace
}  // namespace ptxlab::loop
