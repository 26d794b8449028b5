// What the samples of a turn are asked: k questions that differ in strategy and temperature at first; then repairs and steps on from
// the survivors of earlier turns, the best first. Everything follows from the attempts and the options, so a run is the same again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"

namespace ptxlab::loop {

// A direction to try: its name, and what it means.
struct Direction {
  std::string name, advice;
};

struct SearchOptions {
  std::vector<Direction> strategies;  // in the order in which they are tried
  std::vector<double> temperatures;   // by turns among the samples; empty: as the model's user sets it
  int beam = 3;                       // how many attempts the next turn goes on from
  int patience = 0;                   // turns without gain after which the search ends; 0: never
  std::optional<double> goal;         // it ends when a right attempt is this many times as fast
};

// The attempts that the next turn goes on from, best first: half of the beam right ones by their speed, each code once, the rest those
// that failed, the nearest to right and the newest first. Where there are too few of a kind the other fills up.
std::vector<size_t> survivors(const std::vector<record::Earlier>& earlier, int beam);

// Repair for what failed, reflect for what is right.
record::Ask follow_up(const std::vector<record::Earlier>& earlier, size_t index);

// The asks of `count` samples of turn `turn`, from 1. `offset`: samples that others ask in this turn before these.
std::vector<record::Ask> plan_turn(const std::vector<record::Earlier>& earlier, int turn, int count, int offset,
                                   const SearchOptions& options);

// How fast an attempt is: measured where it was (the interval's lower end), else estimated; 0 where it is not right or nobody knows.
double speed_of(const record::Verdict& verdict);

// Whether to go on after a turn; else why not.
class Stopping {
 public:
  explicit Stopping(const SearchOptions& options) : options_(options) {}
  std::optional<std::string> after_turn(const std::vector<record::Earlier>& earlier);

 private:
  const SearchOptions& options_;
  double best_ = 0;
  int idle_ = 0;
};

}  // namespace ptxlab::loop
