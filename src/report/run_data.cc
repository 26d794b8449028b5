#include "report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "archive/bench.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "report/arm_samples.h"
#include "report/claims.h"

namespace ptxlab::report {
namespace {

using archive::Archive;
using nlohmann::json;
using record::OutcomeName;

// Measured beats estimated, then the faster one; a right turn without either comes last.
std::pair<int, double> speed_rank(const Turn& turn) {
  if (turn.measured) return {2, turn.measured->value};
  if (turn.estimated) return {1, turn.estimated->value};
  return {0, 0};
}

std::optional<Speedup> measured_of(const record::Verdict& verdict) {
  if (!verdict.timing) return std::nullopt;
  const auto& timing = *verdict.timing;
  return Speedup{timing.speedup, timing.low, timing.high, timing.device};
}

std::optional<Speedup> estimated_of(const record::Verdict& verdict) {
  if (!verdict.estimated_speedup) return std::nullopt;
  double value = *verdict.estimated_speedup, unsure = verdict.estimate ? verdict.estimate->uncertainty : 0;
  return Speedup{value, value / (1 + unsure), value * (1 + unsure), verdict.estimate ? verdict.estimate->device : ""};
}

// Of the baseline's own code and launches nothing is timed: the speed-up is 1, whoever would say it.
void same_is_one(Turn& turn, bool gpu) {
  if (turn.outcome != OutcomeName::same || turn.measured || turn.estimated) return;
  (gpu ? turn.measured : turn.estimated) = Speedup{1, 1, 1, ""};
}

bool found_right(const record::Verdict& verdict, FailureKind failure) {
  return record::is_right(verdict.outcome) && failure != FailureKind::not_executed;
}

std::vector<std::string> codes_of(const record::Verdict& verdict) {
  std::vector<std::string> codes;
  for (auto severity : {base::Severity::error, base::Severity::warning, base::Severity::note}) {
    for (const auto& gate : verdict.gates) {
      for (const auto& finding : gate.findings) {
        if (finding.severity == severity && std::find(codes.begin(), codes.end(), finding.code) == codes.end())
          codes.push_back(finding.code);
      }
    }
  }
  return codes;
}

void fill(Turn& turn, const record::Attempt& attempt, bool gpu) {
  const auto& verdict = attempt.verdict;
  turn.attempt = attempt.id;
  turn.candidate = attempt.candidate.name;
  turn.idea = attempt.candidate.idea;
  turn.outcome = verdict.outcome;
  turn.reason = verdict.reason;
  auto failure = failure_of(verdict);
  turn.failure = failure.kind;
  turn.failure_code = std::move(failure.code);
  turn.assembled = verdict.gate(record::GateName::assemble).status == record::GateStatus::passed;
  turn.right = found_right(verdict, turn.failure);
  turn.measured = measured_of(verdict);
  turn.estimated = estimated_of(verdict);
  if (verdict.timing) {
    turn.against = verdict.timing->against();
    for (const auto& size : verdict.timing->sizes) {
      turn.baselines.insert(size.baseline);
      for (const auto& rival : size.rivals) turn.baselines.insert(rival.name);
    }
  }
  if (verdict.timing && verdict.timing->first) {
    const auto& first = *verdict.timing->first;
    turn.measured_over_first = Speedup{first.speedup, first.low, first.high, verdict.timing->device};
  }
  same_is_one(turn, gpu);
  for (const auto& entry : verdict.resources) {
    turn.registers = std::max(turn.registers, entry.registers);
    turn.spill_bytes = std::max(turn.spill_bytes, entry.spill_stores);
    turn.shared_bytes = std::max(turn.shared_bytes, entry.shared);
  }
  turn.codes = codes_of(verdict);
  turn.claims = claims_of(attempt.candidate.ptx);
  turn.at = attempt.at;
}

// No candidate came, and that is final.
void fill_without(Turn& turn, const archive::Answer& answer) {
  turn.outcome = OutcomeName::malformed;
  turn.failure = FailureKind::no_candidate;
  turn.reason = answer.note.empty() ? "the proposer had no candidate" : answer.note;
  turn.at = answer.at;
  for (const auto& finding : answer.findings) {
    turn.codes.push_back(finding.code);
    if (finding.severity != base::Severity::error) continue;
    if (auto kind = failure_of_code(finding.code); kind != FailureKind::none) {
      turn.failure = kind;
      turn.failure_code = finding.code;
      turn.reason = finding.message;
    }
  }
}

Use use_of(const record::Usage& used) {
  Use use;
  use.requests = used.requests, use.asked = used.asked, use.answered = used.answered;
  use.reasoning = used.reasoning, use.cached = used.cached, use.estimated = used.estimated;
  use.usd = used.cost();
  return use;
}

Use use_of(const archive::Answer& answer) {
  Use use = answer.usage ? use_of(*answer.usage) : Use();
  use.seconds = answer.seconds;
  return use;
}

Build build_of(const json& lock) {
  const auto& program = lock.at("program");
  return {program.at("version").get<std::string>(), program.at("build").get<std::string>()};
}

// --- a run of bench --------------------------------------------------------------------------------------------------------

void read_lock(const json& lock, RunData& run) {
  run.name = lock.at("name").get<std::string>();
  const auto& spec = lock.at("spec");
  run.k = spec.at("k").get<int>();
  run.turns = spec.at("turns").get<int>();
  run.stop_when_right = spec.at("stop") == "right";
  run.seed = spec.at("seed").get<uint64_t>();
  run.device = lock.at("device").get<std::string>();
  run.driver = lock.at("driver").get<std::string>();
  run.program = lock.at("program").at("version").get<std::string>();
  for (const auto& [tool, version] : lock.at("toolchain").items())
    run.toolchain.emplace_back(tool, version.get<std::string>());
  for (const auto& name : lock.at("arm_order")) {
    const auto& value = lock.at("arms").at(name.get<std::string>());
    Arm arm;
    arm.name = name.get<std::string>();
    arm.proposer = value.at("proposer").get<std::string>();
    if (value.at("language") == "cuda") arm.language = Arm::Language::cuda;
    arm.model = value.value("model", false);
    arm.settings = value.at("settings").get<std::string>();
    arm.price_known = value.contains("price") && !value["price"].is_null();
    run.arms.push_back(std::move(arm));
  }
  for (const auto& [name, value] : lock.at("tasks").items()) {
    TaskInfo task;
    task.name = name;
    task.family = value.at("family").get<std::string>();
    task.split = value.at("split").get<std::string>();
    task.level = value.at("level").get<int>();
    task.version = value.at("version").get<int>();
    task.tags = value.at("tags").get<std::vector<std::string>>();
    task.facts = value.at("facts").get<std::vector<std::string>>();
    task.hash = value.at("sha256").get<std::string>();
    run.tasks.push_back(std::move(task));
  }
}

class BenchReader {
 public:
  // `since`: the last attempt before each of the run's builds but the first.
  BenchReader(Archive& archive, RunData& run, std::vector<int64_t> since)
      : archive_(archive), run_(run), since_(std::move(since)) {}

