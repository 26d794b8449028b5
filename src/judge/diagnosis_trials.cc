// Trials: the baseline runs on the engine with one thing spoilt (a scalar, the last terms of a sum, an input turned about); where
// it then gives the candidate's wrong values, the candidate spoils the same thing. Nothing is guessed: the values agree or not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "judge/diagnosis.h"
#include "task/compare.h"
#include "task/fill.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

constexpr uint64_t kMostInstructions = 1'000'000;  // of one trial's run
constexpr uint64_t kMostInAll = 60'000'000;        // about a second
constexpr size_t kMostCases = 3;
constexpr size_t kFewestDisplaced = 16;  // results by which it may be said that an input is read elsewhere

struct Trial {
  Pattern pattern;
  std::string says;  // "the last element along n of 'x' is left out"
  task::CaseData data;
  bool whole = true;           // every element has to agree; else nearly all: edges may be treated in another way
  std::vector<bool> excluded;  // elements of outputs of the input's own shape that are left out of the comparison
};

// An input as rows x columns, cut behind dimension `cut`.
struct Shape {
  size_t rows = 1, columns = 1, inner = 1;  // index = (row * columns + column) * inner + i
};

Shape shape_at(const std::vector<int64_t>& shape, size_t dimension) {
  Shape s;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto extent = static_cast<size_t>(shape[d]);
    (d < dimension ? s.rows : d == dimension ? s.columns : s.inner) *= extent;
  }
  return s;
}

class Trials {
 public:
  Trials(const DiagnosisInput& input, const WrongCase& one) : input_(input), case_(one), data_(one.prepared->data) {}

  std::vector<Trial> all() {
    scalars();
    for (const auto& view : task::input_views(input_.task)) {
      if (view.field || data_.inputs[view.buffer].empty()) continue;
      left_out(view);
      turned(view);
      rounded(view);
      ignored(view);
      displaced(view);
    }
    exchanged();
    return std::move(trials_);
  }

 private:
  Trial& add(Pattern pattern, std::string says) {
    trials_.push_back({pattern, std::move(says), data_, true, {}});
    return trials_.back();
  }

  static double value_of(const launch::Binding::Scalar& scalar) {
    if (scalar.type == "f32") {
      float f;
      const auto bits = static_cast<uint32_t>(scalar.bits);
      std::memcpy(&f, &bits, 4);
      return f;
    }
    if (scalar.type == "f64") {
      double d;
      std::memcpy(&d, &scalar.bits, 8);
      return d;
    }
    return static_cast<double>(scalar.integer);
  }

  static void set(launch::Binding::Scalar& scalar, double value) {
    if (scalar.type == "f32") {
      const auto f = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      scalar.bits = bits;
    } else if (scalar.type == "f64") {
      std::memcpy(&scalar.bits, &value, 8);
    } else {
      scalar.integer = static_cast<int64_t>(value);
      scalar.bits = static_cast<uint64_t>(scalar.integer);
    }
  }

  static bool floating(const launch::Binding::Scalar& scalar) { return scalar.type.starts_with("f"); }

  // Another scalar's value, none, one, the other sign.
  void scalars() {
    const auto& scalars = data_.binding.scalars;
    for (const auto& [name, scalar] : scalars) {
      if (floating(scalar)) {
        const double value = value_of(scalar);
        const std::pair<double, const char*> others[] = {{0, "0"},
                                                         {1, "1"},
                                                         {-value, "its negative"},
                                                         {value != 0 ? 1 / value : 1, "its inverse"},
                                                         {2 * value, "twice its value"}};
        for (const auto& [other, word] : others)
          if (other != value)
            set(add(Pattern::scalar, fmt::format("'{}' is taken to be {}", name, word)).data.binding.scalars[name],
                other);
      }
      if (!floating(scalar)) counts(name, scalar.integer);
      for (const auto& [from, source] : scalars) {
        if (from == name || floating(source) != floating(scalar) || value_of(source) == value_of(scalar)) continue;
        auto& trial = add(Pattern::scalar, fmt::format("'{}' has the value of '{}'", name, from));
        set(trial.data.binding.scalars[name], value_of(source));
        if (name < from) {
          auto& both = add(Pattern::scalar, fmt::format("'{}' and '{}' are exchanged", name, from));
          set(both.data.binding.scalars[name], value_of(source));
          set(both.data.binding.scalars[from], value_of(scalar));
        }
      }
    }
  }

