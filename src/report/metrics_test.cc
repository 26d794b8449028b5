#include "report/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "report/arm_samples.h"

namespace ptxlab::report {
namespace {

Turn turn_with(bool right, std::optional<double> estimated = std::nullopt,
               std::optional<double> measured = std::nullopt) {
  Turn turn;
  turn.attempt = 1;
  turn.assembled = true;
  turn.right = right;
  turn.outcome = right ? record::OutcomeName::unverified : record::OutcomeName::wrong;
  turn.failure = right ? FailureKind::none : FailureKind::tail;
  if (estimated) turn.estimated = Speedup{*estimated, *estimated * 0.9, *estimated * 1.1, "H200"};
  if (measured) turn.measured = Speedup{*measured, *measured * 0.99, *measured * 1.01, "H200"};
  return turn;
}

// `arms` arms, each with `tasks` x `k` samples of one turn, as `made` makes it.
RunData run_with(size_t arms, size_t tasks, int k, const std::function<std::vector<Turn>(size_t, size_t, int)>& made) {
  RunData run;
  run.id = "r", run.name = "made", run.bench = true;
  run.k = k;
  for (size_t a = 0; a < arms; ++a) {
    Arm arm;
    arm.name = "arm" + std::to_string(a), arm.model = true;
    run.arms.push_back(arm);
  }
  for (size_t t = 0; t < tasks; ++t) {
    TaskInfo task;
    task.name = (t % 2 ? "norm/t" : "gemm/t") + std::to_string(t);
    task.family = t % 2 ? "norm" : "gemm";
    task.split = t % 3 ? "train" : "held_out";
    task.level = 1 + static_cast<int>(t % 2);
    if (t == 0) task.facts = {"fragments"}, task.tags = {"reduction"};
    run.tasks.push_back(task);
  }
  for (size_t a = 0; a < arms; ++a) {
    for (size_t t = 0; t < tasks; ++t) {
      for (int i = 1; i <= k; ++i) {
        Sample sample;
        sample.arm = a, sample.task = t, sample.number = i;
        sample.turns = made(a, t, i);
        for (size_t j = 0; j < sample.turns.size(); ++j) sample.turns[j].turn = static_cast<int>(j) + 1;
        run.samples.push_back(std::move(sample));
      }
    }
  }
  return run;
}

const Figure& pass_at(const std::vector<PassAtK>& list, int k) {
  for (const auto& one : list) {
    if (one.k == k) return one.figure;
  }
  ADD_FAILURE() << "no k = " << k;
  return list.front().figure;
}

// The twin: every set of k samples of every task is looked at.
TEST(Metrics, PassAtKEqualsTheMeanOverAllSubsets) {
  base::Random random(5);
  const int k = 6;
  auto run = run_with(1, 5, k, [&](size_t, size_t, int) { return std::vector{turn_with(random.uniform() < 0.3)}; });
  MetricOptions options;
  options.ks = {1, 2, 3, 4, 5};
  auto metrics = compute(run, options);
  for (int wanted = 1; wanted <= k; ++wanted) {
    double sum = 0;
    for (size_t t = 0; t < run.tasks.size(); ++t) {
      int hits = 0, sets = 0;
      for (uint32_t set = 0; set < (1u << k); ++set) {
        if (std::popcount(set) != wanted) continue;
        bool any = false;
        for (int i = 0; i < k; ++i) any |= (set >> i & 1) && run.samples[t * k + static_cast<size_t>(i)].right();
        hits += any, ++sets;
      }
      sum += static_cast<double>(hits) / sets;
    }
    const auto& figure = pass_at(metrics.arms[0].right, wanted);
    EXPECT_NEAR(figure.interval.center, sum / 5, 1e-12) << wanted;
    EXPECT_EQ(figure.tasks, 5u);
    EXPECT_EQ(figure.samples, 30u);
    EXPECT_LE(figure.interval.low, figure.interval.center);
    EXPECT_GE(figure.interval.high, figure.interval.center);
  }
}

// The same for the best of k: a task without a right sample, and one that is only slower, keeps its baseline.
TEST(Metrics, BestOfKEqualsTheMeanOverAllSubsets) {
  base::Random random(6);
  const int k = 5;
  auto run = run_with(1, 4, k, [&](size_t, size_t t, int) {
    bool right = t != 3 && random.uniform() < 0.6;
    return std::vector{turn_with(right, 0.5 + 2 * random.uniform())};
  });
  auto metrics = compute(run);
  ASSERT_EQ(metrics.arms[0].speed.size(), 1u);
  EXPECT_EQ(metrics.arms[0].speed[0].source, SpeedSource::estimated);
  double sum = 0;
  const int wanted = 2;
  for (size_t t = 0; t < 4; ++t) {
    double logs = 0;
    int sets = 0;
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < i; ++j) {
        double best = 1;
        for (int one : {i, j}) {
          const auto& turn = run.samples[t * k + static_cast<size_t>(one)].turns[0];
          if (turn.right) best = std::max(best, turn.estimated->value);
        }
        logs += std::log(best), ++sets;
      }
    }
    sum += logs / sets;
  }
  EXPECT_NEAR(pass_at(metrics.arms[0].speed[0].best_of_k, wanted).interval.center, std::exp(sum / 4), 1e-12);
  EXPECT_FALSE(metrics.arms[0].speed[0].best[3].sample);
}