  base::Findings read() {
    auto answers = archive_.answers(run_.id);
    if (!answers) return answers.findings();
    auto trouble = archive_.unanswered(run_.id);
    if (!trouble) return trouble.findings();
    auto vain = archive_.unanswered_usage(run_.id);
    if (!vain) return vain.findings();
    for (const auto& [cell, usage] : *vain) {
      auto [at, fresh] = vain_.emplace(std::tuple(cell.arm, cell.task, cell.sample), usage);
      if (!fresh) at->second.add(usage);
    }
    auto interrupted = archive_.interrupted(run_.id);
    if (!interrupted) return interrupted.findings();
    run_.interrupted = *interrupted;
    if (!run_.rejudged_from.empty()) {
      auto old = archive_.answers(run_.rejudged_from);
      if (!old) return old.findings();
      there_.emplace();
      for (const auto& answer : *old) there_->insert(answer.cell);
    }
    if (auto findings = read_attempts(*answers); !findings.empty()) return findings;
    for (auto& answer : *answers) by_cell_[answer.cell] = std::move(answer);
    for (auto& one : *trouble) {
      if (!one.findings.empty()) trouble_[one.cell] = one.findings.front().message;
    }
    for (size_t arm = 0; arm < run_.arms.size(); ++arm) {
      for (size_t task = 0; task < run_.tasks.size(); ++task) {
        for (int number = 1; number <= run_.k; ++number) {
          if (auto findings = sample(arm, task, number); !findings.empty()) return findings;
        }
      }
    }
    return {};
  }

