#include "loop/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/finding_json.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "loop/attempts.h"
#include "loop/lanes.h"
#include "loop/search.h"
#include "record/json.h"

namespace ptxlab::loop {
namespace {

using archive::Answer;
using archive::Cell;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostThreads = 1024;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Run {
 public:
  Run(const Lock& lock, std::string run, const BenchParts& parts, const BenchOptions& options)
      : lock_(lock),
        run_(std::move(run)),
        parts_(parts),
        options_(options),
        jobs_(options.jobs ? options.jobs : base::core_count()),
        briefs_(lock.tasks.size()),
        lanes_(places(lock, jobs_)) {}

  BenchResult go() {
    if (!load() || !meet_arms()) return std::move(result_);
    lay_out();
    lanes_.work(kMostThreads);
    result_.whole = !result_.failed && result_.unanswered == 0;
    return std::move(result_);
  }

 private:
  struct Arm {
    bool learns = false;
    record::Usage used;  // under mutex_
    double seconds = 0;  // that it took to answer, all questions together
    bool refused = false;
  };

  // Judging, and rules, which think on this machine too, have one lane; those who answer from elsewhere one each.
  static constexpr size_t kJudging = 0;
  static size_t asking(size_t arm) { return arm + 1; }
  static std::vector<size_t> places(const Lock& lock, size_t jobs) {
    std::vector<size_t> most = {jobs};
    for (const auto& arm : lock.spec.arms) most.push_back(static_cast<size_t>(arm.parallel));
    return most;
  }

  // --- what is there already ---------------------------------------------------------------------------------------------
  bool load() {
    auto answers = parts_.archive->answers(run_);
    auto trouble = parts_.archive->unanswered_usage(run_);
    if (!answers || !trouble) {
      fail(answers ? trouble.findings() : answers.findings());
      return false;
    }
    arms_.resize(lock_.spec.arms.size());
    for (auto& answer : *answers) {
      if (auto arm = arm_named(answer.cell.arm)) {
        if (answer.usage) arms_[*arm].used.add(*answer.usage);
        arms_[*arm].seconds += answer.seconds;
      }
      Cell cell = answer.cell;
      known_.emplace(std::move(cell), std::move(answer));
    }
    for (const auto& [cell, usage] : *trouble) {
      if (auto arm = arm_named(cell.arm)) arms_[*arm].used.add(usage);
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
      arms_[arm].learns = (*proposer)->learns();
    }
    return true;
  }

  // Task by task, so that what the judge knows of one is used while it is fresh.
  void lay_out() {
    const auto& spec = lock_.spec;
    // A server that answers faster than anybody judges must not fill the memory with what it said.
    for (size_t arm = 0; arm < arms_.size(); ++arm)
      lanes_.open_while(asking(arm), [this] { return stop_ || unjudged_ < 2 * jobs_ + 8; });
    for (size_t task = 0; task < lock_.tasks.size(); ++task) {
      for (size_t arm = 0; arm < arms_.size(); ++arm) {
        if (!arms_[arm].learns) {
          lanes_.add_last(kJudging, [=, this] { batch(arm, task); });
          total_ += spec.k;
          continue;
        }
        for (int sample = 1; sample <= spec.k; ++sample)
          lanes_.add_last(asking(arm), [=, this] { ask_on({arm, task, sample, 1, {}}); });
        total_ += int64_t{spec.k} * spec.turns;
      }
    }
  }

  // --- a sample of a proposer that learns -----------------------------------------------------------------------------------
  struct Chain {
    size_t arm, task;
    int sample, turn;
    std::vector<record::Earlier> earlier;
  };

  // From its turn on to the first candidate that is to be judged; what is there already is passed by.
  void ask_on(Chain chain) {
    for (bool more = true; more;) {
      if (stop_) return;
      Cell cell = cell_of(chain.arm, chain.task, chain.sample, chain.turn);
      if (parts_.exists && !parts_.exists(cell)) return ended(chain.turn);
      // Where its sample has ended its texts are not needed.
      if (auto row = known(cell, false); row && done(*row) && row->outcome && ends(chain.turn, *row->outcome))
        return none_came(cell, chain.turn);
      auto answer = known(cell, true);
      if (!answer && !(answer = ask_one(chain.arm, chain.task, cell, chain.earlier))) return ended(chain.turn);
      if (!answer->candidate) return none_came(cell, chain.turn);
      if (!done(*answer)) {
        ++unjudged_;
        auto held = std::make_shared<std::pair<Chain, Answer>>(std::move(chain), *std::move(answer));
        return lanes_.add_first(kJudging, [this, held] { judge_on(std::move(held->first), held->second); });
      }
      auto attempt = judged_before(*answer);
      more = attempt && goes_on(chain, cell, *std::move(attempt));
    }
  }

  void judge_on(Chain chain, const Answer& answer) {
    auto attempt = stop_ ? std::nullopt : judged(chain.task, answer);
    --unjudged_;
    if (!attempt || !goes_on(chain, answer.cell, *std::move(attempt))) return;
    const size_t lane = asking(chain.arm);
    auto held = std::make_shared<Chain>(std::move(chain));
    lanes_.add_first(lane, [this, held] { ask_on(std::move(*held)); });
  }

  bool ends(int turn, record::OutcomeName outcome) const {
    return turn == lock_.spec.turns || (lock_.spec.stop == Stop::right && record::is_right(outcome)) ||
           outcome == record::OutcomeName::infrastructure;
  }

  // Whether a sample has another turn after this attempt; `chain` is then at it.
  bool goes_on(Chain& chain, const Cell& cell, record::Attempt attempt) {
    const bool last = ends(chain.turn, attempt.verdict.outcome);
    tell(cell, &attempt, last ? lock_.spec.turns - chain.turn + 1 : 1);
    if (last) return false;
    chain.earlier.push_back(as_earlier(attempt.candidate, attempt.verdict));
    ++chain.turn;
    return true;
  }

  // The rest of a sample will not be asked now.
  void ended(int turn) {
    std::lock_guard lock(mutex_);
    done_ += lock_.spec.turns - turn + 1;
  }
  // Nor is there an attempt to show.
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
      lanes_.add_first(kJudging, [this, task, answer = std::move(answer)]() mutable {
        if (stop_) return;
        if (done(answer)) return tell(answer.cell, nullptr, 1);
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
    if (arms_[arm].learns) made.asks = {ask_after(earlier, lock_.spec.arms[arm].job)};
    // A model draws anew for each question; rules answer for the task.
    std::string purpose = arms_[arm].learns ? fmt::format("{} {} {} {}", cell.arm, cell.task, cell.sample, cell.turn)
                                            : fmt::format("{} {}", cell.arm, cell.task);
    made.seed = base::derive_seed(lock_.spec.seed, purpose);
    return made;
  }

  bool may_ask(size_t arm) {
    if (!parts_.refused) return true;
    std::lock_guard lock(mutex_);
    auto why = parts_.refused(arm, arms_[arm].used, arms_[arm].seconds);
    if (!why) return true;
    if (!arms_[arm].refused) {
      arms_[arm].refused = true;
      say(base::error("BENCH0012", fmt::format("arm `{}` asks no more: {}", lock_.spec.arms[arm].name, *why),
                      "give it a larger one in the spec and call the same again: the run goes on"));
    }
    return false;
  }

  // One call of a proposer: what it brought, or nothing where it had trouble, which has been noted.
  std::optional<record::Proposer::Proposal> propose(size_t arm, const Cell& cell, const record::Brief& brief, int count,
                                                    double& seconds) {
    if (stop_ || !may_ask(arm)) return unanswered();
    if (arms_[arm].learns && !parts_.exists && !kept(parts_.archive->add_question(run_, cell))) return std::nullopt;
    auto start = Clock::now();
    auto proposal = call(arm, cell, brief, count);
    seconds = seconds_since(start);
    std::optional<record::Usage> usage = proposal ? proposal->usage : std::nullopt;
    {
      std::lock_guard lock(mutex_);
      ++result_.asked;
      arms_[arm].seconds += seconds;
      if (usage) arms_[arm].used.add(*usage);
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
  // Whether an answer has its attempt. One in which the machine had trouble is none: it is made once more when the run goes on.
  static bool done(const Answer& answer) { return answer.attempt && !answer.machine_trouble(); }

  std::optional<record::Attempt> judged_before(const Answer& answer) {
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

  // The attempt that an answer leads to, made now. Nothing where it could not be kept.
  std::optional<record::Attempt> judged(size_t task, const Answer& answer) {
    auto start = Clock::now();
    record::Attempt attempt;
    attempt.run = run_;
    attempt.task = answer.cell.task;
    attempt.brief_json = answer.brief_json;
    attempt.candidate = *answer.candidate;
    auto& candidate = attempt.candidate;
    base::Findings trouble;
    if (!candidate.cuda.empty() && !base::has_error(candidate.findings)) trouble = parts_.compile(task, candidate);
    const auto& locked = lock_.tasks[task];
    const bool nothing = trouble.empty() && base::has_error(candidate.findings);
    attempt.verdict = !trouble.empty() ? verdict_of_trouble(trouble, locked.task.name, locked.target)
                      : nothing        ? verdict_of_findings(candidate, locked.task.name, locked.target)
                                       : parts_.judge(task, candidate);
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
  std::vector<Arm> arms_;
  std::vector<KnownBrief> briefs_;
  std::map<Cell, Answer> known_;
  Lanes lanes_;
  std::mutex mutex_;
  BenchResult result_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> unjudged_ = 0;  // answers of those that learn
  int64_t done_ = 0, total_ = 0;
  int trouble_ = 0;
};

}  // namespace

BenchResult run_bench(const Lock& lock, const std::string& run, const BenchParts& parts, const BenchOptions& options) {
  return Run(lock, run, parts, options).go();
}

}  // namespace ptxlab::loop
