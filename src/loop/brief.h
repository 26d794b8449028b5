// The brief of a task: what every proposer is told.
#pragma once
#include "judge/baseline.h"
#include "record/record.h"

namespace ptxlab::loop {

record::Brief make_brief(const task::Task& task, const judge::Baseline& baseline,
                         const record::Constraints& constraints, uint64_t seed);

}  // namespace ptxlab::loop
