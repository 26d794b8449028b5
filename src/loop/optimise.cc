#include "loop/optimise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/finding_json.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "loop/attempts.h"
#include "record/json.h"
#include "record/timing_text.h"

namespace ptxlab::loop {
namespace {

using record::Attempt;
using record::Candidate;
using record::OutcomeName;
using record::Verdict;

std::string content_key(const Candidate& candidate) {
  return base::sha256(candidate.ptx) + (candidate.plan ? base::sha256(*candidate.plan) : "");
}

bool stopped(const OptimiseOptions& options) { return options.stop && options.stop(); }

// What has been proposed, in which order it is judged, and what is still to come.
class Gathering {
 public:
  Gathering(std::span<record::Proposer* const> proposers, const OptimiseOptions& options, Optimised& result)
      : options_(options), result_(result) {
    for (auto* proposer : proposers) members_.push_back({proposer, proposer->learns(), {}, false});
    turns_ = std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m.learns; })
                 ? std::max(options.turns, 1)
                 : 1;
  }

  int turns() const { return turns_; }
  int taken() const { return taken_; }

  // The candidates of turn `turn`, from 1. Turns are taken among the proposers, so that none crowds the others out.
  std::vector<Candidate> next(const record::Brief& brief, int turn) {
    size_t refused = 0;
    asked_ = 0;
    for (auto& member : members_) {
      if (turn > 1 && !member.learns) continue;
      if (member.refused || !ask(member, brief, turn)) ++refused;
    }
    if (turn == 1) result_.failed = refused == members_.size();
    // Places are kept for what those that learn will say in later turns, but what they have said is judged now, so that the
    // next turn can tell of it; in the last, what others have left over fills up.
    int kept = 0, said = 0, left = options_.candidates - taken_;
    for (const auto& member : members_) {
      if (!member.learns) continue;
      said += static_cast<int>(member.waiting.size());
      if (!member.refused) kept += share() * (turns_ - turn);
    }
    // After the first turn those that were asked in it come first.
    if (turn == 2) std::stable_partition(members_.begin(), members_.end(), [](const auto& m) { return m.learns; });
    return take(std::min(left, std::max(left - kept, said)));
  }

  void finish() {
    if (copies_ > 0)
      result_.notes.push_back(fmt::format("{} candidates were copies of others and were left out", copies_));
    if (taken_ < options_.candidates && !stopped(options_))
      result_.notes.push_back(
          fmt::format("{} of {} candidates: the proposers had no more", taken_, options_.candidates));
  }

 private:
  struct Member {
    record::Proposer* proposer;
    bool learns;
    std::deque<Candidate> waiting;
    bool refused;
  };

  // How many a proposer that learns is asked for each turn.
  int share() const { return std::max(1, options_.candidates / (static_cast<int>(members_.size()) * turns_)); }

  // The brief with what each sample is asked. Proposers that learn share the list of strategies.
  record::Brief asking(const record::Brief& brief, int turn, int count) {
    record::Brief told = brief;
    told.asks = plan_turn(brief.earlier, turn, count, asked_, options_.search);
    asked_ += count;
    return told;
  }

  bool ask(Member& member, const record::Brief& brief, int turn) {
    if (stopped(options_)) return true;
    int count = options_.candidates;
    if (member.learns)
      count = turn == turns_ && members_.size() == 1 ? count - taken_ : std::min(share(), count - taken_);
    if (count <= 0) return true;
    auto proposal = member.proposer->propose(member.learns ? asking(brief, turn, count) : brief, count);
    const auto& findings = proposal ? proposal->findings : proposal.findings();
    for (const base::Finding& finding : findings) {  // a search says of many ideas what is true of all
      const auto same = [&](const base::Finding& said) {
        return said.code == finding.code && said.message == finding.message && said.place.line == finding.place.line;
      };
      if (std::none_of(result_.findings.begin(), result_.findings.end(), same)) result_.findings.push_back(finding);
    }
    member.refused = !proposal || (proposal->candidates.empty() && base::has_error(proposal->findings));
    if (!proposal) return false;
    if (proposal->usage) add_usage(member.proposer->name(), *proposal->usage);
    if (!proposal->note.empty())
      result_.notes.push_back(fmt::format("{}: {}", member.proposer->name(), proposal->note));
    std::move(proposal->candidates.begin(), proposal->candidates.end(), std::back_inserter(member.waiting));
    return !member.refused;
  }

