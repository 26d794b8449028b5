#include "loop/optimise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "base/finding_json.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "record/json.h"

namespace ptxlab::loop {
namespace {

using record::Attempt;
using record::Candidate;
using record::OutcomeName;

std::string content_key(const Candidate& candidate) {
  return base::sha256(candidate.ptx) + (candidate.plan ? base::sha256(*candidate.plan) : "");
}

// Asks every proposer for the full count and takes turns among their answers, so that none crowds the others out.
std::vector<Candidate> gather(const record::Brief& brief, std::span<record::Proposer* const> proposers, int count,
                              Optimised& result) {
  std::vector<std::vector<Candidate>> answers;
  size_t longest = 0, refused = 0;
  for (auto* proposer : proposers) {
    auto proposal = proposer->propose(brief, count);
    const auto& findings = proposal ? proposal->findings : proposal.findings();
    result.findings.insert(result.findings.end(), findings.begin(), findings.end());
    if (!proposal) {
      ++refused;
      continue;
    }
    if (!proposal->note.empty()) result.notes.push_back(fmt::format("{}: {}", proposer->name(), proposal->note));
    longest = std::max(longest, proposal->candidates.size());
    answers.push_back(std::move(proposal->candidates));
  }
  result.failed = refused == proposers.size();
  std::vector<Candidate> taken;
  std::set<std::string> seen;
  size_t copies = 0;
  for (size_t turn = 0; turn < longest; ++turn) {
    for (auto& answer : answers) {
      if (turn >= answer.size() || static_cast<int>(taken.size()) == count) continue;
      if (seen.insert(content_key(answer[turn])).second) {
        taken.push_back(std::move(answer[turn]));
      } else {
        ++copies;
      }
    }
  }
  if (copies > 0) result.notes.push_back(fmt::format("{} candidates were copies of others and were left out", copies));
  if (static_cast<int>(taken.size()) < count) {
    result.notes.push_back(fmt::format("{} of {} candidates: the proposers had no more", taken.size(), count));
  }
  return taken;
}

bool right(const record::Verdict& verdict) {
  switch (verdict.outcome) {
    case OutcomeName::unverified:
    case OutcomeName::slower:
    case OutcomeName::same:
    case OutcomeName::faster:
    case OutcomeName::unstable: return true;
    case OutcomeName::malformed:
    case OutcomeName::rejected:
    case OutcomeName::faulted:
    case OutcomeName::wrong:
    case OutcomeName::cheating:
    case OutcomeName::infrastructure: return false;
  }
  return false;
}

// Right ones by estimated speed-up; those without an estimate last, in the order proposed.
void rank(Optimised& result) {
  for (size_t i = 0; i < result.attempts.size(); ++i) {
    const auto& attempt = result.attempts[i];
    if (right(attempt.verdict)) result.ranking.push_back(i);
  }
  auto speed = [&](size_t i) { return result.attempts[i].verdict.estimated_speedup.value_or(0); };
  std::stable_sort(result.ranking.begin(), result.ranking.end(),
                   [&](size_t a, size_t b) { return speed(a) > speed(b); });
  if (result.ranking.empty()) return;
  const auto& first = result.attempts[result.ranking.front()].verdict;
  if (first.outcome == OutcomeName::unverified && first.estimated_speedup.value_or(0) >= kWorthMentioning) {
    result.best = result.ranking.front();
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
  if (all([](const record::Verdict& v) { return !v.estimated_speedup && v.outcome != OutcomeName::same; })) {
    return "No candidate could be estimated (that needs ptxas), so none is called better; your kernel stays the "
           "answer.";
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

  auto candidates = gather(brief, proposers, options.candidates, result);
  std::string brief_json = base::print_json(record::to_json(brief), -1);
  std::vector<std::optional<Attempt>> slots(candidates.size());
  std::mutex mutex;
  std::atomic<bool> stop = false;
  size_t done = 0;
  base::parallel_for(candidates.size(), options.threads, [&](size_t i) {
    if (stop) return;
    Attempt attempt;
    attempt.run = result.run.id;
    attempt.task = brief.task.name;
    attempt.brief_json = brief_json;
    attempt.verdict = judge(candidates[i]);
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
    if (progress) progress(done, candidates.size(), attempt);
    slots[i] = std::move(attempt);
  });
  for (auto& slot : slots) {
    if (slot) result.attempts.push_back(*std::move(slot));
  }
  rank(result);
  note_same_code(result);
  if (result.failed) result.best.reset();
  conclude(result, options);
  return result;
}

}  // namespace ptxlab::loop
