#include "report/run_data.h"

#include <algorithm>

namespace ptxlab::report {
namespace {

// Measured beats estimated, then the faster one; a right turn without either comes last.
std::pair<int, double> speed_rank(const Turn& turn) {
  if (turn.measured) return {2, turn.measured->value};
  if (turn.estimated) return {1, turn.estimated->value};
  return {0, 0};
}

}  // namespace

std::string_view name_of(SpeedSource source) {
  switch (source) {
    case SpeedSource::measured: return "measured";
    case SpeedSource::estimated: return "estimated";
  }
  return "";
}

bool Sample::right() const {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& t) { return t.right; });
}

bool Sample::assembled() const {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& t) { return t.assembled; });
}

const Turn* Sample::best() const {
  const Turn* best = nullptr;
  for (const auto& turn : turns) {
    if (turn.right && (!best || speed_rank(turn) > speed_rank(*best))) best = &turn;
  }
  return best ? best : turns.empty() ? nullptr : &turns.back();
}

std::optional<int> Sample::first_right() const {
  for (const auto& turn : turns) {
    if (turn.right) return turn.turn;
  }
  return std::nullopt;
}

}  // namespace ptxlab::report
