// ptxlab optimize FILE.cu|FILE.ptx: proposers hand in candidates for the user's kernel, each is judged and archived, the
// best that was found right is written beside the kernel, and the kernel itself stays the answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "archive/archive.h"
#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/gpu_option.h"
#include "cli/limit_options.h"
#include "cli/output.h"
#include "cli/proposers.h"
#include "cli/ptxas_option.h"
#include "cli/report_page.h"
#include "cli/target_option.h"
#include "judge/judge.h"
#include "llm/model.h"
#include "llm/strategies.h"
#include "loop/answer.h"
#include "loop/brief.h"
#include "loop/optimise.h"
#include "loop/transcript.h"
#include "ptx/verifier.h"
#include "record/json.h"
#include "report/attempts.h"
#include "report/run_data.h"
#include "task/draft.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExample =
    "ptxlab optimize examples/rmsnorm.cu\n"
    "ptxlab optimize examples/vector_add.cu --candidates 4 --out answer.ptx --accept-estimate\n"
    "ptxlab optimize kernel.cu --proposer rules,files:my_candidates --target sm_90\n"
    "ptxlab optimize kernel.cu --proposer rules,openai:qwen3-32b@http://localhost:8000/v1 --turns 3";

struct Wanted {
  std::string file, task, proposers = "rules", out, target, ptxas, witness, gpu, archive, record;
  std::string prompt, model_settings, budget;
  std::vector<std::string> without;
  std::string html;
  std::string goal;
  uint64_t beam = 3, patience = 0;
  uint64_t candidates = 8, turns = 2, seed = 1;
  LimitOptions limits;
  bool accept_estimate = false, json = false, no_archive = false;
  std::string command;  // as typed
};

std::optional<int> parse(Words words, Wanted& wanted) {
  Options options(
      "optimize",
      "Looks for a faster PTX version of a kernel, judges every candidate, and keeps the kernel on any doubt.",
      kExample);
  options.argument("FILE", wanted.file,
                   "the kernel: a .cu or a .ptx; its task in FILE.task.toml, its launch in FILE.plan.toml");
  options.value("--task", "FILE", wanted.task, "the task, where it is not beside the kernel");
  options.value("--proposer", "NAME[,NAME]", wanted.proposers, "who proposes:\n" + proposer_help());
  options.value("--candidates", "N", wanted.candidates, "how many candidates to judge (8)");
  options.value("--turns", "N", wanted.turns,
                "how often to ask a model, each time with what was found wrong so far (2)");
  options.value("--beam", "N", wanted.beam, "how many attempts a turn goes on from (3)");
  options.value("--patience", "N", wanted.patience, "stop after so many turns without gain (never)");
  options.value("--goal", "X", wanted.goal, "stop when a right candidate is X times as fast");
  options.value("--prompt", "DIR", wanted.prompt, "other templates of what a model is asked (prompts)");
  options.values("--without", "SECTION", wanted.without,
                 "leave a section out of what a model is asked; 'ptxlab brief --list' names them");
  options.value("--model-settings", "NAME=N[,NAME=N]", wanted.model_settings,
                "how to ask a model:\n" + llm::settings_help());
  options.value("--budget", "NAME=N[,NAME=N]", wanted.budget,
                "what a model may cost: tokens, requests, seconds, dollars (no limit)");
  options.value("--out", "FILE.ptx", wanted.out, "write the answer there: the original's PTX where that is kept");
  options.flag("--accept-estimate", wanted.accept_estimate,
               "let a candidate that is only estimated faster be the answer");
  options.value("--target", "SM", wanted.target, "the target to judge for (the GPU's, else the task's first)");
  options.value("--ptxas", "VERSION|FILE", wanted.ptxas, kPtxasHelp);
  options.value("--witness", "VERSION|FILE", wanted.witness, kWitnessHelp);
  options.value("--gpu", "LIST", wanted.gpu, kGpuHelp);
  wanted.limits.declare(options);
  options.value("--seed", "N", wanted.seed, "seed of inputs, schedules and search (1)");
  options.value("--record", "DIR", wanted.record, "keep what the proposers answered, for --proposer replay:DIR");
  options.value("--archive", "FILE", wanted.archive, "another archive than the one in the user's data folder");
  options.value("--html", "FILE", wanted.html, "write what came of it as one HTML page too (docs/report.md)");
  options.flag("--json", wanted.json, "Print one JSON object (ptxlab.optimize/1)");
  wanted.command = "ptxlab optimize";
  for (const auto& word : words) wanted.command += " " + word;
  return options.parse(words);
}

