// How well are faults named? Plants the faults of faults/*.toml and those of planters.cc, judges each candidate as `ptxlab judge` does,
// and prints a confusion matrix. Everything is fixed: the same program gives the same table.
//
// usage: diagnosis_study [--faults] [--planted] [--slow] [--task WORD] [--fault WORD] [--every N] [--threads N] [--json FILE] [--list]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/thread_pool.h"
#include "judge/judge.h"
#include "planted.h"

namespace ptxlab::planted {
namespace {

namespace fs = std::filesystem;

struct Options {
  bool faults = false, planted = false, slow = false, list = false;
  std::string task, fault;
  size_t every = 1, threads = 0;
  fs::path json;
};

// A task, its baseline, where its source is.
struct Subject {
  task::Task task;
  const judge::Baseline* baseline = nullptr;
  fs::path source;
};

// What became of a fault.
struct Result {
  enum class Kind : uint8_t { right, wrong, unnamed, stopped, no_effect, refused, kEnd };
  Kind kind = Kind::refused;
  std::string name, evidence;      // the name that it got; or why there is none
  std::vector<std::string> codes;  // of a slow one: all that is said of it
  double speedup = 0;
};
constexpr const char* kKinds[] = {"named right", "named wrong", "not named", "stopped", "no effect", "refused"};

const char* const kExamples[] = {"layer_norm", "csr_spmv", "heat2d", "compact", "adamw", "separable_blur"};

class Study {
 public:
  explicit Study(Options options) : options_(std::move(options)) { how_.target = isa::target_named("sm_80"); }

  int run() {
    if (!collect()) return 1;
    std::erase_if(faults_, [&](const Fault& f) { return f.what.find(options_.fault) == std::string::npos; });
    if (options_.every > 1) {
      std::vector<Fault> some;
      for (size_t i = 0; i < faults_.size(); i += options_.every) some.push_back(std::move(faults_[i]));
      faults_ = std::move(some);
    }
    if (options_.list) {
      for (const auto& fault : faults_) fmt::print("{}: {}: {}\n", fault.task, fault.host, fault.what);
      fmt::print("{} faults\n", faults_.size());
      return 0;
    }
    const auto start = std::chrono::steady_clock::now();
    results_.resize(faults_.size());
    std::atomic<size_t> done{0};
    base::parallel_for(faults_.size(), options_.threads, [&](size_t i) {
      results_[i] = judged(faults_[i]);
      if (size_t n = ++done; n % 25 == 0) fmt::print(stderr, "{} of {}\n", n, faults_.size());
    });
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!options_.json.empty()) write_json();
    if (options_.slow) print_slow();
    if (options_.faults || options_.planted) print_matrix();
    return 0;
  }

 private:
  bool collect() {
    auto written = read_faults(fs::path(PTXLAB_SOURCE_DIR) / "tests/diagnosis/faults");
    if (!written) return fmt::print(stderr, "{}", base::render(written.findings(), "")), false;
    for (auto& fault : *written)
      if (fault.task.find(options_.task) != std::string::npos && (fault.slow ? options_.slow : options_.faults))
        faults_.push_back(std::move(fault));
    if (!options_.planted) return true;
    const fs::path root(PTXLAB_SOURCE_DIR);
    for (const auto& name : task::list_tasks(root / "tasks")) {
      const Subject* s = wanted(name);
      if (!s) continue;
      add(plant_everywhere(s->task, "baseline", s->baseline->ptx, s->baseline->plan_text, 2), name);
      for (const auto& host : rule_outputs(s->task, *s->baseline))
        add(plant_everywhere(s->task, host.name, host.ptx, host.plan, 1), name);
    }
    for (const char* name : kExamples) {
      const auto word = (root / "examples" / fmt::format("{}.task.toml", name)).string();
      const Subject* s = wanted(word);
      if (s) add(plant_everywhere(s->task, "baseline", s->baseline->ptx, s->baseline->plan_text, 2), word);
    }
    return true;
  }

  const Subject* wanted(const std::string& word) {
    return word.find(options_.task) == std::string::npos ? nullptr : subject(word);
  }
  void add(std::vector<Fault> more, const std::string& word) {
    for (auto& fault : more) {
      fault.task = word;
      faults_.push_back(std::move(fault));
    }
  }

