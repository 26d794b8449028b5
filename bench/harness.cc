// What the harness of bench costs beside the gates: a proposer that answers at once, a judge that has its verdict ready, and between
// them all that a real run does: the brief and its JSON, the archive on disk with a commit for each question, answer and attempt.
// Brief, candidate and verdict are those of a real task, judged once beforehand. Items: candidates.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "archive/bench.h"
#include "base/file.h"
#include "judge/judge.h"
#include "loop/bench.h"
#include "loop/brief.h"

namespace ptxlab::loop {
namespace {

template <class T>
T must(base::Result<T> result) {
  if (!result.ok()) std::abort();
  return std::move(result).value();
}

class AtOnce : public record::Proposer {
 public:
  AtOnce(const record::Candidate& candidate, bool learns) : candidate_(candidate), learns_(learns) {}
  std::string name() const override { return "at-once"; }
  bool learns() const override { return learns_; }
  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    Proposal proposal;
    for (int i = 0; i < count; ++i) {
      // Each is another text, as answers are.
      proposal.candidates.push_back(candidate_);
      proposal.candidates.back().ptx += "// " + std::to_string(brief.seed) + " " + std::to_string(i) + "\n";
    }
    if (learns_) proposal.usage = record::Usage{.requests = 1, .asked = 9000, .answered = 3000};
    return proposal;
  }

 private:
  const record::Candidate& candidate_;
  bool learns_;
};

// A task with its judged baseline, made once.
struct Prepared {
  Lock lock;
  record::Brief brief;
  record::Candidate candidate;
  record::Verdict verdict;
};

const Prepared& prepared() {
  static const Prepared made = [] {
    Prepared p;
    LockedTask locked{must(task::find_task("norm/rmsnorm_bf16", PTXLAB_SOURCE_DIR "/tasks")), {80, 0}};
    judge::Judge judge;
    auto baseline = must(judge.baseline(locked.task, locked.target));
    judge::JudgeOptions options;
    options.target = locked.target;
    p.brief = make_brief(locked.task, *baseline, {}, 1);
    add_figures(p.brief, judge, options);
    p.candidate.ptx = baseline->ptx + "// changed\n";
    p.candidate.answer = "```ptx\n" + baseline->ptx + "```\n";
    p.candidate.prompt = std::string(40'000, 'q');
    p.verdict = judge.judge(locked.task, p.candidate, options);
    p.lock.tasks.push_back(std::move(locked));
    p.lock.spec.name = "overhead";
    ArmSpec arm;
    arm.name = "at-once";
    p.lock.spec.arms.push_back(arm);
    return p;
  }();
  return made;
}

void harness(benchmark::State& state, bool learns, int turns) {
  Prepared p = prepared();
  p.lock.spec.k = 64;
  p.lock.spec.turns = turns;
  p.lock.spec.stop = Stop::turns;
  double seconds = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto folder = std::make_unique<base::TemporaryFolder>("ptxlab-overhead");
    auto archive = must(archive::Archive::open(folder->path() / "archive.db"));
    archive::Run run;
    if (!archive->add_bench(run, "{}").empty()) std::abort();
    BenchParts parts;
    parts.archive = archive.get();
    parts.brief = [&](size_t) { return p.brief; };
    parts.proposer = [&](size_t, const archive::Cell&) -> base::Result<std::unique_ptr<record::Proposer>> {
      return std::unique_ptr<record::Proposer>(std::make_unique<AtOnce>(p.candidate, learns));
    };
    parts.judge = [&](size_t, const record::Candidate&) { return p.verdict; };
    parts.compile = [](size_t, record::Candidate&) { return base::Findings(); };
    state.ResumeTiming();
    auto start = std::chrono::steady_clock::now();
    auto result = run_bench(p.lock, run.id, parts, {1, {}});
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!result.whole) state.SkipWithError("the run is not whole");
    state.PauseTiming();
    archive.reset();
    folder.reset();
    state.ResumeTiming();
  }
  const auto candidates = static_cast<double>(state.iterations() * p.lock.spec.k * turns);
  state.SetItemsProcessed(static_cast<int64_t>(candidates));
  state.counters["ms_a_candidate"] = 1000 * seconds / candidates;
}

BENCHMARK_CAPTURE(harness, list, false, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(harness, model, true, 1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(harness, model_of_three_turns, true, 3)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ptxlab::loop