TEST(Metrics, FastCountsOnlyWhatIsKnownToBeFast) {
  // 1.05 with an interval from 0.945: nobody knows that it is faster.
  auto run = run_with(1, 4, 1, [&](size_t, size_t t, int) { return std::vector{turn_with(true, t < 2 ? 1.05 : 1.5)}; });
  auto metrics = compute(run);
  for (const auto& one : metrics.arms[0].speed[0].fast) {
    if (one.p == 0) {
      EXPECT_EQ(one.figure.interval.center, 1);
    }
    if (one.p == 0.8) {
      EXPECT_EQ(one.figure.interval.center, 1);
    }
    if (one.p == 1) {
      EXPECT_EQ(one.figure.interval.center, 0.5);
    }
    if (one.p == 2) {
      EXPECT_EQ(one.figure.interval.center, 0);
    }
  }
}

TEST(Metrics, MeasuredAndEstimatedAreNeverMixed) {
  auto run = run_with(1, 6, 2, [&](size_t, size_t t, int) {
    return std::vector{turn_with(true, 3, t < 3 ? std::optional<double>(1.2) : std::nullopt)};
  });
  run.device = "H200";
  auto metrics = compute(run);
  ASSERT_EQ(metrics.arms[0].speed.size(), 2u);
  const auto& measured = metrics.arms[0].speed[0];
  const auto& estimated = metrics.arms[0].speed[1];
  ASSERT_EQ(measured.source, SpeedSource::measured);
  // Three tasks at 1.2, three whose speed nobody measured and that keep their baseline.
  EXPECT_NEAR(pass_at(measured.best_of_k, 2).interval.center, std::sqrt(1.2), 1e-12);
  EXPECT_EQ(measured.unknown, 6u);
  EXPECT_NEAR(measured.right_only->interval.center, 1.2, 1e-12);
  EXPECT_NEAR(pass_at(estimated.best_of_k, 2).interval.center, 3, 1e-12);
  // Groups speak of the run's own source.
  for (const auto& group : metrics.arms[0].groups) {
    EXPECT_LE(group.speed->interval.center, 1.2 + 1e-9);
  }
  auto json = to_json(run, metrics);
  const auto& speed = json["arms"][0]["speed"];
  EXPECT_TRUE(speed.contains("measured") && speed.contains("estimated"));
}

TEST(Metrics, TurnsAndRepairs) {
  // Sample 1 is right at once, 2 in its second turn, 3 never.
  auto run = run_with(1, 3, 3, [&](size_t, size_t, int i) {
    if (i == 1) return std::vector{turn_with(true)};
    if (i == 2) return std::vector{turn_with(false), turn_with(true)};
    return std::vector{turn_with(false), turn_with(false)};
  });
  run.turns = 2;
  auto metrics = compute(run);
  const auto& arm = metrics.arms[0];
  ASSERT_EQ(arm.turns.size(), 2u);
  EXPECT_NEAR(arm.turns[0].right.interval.center, 1.0 / 3, 1e-12);
  EXPECT_NEAR(arm.turns[1].right.interval.center, 2.0 / 3, 1e-12);
  EXPECT_EQ(arm.turns[0].asked, 9u);
  EXPECT_EQ(arm.turns[1].asked, 6u);
  EXPECT_NEAR(arm.repair_rounds->interval.center, 0.5, 1e-12);
  EXPECT_EQ(arm.repair_rounds->samples, 6u);
  EXPECT_NEAR(pass_at(arm.right, 1).interval.center, 2.0 / 3, 1e-12);
}

