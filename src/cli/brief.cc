// ptxlab brief: what a model would be asked about a kernel, as text or as the JSON that agents read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"
#include "cli/proposers.h"
#include "cli/target_option.h"
#include "judge/judge.h"
#include "llm/prompt.h"
#include "llm/sections.h"
#include "llm/strategies.h"
#include "loop/brief.h"
#include "record/json.h"
#include "task/task.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  std::string kernel, job = "optimize", strategy, prompt, target;
  std::vector<std::string> without, attempts;
  uint64_t context = 100'000;
  bool json = false, list = false, part = false;
};

std::optional<int> parse(Words words, Wanted& wanted) {
  Options options("brief", "Prints what a model would be asked about a kernel.",
                  "ptxlab brief norm/rmsnorm_bf16\n"
                  "ptxlab brief kernel.cu --without structure --without hot\n"
                  "ptxlab brief softmax/softmax_f32 --job repair --attempt mine.ptx\n"
                  "ptxlab brief gemm/sgemm_f32 --json | my-agent\n"
                  "ptxlab brief --list");
  options.optional_argument("TASK|FILE", wanted.kernel,
                            "a task's name or folder, or a .cu or .ptx with its task beside it");
  options.value("--job", "JOB", wanted.job, "optimize, write, repair or reflect (optimize)");
  options.values("--attempt", "FILE.ptx", wanted.attempts,
                 "an earlier attempt, which is judged first; its plan is FILE.plan.toml. The last is what repair and "
                 "reflect are about");
  options.value("--strategy", "NAME", wanted.strategy, "what to try, as --list names it");
  options.values("--without", "SECTION", wanted.without, "leave a section out, as --list names it");
  options.value("--prompt", "DIR", wanted.prompt, "other templates (prompts)");
  options.value("--context", "N", wanted.context, "the most tokens, estimated, that the question may have (100000)");
  options.value("--target", "SM", wanted.target, "the target to judge for (the task's first)");
  options.flag("--list", wanted.list, "name the jobs, sections and strategies, and the order in which sections go");
  options.flag("--json", wanted.json, "Print one JSON object (ptxlab.ask/1): what an agent reads on its stdin");
  return options.parse(words);
}

int list() {
  std::string text =
      "Jobs:\n  optimize  make the kernel faster\n  write     write it from the interface alone\n"
      "  repair    mend an attempt that failed\n  reflect   go on from an attempt that is right\n\nSections:\n";
  for (const auto& section : llm::sections())
    text += fmt::format("  {:<12} {}{}\n", section.name, section.tells, section.switches_off ? "" : " (always there)");
  std::vector<std::string> cuts(llm::cut_order().begin(), llm::cut_order().end());
  text += fmt::format(
      "\nWhere a question is too long, earlier attempts go first, the least telling before the others and all but "
      "one; then {}.\n\nStrategies:\n",
      fmt::join(cuts, ", "));
  auto strategies = llm::read_strategies(root() / "prompts" / "strategies.toml");
  if (!strategies) return refuse(strategies.findings(), kExitInfrastructure);
  for (const auto& strategy : *strategies) text += fmt::format("  {:<19} {}\n", strategy.name, strategy.advice);
  print(text);
  return kExitDone;
}

base::Result<task::Task> task_of(const std::string& word) {
  const fs::path path = word;
  if (path.extension() != ".cu" && path.extension() != ".ptx") return task::find_task(word, root() / "tasks");
  return task::read_task(task::task_file_of(path));
}