  void add_usage(const std::string& name, const record::Usage& usage) {
    auto known =
        std::find_if(result_.used.begin(), result_.used.end(), [&](const auto& u) { return u.proposer == name; });
    if (known == result_.used.end()) known = result_.used.insert(known, {name, {}});
    known->usage.add(usage);
  }

  std::vector<Candidate> take(int most) {
    std::vector<Candidate> taken;
    for (bool more = true; more;) {
      more = false;
      for (auto& member : members_) {
        if (member.waiting.empty() || static_cast<int>(taken.size()) == most) continue;
        more = true;
        auto candidate = std::move(member.waiting.front());
        member.waiting.pop_front();
        // An answer without a candidate is an attempt too, however often the same one comes.
        if (base::has_error(candidate.findings) || seen_.insert(content_key(candidate)).second) {
          taken.push_back(std::move(candidate));
        } else {
          ++copies_;
        }
      }
    }
    taken_ += static_cast<int>(taken.size());
    return taken;
  }

  const OptimiseOptions& options_;
  Optimised& result_;
  std::vector<Member> members_;
  std::set<std::string> seen_;
  int turns_ = 1, taken_ = 0;
  int asked_ = 0;  // of those that learn, in this turn
  size_t copies_ = 0;
};

double uncertainty_of(const record::Verdict& verdict) {
  return std::max(kWorthMentioning - 1, verdict.estimate ? verdict.estimate->uncertainty : 0);
}

// What a reader would rather have: fewer changes, less machine code, fewer launches; then the order proposed.
std::tuple<int, uint64_t, size_t, size_t> complexity(const Attempt& attempt, size_t place) {
  uint64_t code = 0;
  for (const auto& resources : attempt.verdict.resources) code += resources.code_bytes;
  return {attempt.candidate.steps, code, attempt.candidate.plan.value_or("").size(), place};
}

// What a candidate's speed-up was measured to be at least; nothing where nothing was measured.
double measured_at_least(const record::Verdict& verdict) { return verdict.timing ? verdict.timing->low : 0; }

// What was measured comes first, by what it is at least. Then right ones by estimated speed-up, the simplest first among those
// that the estimate cannot tell from the fastest of them; those without an estimate last, in the order proposed.
void rank(Optimised& result) {
  auto& ranking = result.ranking;
  for (size_t i = 0; i < result.attempts.size(); ++i) {
    const auto& attempt = result.attempts[i];
    if (record::is_right(attempt.verdict.outcome)) ranking.push_back(i);
  }
  auto measured = [&](size_t i) { return measured_at_least(result.attempts[i].verdict); };
  std::stable_sort(ranking.begin(), ranking.end(), [&](size_t a, size_t b) { return measured(a) > measured(b); });
  auto speed = [&](size_t i) { return result.attempts[i].verdict.estimated_speedup.value_or(0); };
  auto estimated = std::find_if(ranking.begin(), ranking.end(),
                                [&](size_t i) { return !result.attempts[i].verdict.timing.has_value(); });
  std::stable_sort(estimated, ranking.end(), [&](size_t a, size_t b) { return speed(a) > speed(b); });
  for (auto group = estimated; group != ranking.end();) {
    double slowest = speed(*group) / (1 + uncertainty_of(result.attempts[*group].verdict));
    auto end = std::find_if(group, ranking.end(), [&](size_t i) { return speed(i) < slowest; });
    if (speed(*group) > 0) {
      std::sort(group, end, [&](size_t a, size_t b) {
        return complexity(result.attempts[a], a) < complexity(result.attempts[b], b);
      });
    }
    group = end;
  }
  if (ranking.empty()) return;
  for (size_t i : ranking) {
    if (result.attempts[i].verdict.outcome != record::OutcomeName::faster) continue;
    result.best = i;
    return;
  }
  const auto& first = result.attempts[ranking.front()].verdict;
  if (first.outcome == OutcomeName::unverified && first.estimated_speedup.value_or(0) >= 1 + uncertainty_of(first)) {
    result.best = ranking.front();
  }
}