base::Result<task::Draft> draft(const fs::path& kernel) {
  auto source = base::read_file(kernel, size_t{64} << 20);
  if (!source) return source.findings();
  if (kernel.extension() == ".ptx") {
    auto checked = ptx::check(*source, kernel.string());
    if (!checked.ok()) return checked.findings;
    return task::draft_from_ptx(kernel, checked.module);
  }
  // The compiled form tells parameters' types and uses for sure; where it cannot be made, the source alone has to do.
  toolchain::CompileOptions options;
  options.target = *isa::target_named("sm_80");
  auto compiled = toolchain::compile_to_ptx(kernel, options);
  if (!compiled && compiled.findings().front().code == "CUC0002") return compiled.findings();
  std::optional<ptx::Checked> checked;
  if (compiled) checked = ptx::check(*compiled, kernel.string());
  const auto known = [&] { return checked && checked->ok() ? &checked->module : nullptr; };
  auto first = task::draft_from_cuda(kernel, *source, known());
  if (!compiled || !first || first->instantiate.empty()) return first;
  // Once more with the templates instantiated as the draft says, where that compiles.
  options.appended = first->instantiate;
  auto again = toolchain::compile_to_ptx(kernel, options);
  if (!again) return first;
  checked = ptx::check(*again, kernel.string());
  return task::draft_from_cuda(kernel, *source, known(), true);
}

// The drafts for a kernel that comes without a task: printed to be edited, never written by themselves.
int offer_drafts(const fs::path& kernel, const fs::path& task_file) {
  auto drafted = draft(kernel);
  if (!drafted)
    return refuse(drafted.findings(), drafted.findings().front().code == "CUC0002" ? kExitNo : kExitWrongUse);
  auto plan_file = fs::path(kernel).replace_extension(".plan.toml");
  print(fmt::format("# ---- {}\n{}\n# ---- {}\n{}", task_file.string(), drafted->task, plan_file.string(),
                    drafted->plan));
  std::string open;
  for (const auto& line : drafted->open) open += "\n  - " + line;
  return refuse("CLI0052", fmt::format("{} has no task: {} is not there", kernel.string(), task_file.string()),
                fmt::format("drafts of it and of {} are printed on stdout: check every line, then save them{}{}",
                            plan_file.string(), open.empty() ? "" : "; to be settled:", open));
}

// One line on a terminal, rewritten; nothing elsewhere.
void show_progress(size_t done, size_t total, const record::Attempt& attempt) {
  if (!isatty(STDERR_FILENO)) return;
  fmt::print(stderr, "\r\x1b[Kjudged {}/{}: {} {}", done, total, attempt.candidate.name,
             record::name_of(attempt.verdict.outcome));
  if (done == total) fmt::print(stderr, "\r\x1b[K");
}

nlohmann::json as_json(const loop::Optimised& result, const Wanted& wanted, const record::Brief& brief,
                       const std::vector<fs::path>& written) {
  nlohmann::json json = {{"schema", "ptxlab.optimize/1"},
                         {"file", wanted.file},
                         {"task", brief.task.name},
                         {"target", brief.target.name()},
                         {"run", result.run.id},
                         {"original_kept", result.original_kept},
                         {"reason", result.reason},
                         {"notes", result.notes},
                         {"usage", nlohmann::json::array()},
                         {"findings", base::to_json(result.findings)},
                         {"attempts", nlohmann::json::array()},
                         {"ranking", nlohmann::json::array()},
                         {"written", nlohmann::json::array()}};
  json["best"] = result.best ? nlohmann::json(result.attempts[*result.best].candidate.name) : nlohmann::json(nullptr);
  for (const auto& attempt : result.attempts) {
    json["attempts"].push_back({{"id", attempt.id},
                                {"name", attempt.candidate.name},
                                {"proposer", attempt.candidate.proposer},
                                {"idea", attempt.candidate.idea},
                                {"verdict", record::to_json(attempt.verdict)}});
  }
  for (const auto& [proposer, usage] : result.used) {
    auto one = record::to_json(usage);
    one["proposer"] = proposer;
    json["usage"].push_back(std::move(one));
  }
  for (size_t i : result.ranking) json["ranking"].push_back(result.attempts[i].candidate.name);
  for (const auto& file : written) json["written"].push_back(file.string());
  return json;
}

