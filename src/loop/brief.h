// The brief of a task: what every proposer is told.
#pragma once
#include "judge/baseline.h"
#include "judge/judge.h"
#include "record/record.h"

namespace ptxlab::loop {

record::Brief make_brief(const task::Task& task, const judge::Baseline& baseline,
                         const record::Constraints& constraints, uint64_t seed);

// Adds what the engine says of the baseline at the timed sizes, where it can: hot lines, and what its time goes into.
void add_figures(record::Brief& brief, judge::Judge& judge, const judge::JudgeOptions& options);

}  // namespace ptxlab::loop
