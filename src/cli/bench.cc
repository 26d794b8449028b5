// ptxlab bench SPEC.toml: every proposer of a spec at every task, locked, parallel, going on after any end. Also the same
// candidates judged again (--rejudge), and what a run would take (--dry-run).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "archive/bench.h"
#include "archive/sole.h"
#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/thread_pool.h"
#include "cli/archive_option.h"
#include "cli/bench_ahead.h"
#include "cli/bench_set.h"
#include "cli/commands.h"
#include "cli/gpu_option.h"
#include "cli/output.h"
#include "cli/ptxas_option.h"
#include "cli/run_figures.h"
#include "loop/rejudge.h"
#include "report/run_data.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kExample =
    "ptxlab bench examples/bench.toml --dry-run\n"
    "ptxlab bench examples/bench.toml --jobs 4\n"
    "ptxlab bench models.toml --new --export models.json\n"
    "ptxlab bench --rejudge 20261129T171500 --target sm_90a";

struct Wanted : BenchWanted {
  std::string spec, archive, lock, rejudge, exported, command;
  uint64_t jobs = 0;
  bool dry = false, fresh = false, json = false, other_program = false;
};

std::optional<int> parse(Words words, Wanted& wanted) {
  Options options(
      "bench",
      "Runs a benchmark: proposers x tasks x samples x turns, as a locked spec says (docs/bench.md). Call the "
      "same again after any end, and it goes on where it was.",
      kExample);
  options.optional_argument("SPEC.toml", wanted.spec, "what to run (ptxlab.spec/1)");
  options.flag("--dry-run", wanted.dry, "say what it would take: questions, tokens, money, time; nothing is asked");
  options.flag("--new", wanted.fresh, "begin another run, whatever there is of this spec");
  options.flag("--accept-program", wanted.other_program,
               "go on with a run that another build of ptxlab began; the run then names both");
  options.value("--rejudge", "RUN", wanted.rejudge, "judge the candidates of that run again; nobody is asked");
  options.value("--jobs", "N", wanted.jobs, "candidates judged at once (the machine's cores)");
  options.value("--target", "SM", wanted.target, "with --rejudge: another target than the run's");
  options.value("--gpu", "LIST", wanted.gpu, kGpuHelp);
  options.value("--ptxas", "VERSION|FILE", wanted.ptxas, kPtxasHelp);
  options.value("--witness", "VERSION|FILE", wanted.witness, kWitnessHelp);
  options.value("--lock", "FILE", wanted.lock,
                "where this file is, the run must be the one it locks; else it is written");
  options.value("--export", "FILE", wanted.exported, "write the figures there as JSON (ptxlab.bench/1)");
  options.value("--archive", "FILE", wanted.archive, "another archive than the one in the user's data folder");
  options.flag("--json", wanted.json, "Print the figures as one JSON object (ptxlab.bench/1)");
  wanted.command = "ptxlab bench";
  for (const auto& word : words) wanted.command += " " + word;
  if (auto code = options.parse(words)) return code;
  if (wanted.spec.empty() == wanted.rejudge.empty())
    return refuse("CLI0110",
                  wanted.spec.empty() ? "there is no spec to run" : "--rejudge takes no spec: it has the run's",
                  "ptxlab bench SPEC.toml, or ptxlab bench --rejudge RUN");
  if (!wanted.target.empty() && wanted.rejudge.empty())
    return refuse("CLI0111", "the target of a run stands in its spec",
                  "target = \"sm_90a\" there; --target goes with --rejudge");
  return std::nullopt;
}

// Trouble of the machine, and not of what was asked for.
bool machines(const base::Findings& findings) {
  const auto& code = findings.front().code;
  return code == "CUC0001" || code == "CUC0003" || code == "CUC0004" || code == "ORA0001" || code == "ARC0001" ||
         code == "ARC0003" || code == "ARC0004" || code == "ARC0009" || code.starts_with("GPU000");
}
int refuse_any(const base::Findings& findings) {
  return refuse(findings, machines(findings) ? kExitInfrastructure : kExitWrongUse);
}

// --- which run ----------------------------------------------------------------------------------------------------------

base::Finding changed(const std::string& where, const std::vector<std::string>& changes, const char* hint) {
  constexpr size_t kMost = 12;
  std::string message = fmt::format("{} is locked otherwise:", where);
  for (size_t i = 0; i < std::min(changes.size(), kMost); ++i) message += "\n  " + changes[i];
  if (changes.size() > kMost) message += fmt::format("\n  and {} more", changes.size() - kMost);
  return base::error("BENCH0010", message, hint);
}