// One ask with the strategy's advice. Error: CLI0071, no such job; CLI0072, no such strategy.
base::Result<record::Ask> ask_of(const Wanted& wanted, size_t attempts) {
  record::Ask ask;
  auto job = record::job_named(wanted.job);
  if (!job)
    return base::error("CLI0071", fmt::format("there is no job '{}'", wanted.job),
                       "the jobs are optimize, write, repair and reflect");
  ask.job = *job;
  if (*job == record::Job::repair || *job == record::Job::reflect) {
    if (attempts == 0)
      return base::error("CLI0071", fmt::format("--job {} is about an earlier attempt", wanted.job),
                         "--attempt FILE.ptx names it");
    ask.about = attempts - 1;
  }
  if (wanted.strategy.empty()) return ask;
  auto strategies = llm::read_strategies(root() / "prompts" / "strategies.toml");
  if (!strategies) return strategies.findings();
  std::vector<std::string> names;
  for (const auto& strategy : *strategies) {
    names.push_back(strategy.name);
    if (strategy.name != wanted.strategy) continue;
    ask.strategy = strategy.name;
    ask.advice = strategy.advice;
    return ask;
  }
  auto near = base::nearest(wanted.strategy, names);
  return base::error(
      "CLI0072", fmt::format("there is no strategy '{}'", wanted.strategy),
      near.empty() ? fmt::format("there are: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
}

// The attempts, judged, so that what was found of them can be told.
base::Findings add_attempts(const Wanted& wanted, judge::Judge& judge, const judge::JudgeOptions& options,
                            record::Brief& brief) {
  for (const auto& file : wanted.attempts) {
    auto text = base::read_file(file);
    if (!text) return text.findings();
    record::Candidate candidate;
    candidate.ptx = *std::move(text);
    candidate.name = fs::path(file).stem().string();
    candidate.proposer = "files";
    std::error_code error;
    if (auto plan = fs::path(file).replace_extension(".plan.toml"); fs::exists(plan, error)) {
      auto read = base::read_file(plan);
      if (!read) return read.findings();
      candidate.plan = *std::move(read);
    }
    auto verdict = judge.judge(brief.task, candidate, options);
    brief.earlier.push_back({std::move(candidate), std::move(verdict)});
  }
  return {};
}

int show(const Wanted& wanted, const record::Brief& brief, const llm::Filled& filled) {
  if (wanted.json) {
    print_json(llm::ask_json(brief, {filled.question}, 1, 1));
    return kExitDone;
  }
  print(fmt::format(
      "==== system\n{}\n==== user\n{}\n==== about {} tokens; sections: {}{}\n", filled.question.system,
      filled.question.user, filled.tokens, fmt::join(filled.sections, ", "),
      filled.left_out.empty() ? "" : fmt::format("; left out for want of room: {}", fmt::join(filled.left_out, ", "))));
  return kExitDone;
}

}  // namespace

int brief(Words words) {
  Wanted wanted;
  if (auto code = parse(words, wanted)) return *code;
  if (wanted.list) return list();
  if (wanted.kernel.empty())
    return refuse("CLI0070", "no kernel is named", "'ptxlab tasks list' shows the tasks there are");
  auto task = task_of(wanted.kernel);
  if (!task) return refuse(task.findings());
  auto prompt = read_prompt({nullptr, "", "", wanted.prompt, wanted.without});
  if (!prompt) return refuse(prompt.findings());
  auto ask = ask_of(wanted, wanted.attempts.size());
  if (!ask) return refuse(ask.findings());
  judge::JudgeOptions options;
  if (!wanted.target.empty()) {
    auto target = parse_target(wanted.target);
    if (!target) return refuse(target.findings());
    options.target = *target;
  }
  auto target = judge::judged_target(*task, options.target);
  if (!target) return refuse(target.findings());
  options.target = *target;
  judge::Judge judge(judge::installed_parts(root() / "docs" / "measurements"));
  auto baseline = judge.baseline(*task, *target);
  if (!baseline)
    return refuse(baseline.findings(), baseline.findings().front().code == "CUC0001" ? kExitInfrastructure : kExitNo);
  auto told = loop::make_brief(*task, **baseline, {}, options.seed);
  loop::add_figures(told, judge, options);
  if (auto wrong = add_attempts(wanted, judge, options, told); !wrong.empty()) return refuse(wrong);
  told.asks = {*ask};
  auto filled = prompt->fill(told, *ask, static_cast<int64_t>(wanted.context));
  if (!filled) return refuse(filled.findings());
  return show(wanted, told, *filled);
}

}  // namespace ptxlab::cli