  // A number of elements, or of what there is of something else. Rows as long as it says come out as anything, and agree with nothing.
  void counts(const std::string& name, int64_t value) {
    auto& scalars = data_.binding.scalars;
    auto take = [&](Pattern pattern, std::string says, int64_t other) {
      if (other < 0 || other == value) return;
      auto& trial = add(pattern, std::move(says));
      set(trial.data.binding.scalars[name], static_cast<double>(other));
    };
    if (scalars.empty() || value < 2) return;
    take(Pattern::off_by_one, fmt::format("'{}' is one less", name), value - 1);
    for (int64_t k : {2, 4, 8, 16, 32})
      take(Pattern::tail, fmt::format("'{}' is rounded down to a multiple of {}", name, k), value / k * k);
    take(Pattern::scalar, fmt::format("'{}' has twice its value", name), 2 * value);
    take(Pattern::scalar, fmt::format("'{}' has half of its value", name), value / 2);
    take(Pattern::scalar, fmt::format("'{}' is taken to be 1", name), 1);
  }

  // Sums without some of their terms: what is left out is 0, or for maxima as good as minus infinity.
  void left_out(const task::View& view) {
    const auto shape = task::shape_of(view, data_);
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto s = shape_at(shape, d);
      if (s.columns < 2) continue;
      const auto along = fmt::format("along dimension {} of '{}'", d + 1, view.name);
      leave_out(view, s, Pattern::off_by_one, "the last element " + along + " is left out",
                [&](size_t c) { return c + 1 == s.columns; });
      leave_out(view, s, Pattern::off_by_one, "the first element " + along + " is left out",
                [](size_t c) { return c == 0; });
      for (size_t k : {2, 4, 8, 16, 32, 64, 128, 256}) {
        const size_t rest = s.columns % k;
        if (rest == 0) continue;
        leave_out(view, s, Pattern::tail, fmt::format("the elements {} beyond a multiple of {} are left out", along, k),
                  [&](size_t c) { return c >= s.columns - rest; });
      }
      if (s.columns >= 4) {
        leave_out(view, s, Pattern::reduction, "the second half " + along + " is left out",
                  [&](size_t c) { return c >= (s.columns + 1) / 2; });
        leave_out(view, s, Pattern::width, "every second element " + along + " is left out",
                  [](size_t c) { return c % 2 == 1; });
        leave_out(view, s, Pattern::width, "of every four elements " + along + " three are left out",
                  [](size_t c) { return c % 4 != 0; });
      }
    }
  }

  template <class Out>
  void leave_out(const task::View& view, const Shape& s, Pattern pattern, const std::string& says, const Out& out) {
    for (double neutral : {0.0, -1e30}) {
      if (neutral != 0 && !isa::is_float(view.type)) continue;
      auto& trial = add(pattern, says);
      auto& bytes = trial.data.inputs[view.buffer];
      trial.excluded.assign(s.rows * s.columns * s.inner, false);
      for (size_t r = 0; r < s.rows; ++r)
        for (size_t c = 0; c < s.columns; ++c) {
          if (!out(c)) continue;
          for (size_t i = 0; i < s.inner; ++i) {
            const size_t at = (r * s.columns + c) * s.inner + i;
            trial.excluded[at] = true;
            task::store_element(bytes, view.type, at, std::max(neutral, -task_largest(view.type)));
          }
        }
    }
  }

  static double task_largest(isa::Type type) { return isa::is_float(type) ? task::float_limits(type).largest : 0; }

  // Read with the wrong length of a row, or column by column.
  void turned(const task::View& view) {
    const auto shape = task::shape_of(view, data_);
    if (shape.size() != 2 || shape[0] < 2 || shape[1] < 2) return;
    const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
    const auto width = static_cast<size_t>(isa::bytes_of(view.type));
    auto& trial = add(Pattern::swapped, fmt::format("'{}' is read with rows and columns exchanged", view.name));
    const auto& from = data_.inputs[view.buffer];
    auto& to = trial.data.inputs[view.buffer];
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c)
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>((c * rows + r) * width), width,
                    to.begin() + static_cast<std::ptrdiff_t>((r * columns + c) * width));
  }

  // Rounded to a narrower format before anything is done with it.
  void rounded(const task::View& view) {
    if (view.type != isa::Type::f32) return;
    struct Format {
      const char* name;
      isa::Type type;
    };
    for (const auto& [name, type] : {Format{"f16", isa::Type::f16}, Format{"bf16", isa::Type::bf16}}) {
      auto& trial = add(Pattern::precision, fmt::format("'{}' is rounded to {} first", view.name, name));
      narrow(trial.data.inputs[view.buffer], view.type, type);
    }
    auto& trial = add(Pattern::precision, fmt::format("'{}' is rounded to tf32 first", view.name));
    auto& bytes = trial.data.inputs[view.buffer];
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      uint32_t bits;
      std::memcpy(&bits, bytes.data() + i, 4);
      bits &= 0xffffe000u;
      std::memcpy(bytes.data() + i, &bits, 4);
    }
  }

  static void narrow(std::vector<uint8_t>& bytes, isa::Type from, isa::Type to) {
    const size_t n = bytes.size() / static_cast<size_t>(isa::bytes_of(from));
    std::vector<uint8_t> one(static_cast<size_t>(isa::bytes_of(to)));
    for (size_t i = 0; i < n; ++i) {
      task::store_element(one, to, 0, task::element(bytes, from, i));
      task::store_element(bytes, from, i, task::element(one, to, 0));
    }
  }

  // Without effect: as if it were 0 everywhere, or 1.
  void ignored(const task::View& view) {
    const auto& bytes = data_.inputs[view.buffer];
    const size_t n = bytes.size() / static_cast<size_t>(isa::bytes_of(view.type));
    if (!isa::is_float(view.type)) return;
    for (const double value : {0.0, 1.0}) {
      auto& trial = add(Pattern::left_out, fmt::format("'{}' is taken to be {:g} everywhere", view.name, value));
      for (size_t i = 0; i < n; ++i) task::store_element(trial.data.inputs[view.buffer], view.type, i, value);
    }
  }

  // Read some elements, or a row, further on; or as if elements were half as wide as they are.
  void displaced(const task::View& view) {
    const auto shape = task::shape_of(view, data_);
    if (shape.empty()) return;
    const auto width = static_cast<size_t>(isa::bytes_of(view.type));
    const auto& from = data_.inputs[view.buffer];
    const auto n = static_cast<int64_t>(from.size() / width);
    const int64_t row = shape.back();
    if (n < 2 || row < 1) return;
    auto read = [&](Pattern pattern, std::string says, const auto& source) {
      auto& trial = add(pattern, std::move(says));
      trial.whole = false;
      auto& to = trial.data.inputs[view.buffer];
      for (int64_t i = 0; i < n; ++i)
        std::copy_n(from.begin() + source(i) * static_cast<int64_t>(width), width,
                    to.begin() + i * static_cast<int64_t>(width));
    };
    for (const int64_t d : {1, -1, 2, -2, 4, -4, 8, -8, 32, -32}) {
      if (std::abs(d) * 2 > row) continue;
      const auto* word = d > 0 ? "further on" : "before";
      read(Pattern::shifted,
           fmt::format("'{}' is read {} element{} {}", view.name, std::abs(d), std::abs(d) == 1 ? "" : "s", word),
           [&](int64_t i) { return i / row * row + std::clamp<int64_t>(i % row + d, 0, row - 1); });
    }
    for (const int64_t d : {1, -1}) {
      if (n / row < 2) continue;
      read(Pattern::shifted, fmt::format("'{}' is read a row {}", view.name, d > 0 ? "further on" : "before"),
           [&](int64_t i) { return i + d * row < 0 || i + d * row >= n ? i : i + d * row; });
    }
    read(Pattern::width, fmt::format("'{}' is read at half the index", view.name),
         [&](int64_t i) { return i / row * row + i % row / 2; });
    read(Pattern::width, fmt::format("'{}' is read at twice the index", view.name),
         [&](int64_t i) { return i / row * row + std::min(2 * (i % row), row - 1); });
  }

  void exchanged() {
    const auto views = task::input_views(input_.task);
    for (size_t a = 0; a < views.size(); ++a)
      for (size_t b = a + 1; b < views.size(); ++b) {
        const auto &x = data_.inputs[views[a].buffer], &y = data_.inputs[views[b].buffer];
        if (views[a].field || views[b].field || views[a].type != views[b].type || x.size() != y.size() || x == y ||
            x.empty())
          continue;
        auto& trial = add(Pattern::exchanged, fmt::format("'{}' and '{}' are exchanged", views[a].name, views[b].name));
        std::swap(trial.data.inputs[views[a].buffer], trial.data.inputs[views[b].buffer]);
      }
  }

  const DiagnosisInput& input_;
  const WrongCase& case_;
  const task::CaseData& data_;
  std::vector<Trial> trials_;
};

