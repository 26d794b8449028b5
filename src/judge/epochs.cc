#include "judge/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stats/summary.h"

namespace ptxlab::judge {
namespace {

constexpr double kEventStep = 0.032;  // microseconds, as measured on an H200

double clock_of(const gpu::Epoch& epoch, size_t arm) {
  std::vector<double> clocks;
  for (const auto& pair : epoch.pairs)
    if (pair.mhz[arm] > 0) clocks.push_back(static_cast<double>(pair.mhz[arm]));
  return clocks.empty() ? 0 : stats::median(clocks);
}

}  // namespace

stats::EpochTimes times_of(const gpu::Epoch& epoch) {
  stats::EpochTimes times;
  for (const auto& pair : epoch.pairs) {
    times.a.push_back(static_cast<double>(pair.microseconds[0]));
    times.b.push_back(static_cast<double>(pair.microseconds[1]));
  }
  times.mhz_a = clock_of(epoch, 0);
  times.mhz_b = clock_of(epoch, 1);
  times.throttled = ((epoch.before.throttle.value_or(0) | epoch.after.throttle.value_or(0)) & gpu::kThrottling) != 0;
  return times;
}

void add(stats::Sample& sample, const gpu::Measured& measured) {
  for (const auto& epoch : measured.epochs) stats::add(sample, times_of(epoch));
}

double resolution_of(const gpu::Opened& opened) {
  double shortest = std::min(opened.microseconds[0], opened.microseconds[1]) * std::max(1u, opened.batch);
  return shortest > 0 ? std::min(1.0, kEventStep / shortest) : 1;
}

std::chrono::milliseconds open_limit(const gpu::Contest& contest) {
  double bytes = 0;
  for (const auto& buffer : contest.sides[0].plan.buffers) bytes += static_cast<double>(buffer.bytes);
  return std::chrono::milliseconds(30'000 + static_cast<int64_t>(bytes / 100e3));  // a tenth of a GB a second
}

std::chrono::milliseconds measure_limit(const gpu::Opened& opened, uint32_t epochs) {
  double launches = 2.0 * std::max(1u, opened.pairs) * epochs * std::max(1u, opened.batch);
  double each = std::max(opened.microseconds[0], opened.microseconds[1]) / 1e3 + opened.reserved_bytes / 100e6;
  return std::chrono::milliseconds(30'000 + static_cast<int64_t>(std::min(1e9, 20 * launches * each)));
}

std::string driver_text(uint32_t driver) { return fmt::format("{}.{}", driver / 1000, driver % 1000 / 10); }

}  // namespace ptxlab::judge