void tell(const loop::Optimised& result, const record::Brief& brief, const std::vector<fs::path>& written) {
  print(fmt::format("task {}, target {}, {} judged, archived as run {}\n\n", brief.task.name, brief.target.name(),
                    result.attempts.size(), result.run.id));
  if (!result.attempts.empty()) print(report::ranked_table(result.attempts, result.ranking, terminal_width()) + "\n");
  bool estimated = std::any_of(result.attempts.begin(), result.attempts.end(),
                               [](const auto& attempt) { return attempt.verdict.estimated_speedup.has_value(); });
  if (estimated) print("estimate: against your kernel, from counts of the CPU engine; never measured\n");
  for (const auto& [proposer, usage] : result.used) {
    print(fmt::format("{}: {}\n", proposer, record::describe(usage)));
  }
  for (const auto& note : result.notes) print("note: " + note + "\n");
  print_findings(result.findings, "");
  print(result.reason + "\n");
  for (const auto& file : written) print(fmt::format("wrote {}\n", file.string()));
  for (const auto& attempt : result.attempts) {
    if (std::find_if(result.ranking.begin(), result.ranking.end(),
                     [&](size_t i) { return &result.attempts[i] == &attempt; }) == result.ranking.end()) {
      print(fmt::format("why '{}' failed: ptxlab archive show {}\n", attempt.candidate.name, attempt.id));
    }
  }
}

// What all steps of one call share.
struct Call {
  Wanted wanted;
  fs::path kernel;
  task::Task task;
  std::unique_ptr<judge::Judge> judge;
  judge::JudgeOptions judging;
  const judge::Baseline* baseline = nullptr;
  base::Findings said;  // warnings about the task and the user's own kernel
  loop::SearchOptions search;
};

// What the samples of a turn are told to try, and when to stop. Error: CLI0073, the goal is no factor above 1; LLM0019.
base::Findings read_search(const Wanted& wanted, loop::SearchOptions& search) {
  search.beam = static_cast<int>(std::clamp<uint64_t>(wanted.beam, 1, 100));
  search.patience = static_cast<int>(std::min<uint64_t>(wanted.patience, 1000));
  search.temperatures = {0.4, 0.8, 1.0};
  if (!wanted.goal.empty()) {
    char* end = nullptr;
    const double goal = std::strtod(wanted.goal.c_str(), &end);
    if (*end != 0 || !(goal > 1 && goal < 1e6))
      return {base::error("CLI0073", fmt::format("--goal {} is no factor above 1", wanted.goal), "--goal 1.5")};
    search.goal = goal;
  }
  auto strategies = llm::read_strategies(root() / "prompts" / "strategies.toml");
  if (!strategies) return strategies.findings();
  for (auto& one : *strategies) search.strategies.push_back({std::move(one.name), std::move(one.advice)});
  return {};
}

// The command line made sense of: the task read, the target chosen, the user's kernel compiled. An exit code where not.
std::optional<int> prepare(Call& call) {
  const auto& wanted = call.wanted;
  call.kernel = wanted.file;
  auto ending = call.kernel.extension();
  if (ending != ".cu" && ending != ".ptx") {
    return refuse("CLI0053", fmt::format("{} is neither a .cu nor a .ptx", wanted.file),
                  "optimize takes a kernel's source or its PTX");
  }
  std::error_code error;
  if (!fs::exists(call.kernel, error)) return refuse("CLI0054", fmt::format("there is no file {}", wanted.file), "");
  if (wanted.candidates == 0)
    return refuse("CLI0055", "--candidates 0 asks for nothing", "without the option there are 8");
  if (wanted.turns == 0) return refuse("CLI0055", "--turns 0 asks for nothing", "without the option there are 2");
  if (auto wrong = read_search(wanted, call.search); !wrong.empty()) return refuse(wrong);
  auto task_file = wanted.task.empty() ? fs::path(call.kernel).replace_extension(".task.toml") : fs::path(wanted.task);
  if (!fs::exists(task_file, error)) {
    if (!wanted.task.empty()) return refuse("CLI0054", fmt::format("there is no file {}", wanted.task), "");
    return offer_drafts(call.kernel, task_file);
  }
  auto task = task::read_task(task_file);
  if (!task) return refuse(task.findings());
  call.task = std::move(*task);
  if (!wanted.target.empty()) {
    auto target = parse_target(wanted.target);
    if (!target) return refuse(target.findings());
    call.judging.target = *target;
  }
  auto assemblers = choose_assemblers(wanted.ptxas, wanted.witness);
  if (!assemblers) return refuse(assemblers.findings());
  auto gpus = choose_gpus(wanted.gpu);
  if (!gpus) return refuse_gpu(gpus.findings());
  auto parts = judge::installed_parts(root() / "docs" / "measurements");
  parts.assemblers = std::move(*assemblers);
  parts.gpus = std::move(*gpus);
  call.judge = std::make_unique<judge::Judge>(std::move(parts));
  if (!call.judging.target) call.judging.target = call.judge->gpu_target(call.task);
  auto target = judge::judged_target(call.task, call.judging.target);
  if (!target) return refuse(target.findings());
  call.judging.target = *target;
  call.judging.constraints = wanted.limits.constraints();
  call.judging.seed = wanted.seed;
  call.judging.threads = 1;  // the candidates themselves are judged side by side
  auto baseline = call.judge->baseline(call.task, *target);
  if (!baseline) {
    const auto& code = baseline.findings().front().code;
    bool machine = code == "CUC0001" || code == "CUC0003" || code == "CUC0004";
    return refuse(baseline.findings(), machine ? kExitInfrastructure : kExitNo);
  }
  call.baseline = *baseline;
  // Where nothing can be judged nobody is asked for candidates.
  auto preparing = call.judging;
  preparing.threads = 0;
  call.said = call.judge->preparation(call.task, preparing);
  if (base::has_error(call.said))
    return refuse(call.said, call.said.front().code == "ORA0001" ? kExitInfrastructure : kExitWrongUse);
  std::erase_if(call.said, [](const auto& finding) { return finding.severity == base::Severity::note; });
  return std::nullopt;
}