// The candidate's values against the spoilt baseline's.
struct Agreement {
  size_t compared = 0, agree = 0, moved = 0;  // moved: elements that the spoiling itself makes wrong
  size_t wrong = 0, wrong_agree = 0;          // of these, elements that are wrong in the candidate
  double error = 0, rest = 0;  // squares, of the magnitude: against the right values, against the spoilt ones
};

class Tester {
 public:
  Tester(const DiagnosisInput& input, const WrongCase& one) : input_(input), case_(one) {}

  bool explains(const Trial& trial) {
    auto plan = launch::resolve(input_.baseline.plan, input_.baseline.module, trial.data.binding);
    if (!plan) return false;
    auto engine = input_.engine();
    CaseOptions how;
    how.seed = input_.seed;
    how.checkers = false;
    how.budget = kMostInstructions;
    const auto run = run_case(*engine, input_.baseline.module, *plan, trial.data, how);
    spent_ += run.thread_instructions;
    if (!run.supported || run.faulted()) return false;
    Agreement all;
    for (const auto& out : case_.outputs) compare(trial, run, out, all);
    // Single elements show it; or where none is wrong by itself, all of them together.
    size_t bad = 0;
    for (const auto& out : case_.outputs) bad += out.bad();
    const bool shows = all.moved > 0 || (bad == 0 && all.error > 0 && all.rest <= 0.01 * all.error);
    const bool agrees = trial.whole ? all.compared >= 2 && all.agree == all.compared
                                    : all.compared >= kFewestDisplaced && all.agree * 10 >= all.compared * 9 &&
                                          all.wrong_agree * 5 >= all.wrong * 4;
    return shows && agrees;
  }
  uint64_t spent() const { return spent_; }

