// For tests: a run that nobody ran, of any size and plausible variety, with attempts made on demand from the tasks of this
// repository. Some of its texts try to break the page that shows them.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/finding_json.h"
#include "base/random.h"
#include "record/json.h"
#include "report/run_data.h"
#include "task/task.h"

namespace ptxlab::report {

// What a model may well say: markup, an end of the page's own script, characters that hide or reorder, bytes that are no text.
inline const std::string kHostile =
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<!-- --></style><svg onload=alert(1)>\n// \xe2\x80\xae reversed \xe2\x80\xac and \x1b[31mred\x1b[0m\x07, "
    "zero\xe2\x80\x8bwidth, "
    "{{details}} {{summary}} & &lt; \"quotes\" 'single' \xff\xfe bytes\n";

class MadeRun {
 public:
  RunData run;

  MadeRun(size_t attempts, const std::filesystem::path& tasks, uint64_t seed = 1) : random_(seed) {
    read_baselines(tasks);
    make_heading();
    make_samples(attempts);
  }

  // The attempt of a turn, the same each time.
  record::Attempt attempt(int64_t id) const {
    const auto [s, t] = places_.at(static_cast<size_t>(id - 1));
    return made(run.samples[s], run.samples[s].turns[t]);
  }

 private:
  struct ArmKind {
    const char* name;
    const char* proposer;
    double skill;  // 0 .. 1: how often right
    double speed;  // mean log of the speed-up
    bool model, priced;
  };
  static constexpr ArmKind kArms[] = {
      {"rules", "rules", 0.97, 0.35, false, false},
      {"large", "anthropic:large-model", 0.62, 0.30, true, true},
      {"medium", "openai:medium-model@http://localhost:8000/v1", 0.41, 0.12, true, true},
      {"medium, CUDA C", "openai:medium-model@http://localhost:8000/v1", 0.55, 0.06, true, true},
      {"small \xe2\x80\x8b<i>", "openai:small-3b@http://localhost:8001/v1", 0.13, -0.05, true, false},
      {"tiny", "openai:tiny-135m@http://localhost:8002/v1", 0.01, -0.1, true, false},
  };
  struct Ending {
    FailureKind kind;
    record::OutcomeName outcome;
    const char* code;
    double weight;
  };
  static constexpr Ending kEndings[] = {
      {FailureKind::no_block, record::OutcomeName::malformed, "LLM0020", 6},
      {FailureKind::cut_short, record::OutcomeName::malformed, "LLM0024", 2},
      {FailureKind::host_code, record::OutcomeName::malformed, "LLM0023", 1},
      {FailureKind::syntax, record::OutcomeName::malformed, "PTX0003", 9},
      {FailureKind::undeclared, record::OutcomeName::malformed, "PTX0100", 14},
      {FailureKind::modifier, record::OutcomeName::malformed, "PTX0203", 8},
      {FailureKind::width_or_type, record::OutcomeName::malformed, "PTX0302", 12},
      {FailureKind::predicate, record::OutcomeName::malformed, "PTX0013", 4},
      {FailureKind::version_gate, record::OutcomeName::malformed, "PTX0601", 2},
      {FailureKind::plan, record::OutcomeName::malformed, "PLAN0021", 4},
      {FailureKind::limits, record::OutcomeName::rejected, "POL0011", 2},
      {FailureKind::forbidden, record::OutcomeName::rejected, "POL0003", 1},
      {FailureKind::ptxas_refused, record::OutcomeName::rejected, "ASM0002", 3},
      {FailureKind::out_of_bounds, record::OutcomeName::faulted, "RUN0003", 9},
      {FailureKind::misaligned, record::OutcomeName::faulted, "RUN0004", 4},
      {FailureKind::race, record::OutcomeName::faulted, "CHK0001", 5},
      {FailureKind::hang, record::OutcomeName::faulted, "RUN0007", 2},
      {FailureKind::wrong_everywhere, record::OutcomeName::wrong, "", 11},
      {FailureKind::wrong_somewhere, record::OutcomeName::wrong, "", 9},
      {FailureKind::not_written, record::OutcomeName::wrong, "CMP0101", 4},
      {FailureKind::wrong_when_timed, record::OutcomeName::wrong, "JDG0054", 1},
      {FailureKind::machine, record::OutcomeName::infrastructure, "", 0.4},
      {FailureKind::cheating, record::OutcomeName::cheating, "", 0.2},
  };