TEST(Metrics, WhatIsMissingCountsNowhereAndIsSaid) {
  auto run = run_with(1, 3, 2, [&](size_t, size_t, int) { return std::vector{turn_with(true)}; });
  run.samples[0].turns.clear();
  run.samples[0].unanswered = "the server gave no answer";
  run.whole = false;
  auto metrics = compute(run);
  EXPECT_EQ(metrics.arms[0].missing, 1u);
  EXPECT_EQ(metrics.arms[0].samples, 5u);
  EXPECT_EQ(pass_at(metrics.arms[0].right, 1).tasks, 3u);
  EXPECT_EQ(pass_at(metrics.arms[0].right, 2).tasks, 2u);  // the first task has one sample only
  EXPECT_NE(metrics.notes.at(0).find("not whole"), std::string::npos);
}

TEST(Metrics, AListIsTakenFromItsFront) {
  // Not draws: the second of the list is right, so 1 of it is not and 2 are.
  auto run = run_with(1, 3, 3, [&](size_t, size_t, int i) { return std::vector{turn_with(i == 2, 2.0)}; });
  run.arms[0].model = false;
  auto metrics = compute(run);
  EXPECT_EQ(pass_at(metrics.arms[0].right, 1).interval.center, 0);
  EXPECT_EQ(pass_at(metrics.arms[0].right, 2).interval.center, 1);
  EXPECT_NEAR(pass_at(metrics.arms[0].speed[0].best_of_k, 1).interval.center, 1, 1e-12);
  EXPECT_NEAR(pass_at(metrics.arms[0].speed[0].best_of_k, 3).interval.center, 2, 1e-12);
}

TEST(Metrics, OneTaskSpeaksOfItsSamplesAlone) {
  auto run = run_with(1, 1, 10, [&](size_t, size_t, int i) { return std::vector{turn_with(i <= 3)}; });
  auto metrics = compute(run);
  const auto& figure = pass_at(metrics.arms[0].right, 1);
  EXPECT_NEAR(figure.interval.center, 0.3, 1e-12);
  EXPECT_NEAR(figure.interval.low, 0.108, 0.001);  // Wilson's, 3 of 10
  EXPECT_NEAR(figure.interval.high, 0.603, 0.001);
}

TEST(Metrics, NothingRightStillHasAnInterval) {
  auto run = run_with(1, 12, 4, [&](size_t, size_t, int) { return std::vector{turn_with(false)}; });
  auto metrics = compute(run);
  const auto& figure = pass_at(metrics.arms[0].right, 1);
  EXPECT_EQ(figure.interval.center, 0);
  EXPECT_EQ(figure.interval.low, 0);
  EXPECT_GT(figure.interval.high, 0.1);
  EXPECT_LT(figure.interval.high, 0.3);
  EXPECT_FALSE(metrics.arms[0].cost.seconds_a_success);
  EXPECT_TRUE(metrics.arms[0].speed.empty());
}

TEST(Metrics, GroupsByFamilyLevelSplitTagAndFact) {
  auto run = run_with(1, 6, 2, [&](size_t, size_t t, int) { return std::vector{turn_with(t % 2 == 0)}; });
  auto metrics = compute(run);
  std::map<std::string, double> right;
  for (const auto& group : metrics.arms[0].groups) right[group.key + ":" + group.value] = group.right.interval.center;
  EXPECT_EQ(right.at("family:gemm"), 1);
  EXPECT_EQ(right.at("family:norm"), 0);
  EXPECT_EQ(right.at("level:1"), 1);
  EXPECT_EQ(right.at("tag:reduction"), 1);
  EXPECT_EQ(right.at("fact:fragments"), 1);
  EXPECT_NEAR(right.at("split:held_out"), 0.5, 1e-12);
}

