#include "loop/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/finding_json.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "loop/attempts.h"
#include "loop/search.h"
#include "record/json.h"

namespace ptxlab::loop {
namespace {

using archive::Answer;
using archive::Cell;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Jobs that may bring forth others; they are taken in order, the newest brought forth first, so that what was asked is judged
// before more is asked.
class Queue {
 public:
  using Job = std::function<void()>;
  void add_last(Job job) { put(std::move(job), false); }
  void add_first(Job job) { put(std::move(job), true); }

  // Works until nothing is left and nobody is at work who could bring more.
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return !jobs_.empty() || busy_ == 0; });
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      ++busy_;
      lock.unlock();
      job();
      lock.lock();
      --busy_;
      changed_.notify_all();
    }
  }

 private:
  void put(Job job, bool first) {
    std::lock_guard lock(mutex_);
    first ? jobs_.push_front(std::move(job)) : jobs_.push_back(std::move(job));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  int busy_ = 0;
};

struct Places {
  explicit Places(int count) : free(count) {}
  std::counting_semaphore<> free;
};
struct Place {
  explicit Place(Places& from) : places(from) { places.free.acquire(); }
  ~Place() { places.free.release(); }
  Places& places;
};

class Run {
 public:
  Run(const Lock& lock, std::string run, const BenchParts& parts, const BenchOptions& options)
      : lock_(lock),
        run_(std::move(run)),
        parts_(parts),
        options_(options),
        jobs_(options.jobs ? options.jobs : base::core_count()),
        judging_(static_cast<int>(jobs_)),
        briefs_(lock.tasks.size()) {}

  BenchResult go() {
    if (!load() || !meet_arms()) return std::move(result_);
    lay_out();
    size_t threads = jobs_;
    for (size_t arm = 0; arm < arms_.size(); ++arm) {
      if (arms_[arm]->learns) threads += static_cast<size_t>(lock_.spec.arms[arm].parallel);
    }
    base::parallel_for(std::min<size_t>(threads, 1024), threads, [&](size_t) { queue_.work(); });
    result_.whole = !result_.failed && result_.unanswered == 0;
    return std::move(result_);
  }

 private:
  struct Arm {
    explicit Arm(int parallel) : asking(parallel) {}
    bool learns = false;
    Places asking;
    record::Usage used;  // under mutex_
    double seconds = 0;  // that it took to answer, all questions together
    bool refused = false;
  };

  // --- what is there already ---------------------------------------------------------------------------------------------
  bool load() {
    auto answers = parts_.archive->answers(run_);
    auto trouble = parts_.archive->unanswered_usage(run_);
    if (!answers || !trouble) {
      fail(answers ? trouble.findings() : answers.findings());
      return false;
    }
    for (const auto& arm : lock_.spec.arms) arms_.push_back(std::make_unique<Arm>(arm.parallel));
    for (auto& answer : *answers) {
      if (auto arm = arm_named(answer.cell.arm)) {
        if (answer.usage) arms_[*arm]->used.add(*answer.usage);
        arms_[*arm]->seconds += answer.seconds;
      }
      Cell cell = answer.cell;
      known_.emplace(std::move(cell), std::move(answer));
    }
    for (const auto& [name, usage] : *trouble) {
      if (auto arm = arm_named(name)) arms_[*arm]->used.add(usage);
    }
    result_.found = static_cast<int64_t>(known_.size());
    return true;
  }

  std::optional<size_t> arm_named(const std::string& name) const {
    for (size_t i = 0; i < lock_.spec.arms.size(); ++i) {
      if (lock_.spec.arms[i].name == name) return i;
    }
    return std::nullopt;
  }

  bool meet_arms() {
    for (size_t arm = 0; arm < arms_.size(); ++arm) {
      auto proposer = parts_.proposer(arm, cell_of(arm, 0, 1, 1));
      if (!proposer) {
        fail(proposer.findings());
        return false;
      }
      arms_[arm]->learns = (*proposer)->learns();
    }
    return true;
  }

  // Task by task, so that what the judge knows of one is used while it is fresh.
  void lay_out() {
    const auto& spec = lock_.spec;
    for (size_t task = 0; task < lock_.tasks.size(); ++task) {
      for (size_t arm = 0; arm < arms_.size(); ++arm) {
        if (!arms_[arm]->learns) {
          queue_.add_last([=, this] { batch(arm, task); });
          total_ += spec.k;
          continue;
        }
        for (int sample = 1; sample <= spec.k; ++sample) queue_.add_last([=, this] { chain(arm, task, sample); });
        total_ += int64_t{spec.k} * spec.turns;
      }
    }
  }

