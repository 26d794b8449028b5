#include "judge/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "base/thread_pool.h"
#include "judge/judge_finding.h"
#include "judge/own_oracle.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

using base::Severity;

// Leaves to the answer those elements that the run wrote with defined values.
void only_defined(Answer& answer, const std::vector<uint8_t>& defined, uint64_t element_bytes) {
  if (defined.empty()) return;
  const uint64_t elements = defined.size() / element_bytes;
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < elements; ++i) {
    auto begin = defined.begin() + static_cast<ptrdiff_t>(i * element_bytes);
    if (std::all_of(begin, begin + static_cast<ptrdiff_t>(element_bytes), [](uint8_t byte) { return byte == 0xff; }))
      indices.push_back(i);
  }
  answer.nothing = indices.empty();
  if (indices.size() < elements) answer.indices = std::move(indices);
}

// Leaves to the answer the elements before `end`.
void only_before(Answer& answer, uint64_t end, uint64_t elements) {
  if (end >= elements || answer.nothing) return;
  if (answer.indices.empty()) {
    answer.indices.resize(end);
    for (uint64_t i = 0; i < end; ++i) answer.indices[i] = i;
  } else {
    std::erase_if(answer.indices, [end](uint64_t i) { return i >= end; });
  }
  answer.nothing = answer.indices.empty();
}

// Those elements of `all` that `indices` name.
std::vector<task::Expected> chosen(const std::vector<task::Expected>& all, const Answer& answer) {
  if (answer.nothing) return {};
  if (answer.indices.empty()) return all;
  std::vector<task::Expected> some;
  for (uint64_t i : answer.indices) some.push_back(all[i]);
  return some;
}

// What one case came to while it was prepared.
struct Made {
  PreparedCase prepared;
  base::Findings errors;                    // stop everything
  std::string left_out;                     // why the case is not judged; empty: it is
  bool own_fault = false;                   // that is since the user's own kernel faults
  std::map<std::string, double> own_error;  // of the baseline by output, over bound (a)
  bool random = false;                      // the oracle was randomly rounded runs
  uint64_t loose = 0, varying = 0;          // OwnAnswers'
  bool own_wrong = false;                   // the baseline is wrong where no factor would help (NaN, unwritten)
  std::string own_summary;                  // of its first wrong output
};

class Preparer {
 public:
  Preparer(const task::Task& task, const Baseline& baseline, const PrepareOptions& options, task::Oracle* reference)
      : task_(task), baseline_(baseline), options_(options), reference_(reference), views_(views_in_order(task)) {}

  Made make(const task::Case& what) const {
    Made made;
    auto data = task::make_case(task_, what);
    if (!data) {
      made.errors = data.findings();
      return made;
    }
    made.prepared.data = std::move(*data);
    auto plan = launch::resolve(baseline_.plan, baseline_.module, made.prepared.data.binding);
    if (!plan) {
      made.errors = plan.findings();
      return made;
    }
    CaseOptions how;
    how.seed = base_seed(what);
    how.checkers = false;  // what a user's own kernel does is never held against it
    auto engine = options_.engine();
    CaseRun run = run_case(*engine, baseline_.module, *plan, made.prepared.data, how);
    bool usable = run.supported && run.completed;
    if (usable) made.prepared.baseline_instructions = run.thread_instructions;
    if (!usable && !reference_) {
      made.left_out = run.findings.empty() ? "the baseline does not run on the engine" : run.findings.front().message;
      made.own_fault = run.supported;
      return made;
    }
    if (reference_) {
      for (const task::View& view : views_) answer_by_reference(made, view, usable ? &run : nullptr);
      if (usable && task_.user) measure_rounding(made, *plan);
    } else {
      answer_by_itself(made, *plan, run);
    }
    return made;
  }

 private:
  uint64_t base_seed(const task::Case& what) const { return what.seed ^ options_.seed; }

  // Outputs whose prefix leans on others come behind those.
  static std::vector<task::View> views_in_order(const task::Task& task) {
    std::vector<task::View> views = task::output_views(task);
    std::stable_partition(views.begin(), views.end(),
                          [](const task::View& view) { return !view.argument->valid.has_value(); });
    return views;
  }

  static uint64_t bytes_of(const task::View& view) { return static_cast<uint64_t>(isa::bytes_of(view.type)); }

  Answer start(const task::View& view, const CaseRun* run) const {
    Answer answer;
    answer.output = view.name;
    answer.buffer = view.buffer;
    if (run && !run->defined[view.buffer].empty())
      only_defined(answer, task::gather(view, run->defined[view.buffer]), bytes_of(view));
    return answer;
  }