TEST(Metrics, CostAndTimeASuccess) {
  auto run = run_with(2, 4, 2, [&](size_t a, size_t, int i) {
    auto turn = turn_with(i == 1);
    turn.use = {.requests = 1, .asked = 100, .answered = 50, .seconds = 3};
    if (a == 0) turn.use.usd = 0.5;
    turn.judge_seconds = 1;
    return std::vector{turn};
  });
  auto metrics = compute(run);
  const auto& priced = metrics.arms[0].cost;
  EXPECT_EQ(priced.usd, 4);
  EXPECT_EQ(priced.successes, 4u);
  EXPECT_NEAR(priced.usd_a_success->interval.center, 1, 1e-12);
  EXPECT_NEAR(priced.seconds_a_success->interval.center, 8, 1e-12);
  EXPECT_NEAR(priced.tokens_a_success->interval.center, 300, 1e-12);
  const auto& unpriced = metrics.arms[1].cost;
  EXPECT_FALSE(unpriced.usd || unpriced.usd_a_success);
  bool said = false;
  for (const auto& note : metrics.notes) said |= note.find("`arm1`: the price") != std::string::npos;
  EXPECT_TRUE(said);
}

// What questions took that got no answer was paid for too.
TEST(Metrics, WhatWasUsedInVainIsPartOfTheCost) {
  auto run = run_with(1, 2, 2, [&](size_t, size_t, int) {
    auto turn = turn_with(true);
    turn.use = {.requests = 1, .asked = 100, .answered = 50, .usd = 0.5, .seconds = 3};
    return std::vector{turn};
  });
  run.samples[0].in_vain = {.requests = 3, .asked = 300, .answered = 0, .usd = 1};
  run.samples[1].turns.clear();
  run.samples[1].unanswered = "the server gave no answer";
  run.samples[1].in_vain = {.requests = 1, .asked = 100, .answered = 0, .usd = 0.25};
  const auto cost = compute(run).arms[0].cost;
  EXPECT_EQ(cost.requests, 3 + 3 + 1);
  EXPECT_EQ(cost.asked, 3 * 100 + 300 + 100);
  EXPECT_NEAR(*cost.usd, 3 * 0.5 + 1 + 0.25, 1e-12);
  EXPECT_NEAR(cost.usd_a_success->interval.center, 2.75 / 3, 1e-12);
  run.samples[1].in_vain.usd.reset();
  EXPECT_FALSE(compute(run).arms[0].cost.usd);
}

TEST(Metrics, ClaimsAgainstBeingRight) {
  auto run = run_with(1, 4, 4, [&](size_t, size_t, int i) {
    auto turn = turn_with(i <= 2);
    if (i != 4) turn.claims = {{"shared memory", i <= 2, "staged in shared memory"}};
    return std::vector{turn};
  });
  auto metrics = compute(run);
  const auto& claims = metrics.arms[0].claims;
  EXPECT_EQ(claims.candidates, 16u);
  EXPECT_EQ(claims.with_claims, 12u);
  EXPECT_EQ(claims.true_right, 8u);
  EXPECT_EQ(claims.false_wrong, 4u);
  EXPECT_NEAR(claims.share->interval.center, 2.0 / 3, 1e-12);
  EXPECT_NEAR(*claims.odds_ratio, 8.5 * 4.5 / (0.5 * 0.5), 1e-9);
  EXPECT_NEAR(*claims.p_value, 1.0 / 495, 1e-9);  // C(12, 4)
}

TEST(Metrics, FailuresAreCountedBySampleAndTurn) {
  auto run = run_with(1, 2, 2, [&](size_t, size_t, int i) {
    auto bad = turn_with(false);
    bad.failure = FailureKind::syntax, bad.failure_code = "PTX0006";
    return i == 1 ? std::vector{bad, turn_with(true)} : std::vector{bad, bad};
  });
  run.turns = 2;
  auto metrics = compute(run);
  std::map<FailureKind, FailureCount> counts;
  for (const auto& one : metrics.arms[0].failures) counts[one.kind] = one;
  EXPECT_EQ(counts[FailureKind::syntax].turns, 6u);
  EXPECT_EQ(counts[FailureKind::syntax].samples, 2u);
  EXPECT_EQ(counts[FailureKind::none].samples, 2u);
  EXPECT_EQ(counts[FailureKind::syntax].codes.at(0), (std::pair<std::string, size_t>("PTX0006", 6)));
}