  const Subject* subject(const std::string& word) {
    std::lock_guard lock(mutex_);
    auto& slot = subjects_[word];
    if (slot) return slot->baseline ? slot.get() : nullptr;
    slot = std::make_unique<Subject>();
    auto task = task::find_task(word, fs::path(PTXLAB_SOURCE_DIR) / "tasks");
    if (!task) return nullptr;
    slot->task = *task;
    auto baseline = judge_.baseline(slot->task, *how_.target);
    if (!baseline) return fmt::print(stderr, "{}", base::render(baseline.findings(), "")), nullptr;
    slot->baseline = *baseline;
    slot->source = slot->task.folder / "kernel.cu";
    return slot.get();
  }

  Result judged(const Fault& fault) {
    const Subject* s = subject(fault.task);
    if (!s) return {Result::Kind::refused, "no such task", "", {}, 0};
    auto candidate = make(fault, *s->baseline, s->source);
    if (!candidate) return {Result::Kind::refused, base::render(candidate.findings(), ""), "", {}, 0};
    auto how = how_;
    how.threads = 1;
    how.sass = false;
    how.until = fault.slow ? record::GateName::time : record::GateName::emulate;
    const auto verdict = judge_.judge(s->task, *candidate, how);
    return fault.slow ? of_slow(fault, verdict) : of_wrong(fault, verdict);
  }

  static Result of_wrong(const Fault& fault, const record::Verdict& verdict) {
    using record::OutcomeName;
    const bool wrong = verdict.outcome == OutcomeName::wrong || verdict.outcome == OutcomeName::faulted;
    if (!wrong && !record::is_right(verdict.outcome)) return {Result::Kind::refused, verdict.reason, "", {}, 0};
    if (!wrong) return {Result::Kind::no_effect, "", verdict.reason, {}, 0};
    const auto [name, said] = name_given(verdict);
    if (!name.empty()) {
      const bool fits = std::find(fault.is.begin(), fault.is.end(), name) != fault.is.end();
      return {fits ? Result::Kind::right : Result::Kind::wrong, name, said, {}, 0};
    }
    return {verdict.outcome == OutcomeName::faulted ? Result::Kind::stopped : Result::Kind::unnamed,
            "",
            verdict.reason,
            {},
            0};
  }

  static Result of_slow(const Fault& fault, const record::Verdict& verdict) {
    Result result;
    result.speedup = verdict.estimated_speedup.value_or(0);
    if (!record::is_right(verdict.outcome)) return {Result::Kind::refused, verdict.reason, "", {}, 0};
    for (const auto& finding : verdict.gate(record::GateName::time).findings) {
      if (finding.code < "JDG0081" || finding.code > "JDG0099") continue;
      result.evidence += fmt::format("{} {}; ", finding.code, finding.message);
      if (finding.code != "JDG0091") result.codes.push_back(finding.code);
    }
    auto said = [&](const std::string& code) {
      return std::find(result.codes.begin(), result.codes.end(), code) != result.codes.end();
    };
    const bool all = std::all_of(fault.is.begin(), fault.is.end(), said);
    if (fault.is.empty()) {
      result.kind = result.codes.empty() ? Result::Kind::right : Result::Kind::wrong;
    } else if (result.speedup >= 1.03 || result.speedup == 0) {  // 0: the baseline's own code
      result.kind = Result::Kind::no_effect;
    } else {
      result.kind = all ? Result::Kind::right : result.codes.empty() ? Result::Kind::unnamed : Result::Kind::wrong;
    }
    return result;
  }

  void write_json() const {
    nlohmann::json all = nlohmann::json::array();
    for (size_t i = 0; i < faults_.size(); ++i)
      all.push_back({{"task", fs::path(faults_[i].task).filename().string()},
                     {"host", faults_[i].host},
                     {"fault", faults_[i].what},
                     {"may_be", faults_[i].is},
                     {"twice", faults_[i].twice},
                     {"slow", faults_[i].slow},
                     {"result", kKinds[static_cast<size_t>(results_[i].kind)]},
                     {"named", results_[i].name},
                     {"codes", results_[i].codes},
                     {"speedup", results_[i].speedup},
                     {"said", results_[i].evidence}});
    std::ofstream(options_.json) << all.dump(1) << "\n";
  }