  // Only the prefix that the task's `valid` names. `answers` holds the outputs that it leans on.
  bool cut(Made& made, Answer& answer, const task::View& view) const {
    if (!view.argument->valid) return true;
    const task::Prefix& prefix = *view.argument->valid;
    const std::vector<int64_t> shape = task::shape_of(view, made.prepared.data);
    auto count = prefix.count.evaluate([&](std::string_view name) -> std::optional<int64_t> {
      for (const auto& element : prefix.elements)
        if (element.name == name) return element_of(made.prepared.answers, element);
      const auto& sizes = made.prepared.data.what.sizes;
      const auto at = sizes.find(std::string(name));
      return at == sizes.end() ? std::nullopt : std::optional<int64_t>(at->second);
    });
    if (count && *count >= 0 && *count <= shape.front()) {
      const uint64_t elements = task::elements_of(view, made.prepared.data.binding.buffers[view.buffer].bytes);
      only_before(answer, static_cast<uint64_t>(*count) * (elements / static_cast<uint64_t>(shape.front())), elements);
      return true;
    }
    made.errors = {
        judge_finding("JDG0016", Severity::error,
                      count ? fmt::format("`valid` of '{}' is {}, and the output has room for {}, at {}",
                                          view.argument->name, *count, shape.front(), made.prepared.data.what.label())
                            : count.findings().front().message,
                      "a larger first dimension, or another expression")};
    return false;
  }

  static std::optional<int64_t> element_of(const std::vector<Answer>& answers, const task::Prefix::Element& element) {
    for (const Answer& answer : answers)
      if (answer.output == element.output && answer.indices.empty() && element.index < answer.expected.size())
        return answer.expected[element.index].integer;
    return std::nullopt;
  }

  void answer_by_reference(Made& made, const task::View& view, const CaseRun* run) const {
    if (!made.errors.empty()) return;
    Answer answer = start(view, run);
    if (!cut(made, answer, view)) return;
    if (!answer.nothing) {
      auto expected = reference_->expected(made.prepared.data, answer.output, answer.indices);
      if (!expected) {
        made.errors = expected.findings();
        return;
      }
      answer.expected = std::move(*expected);
      if (run) measure_baseline(made, answer, view, *run);
    }
    made.prepared.answers.push_back(std::move(answer));
  }

  void answer_by_itself(Made& made, const launch::ResolvedPlan& plan, const CaseRun& run) const {
    OwnAnswers own = own_answers(
        {task_, baseline_, plan, made.prepared.data, run, views_, base_seed(made.prepared.data.what), options_.engine});
    made.random = own.random;
    made.loose = own.loose;
    made.varying = own.varying;
    for (size_t v = 0; v < views_.size(); ++v) {
      Answer answer = start(views_[v], &run);
      if (!cut(made, answer, views_[v])) return;
      answer.expected = chosen(own.expected[v], answer);
      made.prepared.answers.push_back(std::move(answer));
    }
  }

  // What the user's kernel is off by where its approximate instructions use their documented error to the full, as
  // hardware may and this engine does not.
  void measure_rounding(Made& made, const launch::ResolvedPlan& plan) const {
    for (uint64_t i = 0; i < 2 && made.errors.empty(); ++i) {
      CaseOptions how;
      how.seed = base_seed(made.prepared.data.what) + 1 + i;
      how.checkers = false;
      how.random_rounding = true;
      auto engine = options_.engine();
      CaseRun run = run_case(*engine, baseline_.module, plan, made.prepared.data, how);
      if (!run.completed || !run.inexact) return;
      for (Answer& answer : made.prepared.answers) {
        if (answer.nothing || task_.tolerances.at(answer.output).kind != task::Tolerance::Kind::floating) continue;
        const task::View view = task::output_view(task_, answer.output);
        auto compared =
            task::compare(task_, made.prepared.data, answer.output, task::gather(view, run.outputs[view.buffer]),
                          answer.expected, answer.indices, answer.baseline_rms);
        if (compared.right || !std::isfinite(compared.worst) || compared.worst <= 1) continue;
        double& worst = made.own_error[answer.output];
        worst = std::max(worst, compared.worst);
      }
    }
  }