// A sample that stopped half-way has had its turns, but it has not ended yet.
TEST(Metrics, WhatDoesNotCountEndsInNoFailure) {
  auto run = run_with(1, 1, 3, [&](size_t, size_t, int) { return std::vector{turn_with(false)}; });
  run.turns = 2;
  run.samples[2].unanswered = "not asked yet";
  const auto arm = compute(run).arms[0];
  ASSERT_EQ(arm.failures.size(), 1u);
  EXPECT_EQ(arm.failures[0].turns, 3u);
  EXPECT_EQ(arm.failures[0].samples, 2u);
  EXPECT_EQ(arm.samples, 2u);
}

TEST(Metrics, SeveralBuildsOfTheProgramAreSaid) {
  auto run = run_with(1, 2, 1, [&](size_t, size_t, int) { return std::vector{turn_with(true)}; });
  run.builds = {{"1.0.0", "0123456789abcdef", 3}};
  for (const auto& note : compute(run).notes) EXPECT_EQ(note.find("build"), std::string::npos) << note;
  run.builds.push_back({"1.0.1", "fedcba9876543210", 4});
  std::string notes;
  for (const auto& note : compute(run).notes) notes += note + "\n";
  EXPECT_NE(notes.find("3 candidates by 1.0.0 (01234567), 4 candidates by 1.0.1 (fedcba98)"), std::string::npos)
      << notes;
}

// No headline without k, n and interval.
TEST(MetricsJson, EveryFigureHasItsIntervalAndNumbers) {
  base::Random random(7);
  auto run =
      run_with(2, 5, 4, [&](size_t, size_t, int) { return std::vector{turn_with(random.uniform() < 0.5, 1.4)}; });
  auto json = to_json(run, compute(run));
  EXPECT_EQ(json["schema"], "ptxlab.bench/1");
  EXPECT_EQ(json["k"], 4);
  ASSERT_FALSE(json["arms"][0]["pass_at_k"].empty());
  int figures = 0;
  const std::function<void(const nlohmann::json&)> look = [&](const nlohmann::json& value) {
    if (value.is_object() && value.contains("value") && value.contains("interval") && value.contains("tasks")) {
      ++figures;
      EXPECT_TRUE(value.contains("samples"));
      EXPECT_EQ(value["interval"].size(), 2u);
    }
    if (value.is_structured()) {
      for (const auto& item : value) look(item);
    }
  };
  look(json);
  EXPECT_GT(figures, 50);
  for (const auto& one : json["arms"][0]["pass_at_k"]) {
    EXPECT_TRUE(one.contains("k") && one["right"].contains("interval") && one["assembled"].contains("interval"));
  }
  EXPECT_EQ(json["samples"].size(), run.samples.size());
}

// --- comparisons ------------------------------------------------------------------------------------------------------------

const Difference& difference(const Comparison& comparison, const std::string& what) {
  for (const auto& one : comparison.differences) {
    if (one.what == what) return one;
  }
  ADD_FAILURE() << what;
  return comparison.differences.front();
}

TEST(Compare, ArmsThatAreAlikeAreNotResolvedAndABetterOneIs) {
  base::Random random(8);
  int wrongly = 0, rightly = 0;
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<double> chance(20);
    for (auto& p : chance) p = random.uniform();
    auto run = run_with(3, 20, 8, [&](size_t a, size_t t, int) {
      double p = a == 2 ? std::min(1.0, chance[t] + 0.3) : chance[t];
      return std::vector{turn_with(random.uniform() < p)};
    });
    wrongly += difference(compare(run, 0, run, 1), "pass@1").resolved;
    rightly += difference(compare(run, 0, run, 2), "pass@1").resolved;
  }
  EXPECT_LE(wrongly, 5);
  EXPECT_GE(rightly, 38);
}

TEST(Compare, PairsTasksAndCountsWhoSolvesWhat) {
  auto run = run_with(2, 4, 2, [&](size_t a, size_t t, int) {
    bool right = t == 0 || (t == 1 && a == 0) || (t == 2 && a == 1);
    return std::vector{turn_with(right, a == 0 ? 1.5 : 3.0)};
  });
  auto made = compare(run, 0, run, 1);
  EXPECT_EQ(made.both, 1u);
  EXPECT_EQ(made.only_a, 1u);
  EXPECT_EQ(made.only_b, 1u);
  EXPECT_EQ(made.neither, 1u);
  EXPECT_EQ(difference(made, "pass@2").p_value, 1);
  EXPECT_EQ(made.source, SpeedSource::estimated);
  const auto& speed = difference(made, "best speed-up of 2");
  EXPECT_TRUE(speed.ratio);
  // Task 0: 3 / 1.5; task 1: 1 / 1.5; task 2: 3 / 1; task 3: 1.
  EXPECT_NEAR(speed.interval.center, std::pow(2.0 / 1.5 * 3, 0.25), 1e-9);
  EXPECT_FALSE(speed.resolved);
}

