// For tests: a module and plan read from text or from a task's folder, with a task that says how exact the outputs have to be.
#pragma once
#include <memory>
#include <string>

#include "base/file.h"
#include "ptx/verifier.h"
#include "rewrite/rule.h"

namespace ptxlab::rewrite {

struct TestSubject {
  std::string text, plan_text;
  ptx::Module module;
  launch::Plan plan;
  task::Task task;
  base::Findings findings;  // of reading

  TestSubject(std::string ptx_text, std::string plan_toml, task::Tolerance::Kind tolerance)
      : text(std::move(ptx_text)), plan_text(std::move(plan_toml)) {
    auto checked = ptx::check(text, "test.ptx");
    findings = checked.findings;
    module = std::move(checked.module);
    auto read = launch::read_plan(plan_text, "test.plan.toml");
    if (read.ok())
      plan = *read;
    else
      findings.insert(findings.end(), read.findings().begin(), read.findings().end());
    task::Argument output;
    output.name = "out";
    output.kind = task::Argument::Kind::out;
    task.arguments.push_back(output);
    task.tolerances["out"].kind = tolerance;
  }
  // The baseline of a task's folder.
  static TestSubject of_folder(const std::string& folder) {
    return {*base::read_file(folder + "/baseline.ptx"), *base::read_file(folder + "/baseline.plan.toml"),
            task::Tolerance::Kind::floating};
  }
  Subject subject() const { return {&module, &plan, &task, *isa::target_named("sm_90a"), {}}; }
};

inline std::string plan_of(const std::string& entry, const std::string& grid, const std::string& block,
                           const std::string& arguments) {
  return "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"" + entry + "\"\ngrid = [\"" + grid + "\"]\nblock = [\"" +
         block + "\"]\nargs = [" + arguments + "]\n";
}

// An entry k(x, y, n) with plenty of registers.
inline std::string module_of(const std::string& body) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {\n"
         ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<30>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<30>;\n"
         ".shared .align 16 .b8 room[4096];\n" +
         body + "}\n";
}

}  // namespace ptxlab::rewrite
