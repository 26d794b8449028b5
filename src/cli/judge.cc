// ptxlab judge: takes candidates through the gates and prints their verdicts.
#include "judge/judge.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/finding_json.h"
#include "base/nearest.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/gpu_option.h"
#include "cli/limit_options.h"
#include "cli/output.h"
#include "cli/ptxas_option.h"
#include "cli/report_page.h"
#include "cli/target_option.h"
#include "loop/brief.h"
#include "record/json.h"
#include "record/text.h"

namespace ptxlab::cli {
namespace {

using record::GateName;
using record::OutcomeName;

struct Request {
  std::vector<std::string> candidates;
  std::string task, plan, until, skip, require, target, ptxas, witness, gpu, html;
  uint64_t seed = 1;
  LimitOptions limits;
  bool json = false, no_sass = false, counters = false;
};

std::optional<int> parse(Request& request, Words words) {
  Options options("judge", "Takes a candidate through the gates: check, assemble, emulate, execute, time.",
                  "ptxlab judge mine.ptx --task norm/rmsnorm_bf16\n"
                  "ptxlab judge mine.ptx --task kernel.task.toml --target sm_90a --until emulate --json\n"
                  "ptxlab judge many/*.ptx --task norm/rmsnorm_bf16 --skip emulate --gpu 0,1 --json");
  options.arguments("CANDIDATE.ptx", request.candidates,
                    "A PTX module; its plan is NAME.plan.toml beside it, if there. Several are judged side by side");
  options.value("--task", "TASK", request.task, "A name under tasks/, a task folder, or a .task.toml");
  options.value("--plan", "FILE", request.plan, "The launch plan; without any the baseline's");
  options.value("--until", "GATE", request.until, "The last gate that runs");
  options.value("--skip", "emulate", request.skip,
                "Do without the CPU's engine and its checkers, where a GPU is to say what is right");
  options.value("--require", "faster", request.require, "Exit with 1 unless the candidate is faster");
  options.value("--target", "SM", request.target,
                "The target to judge for: sm_90a; else the GPU's, or the task's first");
  options.value("--ptxas", "VERSION|FILE", request.ptxas, kPtxasHelp);
  options.value("--witness", "VERSION|FILE", request.witness, kWitnessHelp);
  options.value("--gpu", "LIST", request.gpu, kGpuHelp);
  request.limits.declare(options);
  options.value("--seed", "N", request.seed, "Draws inputs, sizes and schedules");
  options.flag("--counters", request.counters, "Read hardware counters by ncu too, where a GPU executes it");
  options.flag("--no-sass", request.no_sass, "Do not read the machine code by nvdisasm");
  options.value("--html", "FILE", request.html, "Write what came of it as one HTML page too");
  options.flag("--json", request.json, "Print a JSON object (ptxlab.verdict/1); of several candidates one a line");
  if (auto code = options.parse(words)) return code;
  if (request.task.empty()) return refuse("CLI0030", "--task is missing", "'ptxlab tasks list' shows what there is");
  if (!request.require.empty() && request.require != "faster")
    return refuse("CLI0031", fmt::format("--require {}: only 'faster' can be required", request.require), "");
  if (!request.skip.empty() && request.skip != "emulate")
    return refuse("CLI0037", fmt::format("--skip {}: only 'emulate' can be skipped", request.skip), "");
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

// A candidate with its own names for findings.
struct Entrant {
  record::Candidate candidate;
  judge::JudgeOptions options;
};

base::Result<Entrant> read_entrant(const std::string& file, std::string plan_file, judge::JudgeOptions options) {
  Entrant entrant{{}, std::move(options)};
  auto ptx = base::read_file(file);
  if (!ptx.ok()) return ptx.findings();
  entrant.candidate.ptx = std::move(*ptx);
  entrant.candidate.proposer = "files";
  entrant.candidate.name = std::filesystem::path(file).stem();
  entrant.options.ptx_file = file;
  auto beside = std::filesystem::path(file).replace_extension(".plan.toml");
  std::error_code error;
  if (plan_file.empty() && std::filesystem::exists(beside, error)) plan_file = beside;
  if (plan_file.empty()) return entrant;
  auto plan = base::read_file(plan_file);
  if (!plan.ok()) return plan.findings();
  entrant.candidate.plan = std::move(*plan);
  entrant.options.plan_file = plan_file;
  return entrant;
}

void show(const Entrant& entrant, const record::Verdict& verdict, const Request& request) {
  if (request.json) {
    if (request.candidates.size() > 1) return print(base::print_json(record::to_json(verdict), -1) + "\n");
    return print_json(record::to_json(verdict));
  }
  record::TextOptions how;
  how.name = entrant.options.ptx_file;
  how.color = colour_on_stdout();
  how.sources = {{entrant.options.ptx_file, entrant.candidate.ptx},
                 {entrant.options.plan_file, entrant.candidate.plan.value_or("")}};
  print(record::text(verdict, how));
}

// What came of all of them as one page. Trouble with it is no verdict on anybody, but said.
int write_html(judge::Judge& judge, const task::Task& task, const std::vector<Entrant>& entrants,
               const std::vector<std::optional<record::Verdict>>& verdicts, const Request& request) {
  std::vector<record::Attempt> attempts;
  for (size_t i = 0; i < entrants.size(); ++i) {
    record::Attempt attempt;
    attempt.at = std::chrono::system_clock::now();
    attempt.task = task.name;
    attempt.candidate = entrants[i].candidate;
    attempt.verdict = *verdicts[i];
    const auto& options = entrants[i].options;
    if (auto target = judge::judged_target(task, options.target)) {
      if (auto baseline = judge.baseline(task, *target)) {
        auto brief = loop::make_brief(task, **baseline, options.constraints, options.seed);
        attempt.brief_json = base::print_json(record::to_json(brief), -1);
      }
    }
    attempts.push_back(std::move(attempt));
  }
  auto written = write_page(attempts, request.html);
  if (!written) return refuse(written.findings(), kExitInfrastructure);
  if (!request.json) print(written->text(request.html) + "\n");
  return kExitDone;
}

// Side by side on the machine's cores; told in the order in which they were given, each as soon as it is its turn.
int judge_all(judge::Judge& judge, const task::Task& task, std::vector<Entrant>& entrants, const Request& request) {
  std::vector<std::optional<record::Verdict>> verdicts(entrants.size());
  std::mutex mutex;
  std::condition_variable judged;
  std::atomic<size_t> next{0};
  size_t count = std::min(entrants.size(), base::core_count());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < entrants.size(); i = next++) {
        if (count > 1) entrants[i].options.threads = 1;
        auto verdict = judge.judge(task, entrants[i].candidate, entrants[i].options);
        std::lock_guard lock(mutex);
        verdicts[i] = std::move(verdict);
        judged.notify_all();
      }
    });
  }
  int worst = kExitDone;
  for (size_t i = 0; i < entrants.size(); ++i) {
    std::unique_lock lock(mutex);
    judged.wait(lock, [&] { return verdicts[i].has_value(); });
    lock.unlock();
    show(entrants[i], *verdicts[i], request);
    worst = std::max(worst, exit_code(verdicts[i]->outcome, !request.require.empty()));
  }
  for (auto& thread : threads) thread.join();
  if (!request.html.empty()) worst = std::max(worst, write_html(judge, task, entrants, verdicts, request));
  return worst;
}

}  // namespace