  void read_baselines(const std::filesystem::path& tasks) {
    for (const auto& name : task::list_tasks(tasks)) {
      auto task = task::find_task(name, tasks);
      if (!task || !task->ptx) continue;
      auto ptx = base::read_file(*task->ptx);
      auto plan = base::read_file(task->plan);
      if (!ptx || !plan) continue;
      record::Brief brief;
      brief.task = *task;
      brief.target = *isa::target_named("sm_90a");
      brief.baseline_ptx = *ptx, brief.baseline_plan = *plan;
      brief.baseline_resources.push_back({.entry = "kernel", .registers = 24});
      baselines_.push_back({name, *ptx, *plan, *task, base::print_json(record::to_json(brief), -1)});
    }
  }

  void make_heading() {
    run.id = "20261130T021500-0badcafe";
    run.command = "ptxlab bench made.toml --name '</script><b>'";
    run.program = "0.0.0";
    run.started = std::chrono::system_clock::time_point(std::chrono::seconds(1796091300));
    run.bench = true;
    run.name =
        "A made run <b>of many</b> \xe2\x80\xae"
        "attempts";
    run.lock = R"({"schema":"ptxlab.lock/1","note":"</script><script>document.title='owned'</script>"})";
    run.target = "sm_90a";
    run.device = "NVIDIA H200";
    run.driver = "13.0";
    run.toolchain = {{"ptxas", "13.0.88"}, {"nvcc", "13.0.88"}};
    run.seed = 18446744073709551615u;
    run.k = 8;
    run.turns = 4;
    for (const auto& kind : kArms) {
      Arm arm;
      arm.name = kind.name, arm.proposer = kind.proposer, arm.model = kind.model, arm.price_known = kind.priced;
      if (arm.name.find("CUDA") != std::string::npos) arm.language = Arm::Language::cuda;
      if (arm.model) arm.settings = "temperature=0.8";
      run.arms.push_back(arm);
    }
    constexpr const char* kWords[] = {"bf16", "f32", "f16", "int8", "wide", "tail", "fused", "batched"};
    for (size_t i = 0; i < 60; ++i) {
      const auto& from = baselines_[i % baselines_.size()];
      TaskInfo info;
      info.family = from.name.substr(0, from.name.find('/'));
      info.name =
          i < baselines_.size() ? from.name : fmt::format("{}_{}", from.name, kWords[(i / baselines_.size()) % 8]);
      info.split = i % 3 == 0 ? "held_out" : "train";
      info.level = 1 + static_cast<int>(i % 4);
      info.tags = from.task.tags;
      info.facts = {i % 2 ? "loops" : "branches"};
      info.hash = fmt::format("{:016x}", i * 0x9e3779b97f4a7c15u);
      run.tasks.push_back(info);
    }
  }

  void make_samples(size_t attempts) {
    std::vector<double> difficulty;
    for (size_t t = 0; t < run.tasks.size(); ++t) difficulty.push_back(random_.normal() * 0.25);
    size_t made = 0;
    for (size_t a = 0; a < run.arms.size(); ++a) {
      for (size_t t = 0; t < run.tasks.size(); ++t) {
        for (int number = 1; number <= run.k; ++number) {
          Sample sample;
          sample.arm = a, sample.task = t, sample.number = number;
          for (int turn = 1; turn <= run.turns && made < attempts; ++turn) {
            sample.turns.push_back(make_turn(a, t, turn, difficulty[t]));
            places_.emplace_back(run.samples.size(), sample.turns.size() - 1);
            sample.turns.back().attempt = static_cast<int64_t>(++made);
            if (sample.turns.back().right) break;
          }
          run.samples.push_back(std::move(sample));
        }
      }
    }
    run.whole = made < attempts;
    // Where samples end early there are fewer turns than asked for: the last arms try more often.
    for (size_t s = run.samples.size(); made < attempts && s-- > 0;) {
      Sample& sample = run.samples[s];
      while (made < attempts && sample.turns.size() < 12 && !sample.right()) {
        sample.turns.push_back(make_turn(sample.arm, sample.task, static_cast<int>(sample.turns.size()) + 1, -9));
        places_.emplace_back(s, sample.turns.size() - 1);
        sample.turns.back().attempt = static_cast<int64_t>(++made);
      }
    }
  }