 private:
  // Side by side: verdicts are long, and comments are held against code.
  base::Findings read_attempts(const std::vector<archive::Answer>& answers) {
    std::vector<int64_t> ids;
    for (const auto& answer : answers) {
      if (answer.attempt) ids.push_back(*answer.attempt);
    }
    std::vector<Turn> turns(ids.size());
    std::vector<base::Findings> failed(ids.size());
    base::parallel_for(ids.size(), 0, [&](size_t i) {
      auto attempt = archive_.attempt(ids[i], false);
      if (attempt) {
        fill(turns[i], *attempt, !run_.device.empty());
      } else {
        failed[i] = attempt.findings();
      }
    });
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!failed[i].empty()) return failed[i];
      ++run_.builds[build_at(ids[i])].attempts;
      attempts_[ids[i]] = std::move(turns[i]);
    }
    return {};
  }

  // Which of the run's builds made an attempt: they followed one another.
  size_t build_at(int64_t attempt) const {
    size_t build = 0;
    while (build < since_.size() && attempt > since_[build]) ++build;
    return build;
  }

  base::Findings sample(size_t arm, size_t task, int number) {
    Sample sample;
    sample.arm = arm, sample.task = task, sample.number = number;
    sample.unanswered = "not asked yet";
    if (auto used = vain_.find({run_.arms[arm].name, run_.tasks[task].name, number}); used != vain_.end())
      sample.in_vain = use_of(used->second);
    const int turns = run_.arms[arm].model ? run_.turns : 1;
    for (int number_of_turn = 1; number_of_turn <= turns; ++number_of_turn) {
      archive::Cell cell{run_.arms[arm].name, run_.tasks[task].name, number, number_of_turn};
      if (there_ && !there_->count(cell)) {
        if (number_of_turn > 1) sample.unanswered.clear();
        break;
      }
      auto found = by_cell_.find(cell);
      if (found == by_cell_.end()) {
        if (auto why = trouble_.find(cell); why != trouble_.end()) sample.unanswered = why->second;
        break;
      }
      const auto& answer = found->second;
      Turn turn;
      turn.turn = number_of_turn;
      turn.use = use_of(answer);
      turn.judge_seconds = answer.judge_seconds;
      bool came = answer.has_candidate;
      if (came && !answer.attempt) {
        sample.unanswered = "not judged yet";
        break;
      }
      if (came) {
        auto& read = attempts_.at(*answer.attempt);
        read.turn = turn.turn, read.use = turn.use, read.judge_seconds = turn.judge_seconds;
        turn = std::move(read);
      } else {
        fill_without(turn, answer);
      }
      bool machine = turn.outcome == OutcomeName::infrastructure;
      bool last =
          !came || machine || number_of_turn == turns || (run_.stop_when_right && record::is_right(turn.outcome));
      if (last) sample.unanswered = machine ? "trouble of the machine: " + turn.reason : "";
      sample.turns.push_back(std::move(turn));
      if (last) break;
    }
    run_.whole &= sample.counts() || sample.unanswered.starts_with("trouble of the machine");
    run_.samples.push_back(std::move(sample));
    return {};
  }

  Archive& archive_;
  RunData& run_;
  std::vector<int64_t> since_;
  std::map<archive::Cell, archive::Answer> by_cell_;
  std::map<archive::Cell, std::string> trouble_;
  std::map<int64_t, Turn> attempts_;
  std::map<std::tuple<std::string, std::string, int>, record::Usage> vain_;  // by arm, task, sample
  std::optional<std::set<archive::Cell>> there_;  // of a run that is judged again: its cells, and there are no others
};

// --- a run of optimize -------------------------------------------------------------------------------------------------------

