#include "cli/bench_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "cli/files.h"
#include "cli/gpu_option.h"
#include "cli/ptxas_option.h"
#include "cli/target_option.h"
#include "loop/brief.h"
#include "loop/cuda_candidate.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A folder of templates as found from the spec; else the project's own.
fs::path prompt_of(const loop::Spec& spec, const loop::ArmSpec& arm) {
  return arm.prompt.empty() ? root() / "prompts" : fs::path(spec.file).parent_path() / arm.prompt;
}

std::string gxx_version() {
  base::Command command;
  command.argv = {"g++", "-dumpfullversion"};
  auto outcome = base::run(command);
  if (!outcome.ok()) return "none";
  return outcome.output.substr(0, outcome.output.find('\n'));
}

std::vector<std::pair<std::string, std::string>> tools(const judge::Assemblers& assemblers) {
  const auto& found = toolchain::installed();
  const auto version = [](const std::optional<toolchain::Tool>& tool) { return tool ? tool->version : "none"; };
  std::vector<std::pair<std::string, std::string>> list = {{"ptxas", version(assemblers.preferred)},
                                                           {"nvcc", version(found.nvcc)},
                                                           {"nvdisasm", version(found.nvdisasm)},
                                                           {"g++", gxx_version()}};
  if (assemblers.witness) list.emplace_back("witness", assemblers.witness->version);
  return list;
}

// Builds of the same version judge differently while ptxlab grows: the program's own bytes tell them apart.
std::string build_hash() {
  auto bytes = base::read_file("/proc/self/exe");
  return bytes ? base::sha256(*bytes) : "unknown";
}

// The files that an agent's command names: its program, its scripts. What it reads besides is its own affair.
base::Result<json> agent_files(std::string_view command) {
  json files = json::object();
  std::error_code ignored;
  while (!command.empty()) {
    const size_t from = command.find_first_not_of(" \t\n'\"");
    if (from == command.npos) break;
    command.remove_prefix(from);
    const std::string word(command.substr(0, command.find_first_of(" \t\n'\";|&<>()")));
    command.remove_prefix(std::max<size_t>(1, word.size()));
    if (word.empty() || !fs::is_regular_file(word, ignored)) continue;
    auto text = base::read_file(word, size_t{1} << 30);
    if (!text) return text.findings();
    files[word] = base::sha256(*text);
  }
  return files;
}

json price_json(const std::optional<llm::Price>& price) {
  if (!price) return nullptr;
  json tiers = json::array();
  for (const auto& tier : price->tiers)
    tiers.push_back({{"over", tier.over}, {"asked", tier.asked}, {"answered", tier.answered}});
  return {{"date", price->date}, {"dollars_a_million_tokens", std::move(tiers)}};
}

}  // namespace

std::optional<std::string> over_budget(const llm::Limits& limits, const record::Usage& used, double seconds) {
  if (limits.tokens && used.asked + used.answered >= *limits.tokens)
    return fmt::format("its budget of {} tokens is used up", *limits.tokens);
  if (limits.requests && used.requests >= *limits.requests)
    return fmt::format("its budget of {} requests is used up", *limits.requests);
  if (limits.seconds && seconds >= static_cast<double>(*limits.seconds))
    return fmt::format("its budget of {} seconds is used up", *limits.seconds);
  if (limits.dollars && used.dollars >= *limits.dollars)
    return fmt::format("its budget of {} dollars is used up", *limits.dollars);
  return std::nullopt;
}

base::Result<std::unique_ptr<BenchSet>> BenchSet::make(const BenchWanted& wanted) {
  std::unique_ptr<BenchSet> set(new BenchSet);
  if (!wanted.target.empty()) {
    auto target = parse_target(wanted.target);
    if (!target) return target.findings();
    set->target_ = *target;
  }
  auto assemblers = choose_assemblers(wanted.ptxas, wanted.witness);
  if (!assemblers) return assemblers.findings();
  auto gpus = choose_gpus(wanted.gpu);
  if (!gpus) return gpus.findings();
  auto parts = judge::installed_parts(root() / "docs" / "measurements");
  parts.assemblers = std::move(*assemblers);
  parts.gpus = std::move(*gpus);
  set->tools_ = tools(parts.assemblers);
  set->judge_ = std::make_unique<judge::Judge>(std::move(parts));
  return set;
}

std::string BenchSet::proposer_of(const loop::Spec& spec, const loop::ArmSpec& arm, const archive::Cell& cell) {
  std::string text = loop::expand(arm.proposer, cell.arm, cell.task, cell.sample, cell.turn);
  for (std::string_view kind : {"files:", "replay:"}) {
    if (!text.starts_with(kind)) continue;
    fs::path folder = text.substr(kind.size());
    if (folder.is_relative()) folder = fs::path(spec.file).parent_path() / folder;
    return std::string(kind) + folder.string();
  }
  return text;
}

ProposerParts BenchSet::proposer_parts(const loop::Spec& spec, const loop::ArmSpec& arm) {
  ProposerParts parts;
  parts.model_settings = arm.settings;
  parts.prompt = prompt_of(spec, arm).string();
  parts.without = arm.without;
  return parts;
}