// The best beside the kernel, the answer where --out says. What could not be written becomes a finding of the result.
std::vector<fs::path> write_answer(const Call& call, loop::Optimised& result) {
  std::vector<fs::path> written;
  base::Findings failed;
  const record::Attempt* best = result.best ? &result.attempts[*result.best] : nullptr;
  if (best) {
    auto files = loop::write_best(*best, call.kernel, call.baseline->plan_text, PTXLAB_VERSION);
    if (files) written = *files;
    failed = files.findings();
  }
  if (!call.wanted.out.empty()) {
    std::string answer = call.baseline->ptx;
    if (!result.original_kept) answer = loop::header_comment(*best, call.kernel, PTXLAB_VERSION) + best->candidate.ptx;
    auto more = base::write_file(call.wanted.out, answer);
    if (more.empty()) written.emplace_back(call.wanted.out);
    failed.insert(failed.end(), more.begin(), more.end());
  }
  if (base::has_error(failed)) result.failed = true;
  result.findings.insert(result.findings.end(), failed.begin(), failed.end());
  return written;
}

void write_html(archive::Archive& archive, const std::string& file, loop::Optimised& result,
                std::vector<fs::path>& written) {
  auto run = report::read_run(archive, result.run.id);
  auto page = run ? write_page(archive, *run, file) : base::Result<WrittenPage>(run.findings());
  if (page) {
    written.emplace_back(file);
  } else {
    result.failed = true;
    result.findings.insert(result.findings.end(), page.findings().begin(), page.findings().end());
  }
}

}  // namespace

int optimize(Words words) {
  Call call;
  auto& wanted = call.wanted;
  if (auto code = parse(words, wanted)) return *code;
  if (auto code = refuse_page(wanted.html)) return *code;
  if (auto code = prepare(call)) return *code;
  base::note_interrupts();
  auto evaluator = judge::make_evaluator(*call.judge, call.task, call.judging);
  auto proposers = make_proposers(
      wanted.proposers, {evaluator.get(), wanted.model_settings, wanted.budget, wanted.prompt, wanted.without});
  if (!proposers) return refuse(proposers.findings());
  std::vector<record::Proposer*> chosen;
  for (auto& proposer : *proposers) {
    if (!wanted.record.empty()) proposer = loop::make_recording_proposer(std::move(proposer), wanted.record);
    chosen.push_back(proposer.get());
  }
  auto archive =
      archive::Archive::open(wanted.archive.empty() ? archive::Archive::default_file() : fs::path(wanted.archive));
  if (!archive) return refuse(archive.findings(), kExitInfrastructure);

  auto brief = loop::make_brief(call.task, *call.baseline, call.judging.constraints, wanted.seed);
  loop::add_figures(brief, *call.judge, call.judging);
  loop::OptimiseOptions options;
  options.candidates = static_cast<int>(std::min<uint64_t>(wanted.candidates, 10'000));
  options.turns = static_cast<int>(std::min<uint64_t>(wanted.turns, 100));
  options.accept_estimate = wanted.accept_estimate;
  options.search = call.search;
  options.stop = base::interrupted;
  options.command = wanted.command;
  auto judging = [&](const record::Candidate& c) { return call.judge->judge(call.task, c, call.judging); };
  auto result = loop::optimise(brief, chosen, judging, archive->get(), options, show_progress);
  result.findings.insert(result.findings.begin(), call.said.begin(), call.said.end());
  auto written = write_answer(call, result);
  if (!wanted.html.empty() && !result.run.id.empty()) write_html(**archive, wanted.html, result, written);
  if (wanted.json) {
    print_json(as_json(result, wanted, brief, written));
  } else {
    tell(result, brief, written);
  }
  base::end_as_interrupted();
  return result.failed ? kExitInfrastructure : kExitDone;
}

}  // namespace ptxlab::cli