// Candidates whose machine code and plan are one another's: said, since they are one idea under two names.
void note_same_code(Optimised& result) {
  std::map<std::string, std::vector<std::string>> by_code;
  for (size_t i : result.ranking) {
    const auto& attempt = result.attempts[i];
    if (attempt.verdict.code_digest.empty()) continue;
    by_code[attempt.verdict.code_digest + base::sha256(attempt.candidate.plan.value_or(""))].push_back(
        attempt.candidate.name);
  }
  for (const auto& [code, names] : by_code) {
    if (names.size() > 1) result.notes.push_back(fmt::format("{} assemble to the same code", fmt::join(names, ", ")));
  }
}

std::string count_outcomes(const Optimised& result) {
  std::map<std::string_view, int> counts;
  for (const auto& attempt : result.attempts) ++counts[record::name_of(attempt.verdict.outcome)];
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string why_none_is_better(const Optimised& result) {
  auto all = [&](auto holds) {
    return std::all_of(result.ranking.begin(), result.ranking.end(),
                       [&](size_t i) { return holds(result.attempts[i].verdict); });
  };
  if (all([](const record::Verdict& v) { return v.outcome == OutcomeName::same; })) {
    return "Every right candidate has your kernel's own machine code; your kernel stays the answer.";
  }
  auto timed = std::find_if(result.ranking.begin(), result.ranking.end(),
                            [&](size_t i) { return result.attempts[i].verdict.timing.has_value(); });
  if (timed != result.ranking.end()) {
    const auto& best = result.attempts[*timed];
    const auto& timing = *best.verdict.timing;
    return fmt::format(
        "No candidate was measured to be faster; the best, '{}', is {}. Your kernel stays the answer.",
        best.candidate.name,
        timing.first ? record::speedup_text(timing) : fmt::format("{:.3f} times as fast", timing.speedup));
  }
  if (all([](const record::Verdict& v) { return !v.estimated_speedup && v.outcome != OutcomeName::same; })) {
    return "No candidate could be estimated (that needs ptxas, and a kernel that the engine runs), so none is called "
           "better; your kernel stays the answer.";
  }
  auto fastest = std::max_element(result.ranking.begin(), result.ranking.end(), [&](size_t a, size_t b) {
    return result.attempts[a].verdict.estimated_speedup.value_or(0) <
           result.attempts[b].verdict.estimated_speedup.value_or(0);
  });
  const auto& verdict = result.attempts[*fastest].verdict;
  if (verdict.estimated_speedup.value_or(0) >= kWorthMentioning) {
    return fmt::format(
        "No right candidate is estimated to be faster than your kernel by more than the estimate's uncertainty ({:.0f} "
        "%); your kernel stays the answer.",
        100 * uncertainty_of(verdict));
  }
  return "No right candidate is estimated to be faster than your kernel, which stays the answer.";
}

void conclude(Optimised& result, const OptimiseOptions& options) {
  if (result.failed) {
    result.reason = "The run could not be completed; your kernel stays the answer.";
  } else if (result.attempts.empty()) {
    result.reason = "No proposer had a candidate; your kernel stays the answer.";
  } else if (result.ranking.empty()) {
    result.reason =
        fmt::format("No candidate was found right ({}); your kernel stays the answer.", count_outcomes(result));
  } else if (!result.best) {
    result.reason = why_none_is_better(result);
  } else if (const auto& measured = result.attempts[*result.best]; measured.verdict.timing) {
    result.original_kept = false;
    const auto own = record::over_first(*measured.verdict.timing);
    result.reason = fmt::format(
        "'{}' passed every gate and was measured {:.3f} times as fast as your kernel ({:.3f} to {:.3f}) on {}. It is "
        "the answer.",
        measured.candidate.name, own.speedup, own.low, own.high, measured.verdict.timing->device);
  } else {
    const auto& best = result.attempts[*result.best];
    result.original_kept = !options.accept_estimate;
    result.reason = fmt::format(
        "'{}' passed every gate that ran and is estimated {:.2f} times as fast as your kernel; nothing was "
        "measured. {}",
        best.candidate.name, *best.verdict.estimated_speedup,
        options.accept_estimate ? "It is the answer, since --accept-estimate was given."
                                : "Your kernel stays the answer; --accept-estimate would take the candidate.");
  }
}

// Judges them side by side; each is archived before its thread takes the next.
void judge_all(const record::Brief& brief, std::vector<Candidate> candidates, const Judging& judge,
               archive::Archive* archive, const OptimiseOptions& options, const Progress& progress, Optimised& result) {
  std::string brief_json = base::print_json(record::to_json(brief), -1);
  std::vector<std::optional<Attempt>> slots(candidates.size());
  std::mutex mutex;
  std::atomic<bool> stop = false;
  size_t done = result.attempts.size(), total = done + candidates.size();
  base::parallel_for(candidates.size(), options.threads, [&](size_t i) {
    if (stop || stopped(options)) return;
    Attempt attempt;
    attempt.run = result.run.id;
    attempt.task = brief.task.name;
    attempt.brief_json = brief_json;
    bool nothing = base::has_error(candidates[i].findings);
    attempt.verdict =
        nothing ? verdict_of_findings(candidates[i], brief.task.name, brief.target) : judge(candidates[i]);
    add_proposer_findings(attempt.verdict, candidates[i]);
    attempt.candidate = std::move(candidates[i]);
    std::lock_guard lock(mutex);
    if (archive) {
      auto kept = archive->add(attempt);
      if (!kept) {
        stop = true;
        result.failed = true;
        result.findings.insert(result.findings.end(), kept.findings().begin(), kept.findings().end());
        return;
      }
    }
    ++done;
    if (progress) progress(done, total, attempt);
    slots[i] = std::move(attempt);
  });
  for (auto& slot : slots) {
    if (slot) result.attempts.push_back(*std::move(slot));
  }
}

}  // namespace

