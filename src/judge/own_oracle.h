// A user's kernel as its own oracle: eight runs in which every inexact float operation goes up or down at random. Their mean
// is the right value, and how far they lie apart says how sharply the kernel's own arithmetic determines it.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "judge/baseline.h"
#include "judge/emulate.h"
#include "simt/engine.h"
#include "task/case.h"
#include "task/oracle.h"
#include "task/view.h"

namespace ptxlab::judge {

inline constexpr int kRandomRuns = 8;

struct OwnAnswers {
  std::vector<std::vector<task::Expected>> expected;  // by view, all elements in order
  bool random = false;                                // something was rounded, so that the spread means something
  uint64_t loose = 0;                                 // elements on whose NaN or infinity the runs disagree
  uint64_t varying = 0;                               // integers that depend on how floats are rounded
};

struct OwnOracleInput {
  const task::Task& task;
  const Baseline& baseline;
  const launch::ResolvedPlan& plan;
  const task::CaseData& data;
  const CaseRun& nearest;  // the run with ordinary rounding
  const std::vector<task::View>& views;
  uint64_t seed;
  std::function<std::unique_ptr<simt::Engine>()> engine;
  bool cache = true;  // kept by content between processes
};

// The runs, or what an earlier process kept of them.
OwnAnswers own_answers(const OwnOracleInput& input);

}  // namespace ptxlab::judge