  // The baseline's own error: its RMS widens rule (b), and tells whether the task can judge at all.
  void measure_baseline(Made& made, Answer& answer, const task::View& view, const CaseRun& run) const {
    const std::vector<uint8_t> bytes = task::gather(view, run.outputs[answer.buffer]);
    auto own = task::compare(task_, made.prepared.data, answer.output, bytes, answer.expected, answer.indices);
    if (std::isfinite(own.rms)) answer.baseline_rms = own.rms;
    auto again = task::compare(task_, made.prepared.data, answer.output, bytes, answer.expected, answer.indices,
                               answer.baseline_rms);
    if (again.right) return;
    if (made.own_summary.empty()) made.own_summary = fmt::format("'{}': {}", answer.output, again.summary);
    double& worst = made.own_error[answer.output];
    worst = std::max(worst, again.worst);
    if (!std::isfinite(again.worst) || again.worst <= 1) made.own_wrong = true;
  }

  const task::Task& task_;
  const Baseline& baseline_;
  const PrepareOptions& options_;
  task::Oracle* reference_;
  std::vector<task::View> views_;
};

// A grant beyond this many times the bound leaves little to be told from the comparison.
constexpr double kMuch = 1000;

// Decides what the baseline's own errors mean: granted in a user's task, fatal in one of the repository.
class Grants {
 public:
  explicit Grants(PreparedTask& prepared) : prepared_(prepared) {}

  // What the ordinary inputs show. All cases first, then admit().
  void look(const Made& made) {
    if (made.own_error.empty()) return;
    if (prepared_.task.user && special(made)) return;
    if (made.own_wrong || !prepared_.task.user) {
      wrong_.push_back(fmt::format("{}: {}", made.prepared.data.what.label(), made.own_summary));
      return;
    }
    for (const auto& [output, error] : made.own_error) worst_[output] = std::max(worst_[output], error);
  }

  // Error: JDG0011.
  base::Findings grant() {
    if (!wrong_.empty()) {
      return {judge_finding(
          "JDG0011", Severity::error,
          fmt::format("nothing can be judged by this task: the baseline itself is wrong in {} case{}; the first is {}",
                      wrong_.size(), wrong_.size() == 1 ? "" : "s", wrong_.front()),
          "mend the reference, the tolerance or the kernel")};
    }
    for (const auto& [output, error] : worst_) {
      prepared_.task.tolerances[output].granted = 2 * error;
      bool much = error > kMuch;
      prepared_.findings.push_back(judge_finding(
          "JDG0012", much ? Severity::warning : Severity::note,
          fmt::format("your kernel's own error in '{}' is {:.3g} times the bound; candidates are granted twice that{}",
                      output, error, much ? ", so large mistakes may pass" : "")));
    }
    return {};
  }

  // False: on these special inputs the user's kernel is wrong beyond what was granted, so nothing is asked of candidates.
  bool admit(const Made& made) {
    bool beyond = made.own_wrong || std::any_of(made.own_error.begin(), made.own_error.end(), [&](const auto& one) {
                    return one.second > prepared_.task.tolerances[one.first].granted;
                  });
    if (!beyond) return true;
    prepared_.findings.push_back(
        judge_finding("JDG0013", Severity::warning,
                      fmt::format("your own kernel is wrong by the reference on special inputs: case {} is left out",
                                  made.prepared.data.what.label())));
    return false;
  }

 private:
  static bool special(const Made& made) { return !made.prepared.data.what.special.empty(); }

  PreparedTask& prepared_;
  std::vector<std::string> wrong_;
  std::map<std::string, double> worst_;
};

// Elements that the kernel's own rounding decides: candidates are asked less there.
void say_what_rounding_decides(const std::vector<Made>& made, PreparedTask& prepared) {
  uint64_t loose = 0, varying = 0;
  for (const Made& one : made) {
    loose += one.loose;
    varying += one.varying;
  }
  if (loose > 0)
    prepared.findings.push_back(judge_finding(
        "JDG0017", Severity::note,
        fmt::format("{} elements are finite or not as your kernel's rounding has it: nothing is asked of them",
                    loose)));
  if (varying > 0)
    prepared.findings.push_back(
        judge_finding("JDG0017", Severity::note,
                      fmt::format("{} integers depend on how your kernel's floats are rounded: any value between those "
                                  "that came out is right",
                                  varying)));
}

}  // namespace