  // --- a sample of a proposer that learns -----------------------------------------------------------------------------------
  void chain(size_t arm, size_t task, int sample) {
    std::vector<record::Earlier> earlier;
    for (int turn = 1; turn <= lock_.spec.turns; ++turn) {
      if (stop_) return;
      Cell cell = cell_of(arm, task, sample, turn);
      if (parts_.exists && !parts_.exists(cell)) return ended(turn);
      auto answer = known(cell, true);
      if (!answer && !(answer = ask_one(arm, task, cell, earlier))) return ended(turn);
      if (!answer->candidate) return none_came(cell, turn);
      auto attempt = judged(task, *answer);
      if (!attempt) return;
      bool last = turn == lock_.spec.turns ||
                  (lock_.spec.stop == Stop::right && record::is_right(attempt->verdict.outcome)) ||
                  attempt->verdict.outcome == record::OutcomeName::infrastructure;
      tell(cell, &*attempt, last ? lock_.spec.turns - turn + 1 : 1);
      if (last) return;
      earlier.push_back(as_earlier(attempt->candidate, attempt->verdict));
    }
  }

  // The rest of a sample will not be asked now.
  void ended(int turn) {
    std::lock_guard lock(mutex_);
    done_ += lock_.spec.turns - turn + 1;
  }
  void none_came(const Cell& cell, int turn) { tell(cell, nullptr, lock_.spec.turns - turn + 1); }

  // --- all samples of one that does not -------------------------------------------------------------------------------------
  void batch(size_t arm, size_t task) {
    if (stop_) return;
    std::vector<Answer> answers;
    for (int sample = 1; sample <= lock_.spec.k; ++sample) {
      if (auto answer = known(cell_of(arm, task, sample, 1), false)) answers.push_back(*std::move(answer));
    }
    if (answers.empty()) answers = ask_all(arm, task);
    for (auto& answer : answers) {
      queue_.add_first([this, task, answer = std::move(answer)]() mutable {
        if (stop_) return;
        if (answer.attempt) return tell(answer.cell, nullptr, 1);
        // One that was there already has its texts in the archive still.
        if (!answer.candidate) {
          if (auto read = known(answer.cell, true)) answer = *std::move(read);
        }
        if (!answer.candidate) return tell(answer.cell, nullptr, 1);
        if (auto attempt = judged(task, answer)) tell(answer.cell, &*attempt, 1);
      });
    }
  }

  // The first turn as the spec says; later ones mend what failed, or go on from what is right.
  static record::Ask ask_after(const std::vector<record::Earlier>& earlier, record::Job first) {
    record::Ask ask;
    ask.job = first;
    if (earlier.empty()) return ask;
    ask.job = record::is_right(earlier.back().verdict.outcome) ? record::Job::reflect : record::Job::repair;
    ask.about = earlier.size() - 1;
    return ask;
  }

  // --- asking ---------------------------------------------------------------------------------------------------------------
  std::optional<record::Brief> brief(size_t arm, size_t task, const Cell& cell,
                                     const std::vector<record::Earlier>& earlier) {
    auto& known = briefs_[task];
    std::call_once(known.once, [&] { known.brief.emplace(parts_.brief(task)); });
    if (!*known.brief) {
      fail(known.brief->findings());
      return std::nullopt;
    }
    record::Brief made = **known.brief;
    made.language = lock_.spec.arms[arm].language;
    made.earlier = earlier;
    if (arms_[arm]->learns) made.asks = {ask_after(earlier, lock_.spec.arms[arm].job)};
    // A model draws anew for each question; rules answer for the task.
    std::string purpose = arms_[arm]->learns ? fmt::format("{} {} {} {}", cell.arm, cell.task, cell.sample, cell.turn)
                                             : fmt::format("{} {}", cell.arm, cell.task);
    made.seed = base::derive_seed(lock_.spec.seed, purpose);
    return made;
  }

  bool may_ask(size_t arm) {
    if (!parts_.refused) return true;
    std::lock_guard lock(mutex_);
    auto why = parts_.refused(arm, arms_[arm]->used, arms_[arm]->seconds);
    if (!why) return true;
    if (!arms_[arm]->refused) {
      arms_[arm]->refused = true;
      say(base::error("BENCH0012", fmt::format("arm `{}` asks no more: {}", lock_.spec.arms[arm].name, *why),
                      "what is left is asked when the run goes on under a larger budget: a new run"));
    }
    return false;
  }

