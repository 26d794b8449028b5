#include "judge/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "judge/calibration_kernels.h"
#include "judge/epochs.h"
#include "judge/judge_finding.h"
#include "stats/summary.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kReopen = 25;        // comparisons of one open contest: more would share its memory
constexpr double kPlantedTime = 0.3;    // of a class's time
constexpr uint64_t kPlantedShare = 60;  // A/A comparisons for each of one planted difference, kernel and sign
constexpr uint64_t kFewestPlanted = 10;
constexpr double kSizeWithin = 0.05;  // of the class's size
constexpr int kTrials = 8;
constexpr double kSlopeStep = 0.25;  // more work, for the slope
constexpr double kMargin = 1.25;     // on delta so far: pooled with more data it may grow
constexpr double kPercents[] = {1, -1, 2, -2, 5, -5};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

base::Finding failed(std::string why) {
  return judge_finding("JDG0042", base::Severity::error, "the calibration's kernels: " + std::move(why),
                       "'ptxlab doctor' says what is there");
}

std::string now_text() {
  auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

base::Result<gpu::Opened> open(gpu::Runner& runner, const gpu::Contest& contest) {
  auto opened = runner.open(contest, open_limit(contest));
  if (opened && opened->end != gpu::Done::End::executed) return failed(opened->message);
  return opened;
}

base::Result<gpu::Measured> measure(gpu::Runner& runner, const gpu::Opened& opened, uint32_t epochs) {
  auto measured = runner.measure({epochs, {}}, measure_limit(opened, epochs));
  if (!measured) return measured;
  if (measured->end != gpu::Done::End::executed) return failed(measured->message);
  if (!measured->mismatches.empty()) return failed("a timed launch put out something else than the one before it");
  return measured;
}

// One comparison by the looks. `decided`: whether a later delta could not change what this look says.
base::Result<Comparison> compare(gpu::Runner& runner, const gpu::Opened& opened, CalibrationRun& run,
                                 const std::function<bool(const stats::Interval&)>& decided) {
  Comparison comparison;
  stats::Sample sample;
  for (size_t look = 0; look < stats::kLooks.size(); ++look) {
    auto more = static_cast<uint32_t>(stats::kLooks[look].epochs - sample.epochs());
    auto measured = measure(runner, opened, more);
    if (!measured) return measured.findings();
    if (measured->epochs.size() != more) return failed("the worker measured fewer epochs than it was asked for");
    add(sample, *measured);
    auto decision = stats::decide(sample, look, {.resolution = resolution_of(opened)});
    comparison.push_back(kept(decision));
    if (decision.trouble.empty() && decided(decision.interval)) break;
  }
  run.epochs += sample.epochs();
  run.dropped += sample.dropped();
  return comparison;
}

bool within_one_percent(const stats::Interval& interval) {
  return stats::call_of(interval, {.delta = 1e9}) == stats::Call::same;
}

void describe(CalibrationRun& run, const gpu::Opened& opened) {
  run.pairs = opened.pairs;
  run.batch = opened.batch;
  run.event_overhead = opened.event_overhead;
}

// --- one class ------------------------------------------------------------------------------------------------------------
// Work that takes about as long as the class says, and how much more of it makes one percent.
struct Tuned {
  uint32_t work = 1;
  double us = 0;
  double share_a_step = 0;  // relative time of one step more
};

class Session {
 public:
  Session(gpu::Runner& runner, std::string code, const CalibrateOptions& options)
      : runner_(runner), code_(std::move(code)), options_(options) {
    start_ = options.now();
    made_ = now_text();
  }

  Calibrated run() {
    const auto& hello = runner_.hello();
    result_.calibration.gpu = hello.device;
    result_.calibration.driver = driver_text(hello.driver);
    for (size_t i = 0; i < options_.sizes_us.size() && !base::has_error(result_.findings); ++i) {
      if (out_of_time(0)) break;
      double left = options_.seconds > 0 ? options_.seconds - elapsed() : 0;
      class_end_ = elapsed() + left / static_cast<double>(options_.sizes_us.size() - i);
      CalibrationClass one{options_.sizes_us[i], {}};
      measure_class(one);
      if (!one.runs.empty()) pool(result_.calibration, {hello.device, result_.calibration.driver, {one}});
    }
    if (out_of_time(0))
      result_.findings.push_back(judge_finding(
          "JDG0043", base::Severity::note, fmt::format("stopped after {:g} seconds, as asked for", options_.seconds),
          "'--pool FILE' adds another run to this one"));
    return std::move(result_);
  }

 private:
  double elapsed() const { return seconds_between(start_, options_.now()); }
  bool out_of_time(double reserve) const { return options_.seconds > 0 && elapsed() + reserve >= options_.seconds; }
  void say(const std::string& line) const {
    if (options_.progress) options_.progress(line);
  }
  bool took(const base::Findings& findings) {
    result_.findings.insert(result_.findings.end(), findings.begin(), findings.end());
    return !base::has_error(findings);
  }
  uint64_t next_seed() { return base::derive_seed(options_.seed, fmt::format("contest {}", ++contests_)); }

  void measure_class(CalibrationClass& one) {
    std::vector<Tuned> tuned;
    double begin = elapsed(), span = std::max(0.0, class_end_ - begin);
    for (size_t k = 0; k < kCalibrationKernels.size(); ++k) {
      auto kernel = kCalibrationKernels[k];
      auto found = tune(kernel, one.size_us);
      if (!found) {
        took(found.findings());
        return;
      }
      tuned.push_back(*found);
      CalibrationRun run;
      run.label = options_.label;
      run.kernel = std::string(name_of(kernel));
      run.made = made_;
      run.driver = result_.calibration.driver;
      run.us = found->us;
      double until = begin + span * (1 - kPlantedTime) * static_cast<double>(k + 1) / kCalibrationKernels.size();
      bool fine = even(kernel, *found, run, until);
      one.runs.push_back(std::move(run));
      if (!fine) return;
      say(fmt::format("{:g} us, {}: {} comparisons of {:.2f} us, {:.3f} s each", one.size_us, name_of(kernel),
                      one.runs.back().even.size(), found->us,
                      one.runs.back().seconds / std::max<double>(1, static_cast<double>(one.runs.back().even.size()))));
    }
    double delta = kMargin * figures_of(one).delta;
    size_t steps = std::size(kPercents) * kCalibrationKernels.size(), step = 0;
    for (double percent : kPercents) {
      for (size_t k = 0; k < kCalibrationKernels.size(); ++k) {
        ++step;
        double until =
            begin + span * (1 - kPlantedTime + kPlantedTime * static_cast<double>(step) / static_cast<double>(steps));
        if (!planted(kCalibrationKernels[k], tuned[k], percent, delta, one.runs[k], until)) return;
      }
    }
  }

  // The median time of both arms, and the estimate between them.
  struct Trial {
    double us = 0, log_ratio = 0;
  };
  base::Result<Trial> trial(CalibrationKernel kernel, uint32_t a, uint32_t b, uint32_t epochs) {
    auto opened = open(runner_, calibration_contest(kernel, code_, a, b, next_seed()));
    if (!opened) return opened.findings();
    auto measured = measure(runner_, *opened, epochs);
    if (!measured) return measured.findings();
    std::vector<double> times, ratios;
    for (const auto& epoch : measured->epochs) {
      for (const auto& pair : epoch.pairs) times.push_back(static_cast<double>(pair.microseconds[0]));
      auto plain = times_of(epoch);
      if (stats::counts(plain) != stats::Counted::no_times) ratios.push_back(stats::estimate_of(plain));
    }
    if (ratios.empty()) return failed("no times were measured");
    return Trial{stats::median(times), stats::median(ratios)};
  }

  base::Result<Tuned> tune(CalibrationKernel kernel, double us) {
    double work = first_guess(kernel, us), last_work = 0, last_us = 0;
    Tuned best;
    for (int i = 0; i < kTrials; ++i) {
      auto steps = static_cast<uint32_t>(std::clamp(std::nearbyint(work), 1.0, 4e8));
      auto made = trial(kernel, steps, steps, 1);
      if (!made) return made.findings();
      if (best.us == 0 || std::fabs(std::log(made->us / us)) < std::fabs(std::log(best.us / us)))
        best.work = steps, best.us = made->us;
      if (std::fabs(made->us / us - 1) <= kSizeWithin) break;
      // Along the line through this trial and the last one; at first, two microseconds are the launch's own.
      double slope = last_work > 0 && steps != last_work ? (made->us - last_us) / (steps - last_work) : 0;
      if (!(slope > 0)) slope = std::max(0.2, made->us - 2) / steps;
      last_work = steps, last_us = made->us;
      work = std::clamp(steps + (us - made->us) / slope, steps / 8.0, steps * 8.0);
      if (std::nearbyint(work) == steps) break;
    }
    auto more = std::max(best.work + 1, static_cast<uint32_t>(std::nearbyint(best.work * (1 + kSlopeStep))));
    auto slope = trial(kernel, more, best.work, 4);
    if (!slope) return slope.findings();
    best.share_a_step = std::expm1(slope->log_ratio) / (more - best.work);
    say(fmt::format("{:g} us, {}: {} steps take {:.2f} us, a step more {:.4f} %", us, name_of(kernel), best.work,
                    best.us, 100 * best.share_a_step));
    return best;
  }

  bool even(CalibrationKernel kernel, const Tuned& tuned, CalibrationRun& run, double until) {
    uint64_t wanted = std::max<uint64_t>(1, options_.comparisons / kCalibrationKernels.size());
    auto over = [&] {
      return run.even.size() >= wanted || (options_.seconds > 0 && (elapsed() >= until || out_of_time(0)));
    };
    while (!over()) {
      auto opened = open(runner_, calibration_contest(kernel, code_, tuned.work, tuned.work, next_seed()));
      if (!opened) return took(opened.findings());
      uint64_t enough = run.even.size() + kReopen;
      if (!took(compare_even(runner_, *opened, run, [&] { return run.even.size() >= enough || over(); }))) return false;
    }
    return true;
  }

  bool planted(CalibrationKernel kernel, const Tuned& tuned, double percent, double delta, CalibrationRun& run,
               double until) {
    uint64_t wanted = std::max(kFewestPlanted, options_.comparisons / kPlantedShare);
    if (!(tuned.share_a_step > 0)) {
      result_.findings.push_back(
          judge_finding("JDG0044", base::Severity::warning,
                        fmt::format("{}: more work does not take longer: no difference is planted", name_of(kernel))));
      return true;
    }
    auto more = static_cast<uint32_t>(std::max(1.0, std::nearbyint(std::fabs(percent) / 100 / tuned.share_a_step)));
    uint32_t a = tuned.work + (percent > 0 ? more : 0), b = tuned.work + (percent < 0 ? more : 0);
    CalibrationRun::Planted made;
    made.percent = percent;
    made.actual = (percent > 0 ? 100.0 : -100.0) * more * tuned.share_a_step;
    auto over = [&] {
      return made.comparisons.size() >= wanted || (options_.seconds > 0 && (elapsed() >= until || out_of_time(0)));
    };
    auto decided = [&](const stats::Interval& interval) {
      return interval.low > delta || interval.high < -delta || within_one_percent(interval);
    };
    bool fine = true;
    auto begin = Clock::now();
    while (fine && !over()) {
      auto opened = open(runner_, calibration_contest(kernel, code_, a, b, next_seed()));
      if (!opened) {
        fine = took(opened.findings());
        break;
      }
      for (uint64_t i = 0; i < kReopen && !over(); ++i) {
        auto comparison = compare(runner_, *opened, run, decided);
        if (!comparison) {
          fine = took(comparison.findings());
          break;
        }
        made.comparisons.push_back(*comparison);
      }
    }
    run.seconds += seconds_between(begin, Clock::now());
    if (!made.comparisons.empty()) run.planted.push_back(std::move(made));
    return fine;
  }

  gpu::Runner& runner_;
  std::string code_, made_;
  const CalibrateOptions& options_;
  Clock::time_point start_;
  double class_end_ = 0;
  uint64_t contests_ = 0;
  Calibrated result_;
};

}  // namespace

