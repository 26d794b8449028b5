// For tests of the judge: the task "y = x + 1" of fake_engine.h as a user's own, its kernels by name, and a judge's parts
// without any tool.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "base/file.h"
#include "judge/fake_engine.h"
#include "judge/judge.h"

namespace ptxlab::judge {

inline std::string kernel(const std::string& entry, const std::string& body = "",
                          const std::string& declarations = "") {
  return ".version 7.8\n.target sm_80\n.address_size 64\n" + declarations + ".visible .entry " + entry +
         "(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n  .reg .pred %p<2>;\n  .reg .f32 %f<2>;\n  .reg .b32 "
         "%r<4>;\n  .reg .b64 %rd<4>;\n" +
         body + "  ret;\n}\n";
}

inline std::string plan(const std::string& entry, const std::string& block = "128") {
  return "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"" + entry +
         "\"\ngrid = [\"ceildiv(n, 128)\"]\nblock = [\"" + block + "\"]\nargs = [\"x\", \"y\", \"n\"]\n";
}

inline constexpr const char* kIncrementTask = R"(schema = "ptxlab.task/1"
name = "inc"
targets = ["sm_80"]
params = ["n"]
arg = [
  { name = "x", kind = "in", type = "s32", shape = ["n"], fill = [{ uniform = [-1000, 1000] }] },
  { name = "y", kind = "out", type = "s32", shape = ["n"] },
  { name = "n", kind = "scalar", type = "u32", value = "n" },
]
[sizes]
emulate = [{ n = 1 }, { n = 33 }, { n = 300 }]
time = [{ n = 100000 }]
[tolerance.y]
kind = "exact"
)";

struct IncrementTask : ::testing::Test {
  base::TemporaryFolder folder{"ptxlab-judge-test"};
  task::Task task;
  JudgeOptions options;

  void write(const std::string& name, const std::string& text) { std::ofstream(folder.path() / name) << text; }
  void SetUp() override { make_task(kIncrementTask, "right"); }
  void make_task(const std::string& text, const std::string& baseline_entry) {
    write("inc.task.toml", text);
    write("inc.ptx", kernel(baseline_entry));
    write("inc.plan.toml", plan(baseline_entry));
    auto read = task::read_task(folder.path() / "inc.task.toml");
    ASSERT_TRUE(read) << base::render(read.findings(), text);
    task = std::move(*read);
  }
  static Parts parts() {
    Parts made;
    made.engine = [] { return std::make_unique<FakeEngine>(); };
    made.reference = [](const task::Task&) -> base::Result<std::unique_ptr<task::Oracle>> {
      ADD_FAILURE() << "there is no reference";
      return base::Finding{};
    };
    return made;
  }
};

}  // namespace ptxlab::judge