 private:
  void compare(const Trial& trial, const CaseRun& run, const WrongOutput& out, Agreement& all) const {
    const auto view = task::output_view(input_.task, out.name);
    const auto bytes = task::gather(view, run.outputs[out.buffer]);
    const auto& tolerance = input_.task.tolerances.at(out.name);
    const double unit = isa::is_float(out.type) ? task::float_limits(out.type).unit : 0;
    const double sums = isa::is_float(out.type) ? task::float_limits(tolerance.accumulate).unit : 0;
    for (size_t i = 0; i < out.state.size(); ++i) {
      if (out.state[i] == ElementState::not_counted || out.state[i] == ElementState::unwritten) continue;
      if (trial.excluded.size() == out.state.size() && trial.excluded[i]) continue;
      const double spoilt = task::element(bytes, out.type, i);
      ++all.compared;
      const auto near = [&](double a, double b) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
        if (std::isinf(a) || std::isinf(b)) return a == b;
        return std::fabs(a - b) <= 4 * unit * std::max(std::fabs(a), std::fabs(b)) + 64 * sums * out.magnitude[i];
      };
      // What is wrong has to come out much nearer to the spoilt value than to the right one.
      const bool bad = out.is_bad(i);
      const double error = std::fabs(out.got[i] - out.want[i]), rest = std::fabs(out.got[i] - spoilt);
      const bool agrees = near(out.got[i], spoilt) && (!bad || !std::isfinite(error) || rest <= 0.25 * error);
      all.agree += agrees;
      all.wrong += bad;
      all.wrong_agree += bad && agrees;
      if (const double m = out.magnitude[i]; m > 0 && std::isfinite(out.got[i] + spoilt + out.want[i])) {
        all.error += (out.got[i] - out.want[i]) * (out.got[i] - out.want[i]) / (m * m);
        all.rest += (out.got[i] - spoilt) * (out.got[i] - spoilt) / (m * m);
      }
      all.moved += bad && !(std::fabs(out.want[i] - spoilt) < 0.5 * error);
    }
  }

  const DiagnosisInput& input_;
  const WrongCase& case_;
  uint64_t spent_ = 0;
};