base::Findings read_optimise(Archive& archive, const archive::Run& row, RunData& run) {
  run.name = row.task;
  TaskInfo task;
  task.name = row.task;
  if (size_t slash = row.task.find('/'); slash != row.task.npos) task.family = row.task.substr(0, slash);
  run.tasks.push_back(task);
  auto rows = archive.attempts({.run = row.id, .limit = row.attempts});
  if (!rows) return rows.findings();
  std::reverse(rows->begin(), rows->end());
  std::map<std::string, int> numbers;
  for (const auto& one : *rows) {
    auto attempt = archive.attempt(one.id, false);
    if (!attempt) return attempt.findings();
    auto arm = std::find_if(run.arms.begin(), run.arms.end(), [&](const Arm& a) { return a.name == one.proposer; });
    if (arm == run.arms.end()) {
      arm = run.arms.insert(arm, Arm{});
      arm->name = arm->proposer = one.proposer;
    }
    Sample sample;
    sample.arm = static_cast<size_t>(arm - run.arms.begin());
    sample.number = ++numbers[one.proposer];
    run.k = std::max(run.k, sample.number);
    sample.turns.emplace_back();
    if (attempt->verdict.timing && run.device.empty()) {
      run.device = attempt->verdict.timing->device;
      run.driver = attempt->verdict.timing->driver;
    }
    fill(sample.turns.back(), *attempt, attempt->verdict.timing.has_value());
    if (attempt->verdict.outcome == OutcomeName::infrastructure)
      sample.unanswered = "trouble of the machine: " + attempt->verdict.reason;
    run.samples.push_back(std::move(sample));
  }
  return {};
}

}  // namespace

std::string_view name_of(SpeedSource source) {
  switch (source) {
    case SpeedSource::measured: return "measured";
    case SpeedSource::estimated: return "estimated";
  }
  return "";
}

bool Sample::right() const {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& t) { return t.right; });
}

bool Sample::assembled() const {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& t) { return t.assembled; });
}

const Turn* Sample::best() const {
  const Turn* best = nullptr;
  for (const auto& turn : turns) {
    if (turn.right && (!best || speed_rank(turn) > speed_rank(*best))) best = &turn;
  }
  return best ? best : turns.empty() ? nullptr : &turns.back();
}

std::optional<int> Sample::first_right() const {
  for (const auto& turn : turns) {
    if (turn.right) return turn.turn;
  }
  return std::nullopt;
}

Turn turn_of(const record::Attempt& attempt, bool gpu) {
  Turn turn;
  fill(turn, attempt, gpu);
  return turn;
}

namespace {

// The first baseline's own code is as fast as that. How fast it is beside further ones, nobody has timed.
void own_code_beside_others(RunData& run) {
  auto timed = baselines_by_task(run);
  for (auto& sample : run.samples) {
    if (timed[run.tasks[sample.task].name].size() < 2) continue;
    for (auto& turn : sample.turns) {
      if (!turn.measured || !turn.baselines.empty()) continue;
      turn.measured_over_first = turn.measured;
      turn.measured.reset();
    }
  }
}

base::Result<RunData> read_whole(Archive& archive, std::string_view id) {
  auto row = archive.run(id);
  if (!row) return row.findings();
  RunData run;
  run.id = row->id;
  run.command = row->command;
  run.started = row->started;
  run.target = row->target;
  run.seed = row->seed;
  auto bench = archive.bench(row->id);
  if (!bench) {
    if (bench.findings().front().code != "ARC0008") return bench.findings();
    auto findings = read_optimise(archive, *row, run);
    if (!findings.empty()) return findings;
    return run;
  }
  run.bench = true;
  run.lock = bench->lock;
  run.rejudged_from = bench->rejudged;
  std::vector<int64_t> since;
  try {
    const auto lock = json::parse(bench->lock);
    read_lock(lock, run);
    run.builds.push_back(build_of(lock));
    for (const auto& later : bench->continued) {
      auto build = build_of(json::parse(later.lock));
      if (build.hash == run.builds.back().hash) continue;  // another budget
      run.builds.push_back(std::move(build));
      since.push_back(later.after);
    }
  } catch (const json::exception& error) {
    return base::error("ARC0004", fmt::format("the lock of run {} cannot be read: {}", run.id, error.what()), "");
  }
  auto findings = BenchReader(archive, run, std::move(since)).read();
  if (!findings.empty()) return findings;
  return run;
}

}  // namespace

base::Result<RunData> read_run(Archive& archive, std::string_view id) {
  auto run = read_whole(archive, id);
  if (run) own_code_beside_others(*run);
  return run;
}

}  // namespace ptxlab::report
