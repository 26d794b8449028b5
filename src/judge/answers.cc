#include "judge/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/thread_pool.h"
#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

using base::Severity;

// An output buffer of the task: its argument and its index among the buffers.
struct Output {
  const task::Argument* argument;
  size_t buffer;
};

std::vector<Output> outputs_of(const task::Task& task) {
  std::vector<Output> outputs;
  size_t buffer = 0;
  for (const auto& argument : task.arguments) {
    if (!argument.buffer()) continue;
    if (argument.output()) outputs.push_back({&argument, buffer});
    ++buffer;
  }
  return outputs;
}

int64_t integer_at(const std::vector<uint8_t>& bytes, isa::Type type, uint64_t index) {
  size_t size = static_cast<size_t>(isa::bytes_of(type));
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, std::min<size_t>(size, sizeof bits));
  if (isa::is_signed(type) && size < 8 && (bits >> (8 * size - 1)) & 1) bits |= ~uint64_t{0} << (8 * size);
  return static_cast<int64_t>(bits);
}

// Elements that the run wrote with defined values; empty where those are all.
std::vector<uint64_t> defined_elements(const std::vector<uint8_t>& defined, uint64_t element_bytes, uint64_t elements) {
  std::vector<uint64_t> indices;
  if (defined.empty()) return indices;
  for (uint64_t i = 0; i < elements; ++i) {
    auto begin = defined.begin() + static_cast<ptrdiff_t>(i * element_bytes);
    if (std::all_of(begin, begin + static_cast<ptrdiff_t>(element_bytes), [](uint8_t byte) { return byte == 0xff; }))
      indices.push_back(i);
  }
  if (indices.size() == elements) indices.clear();
  return indices;
}

std::vector<task::Expected> answers_of_run(const CaseRun& run, const Output& output,
                                           const std::vector<uint64_t>& indices) {
  isa::Type type = output.argument->type;
  const auto& bytes = run.outputs[output.buffer];
  uint64_t elements = bytes.size() / static_cast<uint64_t>(isa::bytes_of(type));
  std::vector<task::Expected> expected;
  auto add = [&](uint64_t i) {
    task::Expected one;
    one.value = task::element(bytes, type, i);
    one.magnitude = std::fabs(one.value);
    if (!isa::is_float(type)) one.integer = integer_at(bytes, type, i);
    expected.push_back(one);
  };
  if (indices.empty()) {
    for (uint64_t i = 0; i < elements; ++i) add(i);
  } else {
    for (uint64_t i : indices) add(i);
  }
  return expected;
}

// What one case came to while it was prepared.
struct Made {
  PreparedCase prepared;
  base::Findings errors;                    // stop everything
  std::string left_out;                     // why the case is not judged; empty: it is
  std::map<std::string, double> own_error;  // of the baseline by output, over bound (a)
  bool own_wrong = false;                   // the baseline is wrong where no factor would help (NaN, unwritten)
  std::string own_summary;                  // of its first wrong output
};

class Preparer {
 public:
  Preparer(const task::Task& task, const Baseline& baseline, const PrepareOptions& options, task::Oracle* reference)
      : task_(task), baseline_(baseline), options_(options), reference_(reference), outputs_(outputs_of(task)) {}

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
      return made;
    }
    for (const Output& output : outputs_) answer(made, output, usable ? &run : nullptr);
    return made;
  }

 private:
  uint64_t base_seed(const task::Case& what) const { return what.seed ^ options_.seed; }

  void answer(Made& made, const Output& output, const CaseRun* run) const {
    Answer answer;
    answer.output = output.argument->name;
    answer.buffer = output.buffer;
    if (run) {
      auto size = static_cast<uint64_t>(isa::bytes_of(output.argument->type));
      answer.indices = defined_elements(run->defined[output.buffer], size, run->outputs[output.buffer].size() / size);
    }
    if (reference_) {
      auto expected = reference_->expected(made.prepared.data, answer.output, answer.indices);
      if (!expected) {
        made.errors = expected.findings();
        return;
      }
      answer.expected = std::move(*expected);
      if (run) measure_baseline(made, answer, *run);
    } else {
      answer.expected = answers_of_run(*run, output, answer.indices);
    }
    made.prepared.answers.push_back(std::move(answer));
  }

  // The baseline's own error: its RMS widens rule (b), and tells whether the task can judge at all.
  void measure_baseline(Made& made, Answer& answer, const CaseRun& run) const {
    auto own = task::compare(task_, made.prepared.data, answer.output, run.outputs[answer.buffer], answer.expected,
                             answer.indices);
    if (std::isfinite(own.rms)) answer.baseline_rms = own.rms;
    auto again = task::compare(task_, made.prepared.data, answer.output, run.outputs[answer.buffer], answer.expected,
                               answer.indices, answer.baseline_rms);
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
  std::vector<Output> outputs_;
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
  for (const auto& one : made) {
    if (base::has_error(one.errors)) return one.errors;
    if (one.left_out.empty()) grants.look(one);
  }
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
    const task::Argument* argument = task.argument(answer.output);
    const auto& bytes = run.outputs[answer.buffer];
    const auto& defined = run.defined[answer.buffer];
    auto size = static_cast<uint64_t>(isa::bytes_of(argument->type));
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
