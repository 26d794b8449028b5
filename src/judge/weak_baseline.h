// A speed-up says as much as what it is measured against. What shows, without another kernel to compare with, that a baseline is
// weak: notes of the verdict, for whoever quotes it.
//
//   JDG0058 a weak baseline: it leaves most of the GPU idle, or takes many times what the task's [floor] needs
#pragma once
#include <string_view>

#include "base/finding.h"
#include "isa/target.h"
#include "judge/baseline.h"
#include "judge/floor.h"
#include "task/task.h"

namespace ptxlab::judge {

// By its plan: at timed sizes with megabytes to work on, no launch has CTAs for a quarter of the target's SMs.
base::Findings idle_baseline(const task::Task& task, const Baseline& baseline, const isa::Target& target);

// By its time at one size, which is long enough not to be a launch's latency.
base::Findings slow_baseline(std::string_view size, double microseconds, const Floor& floor);

}  // namespace ptxlab::judge