  // One call of a proposer: what it brought, or nothing where it had trouble, which has been noted.
  std::optional<record::Proposer::Proposal> propose(size_t arm, const Cell& cell, const record::Brief& brief, int count,
                                                    double& seconds) {
    // Rules think on this machine, as judging does; a model elsewhere.
    Place place(arms_[arm]->learns ? arms_[arm]->asking : judging_);
    if (stop_ || !may_ask(arm)) return unanswered();
    if (arms_[arm]->learns && !parts_.exists && !kept(parts_.archive->add_question(run_, cell))) return std::nullopt;
    auto start = Clock::now();
    auto proposal = call(arm, cell, brief, count);
    seconds = seconds_since(start);
    std::optional<record::Usage> usage = proposal ? proposal->usage : std::nullopt;
    {
      std::lock_guard lock(mutex_);
      ++result_.asked;
      arms_[arm]->seconds += seconds;
      if (usage) arms_[arm]->used.add(*usage);
      for (const auto& finding : proposal ? proposal->findings : proposal.findings()) say(finding);
    }
    record::Proposer::Proposal made;
    if (proposal) {
      made = *std::move(proposal);
    } else {
      made.findings = proposal.findings();
    }
    bool trouble = made.candidates.empty() && base::has_error(made.findings) && !overflow(made.findings);
    if (!trouble) return made;
    if (!kept(parts_.archive->add_unanswered(run_, {cell, {}, usage, made.findings}))) return std::nullopt;
    return unanswered();
  }

  base::Result<record::Proposer::Proposal> call(size_t arm, const Cell& cell, const record::Brief& brief, int count) {
    try {
      auto proposer = parts_.proposer(arm, cell);
      if (!proposer) return proposer.findings();
      return (*proposer)->propose(brief, count);
    } catch (const std::exception& error) {
      return base::error("BENCH0014", fmt::format("arm `{}` failed: {}", cell.arm, error.what()), "");
    }
  }

