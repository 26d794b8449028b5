// What a bench run would take, before anything is asked: questions, tokens, money, time. Each figure says what it rests on; what
// nobody knows is said to be unknown.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "cli/bench_set.h"
#include "loop/lock.h"

namespace ptxlab::cli {

struct ArmAhead {
  std::string name;
  bool learns = false, model = false;
  int64_t questions = 0;            // at most
  int64_t asked = 0, answered = 0;  // tokens, at most; of models
  std::optional<double> dollars;    // nothing: the price is not known
  std::optional<double> seconds_a_question;
};

struct Ahead {
  std::vector<ArmAhead> arms;
  int64_t judged = 0;                         // candidates, at most
  std::optional<double> seconds_a_candidate;  // from earlier runs
  size_t seconds_from = 0;                    // on how many candidates that rests
  std::vector<std::string> notes;
};

// `archive` null: there is none to learn times from.
base::Result<Ahead> look_ahead(BenchSet& set, const loop::Lock& lock, archive::Archive* archive);

std::string text(const Ahead& ahead, const loop::Lock& lock, size_t jobs);
nlohmann::json to_json(const Ahead& ahead, const loop::Lock& lock, size_t jobs);  // "ptxlab.bench.ahead/1"

}  // namespace ptxlab::cli