// Whether a run under the lock `then` may go on under `now`; else why not. `where`: "run X".
base::Findings may_go_on(const json& then, const loop::Lock& now, const Wanted& wanted, const std::string& where,
                         const char* hint) {
  if (auto changes = loop::differences_but_program(then, now.json); !changes.empty())
    return {changed(where, loop::differences(then, now.json), hint)};
  const auto changes = loop::differences(then, now.json);
  if (changes.empty() || wanted.other_program) return {};
  return {changed(where, changes,
                  "the program alone is another: --accept-program goes on, and the run names both; --new begins anew")};
}

// The newest run of this spec, if it may go on under this lock; an error where it may not; nothing where there is none.
base::Result<std::optional<archive::Bench>> earlier_run(archive::Archive& archive, const loop::Lock& lock,
                                                        const Wanted& wanted, const std::string& rejudged) {
  auto benches = archive.benches();
  if (!benches) return benches.findings();
  for (auto& bench : *benches) {
    if (bench.rejudged != rejudged) continue;
    auto then = json::parse(bench.lock_now(), nullptr, false);
    if (!then.is_object() || then.value("name", "") != lock.spec.name) continue;
    auto refused =
        may_go_on(then, lock, wanted, "run " + bench.run.id, "--new begins another run; the old one stays as it is");
    if (refused.empty()) return std::optional(std::move(bench));
    return refused;
  }
  return std::optional<archive::Bench>();
}

base::Findings match_lock_file(const loop::Lock& lock, const Wanted& wanted) {
  const std::string& file = wanted.lock;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return base::write_file(file, lock.text());
  auto text = base::read_file(file);
  if (!text) return text.findings();
  auto then = json::parse(*text, nullptr, false);
  if (!then.is_object() || then.value("schema", "") != "ptxlab.lock/1")
    return {base::error_in(file, "BENCH0010", "this is no lock of a bench run",
                           "--lock writes one where the file is not there")};
  return may_go_on(then, lock, wanted, file, "undo what changed, or name another file");
}

std::string joined_targets(const loop::Lock& lock) {
  std::string all;
  for (const auto& task : lock.tasks) {
    std::string name = task.target.name();
    if (all.find(name) == all.npos) all += (all.empty() ? "" : ",") + name;
  }
  return all;
}

base::Result<std::string> choose_run(archive::Archive& archive, const loop::Lock& lock, const Wanted& wanted,
                                     const std::string& rejudged) {
  if (!wanted.fresh) {
    auto earlier = earlier_run(archive, lock, wanted, rejudged);
    if (!earlier) return earlier.findings();
    if (*earlier) {
      const auto& run = (*earlier)->run.id;
      if (json::parse((*earlier)->lock_now(), nullptr, false) == lock.json) return run;
      auto failed = archive.add_continued(run, lock.text());
      if (base::has_error(failed)) return failed;
      return run;
    }
  }
  archive::Run run;
  run.command = wanted.command;
  run.task = lock.tasks.size() == 1 ? lock.tasks.front().task.name : fmt::format("{} tasks", lock.tasks.size());
  run.target = joined_targets(lock);
  run.seed = lock.spec.seed;
  for (const auto& arm : lock.spec.arms) run.proposers += (run.proposers.empty() ? "" : ",") + arm.name;
  auto failed = archive.add_bench(run, lock.text(), rejudged);
  if (base::has_error(failed)) return failed;
  return run.id;
}

// --- showing ------------------------------------------------------------------------------------------------------------

void show_progress(const loop::BenchProgress& now) {
  if (!isatty(STDERR_FILENO)) return;
  fmt::print(stderr, "\r\x1b[K{}/{}: {} {} {}.{} {}", now.done, now.total, now.cell.arm, now.cell.task, now.cell.sample,
             now.cell.turn, now.attempt ? record::name_of(now.attempt->verdict.outcome) : "");
  if (now.done >= now.total) fmt::print(stderr, "\r\x1b[K");
}

int tell(archive::Archive& archive, const std::string& run, const loop::BenchResult& result, const Wanted& wanted) {
  auto data = report::read_run(archive, run);
  if (!data) return refuse(data.findings(), kExitInfrastructure);
  auto said = RunFigures::of(archive, *data);
  if (!said) return refuse(said.findings(), kExitInfrastructure);
  auto figures = said->json();
  if (!wanted.exported.empty()) {
    auto failed = base::write_file(wanted.exported, base::print_json(figures, 1) + "\n");
    if (!failed.empty()) return refuse(failed, kExitInfrastructure);
  }
  if (wanted.json) {
    figures["findings"] = base::to_json(result.findings);
    print_json(figures);
  } else {
    print(said->text(0));
    print_findings(result.findings, "");
    print(fmt::format("\nrun {}: {} questions asked now, {} candidates judged now{}\n", run, result.asked,
                      result.judged, result.found ? fmt::format("; {} answers were there already", result.found) : ""));
    if (!result.whole) print("the run is not whole: the same command goes on with it\n");
  }
  return result.whole ? kExitDone : kExitInfrastructure;
}

// --- the three ways -----------------------------------------------------------------------------------------------------