  // A question that the model cannot be asked is an answer of a kind: it would be none the next time too.
  static bool overflow(const base::Findings& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const auto& finding) { return finding.code == "LLM0005" || finding.code == "LLM0017"; });
  }

  std::nullopt_t unanswered() {
    std::lock_guard lock(mutex_);
    ++result_.unanswered;
    return std::nullopt;
  }

  std::optional<Answer> ask_one(size_t arm, size_t task, const Cell& cell,
                                const std::vector<record::Earlier>& earlier) {
    auto told = brief(arm, task, cell, earlier);
    if (!told) return std::nullopt;
    Answer answer;
    answer.cell = cell;
    auto proposal = propose(arm, cell, *told, 1, answer.seconds);
    if (!proposal) return std::nullopt;
    answer.usage = proposal->usage;
    answer.note = std::move(proposal->note);
    answer.findings = std::move(proposal->findings);
    answer.brief_json = base::print_json(record::to_json(*told), -1);
    if (!proposal->candidates.empty()) {
      answer.candidate = std::move(proposal->candidates.front());
      answer.candidate->name = fmt::format("{}.{}", cell.sample, cell.turn);
    }
    std::vector<Answer> one;
    one.push_back(std::move(answer));
    if (!kept(parts_.archive->add_answers(run_, one))) return std::nullopt;
    return std::move(one.front());
  }

  std::vector<Answer> ask_all(size_t arm, size_t task) {
    Cell first = cell_of(arm, task, 1, 1);
    auto told = brief(arm, task, first, {});
    if (!told) return {};
    double seconds = 0;
    auto proposal = propose(arm, first, *told, lock_.spec.k, seconds);
    if (!proposal) return {};
    std::string brief_json = base::print_json(record::to_json(*told), -1);
    std::vector<Answer> answers(static_cast<size_t>(lock_.spec.k));
    for (size_t i = 0; i < answers.size(); ++i) {
      auto& answer = answers[i];
      answer.cell = cell_of(arm, task, static_cast<int>(i) + 1, 1);
      answer.seconds = seconds / lock_.spec.k;
      answer.brief_json = brief_json;
      if (i < proposal->candidates.size()) answer.candidate = std::move(proposal->candidates[i]);
    }
    answers.front().note = std::move(proposal->note);
    answers.front().findings = std::move(proposal->findings);
    answers.front().usage = proposal->usage;
    if (!kept(parts_.archive->add_answers(run_, answers))) return {};
    return answers;
  }

  // --- judging ----------------------------------------------------------------------------------------------------------------
  // The attempt that an answer leads to: the one that is there, or made now. Nothing where it could not be kept.
  std::optional<record::Attempt> judged(size_t task, const Answer& answer) {
    if (answer.attempt) {
      auto attempt = parts_.archive->attempt(*answer.attempt, false);
      if (!attempt) {
        fail(attempt.findings());
        return std::nullopt;
      }
      // What its proposer said of it stands with the answer, what was compiled with the attempt.
      std::string ptx = std::move(attempt->candidate.ptx);
      attempt->candidate = *answer.candidate;
      attempt->candidate.ptx = std::move(ptx);
      return *std::move(attempt);
    }
    Place place(judging_);
    if (stop_) return std::nullopt;
    auto start = Clock::now();
    record::Attempt attempt;
    attempt.run = run_;
    attempt.task = answer.cell.task;
    attempt.brief_json = answer.brief_json;
    attempt.candidate = *answer.candidate;
    auto& candidate = attempt.candidate;
    if (!candidate.cuda.empty() && !base::has_error(candidate.findings)) parts_.compile(task, candidate);
    const auto& locked = lock_.tasks[task];
    const bool nothing = base::has_error(candidate.findings);
    attempt.verdict =
        nothing ? verdict_of_findings(candidate, locked.task.name, locked.target) : parts_.judge(task, candidate);
    add_proposer_findings(attempt.verdict, candidate);
    auto kept_as = parts_.archive->add_judged(answer, attempt, seconds_since(start));
    if (!kept_as) {
      fail(kept_as.findings());
      return std::nullopt;
    }
    watch(attempt.verdict, !nothing);
    return attempt;
  }

  // Candidates that hold nothing to judge say nothing of the machine.
  void watch(const record::Verdict& verdict, bool ran) {
    std::lock_guard lock(mutex_);
    ++result_.judged;
    if (!ran) return;
    trouble_ = verdict.outcome == record::OutcomeName::infrastructure ? trouble_ + 1 : 0;
    if (trouble_ < kMachineTrouble || stop_) return;
    stop_ = result_.failed = true;
    say(base::error("BENCH0013",
                    fmt::format("{} verdicts in a row blame the machine, the last: {}", trouble_, verdict.reason),
                    "mend it and call the same again: the run goes on"));
  }

  // --- small things -------------------------------------------------------------------------------------------------------------
  Cell cell_of(size_t arm, size_t task, int sample, int turn) const {
    return {lock_.spec.arms[arm].name, lock_.tasks[task].task.name, sample, turn};
  }

  // The answer that was there when the run began, with its texts where they are wanted.
  std::optional<Answer> known(const Cell& cell, bool texts) {
    auto found = known_.find(cell);
    if (found == known_.end()) return std::nullopt;
    if (!texts) return found->second;
    auto whole = parts_.archive->answer(found->second.id);
    if (whole) return *std::move(whole);
    fail(whole.findings());
    return found->second;
  }

  bool kept(const base::Findings& findings) {
    if (!base::has_error(findings)) return true;
    fail(findings);
    return false;
  }

  void fail(const base::Findings& findings) {
    std::lock_guard lock(mutex_);
    stop_ = result_.failed = true;
    for (const auto& finding : findings) say(finding);
  }

  // Under mutex_. The same trouble of many questions is one trouble.
  void say(const base::Finding& finding) {
    constexpr size_t kMost = 100;
    bool said = std::any_of(result_.findings.begin(), result_.findings.end(), [&](const auto& other) {
      return other.code == finding.code && other.message == finding.message;
    });
    if (!said && result_.findings.size() < kMost) result_.findings.push_back(finding);
  }

  void tell(const Cell& cell, const record::Attempt* attempt, int64_t questions) {
    std::lock_guard lock(mutex_);
    done_ += questions;
    if (options_.progress) options_.progress({done_, total_, cell, attempt});
  }

  struct KnownBrief {
    std::once_flag once;
    std::optional<base::Result<record::Brief>> brief;
  };

  const Lock& lock_;
  const std::string run_;
  const BenchParts& parts_;
  const BenchOptions& options_;
  const size_t jobs_;
  Places judging_;
  std::vector<std::unique_ptr<Arm>> arms_;
  std::vector<KnownBrief> briefs_;
  std::map<Cell, Answer> known_;
  Queue queue_;
  std::mutex mutex_;
  BenchResult result_;
  std::atomic<bool> stop_ = false;
  int64_t done_ = 0, total_ = 0;
  int trouble_ = 0;
};

}  // namespace

BenchResult run_bench(const Lock& lock, const std::string& run, const BenchParts& parts, const BenchOptions& options) {
  return Run(lock, run, parts, options).go();
}

}  // namespace ptxlab::loop
