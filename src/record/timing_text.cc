#include "record/timing_text.h"

#include <fmt/format.h>

#include <cmath>

namespace ptxlab::record {
namespace {

// "4.29 TB/s" of a number of billions a second.
std::string rate(double giga, const char* unit) {
  if (giga >= 1000) return fmt::format("{:.3g} T{}", giga / 1000, unit);
  return fmt::format("{:.3g} G{}", giga, unit);
}

std::string rate_of_both(double work, const TimedSize& one, double roofline, const char* unit) {
  double own = work / one.candidate_us / 1e3,
         theirs = work / one.baseline_us / 1e3;  // a microsecond: millions a second
  std::string text = fmt::format("{} against {}", rate(own, unit), rate(theirs, unit));
  if (roofline > 0)
    text +=
        fmt::format(" ({:.0f} and {:.0f} % of what the device does)", 100 * own / roofline, 100 * theirs / roofline);
  return text;
}

std::string size_text(const TimedSize& one) {
  std::string out = fmt::format("  {}: {} against {} of {}: {}, {}\n", one.size, microseconds_text(one.candidate_us),
                                microseconds_text(one.baseline_us), one.baseline,
                                speedup_text(one.speedup, one.low, one.high), name_of(one.outcome));
  if (!one.reason.empty()) out += fmt::format("    {}\n", one.reason);
  for (const auto& rival : one.rivals)
    out += fmt::format("    against {} ({}): {}\n", rival.name, microseconds_text(rival.us),
                       speedup_text(rival.speedup, rival.low, rival.high));
  std::string rates;
  if (one.candidate_us > 0 && one.baseline_us > 0) {
    if (one.bytes > 0) rates += rate_of_both(one.bytes, one, one.roofline_gbs, "B/s");
    if (one.flops > 0)
      rates += (rates.empty() ? "" : "; ") + rate_of_both(one.flops, one, one.roofline_gflops, "FLOP/s");
  }
  if (!rates.empty()) out += fmt::format("    {}\n", rates);
  std::string batch = one.batch > 1 ? fmt::format(" of {} executions each", one.batch) : "";
  out += fmt::format("    {} epochs of {} pairs{}, {} dropped; {} executions checked", one.epochs, one.pairs, batch,
                     one.dropped, one.checked);
  if (one.baseline_mhz > 0) out += fmt::format("; clocks {:.0f} and {:.0f} MHz", one.candidate_mhz, one.baseline_mhz);
  if (one.celsius) out += fmt::format(", {} C", *one.celsius);
  if (one.watts) out += fmt::format(", {} W", *one.watts);
  out += fmt::format("\n    identical kernels differ by up to {:.2f} % here ({})\n", 100 * one.delta, one.delta_source);
  return out;
}

}  // namespace

std::string microseconds_text(double us) {
  if (us < 10) return fmt::format("{:.2f} us", us);
  if (us < 1000) return fmt::format("{:.1f} us", us);
  return fmt::format("{:.3f} ms", us / 1000);
}

std::string speedup_text(double speedup, double low, double high, const std::string& as) {
  std::string text = fmt::format("{:.3f} times as fast{}", speedup, as.empty() ? "" : " as " + as);
  return text + (std::isfinite(high) ? fmt::format(" ({:.3f} to {:.3f})", low, high) : " (interval unknown)");
}

std::string speedup_text(const Timing& timing) {
  if (!timing.first) return speedup_text(timing.speedup, timing.low, timing.high);
  const auto& first = *timing.first;
  return speedup_text(timing.speedup, timing.low, timing.high, timing.against()) + ", " +
         speedup_text(first.speedup, first.low, first.high, first.name);
}

Timing::First over_first(const Timing& timing) {
  if (timing.first) return *timing.first;
  return {timing.against(), timing.speedup, timing.low, timing.high};
}

std::string timing_text(const Timing& timing) {
  std::string out = fmt::format("measured on {}, whose driver supports CUDA {}:\n", timing.device, timing.driver);
  for (const auto& one : timing.sizes) out += size_text(one);
  if (timing.sizes.size() > 1) out += fmt::format("  over the sizes: {}\n", speedup_text(timing));
  return out;
}

}  // namespace ptxlab::record