  const Ending& ending() {
    double all = 0;
    for (const auto& one : kEndings) all += one.weight;
    double at = random_.uniform() * all;
    for (const auto& one : kEndings)
      if ((at -= one.weight) < 0) return one;
    return kEndings[0];
  }

  Turn make_turn(size_t a, size_t task, int number, double difficulty) {
    const ArmKind& arm = kArms[a];
    Turn turn;
    turn.turn = number;
    turn.at = run.started + std::chrono::seconds(random_.below(20000));
    turn.candidate = fmt::format("{}-{}", arm.model ? "answer" : "vectorise", 1 + random_.below(8));
    static constexpr const char* kIdeas[] = {"8 neighbouring elements a thread, 128-bit accesses",
                                             "two rows a CTA, shuffles instead of shared memory",
                                             "the loop unrolled by 4, loads first",
                                             "asynchronous copies into two buffers",
                                             "a <b>faster</b> path for aligned rows",
                                             "fewer registers: addresses made anew"};
    turn.idea = kIdeas[random_.below(std::size(kIdeas))];
    turn.judge_seconds = 0.2 + random_.uniform();
    if (arm.model) {
      turn.use.requests = 1;
      turn.use.asked = static_cast<int64_t>(3000 + random_.below(4000));
      turn.use.answered = static_cast<int64_t>(900 + random_.below(3000));
      turn.use.estimated = a == 5;
      turn.use.seconds = 3 + 20 * random_.uniform();
      turn.use.reasoning = turn.use.answered / 3;
      if (arm.priced)
        turn.use.usd = 1e-6 * static_cast<double>(turn.use.asked) + 5e-6 * static_cast<double>(turn.use.answered);
    }
    if (random_.uniform() > arm.skill + difficulty + 0.06 * (number - 1)) {
      const Ending& end = ending();
      turn.outcome = end.outcome, turn.failure = end.kind, turn.failure_code = end.code;
      turn.assembled = end.outcome == record::OutcomeName::faulted || end.outcome == record::OutcomeName::wrong;
      turn.reason = fmt::format("{} (line {})", info_of(end.kind).words, 20 + random_.below(60));
      if (random_.below(40) == 0) turn.reason += " " + kHostile;
      if (turn.assembled) turn.registers = static_cast<int>(16 + random_.below(80));
      return turn;
    }
    turn.right = turn.assembled = true;
    turn.registers = static_cast<int>(16 + random_.below(80));
    const double log_speed = arm.speed + 0.35 * random_.normal();
    const double estimated = std::exp(log_speed + 0.1 * random_.normal());
    turn.estimated = Speedup{estimated, estimated / 1.2, estimated * 1.2, "H200"};
    if (random_.below(5) > 0) {
      const double s = std::exp(log_speed), half = 0.002 + 0.01 * random_.uniform();
      turn.measured = Speedup{s, s * std::exp(-half), s * std::exp(half), run.device};
      // A third of the tasks has a stronger baseline than its first.
      turn.against = task % 3 == 1 ? "triton.ptx" : "baseline.ptx";
      if (task % 3 == 1)
        turn.measured_over_first = Speedup{1.7 * s, 1.7 * s * std::exp(-half), 1.7 * s * std::exp(half), run.device};
      turn.outcome = s > 1.01   ? record::OutcomeName::faster
                     : s < 0.99 ? record::OutcomeName::slower
                                : record::OutcomeName::same;
    } else {
      turn.outcome = record::OutcomeName::unverified;
    }
    turn.failure = turn.outcome == record::OutcomeName::slower ? FailureKind::slower
                   : turn.outcome == record::OutcomeName::same ? FailureKind::no_effect
                                                               : FailureKind::none;
    turn.reason = turn.measured ? fmt::format("{:.3f} times as fast ({:.3f} to {:.3f}) on {}", turn.measured->value,
                                              turn.measured->low, turn.measured->high, run.device)
                                : "passed check, assemble, emulate; skipped execute, time";
    if (random_.below(3) == 0)
      turn.claims = {{"vector width 4", true, "// 128-bit loads"},
                     {"barrier", random_.below(3) > 0, "// wait for all warps"}};
    return turn;
  }