// Small ones with ordinary values first (or where none of these is wrong, with special ones), but not so small that anything would fit.
std::vector<const WrongCase*> cases_to_try(const std::vector<WrongCase>& cases) {
  std::vector<const WrongCase*> chosen;
  const bool ordinary = std::any_of(cases.begin(), cases.end(), [](const auto& one) {
    return !one.right && one.prepared->data.what.special.empty();
  });
  for (const auto& one : cases) {
    size_t counted = 0;
    for (const auto& out : one.outputs) counted += out.counted;
    const auto work = one.prepared->baseline_instructions;
    if (one.right || counted < 2 || work == 0 || work > kMostInstructions ||
        (ordinary && !one.prepared->data.what.special.empty()))
      continue;
    chosen.push_back(&one);
  }
  auto weight = [](const WrongCase* one) {
    uint64_t inputs = 0;
    for (const auto& input : one->prepared->data.inputs) inputs = std::max<uint64_t>(inputs, input.size());
    return std::pair(inputs < 256, one->prepared->baseline_instructions);
  };
  std::stable_sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) { return weight(a) < weight(b); });
  // Of each size one.
  std::vector<const WrongCase*> some;
  for (const auto* one : chosen) {
    const bool known = std::any_of(some.begin(), some.end(), [&](const auto* other) {
      return other->prepared->data.what.sizes == one->prepared->data.what.sizes;
    });
    if (!known && some.size() < kMostCases) some.push_back(one);
  }
  return some;
}

}  // namespace

std::optional<Diagnosis> diagnose_by_trials(const DiagnosisInput& input) {
  if (!input.engine) return std::nullopt;
  const auto chosen = cases_to_try(input.cases);
  if (chosen.empty()) return std::nullopt;
  uint64_t spent = 0;
  auto explains = [&](const WrongCase& one, const Trial& trial) {
    Tester tester(input, one);
    const bool fits = tester.explains(trial);
    spent += tester.spent();
    return fits;
  };
  for (const auto& trial : Trials(input, *chosen[0]).all()) {
    if (spent > kMostInAll) return std::nullopt;
    if (!explains(*chosen[0], trial)) continue;
    // What holds in one case may be chance: the others have to say the same.
    const bool all = std::all_of(chosen.begin() + 1, chosen.end(), [&](const WrongCase* other) {
      for (const auto& again : Trials(input, *other).all())
        if (again.says == trial.says && explains(*other, again)) return true;
      return false;
    });
    if (!all) continue;
    return Diagnosis{
        trial.pattern,
        fmt::format("{}{}: the right kernel gives just these values where {}", chosen[0]->label(),
                    chosen.size() > 1 ? fmt::format(" and {} more cases", chosen.size() - 1) : "", trial.says)};
  }
  return std::nullopt;
}

}  // namespace ptxlab::judge
