// ptxlab judge: takes one candidate through the gates and prints the verdict.
#include "judge/judge.h"
#include "base/error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/gpu_option.h"
#include "cli/output.h"
#include "cli/ptxas_option.h"
#include "cli/target_option.h"
#include "record/json.h"
#include "record/text.h"

namespace ptxlab::cli {
namespace {

using record::GateName;
using record::OutcomeName;

struct Request {
  std::string candidate, task, plan, until, require, target, ptxas, witness, gpu;
  uint64_t seed = 1;
  bool json = false, no_sass = false;
};

std::optional<int> parse(Request& request, Words words) {
  Options options("judge", "Takes a candidate through the gates: check, assemble, emulate, execute, time.",
                  "ptxlab judge mine.ptx --task norm/rmsnorm_bf16\n"
                  "ptxlab judge mine.ptx --task kernel.task.toml --target sm_90a --until emulate --json");
  options.argument("CANDIDATE.ptx", request.candidate,
                   "One PTX module; its plan is NAME.plan.toml beside it, if there");
  options.value("--task", "TASK", request.task, "A name under tasks/, a task folder, or a .task.toml");
  options.value("--plan", "FILE", request.plan, "The launch plan; without any the baseline's");
  options.value("--until", "GATE", request.until, "The last gate that runs");
  options.value("--require", "faster", request.require, "Exit with 1 unless the candidate is faster");
  options.value("--target", "SM", request.target, "The target to judge for: sm_90a; else the GPU's, or the task's first");
  options.value("--ptxas", "VERSION|FILE", request.ptxas, kPtxasHelp);
  options.value("--witness", "VERSION|FILE", request.witness, kWitnessHelp);
  options.value("--gpu", "LIST", request.gpu, kGpuHelp);
  options.value("--seed", "N", request.seed, "Draws inputs, sizes and schedules");
  options.flag("--no-sass", request.no_sass, "Do not read the machine code by nvdisasm");
  options.flag("--json", request.json, "Print one JSON object (ptxlab.verdict/1)");
  if (auto code = options.parse(words)) return code;
  if (request.task.empty()) return refuse("CLI0030", "--task is missing", "'ptxlab tasks list' shows what there is");
  if (!request.require.empty() && request.require != "faster")
    return refuse("CLI0031", fmt::format("--require {}: only 'faster' can be required", request.require), "");
  return std::nullopt;
}

base::Result<GateName> parse_gate(const std::string& word) {
  std::vector<std::string> known;
  for (auto gate : {GateName::check, GateName::assemble, GateName::emulate, GateName::execute, GateName::time}) {
    if (word == record::name_of(gate)) return gate;
    known.emplace_back(record::name_of(gate));
  }
  auto near = base::nearest(word, known);
  return base::error(
      "CLI0032", fmt::format("--until {}: no such gate", word),
      near.empty() ? fmt::format("the gates are {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
}

int exit_code(OutcomeName outcome, bool require_faster) {
  switch (outcome) {
    case OutcomeName::faster: return kExitDone;
    case OutcomeName::unverified:
    case OutcomeName::slower:
    case OutcomeName::same: return require_faster ? kExitNo : kExitDone;
    case OutcomeName::malformed:
    case OutcomeName::rejected:
    case OutcomeName::faulted:
    case OutcomeName::wrong:
    case OutcomeName::cheating: return kExitNo;
    case OutcomeName::unstable:
    case OutcomeName::infrastructure: break;
  }
  return kExitInfrastructure;
}

}  // namespace

int judge(Words words) {
  Request request;
  if (auto code = parse(request, words)) return *code;
  judge::JudgeOptions options;
  options.seed = request.seed;
  options.sass = !request.no_sass;
  if (!request.until.empty()) {
    auto gate = parse_gate(request.until);
    if (!gate.ok()) return refuse(gate.findings());
    options.until = *gate;
  }
  if (!request.target.empty()) {
    auto target = parse_target(request.target);
    if (!target.ok()) return refuse(target.findings());
    options.target = *target;
  }
  auto task = task::find_task(request.task, root() / "tasks");
  if (!task.ok()) return refuse(task.findings());
  auto ptx = base::read_file(request.candidate);
  if (!ptx.ok()) return refuse(ptx.findings());

  record::Candidate candidate;
  candidate.ptx = *ptx;
  candidate.proposer = "files";
  candidate.name = std::filesystem::path(request.candidate).stem();
  options.ptx_file = request.candidate;
  auto beside = std::filesystem::path(request.candidate).replace_extension(".plan.toml");
  std::error_code error;
  if (request.plan.empty() && std::filesystem::exists(beside, error)) request.plan = beside;
  if (!request.plan.empty()) {
    auto plan = base::read_file(request.plan);
    if (!plan.ok()) return refuse(plan.findings());
    candidate.plan = *plan;
    options.plan_file = request.plan;
  }

  auto assemblers = choose_assemblers(request.ptxas, request.witness);
  if (!assemblers.ok()) return refuse(assemblers.findings());
  auto gpus = choose_gpus(request.gpu);
  if (!gpus.ok()) return refuse_gpu(gpus.findings());
  auto parts = judge::installed_parts();
  parts.assemblers = std::move(*assemblers);
  parts.gpus = std::move(*gpus);
  judge::Judge judge(std::move(parts));
  if (!options.target && options.until >= record::GateName::execute) options.target = judge.gpu_target(*task);
  auto verdict = judge.judge(*task, candidate, options);
  if (request.json) {
    print_json(record::to_json(verdict));
  } else {
    record::TextOptions how;
    how.name = request.candidate;
    how.color = colour_on_stdout();
    how.sources = {{options.ptx_file, candidate.ptx}, {options.plan_file, candidate.plan.value_or("")}};
    print(record::text(verdict, how));
  }
  return exit_code(verdict.outcome, !request.require.empty());
}

}  // namespace ptxlab::cli
