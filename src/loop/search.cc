#include "loop/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "loop/optimise.h"

namespace ptxlab::loop {
namespace {

using record::OutcomeName;

// How near a failed attempt is to being right; 0: nothing can be learned from it.
int nearness(OutcomeName outcome) {
  switch (outcome) {
    case OutcomeName::wrong: return 4;
    case OutcomeName::faulted: return 3;
    case OutcomeName::rejected: return 2;
    case OutcomeName::malformed: return 1;
    case OutcomeName::unverified:
    case OutcomeName::slower:
    case OutcomeName::same:
    case OutcomeName::faster:
    case OutcomeName::unstable:
    case OutcomeName::cheating:
    case OutcomeName::infrastructure: return 0;
  }
  return 0;
}

// Leaves the first of each code with its launch; texts that never became code are told apart by themselves.
void each_code_once(std::vector<size_t>& order, const std::vector<record::Earlier>& earlier) {
  std::set<std::string> seen;
  std::erase_if(order, [&](size_t i) {
    const auto& one = earlier[i];
    const auto key = one.verdict.code_digest + "|" + one.candidate.plan.value_or("");
    return !one.verdict.code_digest.empty() && !seen.insert(key).second;
  });
}

std::vector<size_t> right_ones(const std::vector<record::Earlier>& earlier) {
  std::vector<size_t> order;
  for (size_t i = 0; i < earlier.size(); ++i) {
    const auto& verdict = earlier[i].verdict;
    // The kernel itself under another name is no step.
    if (record::is_right(verdict.outcome) && verdict.outcome != OutcomeName::same) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return speed_of(earlier[a].verdict) > speed_of(earlier[b].verdict); });
  each_code_once(order, earlier);
  return order;
}

std::vector<size_t> failed_ones(const std::vector<record::Earlier>& earlier) {
  std::vector<size_t> order;
  for (size_t i = earlier.size(); i-- > 0;)
    if (nearness(earlier[i].verdict.outcome) > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return nearness(earlier[a].verdict.outcome) > nearness(earlier[b].verdict.outcome);
  });
  each_code_once(order, earlier);
  return order;
}

void set_diversity(record::Ask& ask, size_t number, size_t strategy, const SearchOptions& options) {
  if (!options.temperatures.empty()) ask.temperature = options.temperatures[number % options.temperatures.size()];
  if (strategy == 0 || options.strategies.empty()) return;
  const auto& chosen = options.strategies[(strategy - 1) % options.strategies.size()];
  ask.strategy = chosen.name;
  ask.advice = chosen.advice;
}

}  // namespace

double speed_of(const record::Verdict& verdict) {
  if (!record::is_right(verdict.outcome)) return 0;
  return verdict.timing ? verdict.timing->low : verdict.estimated_speedup.value_or(0);
}

std::vector<size_t> survivors(const std::vector<record::Earlier>& earlier, int beam) {
  const auto wide = static_cast<size_t>(std::max(beam, 1));
  auto right = right_ones(earlier), failed = failed_ones(earlier);
  const size_t rights = std::min(right.size(), std::max((wide + 1) / 2, wide - std::min(wide, failed.size())));
  right.resize(rights);
  failed.resize(std::min(failed.size(), wide - rights));
  right.insert(right.end(), failed.begin(), failed.end());
  return right;
}

record::Ask follow_up(const std::vector<record::Earlier>& earlier, size_t index) {
  record::Ask ask;
  ask.job = record::is_right(earlier[index].verdict.outcome) ? record::Job::reflect : record::Job::repair;
  ask.about = index;
  return ask;
}

std::vector<record::Ask> plan_turn(const std::vector<record::Earlier>& earlier, int turn, int count, int offset,
                                   const SearchOptions& options) {
  std::vector<record::Ask> asks;
  const auto going_on = turn > 1 ? survivors(earlier, options.beam) : std::vector<size_t>();
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<size_t>(offset + i);
    record::Ask ask;
    // The first sample of the first turn is free; later turns go on through the list from where it was left.
    size_t strategy = turn == 1 ? number : static_cast<size_t>(turn - 1) * static_cast<size_t>(count) + number;
    // Of four samples one begins anew, so that the beam does not end where it began.
    const bool anew = going_on.empty() || number % 4 == 3;
    if (!anew) {
      ask = follow_up(earlier, going_on[(number - number / 4) % going_on.size()]);
      // What failed is mended as it was meant; what is right goes further, at first as its proposer likes.
      if (ask.job == record::Job::repair || number < going_on.size()) strategy = 0;
    }
    set_diversity(ask, number, strategy, options);
    asks.push_back(std::move(ask));
  }
  return asks;
}

std::optional<std::string> Stopping::after_turn(const std::vector<record::Earlier>& earlier) {
  double best = 0;
  for (const auto& one : earlier) best = std::max(best, speed_of(one.verdict));
  if (options_.goal && best >= *options_.goal)
    return fmt::format("the goal is met: an attempt is {:.3f} times as fast, {:.3f} were asked for", best,
                       *options_.goal);
  // The first right one is a gain too, however fast it is.
  const bool gained = best > 0 && best >= best_ * kWorthMentioning;
  if (gained) best_ = best;
  idle_ = gained ? 0 : idle_ + 1;
  if (options_.patience > 0 && idle_ >= options_.patience)
    return fmt::format("{} turns without gain: the search ends", idle_);
  return std::nullopt;
}

}  // namespace ptxlab::loop