fs::path archive_file(const Wanted& wanted) {
  return wanted.archive.empty() ? archive::Archive::default_file() : fs::path(wanted.archive);
}

int look(BenchSet& set, const loop::Lock& lock, const Wanted& wanted) {
  std::unique_ptr<archive::Archive> archive;
  std::error_code ignored;
  if (fs::exists(archive_file(wanted), ignored)) {
    auto opened = archive::Archive::open(archive_file(wanted));
    if (!opened) return refuse(opened.findings(), kExitInfrastructure);
    archive = *std::move(opened);
  }
  size_t jobs = wanted.jobs ? wanted.jobs : base::core_count();
  auto ahead = look_ahead(set, lock, archive.get());
  if (!ahead) return refuse_any(ahead.findings());
  if (wanted.json) {
    print_json(to_json(*ahead, lock, jobs));
  } else {
    print(text(*ahead, lock, jobs));
  }
  return kExitDone;
}

int go(archive::Archive& archive, const loop::Lock& lock, const loop::BenchParts& parts, const Wanted& wanted,
       const std::string& rejudged) {
  if (!wanted.lock.empty()) {
    if (auto failed = match_lock_file(lock, wanted); !failed.empty()) return refuse_any(failed);
  }
  auto run = choose_run(archive, lock, wanted, rejudged);
  if (!run) return refuse_any(run.findings());
  loop::BenchOptions options;
  options.jobs = std::min<uint64_t>(wanted.jobs, 1024);
  options.progress = show_progress;
  auto result = loop::run_bench(lock, *run, parts, options);
  return tell(archive, *run, result, wanted);
}

int run_spec(BenchSet& set, const Wanted& wanted) {
  auto source = base::read_file(wanted.spec, size_t{4} << 20);
  if (!source) return refuse(source.findings());
  auto spec = loop::read_spec(*source, wanted.spec);
  if (!spec) return refuse(spec.findings());
  auto lock = loop::make_lock(*spec, set.lock_parts(*spec));
  if (!lock) return refuse_any(lock.findings());
  if (wanted.dry) return look(set, *lock, wanted);
  auto archive = archive::Archive::open(archive_file(wanted));
  if (!archive) return refuse(archive.findings(), kExitInfrastructure);
  auto sole = archive::Sole::take(archive_file(wanted));
  if (!sole) return refuse_any(sole.findings());
  auto parts = set.parts(*lock);
  if (!parts) return refuse_any(parts.findings());
  parts->archive = archive->get();
  return go(**archive, *lock, *parts, wanted, "");
}

int run_again(BenchSet& set, const Wanted& wanted) {
  auto archive = open_existing_archive(wanted.archive);
  if (!archive) return refuse_archive(archive.findings());
  auto sole = archive::Sole::take(archive_file(wanted));
  if (!sole) return refuse_any(sole.findings());
  auto old = (*archive)->bench(wanted.rejudge);
  if (!old) return refuse_archive(old.findings());
  loop::Spec nothing;
  auto files = loop::task_files_of(**archive, old->run.id);
  if (!files) return refuse_archive(files.findings());
  auto lock = loop::rejudge_lock(json::parse(old->lock, nullptr, false), *files, set.lock_parts(nothing), set.target());
  if (!lock) return refuse_any(lock.findings());
  bool cuda = std::any_of(lock->spec.arms.begin(), lock->spec.arms.end(),
                          [](const auto& arm) { return arm.language == record::Language::cuda; });
  if (cuda && !toolchain::installed().nvcc)
    return refuse({base::error("CUC0001", "the run has candidates in CUDA C, and this machine has no nvcc",
                               "tools/setup fetches one; PTXLAB_CUDA names a CUDA folder")},
                  kExitInfrastructure);
  if (wanted.dry) {
    auto answers = (*archive)->answers(old->run.id);
    if (!answers) return refuse_archive(answers.findings());
    auto count =
        std::count_if(answers->begin(), answers->end(), [](const auto& answer) { return answer.has_candidate; });
    print(fmt::format("{}: {} candidates of run {} to judge for {}; nobody is asked\n", lock->spec.name, count,
                      old->run.id, joined_targets(*lock)));
    return kExitDone;
  }
  auto own = set.parts(*lock);
  if (!own) return refuse_any(own.findings());
  own->archive = archive->get();
  auto parts = loop::rejudge_parts(**archive, old->run.id, *std::move(own));
  if (!parts) return refuse_any(parts.findings());
  return go(**archive, *lock, *parts, wanted, old->run.id);
}

}  // namespace

int bench(Words words) {
  Wanted wanted;
  if (auto code = parse(words, wanted)) return *code;
  auto set = BenchSet::make(wanted);
  if (!set) return refuse_any(set.findings());
  return wanted.rejudge.empty() ? run_spec(**set, wanted) : run_again(**set, wanted);
}

}  // namespace ptxlab::cli
