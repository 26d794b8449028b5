#include "judge/weak_baseline.h"

#include <fmt/format.h>

#include <string>

#include "estimate/hardware.h"
#include "judge/judge_finding.h"
#include "judge/wrong_output.h"
#include "launch/plan.h"
#include "record/timing_text.h"
#include "task/case.h"

namespace ptxlab::judge {
namespace {

constexpr uint64_t kMuch = uint64_t{4} << 20;  // bytes: less is no work for a whole GPU
constexpr double kIdle = 4;                    // a quarter of the SMs
// What nvcc makes of the repository's nine tasks takes 1.6 to 7.7 times the floor on an H200 wherever it takes longer than this.
constexpr double kSlow = 10;
constexpr double kShort = 50;  // microseconds: below, latencies count that no floor knows

base::Finding weak(std::string message) {
  return judge_finding("JDG0058", base::Severity::note, "a weak baseline: " + std::move(message),
                       "a speed-up over it proves little: add the task's expert, library or Triton kernel as a second "
                       "[[baseline]]");
}

}  // namespace

base::Findings idle_baseline(const task::Task& task, const Baseline& baseline, const isa::Target& target) {
  const int sms = estimate::hardware_of(target).sms;
  for (const auto& timed : task.time) {
    auto bound = task::bind_case(task, task::case_of(timed.sizes, 1));
    if (!bound) continue;
    auto plan = launch::resolve(baseline.plan, baseline.module, bound->binding);
    if (!plan) continue;
    uint64_t bytes = 0;
    for (const auto& buffer : plan->buffers) bytes += buffer.bytes;
    const uint64_t most = most_ctas(*plan);
    if (bytes < kMuch || most == 0 || static_cast<double>(most) * kIdle >= sms) continue;
    std::string size;
    for (const auto& [name, value] : timed.sizes) size += fmt::format("{}{}={}", size.empty() ? "" : " ", name, value);
    return {weak(fmt::format("at {} its largest launch has {} CTA{} for {} SMs and {:.0f} MB", size, most,
                             most == 1 ? "" : "s", sms, static_cast<double>(bytes) / 1e6))};
  }
  return {};
}

base::Findings slow_baseline(std::string_view size, double microseconds, const Floor& floor) {
  if (!(floor.us > 0) || microseconds < kShort || microseconds < kSlow * floor.us) return {};
  return {weak(fmt::format("at {} it takes {}, {:.0f} times what bytes and operations of the task need at least", size,
                           record::microseconds_text(microseconds), microseconds / floor.us))};
}

}  // namespace ptxlab::judge