// The interval by itself would call four tasks of four a difference; drawn signs bring that forth one time in eight.
TEST(Compare, AHandfulOfTasksResolvesNothing) {
  for (size_t tasks : {2, 3, 4, 5, 6}) {
    auto run = run_with(2, tasks, 2, [&](size_t a, size_t, int) { return std::vector{turn_with(a == 1, 2.0)}; });
    const auto made = compare(run, 0, run, 1);
    for (const auto& one : made.differences) {
      if (one.what == "assembled@1") continue;  // both always
      EXPECT_EQ(one.resolved, tasks == 6 && one.what != "fast_2@2") << one.what << " of " << tasks;
    }
    EXPECT_NEAR(difference(made, "pass@2").signs_p, std::pow(0.5, static_cast<double>(tasks) - 1), 1e-12);
  }
}

// More samples are more chances: what is solved is counted in as many as both have.
TEST(Compare, WithOtherNumbersOfSamplesOnlyAsManyAsBothHaveAreHeldAgainstEachOther) {
  const auto once = [](size_t, size_t, int i) { return std::vector{turn_with(i == 8, 3.0)}; };
  auto few = run_with(1, 6, 2, once), many = run_with(1, 6, 8, once);
  auto made = compare(few, 0, many, 0);
  EXPECT_EQ(made.only_b, 0u);
  EXPECT_EQ(made.neither, 6u);
  EXPECT_EQ(made.tasks[0].right_b, 1.0 / 8);
  EXPECT_EQ(compare(many, 0, many, 0).both, 6u);
}

TEST(Compare, OtherBuildsOfTheProgramAreSaid) {
  auto a = run_with(1, 3, 1, [&](size_t, size_t, int) { return std::vector{turn_with(true)}; }), b = a;
  a.builds = {{"1.0.0", "0123456789abcdef", 3}};
  b.builds = {{"1.0.0", "fedcba9876543210", 3}};
  std::string notes;
  for (const auto& note : compare(a, 0, b, 0).notes) notes += note + "\n";
  EXPECT_NE(notes.find("program: '1.0.0 (01234567)' and '1.0.0 (fedcba98)'"), std::string::npos) << notes;
}

TEST(Compare, OtherTasksDevicesAndSourcesAreNotCompared) {
  auto a = run_with(1, 3, 2, [&](size_t, size_t, int) { return std::vector{turn_with(true, std::nullopt, 1.5)}; });
  auto b = a;
  a.device = "H100", b.device = "H200";
  a.tasks[0].hash = "one", b.tasks[0].hash = "two";
  b.tasks[1].name = "norm/other";
  auto made = compare(a, 0, b, 0);
  EXPECT_EQ(made.tasks.size(), 1u);
  EXPECT_EQ(made.left_out.size(), 3u);
  EXPECT_FALSE(made.source);
  for (const auto& one : made.differences) EXPECT_EQ(one.what.find("speed"), std::string::npos);
  std::string notes;
  for (const auto& note : made.notes) notes += note + "\n";
  EXPECT_NE(notes.find("different devices"), std::string::npos);
  EXPECT_NE(notes.find("device: 'H100' and 'H200'"), std::string::npos);
  // Measured on one side and estimated on the other: nothing in common.
  auto c = run_with(1, 3, 2, [&](size_t, size_t, int) { return std::vector{turn_with(true, 1.5)}; });
  EXPECT_FALSE(compare(a, 0, c, 0).source);
}

// An arm that is never right leaves every baseline in its place, and is compared so.
TEST(Compare, AnArmWithNothingRightIsAsFastAsTheBaseline) {
  auto run = run_with(
      2, 8, 2, [&](size_t a, size_t, int) { return std::vector{a == 0 ? turn_with(true, 2.0) : turn_with(false)}; });
  auto made = compare(run, 0, run, 1);
  EXPECT_EQ(made.source, SpeedSource::estimated);
  EXPECT_NEAR(difference(made, "best speed-up of 2").interval.center, 0.5, 1e-12);
  EXPECT_TRUE(difference(made, "best speed-up of 2").resolved);
  EXPECT_FALSE(compare(run, 1, run, 1).source);
}