int judge(Words words) {
  Request request;
  if (auto code = parse(request, words)) return *code;
  if (auto code = refuse_page(request.html)) return *code;
  judge::JudgeOptions options;
  options.seed = request.seed;
  options.constraints = request.limits.constraints();
  options.sass = !request.no_sass;
  options.counters = request.counters;
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
  options.emulate = request.skip.empty();
  auto task = task::find_task(request.task, root() / "tasks");
  if (!task.ok()) return refuse(task.findings());
  std::vector<Entrant> entrants;
  for (const auto& file : request.candidates) {
    auto entrant = read_entrant(file, request.plan, options);
    if (!entrant.ok()) return refuse(entrant.findings());
    entrants.push_back(std::move(*entrant));
  }

  auto assemblers = choose_assemblers(request.ptxas, request.witness);
  if (!assemblers.ok()) return refuse(assemblers.findings());
  auto gpus = choose_gpus(request.gpu);
  if (!gpus.ok()) return refuse_gpu(gpus.findings());
  auto parts = judge::installed_parts(root() / "docs" / "measurements");
  parts.known = [] { return judge::known_texts(root()); };
  parts.assemblers = std::move(*assemblers);
  parts.gpus = std::move(*gpus);
  if (request.counters) parts.count = counting_on(request.gpu);
  judge::Judge judge(std::move(parts));
  if (!options.target && options.until >= record::GateName::execute) {
    if (auto target = judge.gpu_target(*task)) {
      for (auto& entrant : entrants) entrant.options.target = *target;
    }
  }
  return judge_all(judge, *task, entrants, request);
}

}  // namespace ptxlab::cli