// Looked at before anything is asked, so that what is wrong with an arm costs nothing.
base::Result<json> BenchSet::arm_facts(const loop::Spec& spec, const loop::ArmSpec& arm) {
  if (arm.language == record::Language::cuda && !toolchain::installed().nvcc)
    return base::error("BENCH0006", "CUDA C needs nvcc, and this machine has none",
                       "tools/setup fetches one; PTXLAB_CUDA names a CUDA folder");
  auto limits = llm::parse_limits(arm.budget);
  if (!limits) return limits.findings();
  auto parts = proposer_parts(spec, arm);
  auto facts = proposer_facts(proposer_of(spec, arm, {arm.name, "-", 1, 1}), parts);
  if (!facts) return facts.findings();
  if (limits->dollars && facts->model && !facts->price)
    return base::error("LLM0008", "a budget in dollars needs a price, and none is known of its model",
                       "settings = \"price_asked=N,price_answered=N\" says it, in dollars for a million tokens");
  json made = {{"model", facts->learns}};
  if (facts->model) made["price"] = price_json(facts->price);
  if (std::string_view kind = "agent:"; arm.proposer.starts_with(kind)) {
    auto files = agent_files(std::string_view(arm.proposer).substr(kind.size()));
    if (!files) return files.findings();
    made["files"] = *std::move(files);
  }
  if (facts->learns && !std::string_view(arm.proposer).starts_with("replay:")) {
    auto files = loop::hashes_below(parts.prompt);
    if (!files) return files.findings();
    made["prompt"] = *std::move(files);
  }
  return made;
}

loop::LockParts BenchSet::lock_parts(const loop::Spec& spec) {
  loop::LockParts parts;
  parts.tasks = root() / "tasks";
  parts.program = PTXLAB_VERSION;
  parts.build = build_hash();
  parts.toolchain = tools_;
  if (auto gpu = judge_->gpu()) {
    parts.device = gpu->device;
    parts.driver = gpu->driver_version.empty() ? fmt::format("{}", gpu->driver) : gpu->driver_version;
  }
  parts.gpu_target = [this](const task::Task& task) { return judge_->gpu_target(task); };
  parts.baseline = [this](const task::Task& task, const isa::Target& target) { return judge_->baseline(task, target); };
  parts.arm = [this, &spec](const loop::ArmSpec& arm) { return arm_facts(spec, arm); };
  return parts;
}

judge::JudgeOptions BenchSet::options_of(const loop::Lock& lock, size_t task) const {
  judge::JudgeOptions options;
  options.target = lock.tasks[task].target;
  options.until = lock.spec.until;
  options.constraints = lock.spec.constraints;
  options.seed = lock.spec.seed;
  options.threads = 1;  // the candidates themselves are judged side by side
  return options;
}

base::Result<record::Brief> BenchSet::brief(const loop::Lock& lock, size_t task) {
  const auto& locked = lock.tasks[task];
  auto baseline = judge_->baseline(locked.task, locked.target);
  if (!baseline) return baseline.findings();
  auto brief = loop::make_brief(locked.task, **baseline, lock.spec.constraints, lock.spec.seed);
  loop::add_figures(brief, *judge_, options_of(lock, task));
  return brief;
}

base::Result<loop::BenchParts> BenchSet::parts(const loop::Lock& lock) {
  evaluators_.clear();
  task_named_.clear();
  limits_.clear();
  for (size_t task = 0; task < lock.tasks.size(); ++task) {
    evaluators_.push_back(judge::make_evaluator(*judge_, lock.tasks[task].task, options_of(lock, task)));
    task_named_[lock.tasks[task].task.name] = task;
  }
  for (const auto& arm : lock.spec.arms) {
    auto limits = llm::parse_limits(arm.budget);
    if (!limits) return limits.findings();
    limits_.push_back(*limits);
  }
  loop::BenchParts parts;
  parts.brief = [this, &lock](size_t task) -> base::Result<record::Brief> {
    // Where nothing can be judged nobody is asked for candidates.
    auto options = options_of(lock, task);
    options.threads = 0;
    auto said = judge_->preparation(lock.tasks[task].task, options);
    if (base::has_error(said)) {
      for (auto& finding : said) finding.message = lock.tasks[task].task.name + ": " + finding.message;
      return said;
    }
    return brief(lock, task);
  };
  parts.proposer = [this, &lock](size_t arm,
                                 const archive::Cell& cell) -> base::Result<std::unique_ptr<record::Proposer>> {
    const auto& spec = lock.spec.arms[arm];
    auto with = proposer_parts(lock.spec, spec);
    with.evaluator = evaluators_[task_named_.at(cell.task)].get();
    auto made = make_proposers(proposer_of(lock.spec, spec, cell), with);
    if (!made) return made.findings();
    return std::move(made->front());
  };
  parts.judge = [this, &lock](size_t task, const record::Candidate& candidate) {
    return judge_->judge(lock.tasks[task].task, candidate, options_of(lock, task));
  };
  parts.compile = [&lock](size_t task, record::Candidate& candidate) {
    return loop::compile_candidate(*toolchain::installed().nvcc, lock.tasks[task].task, lock.tasks[task].target,
                                   candidate);
  };
  parts.refused = [this](size_t arm, const record::Usage& used, double seconds) {
    return over_budget(limits_[arm], used, seconds);
  };
  return parts;
}

}  // namespace ptxlab::cli