  static std::string row_of(const Fault& fault) {
    if (fault.twice) return "two at once";
    return fault.is.empty() ? (fault.slow ? "(honest)" : "(no name)") : fault.is.front();
  }

  void print_matrix() const {
    std::map<std::string, std::array<size_t, static_cast<size_t>(Result::Kind::kEnd)>> rows;
    std::map<std::string, std::map<std::string, size_t>> confused;
    for (size_t i = 0; i < faults_.size(); ++i) {
      if (faults_[i].slow) continue;
      const auto& result = results_[i];
      const auto row = row_of(faults_[i]);
      ++rows[row][static_cast<size_t>(result.kind)];
      if (result.kind == Result::Kind::wrong) ++confused[row][result.name];
    }
    fmt::print("| planted | named right | named wrong | not named | stopped | no effect | refused | wrong names |\n");
    fmt::print("|---|---|---|---|---|---|---|---|\n");
    std::array<size_t, static_cast<size_t>(Result::Kind::kEnd)> sum{};
    for (const auto& [row, counts] : rows) {
      std::string names;
      for (const auto& [name, count] : confused[row])
        names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, count);
      fmt::print("| {} |", row);
      for (size_t k = 0; k < counts.size(); ++k) fmt::print(" {} |", counts[k]), sum[k] += counts[k];
      fmt::print(" {} |\n", names);
    }
    fmt::print("| **all** |");
    for (size_t count : sum) fmt::print(" {} |", count);
    fmt::print(" |\n\n{} faults in {:.0f} s\n", faults_.size(), seconds_);
  }

  void print_slow() const {
    fmt::print("| planted | said | not said, other codes are | nothing said | not slower | refused | beside it |\n");
    fmt::print("|---|---|---|---|---|---|---|\n");
    std::map<std::string, std::array<size_t, static_cast<size_t>(Result::Kind::kEnd)>> rows;
    std::map<std::string, std::map<std::string, size_t>> beside;
    for (size_t i = 0; i < faults_.size(); ++i) {
      if (!faults_[i].slow) continue;
      const auto row = row_of(faults_[i]);
      ++rows[row][static_cast<size_t>(results_[i].kind)];
      for (const auto& code : results_[i].codes)
        if (code != row) ++beside[row][code];
    }
    for (const auto& [row, counts] : rows) {
      auto at = [&](Result::Kind kind) { return counts[static_cast<size_t>(kind)]; };
      std::string names;
      for (const auto& [code, count] : beside[row])
        names += fmt::format("{}{} {}", names.empty() ? "" : ", ", code, count);
      fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", row, at(Result::Kind::right), at(Result::Kind::wrong),
                 at(Result::Kind::unnamed), at(Result::Kind::no_effect), at(Result::Kind::refused), names);
    }
    fmt::print("\n");
  }

  Options options_;
  judge::Judge judge_{judge::installed_parts({})};
  judge::JudgeOptions how_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;
  std::vector<Fault> faults_;
  std::vector<Result> results_;
  double seconds_ = 0;
};

int main_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    auto next = [&]() -> std::string { return i + 1 < count ? words[++i] : ""; };
    if (word == "--faults")
      options.faults = true;
    else if (word == "--planted")
      options.planted = true;
    else if (word == "--slow")
      options.slow = true;
    else if (word == "--list")
      options.list = true;
    else if (word == "--task")
      options.task = next();
    else if (word == "--fault")
      options.fault = next();
    else if (word == "--every")
      options.every = std::max(1, std::atoi(next().c_str()));
    else if (word == "--threads")
      options.threads = static_cast<size_t>(std::max(0, std::atoi(next().c_str())));
    else if (word == "--json")
      options.json = next();
    else
      return std::fputs(
                 "usage: diagnosis_study [--faults] [--planted] [--slow] [--task WORD] [--fault WORD] [--every N] "
                 "[--threads N] "
                 "[--json FILE] [--list]\n",
                 stderr),
             2;
  }
  if (!options.faults && !options.planted && !options.slow) options.faults = options.planted = options.slow = true;
  setenv("PTXLAB_GPU", "none", 1);
  return Study(options).run();
}

}  // namespace
}  // namespace ptxlab::planted

int main(int count, char** words) { return ptxlab::planted::main_of(count, words); }