  struct Base {
    std::string name, ptx, plan;
    task::Task task;
    std::string brief;  // as JSON
  };

  // The baseline with a few lines changed, said twice and left out: what candidates are mostly like.
  static std::string varied(const std::string& text, base::Random& random, bool hostile) {
    std::string out;
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
      const std::string line = text.substr(from, end - from);
      const uint64_t draw = random.below(30);
      if (draw == 0) out += "\t// another way: " + std::to_string(random.below(9)) + "\n";
      if (draw != 1 || line.find(';') == std::string::npos) out += line;
      if (draw == 2 && line.find(';') != std::string::npos)
        out += "\tadd.s32 \t%r1, %r1, " + std::to_string(random.below(64)) + ";\n";
      from = end;
    }
    return hostile ? "// " + kHostile + out : out;
  }

  record::Attempt made(const Sample& sample, const Turn& turn) const {
    base::Random random(static_cast<uint64_t>(*turn.attempt) * 7919);
    const Base& base = baselines_[sample.task % baselines_.size()];
    record::Attempt attempt;
    attempt.id = *turn.attempt, attempt.run = run.id, attempt.at = turn.at, attempt.task = run.tasks[sample.task].name;
    auto& candidate = attempt.candidate;
    candidate.name = turn.candidate, candidate.idea = turn.idea, candidate.proposer = run.arms[sample.arm].proposer;
    const bool hostile = *turn.attempt % 17 == 3;
    candidate.ptx = varied(base.ptx, random, hostile);
    if (run.arms[sample.arm].model) {
      candidate.prompt = "Make this kernel faster. Answer with one ```ptx block.\n" + base.ptx;
      candidate.answer = fmt::format("Here is a version with {}.\n\n```ptx\n{}```\n{}", turn.idea, candidate.ptx,
                                     hostile ? kHostile : "");
    }
    attempt.brief_json = base.brief;
    attempt.verdict = verdict(sample, turn, base, candidate.ptx, random);
    return attempt;
  }