base::Result<PreparedTask> prepare(const task::Task& task, const Baseline& baseline, const PrepareOptions& options) {
  PreparedTask prepared;
  prepared.task = task;
  std::unique_ptr<task::Oracle> reference;
  if (task.reference) {
    auto made = options.reference(task);
    if (!made) return made.findings();
    reference = std::move(*made);
  }
  prepared.oracle = reference ? reference->describe() : "the baseline itself, on the engine";
  auto cases = task::emulate_cases(task, options.seed);
  if (!cases) return cases.findings();
  std::vector<Made> made(cases->size());
  Preparer preparer(task, baseline, options, reference.get());
  base::parallel_for(cases->size(), options.threads, [&](size_t i) {
    try {
      made[i] = preparer.make((*cases)[i]);
    } catch (const std::exception& error) {
      made[i].errors = {
          judge_finding("JDG0001", Severity::error, fmt::format("preparing a case failed: {}", error.what()))};
    }
  });
  Grants grants(prepared);
  bool random = false;
  for (const auto& one : made) {
    if (base::has_error(one.errors)) return one.errors;
    if (one.left_out.empty()) grants.look(one);
    random = random || one.random;
  }
  if (random) prepared.oracle += fmt::format(", as the mean of {} randomly rounded runs", kRandomRuns);
  say_what_rounding_decides(made, prepared);
  if (auto wrong = grants.grant(); !wrong.empty()) return wrong;
  std::string why;
  for (auto& one : made) {
    if (!one.left_out.empty()) {
      why = one.left_out;
      prepared.findings.push_back(
          judge_finding("JDG0013", Severity::warning,
                        fmt::format("case {} is left out: {}", one.prepared.data.what.label(), one.left_out)));
    } else if (grants.admit(one)) {
      prepared.cases.push_back(std::move(one.prepared));
    }
  }
  for (const auto& one : task.time) {
    auto bound = task::bind_case(task, task::case_of(one.sizes, options.seed));
    if (!bound) return bound.findings();
    prepared.timed.push_back(std::move(*bound));
  }
  if (prepared.cases.empty() && std::any_of(made.begin(), made.end(), [](const Made& one) { return one.own_fault; })) {
    const Made& first = *std::find_if(made.begin(), made.end(), [](const Made& one) { return one.own_fault; });
    return judge_finding(
        "JDG0011", Severity::error,
        fmt::format("nothing can be judged by this task: your own kernel faults in every case; the first is {}: {}",
                    first.prepared.data.what.label(), first.left_out),
        "mend the shapes and sizes in the task, the launch in the plan, or the kernel");
  }
  if (prepared.cases.empty()) {
    return judge_finding("JDG0010", Severity::error,
                         fmt::format("no case can be judged: {}", why.empty() ? "the task has none" : why),
                         "add a reference.cc, or sizes that the kernel can run");
  }
  return prepared;
}

CaseVerdict compare_case(const task::Task& task, const PreparedCase& prepared, const CaseRun& run) {
  CaseVerdict verdict;
  verdict.right = true;
  for (const auto& name : run.modified) {
    verdict.findings.push_back(judge_finding("CMP0102", Severity::error,
                                             fmt::format("the input '{}' was changed", name),
                                             "inputs are read only: other kernels use them afterwards"));
  }
  for (const Answer& answer : prepared.answers) {
    if (answer.nothing) continue;
    const task::View view = task::output_view(task, answer.output);
    const std::vector<uint8_t> bytes = task::gather(view, run.outputs[answer.buffer]);
    const std::vector<uint8_t> defined = task::gather(view, run.defined[answer.buffer]);
    auto size = static_cast<uint64_t>(isa::bytes_of(view.type));
    uint64_t unwritten = 0, first = 0;
    auto look = [&](uint64_t i) {
      for (uint64_t b = i * size; b < (i + 1) * size; ++b) {
        if (defined[b] == 0xff) continue;
        if (unwritten++ == 0) first = i;
        return;
      }
    };
    if (!defined.empty() && answer.indices.empty()) {
      for (uint64_t i = 0; i < bytes.size() / size; ++i) look(i);
    } else if (!defined.empty()) {
      for (uint64_t i : answer.indices) look(i);
    }
    if (unwritten > 0) {
      verdict.findings.push_back(judge_finding(
          "CMP0101", Severity::error,
          fmt::format("{} of {} elements of '{}' were never given a defined value, the first is element {}", unwritten,
                      answer.expected.size(), answer.output, first),
          "every element of an output has to be stored"));
    }
    auto compared =
        task::compare(task, prepared.data, answer.output, bytes, answer.expected, answer.indices, answer.baseline_rms);
    if (verdict.summary.empty() || (verdict.right && !compared.right)) verdict.summary = compared.summary;
    verdict.right = verdict.right && compared.right;
  }
  if (verdict.findings.empty()) return verdict;
  verdict.right = false;
  verdict.summary = verdict.findings.front().message;
  return verdict;
}

}  // namespace ptxlab::judge