Optimised optimise(const record::Brief& brief, std::span<record::Proposer* const> proposers, const Judging& judge,
                   archive::Archive* archive, const OptimiseOptions& options, const Progress& progress) {
  Optimised result;
  result.run.command = options.command;
  result.run.task = brief.task.name;
  result.run.target = brief.target.name();
  result.run.seed = brief.seed;
  std::vector<std::string> names;
  for (auto* proposer : proposers) names.push_back(proposer->name());
  result.run.proposers = fmt::format("{}", fmt::join(names, ","));
  if (archive) {
    auto findings = archive->add_run(result.run);
    result.findings.insert(result.findings.end(), findings.begin(), findings.end());
    if (base::has_error(findings)) {
      result.failed = true;
      conclude(result, options);
      return result;
    }
  }

  Gathering gathering(proposers, options, result);
  record::Brief told = brief;
  Stopping stopping(options.search);
  for (int turn = 1; turn <= gathering.turns() && !result.failed; ++turn) {
    auto candidates = gathering.next(told, turn);
    if (turn > 1 && candidates.empty() && !stopped(options)) break;
    size_t from = result.attempts.size(), proposed = candidates.size();
    judge_all(told, std::move(candidates), judge, archive, options, progress, result);
    for (size_t i = from; i < result.attempts.size(); ++i)
      told.earlier.push_back(as_earlier(result.attempts[i].candidate, result.attempts[i].verdict));
    if (stopped(options)) {
      const size_t left = proposed - (result.attempts.size() - from);
      result.notes.push_back(fmt::format("interrupted in turn {} of {}{}", turn, gathering.turns(),
                                         left ? fmt::format("; {} candidates were not judged", left) : ""));
      break;
    }
    auto why = turn < gathering.turns() ? stopping.after_turn(told.earlier) : std::nullopt;
    if (!why) continue;
    result.notes.push_back(*why);
    break;
  }
  gathering.finish();
  rank(result);
  note_same_code(result);
  if (result.failed) result.best.reset();
  conclude(result, options);
  return result;
}

}  // namespace ptxlab::loop