base::Findings compare_even(gpu::Runner& runner, const gpu::Opened& opened, CalibrationRun& run,
                            const std::function<bool()>& enough) {
  describe(run, opened);
  auto begin = Clock::now();
  base::Findings findings;
  while (!enough()) {
    // Within 1 % it is the same or, under a small delta, a false alarm: no further look would be taken.
    auto comparison = compare(runner, opened, run, within_one_percent);
    if (!comparison) {
      findings = comparison.findings();
      break;
    }
    run.even.push_back(std::move(*comparison));
  }
  run.seconds += seconds_between(begin, Clock::now());
  return findings;
}

base::Result<Calibrated> calibrate(gpu::Runner& runner, const Assemblers& assemblers, const CalibrateOptions& options) {
  std::string code(calibration_ptx());
  if (const toolchain::Tool* ptxas = assemblers.taking(70)) {
    toolchain::AssembleOptions how;
    isa::Target oldest;
    oldest.sm = 70;
    how.target = target_on_gpu(oldest, runner.hello().sm);
    auto assembled = toolchain::assemble(*ptxas, code, "calibration.ptx", how);
    if (!assembled) return assembled.findings();
    code = std::move(assembled->cubin);
  }
  auto made = Session(runner, std::move(code), options).run();
  if (made.calibration.classes.empty() && base::has_error(made.findings)) return made.findings;
  return made;
}

