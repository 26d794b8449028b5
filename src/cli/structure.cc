// ptxlab structure: what a kernel looks like: blocks and loops, live registers, memory accesses, barriers.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/finding_json.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"
#include "cli/ptxas_option.h"
#include "cli/target_option.h"
#include "ptx/verifier.h"
#include "record/structure.h"
#include "task/task.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

// The plan beside the file, where none is named: NAME.plan.toml.
base::Findings read_plan_beside(const std::string& wanted, record::StructureRequest& request) {
  fs::path file = wanted;
  if (wanted.empty()) {
    file = fs::path(request.file).replace_extension(".plan.toml");
    std::error_code error;
    if (request.file == "-" || !fs::exists(file, error)) return {};
  }
  auto text = base::read_file(file);
  if (!text) return text.findings();
  request.plan = *std::move(text);
  request.plan_file = file.string();
  return {};
}

}  // namespace

int structure(Words words) {
  record::StructureRequest request;
  std::string plan, target, task_name, ptxas;
  bool json = false;
  Options options("structure",
                  "Shows what a kernel looks like: blocks and loops, live registers, memory accesses, barriers.",
                  "ptxlab structure tasks/softmax/softmax_f32/baseline.ptx\n"
                  "ptxlab structure kernel.ptx --target sm_90a --entry tile --json\n"
                  "ptxlab structure mine.ptx --task norm/rmsnorm_bf16 --plan mine.plan.toml");
  options.argument("FILE.ptx", request.file, "a PTX module; - is the standard input");
  options.value("--entry", "NAME", request.entry, "this function alone, mangled or not");
  options.value("--plan", "FILE", plan, "the launch plan, which says how many threads a CTA has (FILE.plan.toml)");
  options.value("--task", "TASK", task_name, "with a plan: put numbers to sizes, those of the task's main timed case");
  options.value("--target", "SM", target, "the target to assemble for (the module's own)");
  options.value("--ptxas", "VERSION|FILE", ptxas, kPtxasHelp);
  options.flag("--json", json, "Print one JSON object (ptxlab.structure/1)");
  if (auto code = options.parse(words)) return *code;
  auto source = base::read_file(request.file == "-" ? "/dev/stdin" : request.file);
  if (!source) return refuse(source.findings());
  request.ptx = *std::move(source);
  if (auto findings = read_plan_beside(plan, request); !findings.empty()) return refuse(findings);
  if (!target.empty()) {
    auto parsed = parse_target(target);
    if (!parsed) return refuse(parsed.findings());
    request.target = *parsed;
  }
  std::optional<task::Task> task;
  if (!task_name.empty()) {
    auto read = task::find_task(task_name, root() / "tasks");
    if (!read) return refuse(read.findings());
    task = *std::move(read);
    request.task = &*task;
  }
  auto assemblers = choose_assemblers(ptxas, "");
  if (!assemblers) return refuse(assemblers.findings());
  auto checked = ptx::check(request.ptx, request.file);
  if (checked.ok()) request.ptxas = assemblers->taking(checked.module.version);
  auto report = record::describe_structure(request);
  if (!report) {
    if (json)
      print_json({{"schema", "ptxlab.structure/1"},
                  {"file", request.file},
                  {"functions", nlohmann::json::array()},
                  {"findings", base::to_json(report.findings())}});
    else
      print_findings(report.findings(), request.ptx);
    return kExitNo;
  }
  if (json) {
    print_json(record::to_json(*report));
  } else {
    print(record::text(*report));
    print_findings(report->findings, request.ptx);
  }
  return kExitDone;
}

}  // namespace ptxlab::cli