  record::Verdict verdict(const Sample& sample, const Turn& turn, const Base& base, const std::string& ptx,
                          base::Random& random) const {
    using record::GateName;
    using record::GateStatus;
    record::Verdict verdict;
    verdict.outcome = turn.outcome, verdict.reason = turn.reason, verdict.task = run.tasks[sample.task].name;
    verdict.target = run.target, verdict.oracle = "reference.cc";
    const auto lines = static_cast<uint32_t>(std::count(ptx.begin(), ptx.end(), '\n'));
    GateName last = GateName::time;
    switch (turn.outcome) {
      case record::OutcomeName::malformed: last = GateName::check; break;
      case record::OutcomeName::rejected: last = GateName::assemble; break;
      case record::OutcomeName::faulted:
      case record::OutcomeName::wrong: last = GateName::emulate; break;
      default: break;
    }
    for (auto& gate : verdict.gates) {
      if (gate.name > last) break;
      gate.status = gate.name == last && !turn.right ? GateStatus::failed : GateStatus::passed;
      gate.milliseconds = 0.5 + 40 * random.uniform();
      if (gate.status == GateStatus::failed || random.below(3) == 0) {
        base::Finding finding;
        finding.code = turn.failure_code.empty() ? "CHK0041" : turn.failure_code;
        finding.severity = gate.status == GateStatus::failed ? base::Severity::error : base::Severity::note;
        finding.place = {"candidate.ptx", 1 + static_cast<uint32_t>(random.below(lines)), 5, 6};
        finding.message = turn.reason, finding.hint = "say <what> is meant";
        gate.findings.push_back(finding);
      }
    }
    if (turn.assembled)
      verdict.resources.push_back({.entry = "kernel", .registers = turn.registers, .code_bytes = 2048});
    for (int i = 0; turn.assembled && i < 20; ++i)
      verdict.cases.push_back(
          {fmt::format("n={}", 1 << (i % 16)), turn.right || i % 3 == 0, turn.right ? "" : "differs"});
    if (!turn.assembled) return verdict;
    record::LineProfile profile;
    profile.of = "a few CTAs of every launch at the timed sizes";
    for (uint32_t line = 30; line < lines; ++line) {
      const uint64_t warps = 8u << random.below(6);
      const bool access = random.below(6) == 0;
      profile.lines.push_back({line, warps, warps * 32, access ? warps : 0,
                               access ? warps * (random.below(3) ? 4 : 16) : 0, access ? warps * 4 : 0, 0, 0});
    }
    verdict.profile = verdict.baseline_profile = profile;
    verdict.estimated_speedup = turn.estimated ? std::optional(turn.estimated->value) : std::nullopt;
    if (turn.estimated) {
      record::Estimate estimate;
      estimate.nanoseconds = estimate.size_ns = 50000 / turn.estimated->value, estimate.device = "H200",
      estimate.bound_by = "DRAM bandwidth";
      estimate.occupancy = 0.75, estimate.uncertainty = 0.2,
      estimate.limits = {{"DRAM bandwidth", 40000}, {"issue slots", 9000}};
      estimate.waits = {{"a load", 0.6}, {"a barrier", 0.2}};
      verdict.estimate = estimate;
      estimate.nanoseconds = estimate.size_ns = 50000;
      verdict.baseline_estimate = estimate;
    }
    if (!turn.measured) return verdict;
    verdict.timing = timing(sample, turn, base, random);
    return verdict;
  }

  record::Timing timing(const Sample& sample, const Turn& turn, const Base&, base::Random& random) const {
    record::Timing timing;
    timing.device = run.device, timing.driver = run.driver;
    timing.speedup = turn.measured->value, timing.low = turn.measured->low, timing.high = turn.measured->high;
    record::TimedSize size;
    size.size = "n=1048576", size.outcome = turn.outcome, size.baseline = turn.against;
    size.bytes = 1e6 * std::exp(static_cast<double>(sample.task % 7)),
    size.flops = size.bytes * std::exp(static_cast<double>(sample.task % 9) - 3);
    size.roofline_gbs = 4300, size.roofline_gflops = 61839;
    size.baseline_us = std::max(size.bytes / 2.0e6, size.flops / 3e7);
    size.candidate_us = size.baseline_us / timing.speedup;
    size.speedup = timing.speedup, size.low = timing.low, size.high = timing.high, size.delta = 0.0045,
    size.delta_source = "calibration-h200.json";
    size.epochs = 12, size.pairs = 12, size.checked = 312, size.baseline_mhz = 1965, size.candidate_mhz = 1970,
    size.celsius = 34, size.watts = 130;
    for (int i = 0; i < 12; ++i) {
      const double ratio = timing.speedup * std::exp(0.004 * random.normal());
      size.samples.push_back({size.baseline_us, size.baseline_us / ratio, ratio, i != 5});
    }
    size.dropped = 1;
    if (const auto& first = turn.measured_over_first) {
      timing.first = {"baseline.ptx", first->value, first->low, first->high};
      size.rivals.push_back({"baseline.ptx", size.candidate_us * first->value, first->value, first->low, first->high});
    }
    timing.sizes.push_back(size);
    return timing;
  }

  base::Random random_;
  std::vector<Base> baselines_;
  std::vector<std::pair<size_t, size_t>> places_;  // of attempt i + 1: sample and turn
};

}  // namespace ptxlab::report
