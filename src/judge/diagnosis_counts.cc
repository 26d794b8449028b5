// Results that are counted together by many threads: updates that are lost, made twice, or made in another place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/diagnosis.h"

namespace ptxlab::judge {
namespace {

struct Ledger {
  double lost = 0, extra = 0, all = 0;  // counts
  size_t less = 0, more = 0;            // bins
  bool at_most_twice = true;            // no bin has more than twice what it should
  std::map<int64_t, double> moved;      // counts, by the distance from the nearest bin that lacks some
};

Ledger ledger_of(const WrongOutput& out) {
  Ledger ledger;
  std::vector<size_t> lacking;
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] == ElementState::not_counted) continue;
    const double more = out.got[i] - out.want[i];
    ledger.all += out.want[i];
    if (more < 0) ledger.lost -= more, ++ledger.less, lacking.push_back(i);
    if (more > 0) ledger.extra += more, ++ledger.more;
    ledger.at_most_twice = ledger.at_most_twice && out.got[i] <= 2 * out.want[i];
  }
  for (size_t i = 0; i < out.state.size() && !lacking.empty(); ++i) {
    if (out.state[i] == ElementState::not_counted || out.got[i] <= out.want[i]) continue;
    const size_t from = *std::min_element(lacking.begin(), lacking.end(), [&](size_t a, size_t b) {
      return std::llabs(static_cast<int64_t>(a) - static_cast<int64_t>(i)) <
             std::llabs(static_cast<int64_t>(b) - static_cast<int64_t>(i));
    });
    ledger.moved[static_cast<int64_t>(i) - static_cast<int64_t>(from)] += out.got[i] - out.want[i];
  }
  return ledger;
}

std::optional<Diagnosis> counts(const std::vector<WrongCase>& cases, size_t output) {
  size_t only_lost = 0, only_extra = 0, moved = 0;
  Ledger sum;
  std::string example;
  for (const auto& one : cases) {
    if (output >= one.outputs.size() || !one.outputs[output].accumulates) return std::nullopt;
    if (one.outputs[output].bad() == 0) continue;
    const auto ledger = ledger_of(one.outputs[output]);
    if (ledger.lost > 0 && ledger.extra == 0) {
      ++only_lost;
    } else if (ledger.extra > 0 && ledger.lost == 0 && ledger.at_most_twice) {
      ++only_extra;
    } else if (ledger.lost == ledger.extra) {
      ++moved;
    } else {
      return std::nullopt;
    }
    sum.lost += ledger.lost, sum.extra += ledger.extra, sum.all += ledger.all;
    for (const auto& [distance, count] : ledger.moved) sum.moved[distance] += count;
    if (example.empty() || ledger.lost + ledger.extra > 100)
      example = fmt::format("{}: {} bins have too little and {} too much, of {:.0f} counts", one.label(), ledger.less,
                            ledger.more, ledger.all);
  }
  if (moved > 0 && only_lost + only_extra > 0) return std::nullopt;
  if (moved > 0) {
    const auto most = std::max_element(sum.moved.begin(), sum.moved.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return Diagnosis{Pattern::wrong_bin,
                     fmt::format("in {} cases the counts add up to the right sum, {:.0f} of {:.0f} in another bin, "
                                 "{:.0f} % of these {} {} a bin that lacks them; {}",
                                 moved, sum.extra, sum.all, 100 * most->second / sum.extra, std::llabs(most->first),
                                 most->first > 0 ? "above" : "below", example)};
  }
  if (only_lost + only_extra == 0) return std::nullopt;
  std::string text;
  if (only_lost) text += fmt::format("in {} cases counts are lost and none is too much", only_lost);
  if (only_extra)
    text += fmt::format("{}in {} cases counts are too much and none is lost", text.empty() ? "" : ", ", only_extra);
  return Diagnosis{Pattern::updates, fmt::format("{}: {:.0f} lost and {:.0f} too many of {:.0f}; {}", text, sum.lost,
                                                 sum.extra, sum.all, example)};
}

}  // namespace

std::optional<Diagnosis> diagnose_counts(const std::vector<WrongCase>& cases) {
  if (cases.empty()) return std::nullopt;
  for (size_t output = 0; output < cases.front().outputs.size(); ++output)
    if (auto found = counts(cases, output)) return found;
  return std::nullopt;
}

}  // namespace ptxlab::judge
