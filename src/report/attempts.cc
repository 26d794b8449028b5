#include "report/attempts.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "report/table.h"

namespace ptxlab::report {
namespace {

std::string speedup(const std::optional<double>& value) { return value ? fmt::format("{:.2f}x", *value) : "-"; }

std::string time_text(std::chrono::system_clock::time_point at) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

// Several entries: the most any of them takes, since that is what limits.
std::string registers(const record::Verdict& verdict) {
  int most = 0;
  for (const auto& r : verdict.resources) most = std::max(most, r.registers);
  return most ? fmt::format("{}", most) : "-";
}

// What a failed candidate has to say at first: its reason; a right one says its idea.
std::vector<std::string> row(const std::string& place, const record::Attempt& attempt, bool right) {
  const auto& verdict = attempt.verdict;
  return {place,
          attempt.candidate.name,
          std::string(record::name_of(verdict.outcome)),
          verdict.timing ? speedup(verdict.timing->speedup) + " measured" : speedup(verdict.estimated_speedup),
          registers(verdict),
          right ? attempt.candidate.idea : verdict.reason};
}

}  // namespace

std::string ranked_table(std::span<const record::Attempt> attempts, std::span<const size_t> ranking, size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (size_t place = 0; place < ranking.size(); ++place) {
    rows.push_back(row(fmt::format("{}", place + 1), attempts[ranking[place]], true));
  }
  for (size_t i = 0; i < attempts.size(); ++i) {
    if (std::find(ranking.begin(), ranking.end(), i) == ranking.end()) rows.push_back(row("-", attempts[i], false));
  }
  return table({{"#", true}, {"candidate"}, {"outcome"}, {"estimate", true}, {"registers", true}, {"idea or reason"}},
               rows, width);
}

std::string attempt_list(std::span<const archive::AttemptRow> rows, size_t width) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& r : rows) {
    cells.push_back({fmt::format("{}", r.id), time_text(r.at), r.task, r.proposer, r.name, r.outcome,
                     speedup(r.estimated_speedup), r.reason.empty() ? r.idea : r.reason});
  }
  return table({{"id", true},
                {"time (UTC)"},
                {"task"},
                {"proposer"},
                {"candidate"},
                {"outcome"},
                {"estimate", true},
                {"reason"}},
               cells, width);
}

std::string run_list(std::span<const archive::Run> runs, size_t width) {
  std::vector<std::vector<std::string>> cells;
  for (const auto& r : runs) {
    cells.push_back({r.id, r.task, r.target, r.proposers, fmt::format("{}", r.attempts), r.command});
  }
  return table({{"run"}, {"task"}, {"target"}, {"proposers"}, {"attempts", true}, {"command"}}, cells, width);
}

}  // namespace ptxlab::report