std::string table(const Calibration& calibration) {
  std::string text =
      fmt::format("{:>8} {:>11} {:>8} {:>15} {:>11} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "size us", "comparisons",
                  "delta %", "false positives", "upper bound", "1 %", "2 %", "5 %", "seconds", "dropped");
  for (const auto& one : calibration.classes) {
    auto figures = figures_of(one);
    auto power = [&](int percent) {
      auto at = figures.power.find(percent);
      return at == figures.power.end() ? std::string("-") : fmt::format("{:.2f}", at->second.share());
    };
    text += fmt::format("{:>8g} {:>11} {:>8.3f} {:>15} {:>9.2f} % {:>7} {:>7} {:>7} {:>10.3f} {:>6.1f} %\n",
                        one.size_us, figures.comparisons, 100 * figures.delta, figures.false_positives,
                        100 * figures.false_positive_upper, power(1), power(2), power(5), figures.seconds,
                        100 * figures.dropped);
    for (const auto& group : figures.groups)
      text += fmt::format("{:>8} {:>11} {:>8.3f} {:>15} {:>11} {}{:+.3f} %{}\n", "", group.comparisons,
                          100 * group.delta, group.false_positives, "", group.label + ": median ", 100 * group.median,
                          group.agrees ? "" : ", DISAGREES");
  }
  return text;
}

}  // namespace ptxlab::judge
