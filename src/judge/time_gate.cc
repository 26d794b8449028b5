#include "judge/time_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/calibrate.h"
#include "judge/contest.h"
#include "judge/epochs.h"
#include "judge/floor.h"
#include "judge/judge_finding.h"
#include "judge/timed_outputs.h"
#include "judge/weak_baseline.h"
#include "record/timing_text.h"
#include "stats/summary.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using record::GateStatus;
using record::OutcomeName;
using record::TimedSize;
using Clock = std::chrono::steady_clock;

constexpr size_t kOwnComparisons = 120;  // of the baseline with itself, where there is no calibration
constexpr size_t kOwnFewest = 60;        // enough where they are
constexpr double kOwnTight = 0.001;      // as close together as this

OutcomeName outcome_of(stats::Call call) {
  switch (call) {
    case stats::Call::faster: return OutcomeName::faster;
    case stats::Call::slower: return OutcomeName::slower;
    case stats::Call::same: return OutcomeName::same;
    case stats::Call::unstable: return OutcomeName::unstable;
  }
  return OutcomeName::unstable;
}

std::string sizes_text(const task::Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

bool keeps_state(const task::Task& task, const ptx::Module& module) {
  if (std::find(task.allow.begin(), task.allow.end(), "state") == task.allow.end()) return false;
  return std::any_of(module.variables.begin(), module.variables.end(),
                     [](const ptx::Variable& variable) { return variable.space == isa::Space::global; });
}

// Median, and how far the middle half reaches, relative to it.
struct Times {
  double median = 0, spread = 0, mhz = 0;
};
Times times_of_arm(const std::vector<gpu::Epoch>& epochs, size_t arm) {
  std::vector<double> times, clocks;
  for (const auto& epoch : epochs) {
    if (stats::counts(times_of(epoch)) != stats::Counted::yes) continue;
    for (const auto& pair : epoch.pairs) {
      double time = static_cast<double>(pair.microseconds[arm]), clock = static_cast<double>(pair.mhz[arm]);
      if (std::isfinite(time) && time > 0) times.push_back(time);
      if (std::isfinite(clock) && clock > 0) clocks.push_back(clock);
    }
  }
  Times made;
  if (!times.empty()) {
    made.median = stats::median(times);
    made.spread = (stats::quantile(times, 0.75) - stats::quantile(times, 0.25)) / made.median;
  }
  if (!clocks.empty()) made.mhz = stats::median(clocks);
  return made;
}

// 0 where no launch of the arm has a usable time.
double median_time(const gpu::Epoch& epoch, size_t arm) {
  std::vector<double> times;
  for (const auto& pair : epoch.pairs) {
    double time = static_cast<double>(pair.microseconds[arm]);
    if (std::isfinite(time) && time > 0) times.push_back(time);
  }
  return times.empty() ? 0 : stats::median(times);
}

std::vector<TimedSize::Epoch> samples_of(const std::vector<gpu::Epoch>& epochs) {
  std::vector<TimedSize::Epoch> made;
  for (const auto& epoch : epochs) {
    const auto times = times_of(epoch);
    const auto counted = stats::counts(times);
    TimedSize::Epoch one;
    one.counted = counted == stats::Counted::yes;
    if (counted != stats::Counted::no_times) {
      one.speedup = std::exp(stats::estimate_of(times));
      one.baseline_us = median_time(epoch, 0);
      one.candidate_us = median_time(epoch, 1);
    }
    made.push_back(one);
  }
  return made;
}

struct Code {
  std::string bytes;
  std::string why;  // not made
};

class Gate {
 public:
  explicit Gate(const TimeInput& input) : input_(input), task_(input.prepared.task) {}

  TimeResult run() {
    if (input_.prepared.timed.empty()) return skipped("the task has no timed sizes");
    auto own = code_of(input_.ptx, input_.file, input_.module, input_.target);
    if (!own.why.empty()) return skipped("it does not assemble for the GPU that is here: " + own.why);
    code_ = std::move(own.bytes);
    timing_.device = input_.runner.hello().device;
    timing_.driver = driver_text(input_.runner.hello().driver);
    for (size_t i = 0; i < input_.prepared.timed.size(); ++i) {
      if (!time_size(i)) return std::move(result_);
    }
    over_the_sizes();
    result_.outcome = judge::outcome_of(timing_, result_.outcome_reason);
    result_.outcome_reason += fmt::format(" on {}", timing_.device);
    result_.status = result_.outcome == OutcomeName::unstable ? GateStatus::failed : GateStatus::passed;
    result_.reason = record::speedup_text(timing_);
    result_.timing = std::move(timing_);
    return std::move(result_);
  }

 private:
  void over_the_sizes() {
    std::vector<stats::Interval> strongest, first;
    std::vector<double> weights;
    const std::string own = name_of(*input_.baselines.front());
    bool others = false;
    const auto logs = [](const auto& one) {
      return stats::Interval{std::log(one.low), std::log(one.high), std::log(one.speedup)};
    };
    for (const auto& one : timing_.sizes) {
      strongest.push_back(logs(one));
      weights.push_back(one.weight);
      auto rival = std::find_if(one.rivals.begin(), one.rivals.end(), [&](const auto& r) { return r.name == own; });
      const bool other = one.baseline != own && rival != one.rivals.end();
      first.push_back(other ? logs(*rival) : logs(one));
      others = others || other;
    }
    auto all = stats::pooled(strongest, weights);
    timing_.speedup = std::exp(all.center), timing_.low = std::exp(all.low), timing_.high = std::exp(all.high);
    if (!others) return;
    all = stats::pooled(first, weights);
    timing_.first = {own, std::exp(all.center), std::exp(all.low), std::exp(all.high)};
  }

  TimeResult skipped(std::string why) {
    result_.status = GateStatus::skipped;
    result_.reason = std::move(why);
    return std::move(result_);
  }
  void note(Severity severity, const char* code, std::string message, std::string hint = "") {
    result_.findings.push_back(judge_finding(code, severity, std::move(message), std::move(hint)));
  }
  bool end(OutcomeName outcome, std::string reason) {
    result_.status = GateStatus::failed;
    result_.outcome = outcome;
    result_.outcome_reason = std::move(reason);
    return false;
  }

  // For `judged`, where it is given; else for what the module is made for, as far as the GPU goes.
  Code code_of(std::string_view ptx, std::string_view file, const ptx::Module& module,
               const std::optional<isa::Target>& judged) const {
    const toolchain::Tool* ptxas = input_.assemblers.taking(module.version);
    if (!ptxas) return {std::string(ptx), ""};
    toolchain::AssembleOptions how;
    how.target = target_on_gpu(module.target, input_.runner.hello().sm, judged);
    auto assembled = toolchain::assemble(*ptxas, ptx, file, how);
    if (!assembled) return {"", assembled.findings().front().message};
    return {std::move(assembled->cubin), ""};
  }

  // --- one size ----------------------------------------------------------------------------------------------------------
  bool time_size(size_t i) {
    const task::CaseData& bound = input_.prepared.timed[i];
    size_ = sizes_text(bound.what.sizes);
    auto kept =
        input_.inputs.get(input_.key + "|" + size_, [&] { return make_timed_input(task_, bound.what, input_.oracle); });
    if (!*kept) {
      result_.findings.insert(result_.findings.end(), kept->findings().begin(), kept->findings().end());
      return end(OutcomeName::infrastructure,
                 fmt::format("{}: its inputs cannot be made: {}", size_, kept->findings().front().message));
    }
    std::vector<TimedSize> against;
    for (size_t b = 0; b < input_.baselines.size(); ++b) {
      auto timed = time_against(*input_.baselines[b], kept, i, b == 0);
      if (timed) against.push_back(std::move(*timed));
      if (result_.outcome || result_.status == GateStatus::skipped) return false;
    }
    // Against the strongest; the others stand beside it.
    auto strongest = std::min_element(against.begin(), against.end(),
                                      [](const auto& a, const auto& b) { return a.speedup < b.speedup; });
    TimedSize chosen = *strongest;
    for (const auto& other : against)
      if (&other != &*strongest)
        chosen.rivals.push_back({other.baseline, other.baseline_us, other.speedup, other.low, other.high});
    chosen.size = size_;
    chosen.weight = task_.time[i].weight;
    timing_.sizes.push_back(std::move(chosen));
    return true;
  }

  base::Result<gpu::Contest> contest_of(const Baseline& baseline, const TimedInputs::Kept& kept, size_t i) const {
    const TimedInput& input = **kept;
    auto theirs = launch::resolve(baseline.plan, baseline.module, input.data.binding);
    if (!theirs) return theirs.findings();
    // A further baseline is what it is on this GPU, whatever candidates are held to.
    const bool first = &baseline == input_.baselines.front();
    Code code = code_of(baseline.ptx, baseline.ptx_file, baseline.module, first ? input_.target : std::nullopt);
    if (!code.why.empty())
      return judge_finding(
          "JDG0050", Severity::error,
          fmt::format("{} does not assemble for the GPU that is here: {}", baseline.ptx_file, code.why));
    gpu::Contest contest;
    contest.sides[0] = {std::move(code.bytes), std::move(*theirs), keeps_state(task_, baseline.module)};
    contest.sides[1] = {code_, input_.plans[i], keeps_state(task_, input_.module)};
    contest.shared = static_cast<uint32_t>(input.data.binding.buffers.size());
    for (const auto& bytes : input.data.inputs)
      contest.contents.emplace_back(kept, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    contest.elements = elements_of_buffers(task_);
    contest.change = input.change;
    contest.seed = input_.seed;
    return contest;
  }

  static std::string name_of(const Baseline& baseline) {
    return std::filesystem::path(baseline.ptx_file).filename().string();
  }

  // Nothing: either the whole is decided, or this baseline is left out.
  std::optional<TimedSize> time_against(const Baseline& baseline, const TimedInputs::Kept& kept, size_t i, bool own) {
    const TimedInput& input = **kept;
    auto contest = contest_of(baseline, kept, i);
    if (!contest) {
      const std::string why = contest.findings().front().message;
      if (own) {
        end(OutcomeName::infrastructure, why);
      } else {
        note(Severity::note, "JDG0051", fmt::format("{}: not timed: {}", name_of(baseline), why));
      }
      return std::nullopt;
    }
    gpu::Contest even = *contest;  // for a calibration of its own
    even.sides[1] = even.sides[0];
    even.outputs = false;
    ContestRun run(input_.runner, std::move(*contest));
    if (!run.open()) return over(run, own, baseline), std::nullopt;
    if (!put_out_right(run, input, baseline, own)) return std::nullopt;
    allow_rounding(run, input);
    run.forget_outputs();
    auto delta = delta_of(run, even);
    if (!delta) return std::nullopt;
    return decide(run, input, baseline, *delta, own);
  }

  void allow_rounding(ContestRun& run, const TimedInput& input) const {
    const auto& looks = run.opened().looks;
    bool any = std::any_of(looks.begin(), looks.end(), [](const auto& arm) {
      return std::any_of(arm.begin(), arm.end(), [](const auto& look) { return !look.unsteady.empty(); });
    });
    if (any) run.allow_apart(apart_of({input_.prepared, input, input_.oracle, run.opened()}));
  }

  void over(const ContestRun& run, bool own, const Baseline& baseline) {
    const auto& why = run.end();
    if (!own) return note(Severity::note, "JDG0051", fmt::format("{}: not timed: {}", name_of(baseline), why.reason));
    if (why.does_not_fit) {
      result_.status = GateStatus::skipped;
      result_.reason = fmt::format("{}: the buffers do not fit on the GPU: {}", size_, why.reason);
      return;
    }
    if (why.outcome == OutcomeName::faulted) {
      note(Severity::error, "JDG0030", fmt::format("{}: on the GPU: {}", size_, why.reason),
           "the CPU engine's checkers name the line where they see it too");
      end(OutcomeName::faulted, fmt::format("at {} on the GPU: {}", size_, why.reason));
      return;
    }
    end(OutcomeName::infrastructure, fmt::format("at {}: the GPU worker: {}", size_, why.reason));
  }

  // --- outputs -----------------------------------------------------------------------------------------------------------
  bool put_out_right(const ContestRun& run, const TimedInput& input, const Baseline& baseline, bool own) {
    const auto& looks = run.opened().looks;
    for (size_t v = 0; v < gpu::kVariants; ++v) {
      if (!stayed_inside(looks[1][v])) return false;
      if (!repeats(looks[0][v], looks[1][v])) return false;
    }
    auto compared = compare_timed_outputs({input_.prepared, input, input_.oracle, run.opened()});
    if (compared.trouble)
      return end(OutcomeName::infrastructure,
                 fmt::format("at {}: nothing can be compared: {}", size_, compared.summary));
    if (!own && compared.baseline_wrong > 0) {
      note(Severity::warning, "JDG0052",
           fmt::format("{}: {} is wrong at {} of the elements that were looked at: it is left out", size_,
                       name_of(baseline), compared.baseline_wrong));
      return false;
    }
    if (!compared.right) {
      note(Severity::error, "JDG0054", fmt::format("at {}: {}", size_, compared.summary),
           "it is right at the smaller sizes: look at index arithmetic, tails and overflows");
      return end(OutcomeName::wrong, fmt::format("at the timed size {}: {}", size_, compared.summary));
    }
    if (compared.baseline_wrong > compared.sampled)
      return end(OutcomeName::infrastructure,
                 fmt::format("at {} the baseline itself is wrong at {} of {} elements that were looked at", size_,
                             compared.baseline_wrong, compared.baseline_wrong + compared.sampled));
    return true;
  }

  bool stayed_inside(const gpu::Opened::Look& look) {
    const auto& plan = input_.plans.front();
    if (!look.overruns.empty()) {
      const auto& overrun = look.overruns.front();
      std::string what = fmt::format("{} bytes written beyond '{}', the first at {}", overrun.bytes,
                                     plan.buffers.at(overrun.buffer).name, overrun.offset);
      note(Severity::error, "JDG0032", fmt::format("at {}: on the GPU: {}", size_, what));
      return end(OutcomeName::faulted, fmt::format("at the timed size {}: {}", size_, what));
    }
    if (!look.changed.empty())
      return end(OutcomeName::wrong, fmt::format("at the timed size {}: the input '{}' is changed", size_,
                                                 plan.buffers.at(look.changed.front()).name));
    return true;
  }

  // Two launches on the same inputs put out different bits: an error where the task asks for exact values, else its tolerance
  // decides, and timed launches are held against it instead of against one another's bits.
  bool repeats(const gpu::Opened::Look& theirs, const gpu::Opened::Look& own) {
    const auto& buffers = input_.plans.front().buffers;
    if (own.poisoned && !theirs.poisoned)
      return end(OutcomeName::wrong,
                 fmt::format("at the timed size {}: what it puts out depends on memory that nobody wrote, or elements "
                             "are not written",
                             size_));
    for (uint32_t buffer : own.unsteady) {
      if (std::find(theirs.unsteady.begin(), theirs.unsteady.end(), buffer) != theirs.unsteady.end()) continue;
      if (!exact(buffer)) continue;
      return end(OutcomeName::wrong,
                 fmt::format("at the timed size {}: two launches on the same inputs put out different values of '{}', "
                             "which have to be exact",
                             size_, buffers.at(buffer).name));
    }
    if (!own.unsteady.empty() && !said_unsteady_) {
      note(
          Severity::note, "JDG0055",
          fmt::format("two launches on the same inputs put out other bits of '{}': timed launches are held against the "
                      "tolerance, not against each other's bits",
                      buffers.at(own.unsteady.front()).name),
          "sums in a fixed order repeat themselves");
      said_unsteady_ = true;
    }
    return true;
  }

  // Of a buffer of the task: nothing in it may differ from launch to launch.
  bool exact(uint32_t buffer) const {
    auto views = task::output_views(task_);
    return std::all_of(views.begin(), views.end(), [&](const task::View& view) {
      return view.buffer != buffer || task_.tolerances.at(view.name).kind == task::Tolerance::Kind::exact;
    });
  }

  // --- delta -------------------------------------------------------------------------------------------------------------
  std::optional<Delta> delta_of(ContestRun& run, const gpu::Contest& even) {
    double us = std::min(run.opened().microseconds[0], run.opened().microseconds[1]);
    if (auto known = input_.calibrations.delta_at(us)) return known;
    // The baseline against itself, here and now; the contest is opened again afterwards.
    CalibrationRun own;
    own.label = "own", own.kernel = "baseline", own.us = run.opened().microseconds[0];
    own.driver = timing_.driver;
    auto opened = input_.runner.open(even, open_limit(even));
    base::Findings trouble;
    if (!opened) {
      trouble = opened.findings();
    } else if (opened->end != gpu::Done::End::executed) {
      trouble = {judge_finding("JDG0042", Severity::error, opened->message)};
    } else {
      auto begin = Clock::now();
      trouble = compare_even(input_.runner, *opened, own, [&] { return enough(own, begin); });
    }
    if (base::has_error(trouble)) {
      end(OutcomeName::infrastructure,
          fmt::format("at {}: the baseline cannot be timed against itself: {}", size_, trouble.front().message));
      return std::nullopt;
    }
    auto unwritten = input_.calibrations.add({own.us, {own}}, timing_.driver);
    result_.findings.insert(result_.findings.end(), unwritten.begin(), unwritten.end());
    note(Severity::note, "JDG0056",
         fmt::format("{}: no calibration of this GPU at {}: the baseline was timed against itself, {} times", size_,
                     record::microseconds_text(us), own.even.size()),
         "'ptxlab calibrate' makes one that is kept");
    auto known = input_.calibrations.delta_at(us);
    if (!known) known = Delta{figures_of({own.us, {own}}).delta, "this run"};
    if (!run.open()) {
      end(OutcomeName::infrastructure, fmt::format("at {}: the GPU worker: {}", size_, run.end().reason));
      return std::nullopt;
    }
    return known;
  }

  bool enough(const CalibrationRun& own, Clock::time_point begin) const {
    double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (own.even.size() >= kOwnComparisons || seconds >= input_.own_calibration_seconds) return !own.even.empty();
    return own.even.size() >= kOwnFewest && figures_of({own.us, {own}}).delta <= kOwnTight;
  }

  // --- time --------------------------------------------------------------------------------------------------------------
  std::optional<TimedSize> decide(ContestRun& run, const TimedInput& input, const Baseline& baseline,
                                  const Delta& delta, bool own) {
    stats::Rule rule{delta.delta, resolution_of(run.opened())};
    stats::Decision decision;
    for (size_t look = 0; look < stats::kLooks.size(); ++look) {
      auto more = static_cast<uint32_t>(stats::kLooks[look].epochs - run.sample().epochs());
      bool goes_on = run.measure(more);
      if (!repeated_itself(run, baseline, own)) return std::nullopt;
      if (!goes_on) return over(run, own, baseline), std::nullopt;
      decision = stats::decide(run.sample(), look, rule);
      if (decision.settled()) break;
    }
    if (!run.happened_once().empty())
      note(Severity::warning, "JDG0031", fmt::format("{}: {}; not again in a fresh worker", size_, run.happened_once()),
           "a race, uninitialised memory, or trouble of this machine");
    TimedSize timed = figures_of_run(run, decision, delta);
    timed.baseline = name_of(baseline);
    add_floor(timed, input);
    return timed;
  }

  bool repeated_itself(const ContestRun& run, const Baseline& baseline, bool own) {
    if (run.mismatches().empty()) return true;
    const auto& all = run.mismatches();
    auto theirs =
        std::find_if(all.begin(), all.end(), [](const auto& one) { return one.arm == gpu::Arm::a && !one.input; });
    if (theirs != all.end()) {
      if (own)
        return end(OutcomeName::infrastructure,
                   fmt::format("at {}: the baseline itself did not put out the same in every launch", size_));
      note(Severity::warning, "JDG0052",
           fmt::format("{}: {} did not put out the same in every launch: it is left out", size_, name_of(baseline)));
      return false;
    }
    std::string what = all.front().input
                           ? "an input is changed by timed launches"
                           : fmt::format(
                                 "it is right only at first: {} of {} timed launches put out something else than "
                                 "the launch that was compared",
                                 all.size(), run.checked());
    note(Severity::error, "JDG0057", fmt::format("at {}: {}", size_, what),
         "a result may depend on nothing but the inputs of its own launch");
    return end(OutcomeName::wrong, fmt::format("at the timed size {}: {}", size_, what));
  }

  static TimedSize figures_of_run(const ContestRun& run, const stats::Decision& decision, const Delta& delta) {
    TimedSize timed;
    const auto& opened = run.opened();
    Times a = times_of_arm(run.epochs(), 0), b = times_of_arm(run.epochs(), 1);
    timed.baseline_us = a.median, timed.candidate_us = b.median;
    timed.baseline_spread = a.spread, timed.candidate_spread = b.spread;
    timed.baseline_mhz = a.mhz, timed.candidate_mhz = b.mhz;
    timed.speedup = std::exp(decision.interval.center);
    timed.low = std::exp(decision.interval.low);
    timed.high = std::exp(decision.interval.high);
    timed.outcome = outcome_of(decision.call);
    timed.delta = std::expm1(delta.delta);
    timed.delta_source = delta.source;
    timed.epochs = static_cast<uint32_t>(run.sample().epochs());
    timed.dropped = static_cast<uint32_t>(run.sample().dropped());
    timed.pairs = opened.pairs, timed.batch = opened.batch, timed.sets = opened.sets;
    timed.samples = samples_of(run.epochs());
    timed.checked = run.checked();
    timed.event_overhead_us = opened.event_overhead;
    if (!run.epochs().empty()) {
      const auto& last = run.epochs().back().after;
      timed.memory_mhz = last.memory_mhz, timed.celsius = last.celsius, timed.watts = last.watts;
    }
    if (decision.call == stats::Call::unstable)
      timed.reason =
          decision.trouble.empty()
              ? fmt::format("after {} epochs the interval is still too wide to say more", timed.epochs)
              : fmt::format("{} of {} epochs were dropped: {}", timed.dropped, timed.epochs, decision.trouble);
    return timed;
  }

  void add_floor(TimedSize& timed, const TimedInput& input) {
    Floor floor = floor_of(task_, input.data.what.sizes, input_.runner.hello(), input_.module);
    timed.bytes = floor.bytes, timed.flops = floor.flops, timed.floor_us = floor.us;
    timed.roofline_gbs = floor.roofline_gbs, timed.roofline_gflops = floor.gflops;
    auto slow = slow_baseline(size_, timed.baseline_us, floor);
    result_.findings.insert(result_.findings.end(), slow.begin(), slow.end());
    if (!(floor.us > 0 && timed.candidate_us > 0 && timed.candidate_us < floor.us)) return;
    timed.outcome = OutcomeName::unstable;
    timed.reason = fmt::format("{} is less than any kernel can need: {} ({:.3g} bytes, {:.3g} operations)",
                               record::microseconds_text(timed.candidate_us), record::microseconds_text(floor.us),
                               floor.bytes, floor.flops);
    note(Severity::warning, "JDG0053", fmt::format("{}: {}", size_, timed.reason),
         "work is left out where nobody looked, the task's [floor] is too high, or the clock is wrong");
  }

  const TimeInput& input_;
  const task::Task& task_;
  std::string code_, size_;
  record::Timing timing_;
  TimeResult result_;
  bool said_unsteady_ = false;
};

}  // namespace

OutcomeName outcome_of(const record::Timing& timing, std::string& reason) {
  const auto& sizes = timing.sizes;
  auto first = [&](OutcomeName outcome) {
    return std::find_if(sizes.begin(), sizes.end(), [&](const TimedSize& one) { return one.outcome == outcome; });
  };
  std::string how = record::speedup_text(timing);
  if (auto at = first(OutcomeName::unstable); at != sizes.end()) {
    reason = fmt::format("no figure to rely on at {}: {}", at->size, at->reason);
    return OutcomeName::unstable;
  }
  double delta = 0, weights = 0;
  for (const auto& one : sizes) {
    delta += one.weight * std::log1p(one.delta);
    weights += one.weight;
  }
  delta /= weights;
  auto call = stats::call_of({std::log(timing.low), std::log(timing.high), std::log(timing.speedup)}, {.delta = delta});
  auto slower = first(OutcomeName::slower);
  if (slower != sizes.end() && call != stats::Call::slower) {
    const std::string as = timing.first ? slower->baseline : "";
    reason = fmt::format("slower at {} ({}), whatever it is elsewhere", slower->size,
                         record::speedup_text(slower->speedup, slower->low, slower->high, as));
    return OutcomeName::slower;
  }
  reason = how;
  if (call == stats::Call::same) reason = fmt::format("as fast as the baseline: {}", how);
  // Every size is settled; where their mean is between two answers, it is not faster for certain.
  if (call == stats::Call::unstable) return OutcomeName::same;
  return outcome_of(call);
}

TimeResult run_time_gate(const TimeInput& input) { return Gate(input).run(); }

}  // namespace ptxlab::judge