TEST(Retained, WhatIsStillRightAndStillFast) {
  auto then = run_with(1, 4, 2, [&](size_t, size_t, int) { return std::vector{turn_with(true, std::nullopt, 2.0)}; });
  auto now = run_with(
      1, 4, 2, [&](size_t, size_t t, int i) { return std::vector{turn_with(t != 0 || i == 1, std::nullopt, 1.5)}; });
  auto kept = retained(then, now);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_NEAR(kept[0].right.interval.center, 7.0 / 8, 1e-12);
  EXPECT_NEAR(kept[0].measured->interval.center, 0.75, 1e-12);
  EXPECT_EQ(kept[0].measured->samples, 7u);
  EXPECT_FALSE(kept[0].estimated);
}

TEST(Retained, SaysWhatHasNoVerdictNowAndWhichTasksAreOthers) {
  auto then = run_with(1, 3, 2, [&](size_t, size_t, int) { return std::vector{turn_with(true, 2.0)}; });
  auto now = then;
  now.samples[0].unanswered = "trouble of the machine";
  then.tasks[1].hash = "one", now.tasks[1].hash = "two";
  auto kept = retained(then, now);
  EXPECT_EQ(kept[0].missing, 1u);
  EXPECT_EQ(kept[0].right.samples, 5u);
  EXPECT_EQ(retained_notes(then, now), std::vector<std::string>{"norm/t1 is another version of the task than then"});
}

// 2.0 times as fast as the first baseline; and, where a rival is timed too, 1.25 times as fast as that.
Turn timed_turn(bool rival, double over_first) {
  auto turn = turn_with(true, std::nullopt, rival ? over_first / 1.6 : over_first);
  turn.against = rival ? "rival.ptx" : "first.ptx";
  turn.baselines = {"first.ptx"};
  if (!rival) return turn;
  turn.baselines.insert("rival.ptx");
  turn.measured_over_first = Speedup{over_first, over_first, over_first, ""};
  return turn;
}

TEST(Retained, SpeedUpsOverDifferentBaselinesAreNotDivided) {
  auto then = run_with(1, 4, 2, [&](size_t, size_t, int) { return std::vector{timed_turn(true, 2.0)}; });
  auto now = run_with(1, 4, 2, [&](size_t, size_t, int) { return std::vector{timed_turn(false, 1.8)}; });
  EXPECT_NEAR(retained(then, now)[0].measured->interval.center, 0.9, 1e-12) << "over the first, then and now";
  ASSERT_EQ(retained_notes(then, now).size(), 1u);
  EXPECT_NE(retained_notes(then, now)[0].find("beside other baselines than then at 4 tasks"), std::string::npos);
  EXPECT_TRUE(retained_notes(then, then).empty());
  EXPECT_NEAR(retained(then, then)[0].measured->interval.center, 1, 1e-12);
}

TEST(Compare, SpeedUpsOverDifferentBaselinesAreNotCompared) {
  auto a = run_with(1, 8, 2, [&](size_t, size_t, int) { return std::vector{timed_turn(true, 2.0)}; });
  auto b = run_with(1, 8, 2, [&](size_t, size_t, int) { return std::vector{timed_turn(false, 2.0)}; });
  auto made = compare(a, 0, b, 0);
  EXPECT_FALSE(made.source);
  ASSERT_FALSE(made.notes.empty());
  EXPECT_NE(made.notes[0].find("and 7 other tasks they were timed beside different baselines"), std::string::npos)
      << made.notes[0];
  EXPECT_TRUE(compare(a, 0, a, 0).source);
}

TEST(Retained, OfOneTaskTheIntervalIsOfItsCandidates) {
  auto then = run_with(1, 1, 10, [&](size_t, size_t, int) { return std::vector{turn_with(true, 2.0)}; });
  auto now = run_with(1, 1, 10, [&](size_t, size_t, int i) { return std::vector{turn_with(i <= 3, 2.0)}; });
  const auto right = retained(then, now)[0].right;
  EXPECT_NEAR(right.interval.low, 0.108, 0.001);  // Wilson's, 3 of 10
  EXPECT_NEAR(right.interval.high, 0.603, 0.001);
}

}  // namespace
}  // namespace ptxlab::report
