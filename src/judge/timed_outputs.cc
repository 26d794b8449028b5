#include "judge/timed_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "base/thread_pool.h"
#include "stats/summary.h"
#include "task/compare.h"
#include "task/fill.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

using task::Tolerance;
using Bytes = std::span<const uint8_t>;

constexpr uint64_t kPiece = uint64_t{1} << 18;  // elements that one thread compares at a time
constexpr size_t kAsked = 4096;                 // differing elements that the reference is asked about
constexpr double kGrowth = 4;                   // own rounding grows with the size; a judge's cases are small

double as_double(Bytes bytes, isa::Type type, uint64_t i) { return task::element(bytes, type, i); }

// How far an output of the baseline and one of the candidate may lie apart.
class Allowance {
 public:
  Allowance(const Tolerance& tolerance, const task::View& view, const TimedOutputsInput& input)
      : tolerance_(tolerance), type_(view.type), floating_(isa::is_float(view.type)) {
    limits_ = task::float_limits(type_);
    if (tolerance.kind != Tolerance::Kind::floating) {
      integers_of_own_runs(view, input.prepared);
      return;
    }
    unit_ = task::float_limits(tolerance.accumulate).unit;
    if (!tolerance.without_terms) terms_ = terms_of(tolerance, input.input.data);
    if (input.oracle) {
      by_magnitudes(view, input.input);
    } else {
      by_own_runs(view, input.prepared);
    }
  }

  void scale_to(Bytes baseline, uint64_t elements) {
    if (own_spread_ <= 0) return;
    // A thousand elements tell how large the output is.
    double squares = 0;
    uint64_t step = std::max<uint64_t>(1, elements / 1000), counted = 0;
    for (uint64_t i = 0; i < elements; i += step) {
      double value = as_double(baseline, type_, i);
      if (std::isfinite(value)) squares += value * value, ++counted;
    }
    if (counted) absolute_ = kGrowth * own_spread_ * std::sqrt(squares / static_cast<double>(counted));
  }

  bool alike(Bytes a, Bytes b, uint64_t i) const {
    auto width = static_cast<size_t>(isa::bytes_of(type_));
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width) == 0) return true;
    double x = as_double(a, type_, i), y = as_double(b, type_, i);
    if (floating_ && (!std::isfinite(x) || !std::isfinite(y))) return std::isnan(x) && std::isnan(y);
    switch (tolerance_.kind) {
      case Tolerance::Kind::exact: return !floating_ && std::fabs(x - y) <= range_;
      case Tolerance::Kind::unordered: return false;
      case Tolerance::Kind::absolute:
      case Tolerance::Kind::floating: break;
    }
    return std::fabs(x - y) <= bound(std::max(std::fabs(x), std::fabs(y)));
  }

  // Of two results whose larger one is `value`; of floats.
  double bound(double value) const {
    if (tolerance_.kind == Tolerance::Kind::absolute) return 2 * (tolerance_.abs + tolerance_.rel * value);
    double size = std::max(value, limits_.smallest_normal);
    double magnitude = std::max(magnitude_, size * magnitude_share_);
    return 2 * tolerance_.granted *
           (4 * limits_.unit * size + 8 * std::sqrt(terms_) * unit_ * magnitude + 8 * absolute_);
  }

 private:
  static double terms_of(const Tolerance& tolerance, const task::CaseData& data) {
    auto value = tolerance.terms.evaluate([&](std::string_view name) -> std::optional<int64_t> {
      auto at = data.binding.parameters.find(std::string(name));
      return at == data.binding.parameters.end() ? std::nullopt : std::optional<int64_t>(at->second);
    });
    return value && *value > 1 ? static_cast<double>(*value) : 1;
  }

  // What is typical of the sampled elements. Where one has more, the reference is asked.
  void by_magnitudes(const task::View& view, const TimedInput& input) {
    std::vector<double> magnitudes, shares;
    for (const auto& answers : input.answers) {
      for (const auto& answer : answers) {
        if (answer.output != view.name) continue;
        for (const auto& expected : answer.expected) {
          if (!std::isfinite(expected.value)) continue;
          magnitudes.push_back(expected.magnitude);
          if (expected.value != 0) shares.push_back(expected.magnitude / std::fabs(expected.value));
        }
      }
    }
    if (!magnitudes.empty()) magnitude_ = stats::median(magnitudes);
    if (!shares.empty()) magnitude_share_ = std::min(stats::median(shares), 1e3);
  }

  // How far randomly rounded runs of the user's kernel lay apart in the judge's cases, against the output's size there.
  void by_own_runs(const task::View& view, const PreparedTask& prepared) {
    terms_ = 0;
    for (const auto& one : prepared.cases) {
      if (!one.data.what.special.empty()) continue;
      for (const auto& answer : one.answers) {
        if (answer.output != view.name) continue;
        double spreads = 0, squares = 0;
        for (const auto& expected : answer.expected) {
          if (expected.loose || !std::isfinite(expected.value) || !(expected.spread >= 0)) continue;
          spreads += expected.spread * expected.spread;
          squares += expected.value * expected.value;
        }
        if (squares > 0) own_spread_ = std::max(own_spread_, std::sqrt(spreads / squares));
      }
    }
  }

  void integers_of_own_runs(const task::View& view, const PreparedTask& prepared) {
    if (floating_) return;
    for (const auto& one : prepared.cases)
      for (const auto& answer : one.answers)
        if (answer.output == view.name)
          for (const auto& expected : answer.expected)
            if (expected.spread > 0)
              range_ = std::max(range_, static_cast<double>(expected.highest) - static_cast<double>(expected.lowest));
  }

  const Tolerance& tolerance_;
  isa::Type type_;
  bool floating_;
  task::FloatLimits limits_{};
  double unit_ = 0, terms_ = 1;
  double magnitude_ = 0, magnitude_share_ = 1;
  double own_spread_ = 0, absolute_ = 0;
  double range_ = 0;
};

// Elements of which baseline and candidate differ by more than is allowed: some of them, and how many.
struct Differing {
  uint64_t count = 0;
  std::vector<uint64_t> indices;  // in order
};

Differing differing(const Allowance& allowance, isa::Type type, Bytes a, Bytes b, uint64_t elements) {
  auto width = static_cast<uint64_t>(isa::bytes_of(type));
  uint64_t pieces = (elements + kPiece - 1) / kPiece;
  std::mutex mutex;
  Differing found;
  base::parallel_for(pieces, pieces < 8 ? 1 : 0, [&](size_t piece) {
    uint64_t begin = piece * kPiece, end = std::min(elements, begin + kPiece);
    if (std::memcmp(a.data() + begin * width, b.data() + begin * width, (end - begin) * width) == 0) return;
    Differing own;
    for (uint64_t i = begin; i < end; ++i) {
      if (allowance.alike(a, b, i)) continue;
      if (own.indices.size() < kAsked) own.indices.push_back(i);
      ++own.count;
    }
    std::lock_guard lock(mutex);
    found.count += own.count;
    found.indices.insert(found.indices.end(), own.indices.begin(), own.indices.end());
  });
  std::sort(found.indices.begin(), found.indices.end());
  if (found.indices.size() > kAsked) {
    // Spread over all of them, the first and the last included.
    std::vector<uint64_t> some;
    for (size_t k = 0; k < kAsked; ++k) some.push_back(found.indices[k * (found.indices.size() - 1) / (kAsked - 1)]);
    found.indices = std::move(some);
  }
  return found;
}

bool same_multiset(isa::Type type, Bytes a, Bytes b, uint64_t elements) {
  auto width = static_cast<size_t>(isa::bytes_of(type));
  auto sorted = [&](Bytes bytes) {
    std::vector<uint64_t> values(elements);
    for (uint64_t i = 0; i < elements; ++i) std::memcpy(&values[i], bytes.data() + i * width, width);
    std::sort(values.begin(), values.end());
    return values;
  };
  return sorted(a) == sorted(b);
}

class Comparing {
 public:
  explicit Comparing(const TimedOutputsInput& input) : input_(input), task_(input.prepared.task) {
    result_.right = true;
  }

  TimedOutputs run() {
    size_t variants = input_.input.change.bytes.empty() ? 1 : gpu::kVariants;
    for (uint8_t v = 0; v < variants && result_.right && !result_.trouble; ++v) {
      for (const auto& view : task::output_views(task_)) {
        compare(view, v);
        if (!result_.right || result_.trouble) break;
      }
    }
    if (result_.trouble) result_.right = false;
    return std::move(result_);
  }

 private:
  // The view's elements in what an arm put out; `held` keeps those of a record's field.
  Bytes bytes_of(const task::View& view, gpu::Arm arm, uint8_t variant, std::vector<uint8_t>& held) const {
    const auto& contents = input_.opened.looks[static_cast<size_t>(arm)][variant].contents;
    if (view.buffer >= contents.size()) return {};
    const std::string_view text = contents[view.buffer];
    Bytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if (!view.field) return bytes;
    held = task::gather(view, bytes);
    return held;
  }

  // How many elements count: all, or those before the end that the task's `valid` names, by the baseline's own outputs.
  std::optional<uint64_t> end_of(const task::View& view, uint8_t variant, uint64_t elements) {
    if (!view.argument->valid) return elements;
    const auto& prefix = *view.argument->valid;
    auto count = prefix.count.evaluate([&](std::string_view name) -> std::optional<int64_t> {
      for (const auto& element : prefix.elements) {
        if (element.name != name) continue;
        std::vector<uint8_t> held;
        auto of = task::output_view(task_, element.output);
        Bytes bytes = bytes_of(of, gpu::Arm::a, variant, held);
        auto width = static_cast<uint64_t>(isa::bytes_of(of.type));
        if ((element.index + 1) * width > bytes.size()) return std::nullopt;
        return static_cast<int64_t>(as_double(bytes, of.type, element.index));
      }
      auto at = input_.input.data.what.sizes.find(std::string(name));
      return at == input_.input.data.what.sizes.end() ? std::nullopt : std::optional<int64_t>(at->second);
    });
    int64_t room = task::shape_of(view, input_.input.data).front();
    if (!count || *count < 0 || *count > room) return std::nullopt;
    return static_cast<uint64_t>(*count) * (elements / static_cast<uint64_t>(room));
  }

  void compare(const task::View& view, uint8_t variant) {
    std::vector<uint8_t> held_a, held_b;
    Bytes a = bytes_of(view, gpu::Arm::a, variant, held_a), b = bytes_of(view, gpu::Arm::b, variant, held_b);
    uint64_t elements = task::elements_of(view, input_.input.data.binding.buffers[view.buffer].bytes);
    auto width = static_cast<uint64_t>(isa::bytes_of(view.type));
    if (a.size() != elements * width || b.size() != a.size()) return fail("the worker did not hand over the outputs");
    auto end = end_of(view, variant, elements);
    if (!end)
      return fail(fmt::format("how much of '{}' counts is not known: the baseline's own count is no count", view.name));
    const auto& tolerance = task_.tolerances.at(view.name);
    result_.compared += *end;
    if (tolerance.kind == Tolerance::Kind::unordered) {
      if (!same_multiset(view.type, a, b, *end))
        wrong(variant,
              fmt::format("'{}' does not hold the same values as the baseline's (compared without order)", view.name));
      return;
    }
    if (!sampled(view, variant, a, b, *end)) return;
    Allowance allowance(tolerance, view, input_);
    allowance.scale_to(a, *end);
    Differing found = differing(allowance, view.type, a, b, *end);
    if (found.count > 0) settle(view, variant, a, b, found);
  }

  // With the reference, and the baseline's own error as everywhere else.
  bool sampled(const task::View& view, uint8_t variant, Bytes a, Bytes b, uint64_t end) {
    for (const auto& answer : input_.input.answers[variant]) {
      if (answer.output != view.name) continue;
      std::vector<uint64_t> indices;
      std::vector<task::Expected> expected;
      for (size_t k = 0; k < answer.indices.size(); ++k) {
        if (answer.indices[k] >= end) continue;
        indices.push_back(answer.indices[k]);
        expected.push_back(answer.expected[k]);
      }
      return by_reference(view, variant, a, b, indices, expected, "");
    }
    return true;
  }

  bool right_at(const task::View& view, Bytes bytes, uint64_t index, const task::Expected& expected) const {
    // One element: only bound (a) matters, rule (b) is about many.
    auto one = task::compare(task_, input_.input.data, view.name, bytes, {&expected, 1}, {&index, 1}, 1e300);
    return one.wrong == 0;
  }

  // False: B is wrong. Elements on which A itself is wrong are left out.
  bool by_reference(const task::View& view, uint8_t variant, Bytes a, Bytes b, std::vector<uint64_t> indices,
                    std::vector<task::Expected> expected, const std::string& before) {
    auto theirs = task::compare(task_, input_.input.data, view.name, a, expected, indices, 1e300);
    if (theirs.wrong > 0) {
      std::vector<uint64_t> kept;
      std::vector<task::Expected> kept_expected;
      for (size_t k = 0; k < indices.size(); ++k) {
        if (!right_at(view, a, indices[k], expected[k])) continue;
        kept.push_back(indices[k]);
        kept_expected.push_back(expected[k]);
      }
      result_.baseline_wrong += indices.size() - kept.size();
      indices = std::move(kept), expected = std::move(kept_expected);
      theirs = task::compare(task_, input_.input.data, view.name, a, expected, indices, 1e300);
    }
    if (indices.empty()) return true;
    result_.sampled += indices.size();
    auto own = task::compare(task_, input_.input.data, view.name, b, expected, indices,
                             std::isfinite(theirs.rms) ? theirs.rms : 0);
    bool right = before.empty() ? own.right : own.wrong == 0;  // a choice of bad elements has no typical error
    if (!right) wrong(variant, fmt::format("'{}': {}{}", view.name, before, own.summary));
    return right;
  }

  void settle(const task::View& view, uint8_t variant, Bytes a, Bytes b, const Differing& found) {
    std::string before = fmt::format("{} elements differ from the baseline's; ", found.count);
    if (!input_.oracle) {
      uint64_t i = found.indices.front();
      return wrong(variant, fmt::format("'{}': {}the first is element {}: {:.9g}, the baseline's {:.9g}", view.name,
                                        before, i, as_double(b, view.type, i), as_double(a, view.type, i)));
    }
    auto expected = input_.oracle->expected(variant_of(input_.input, variant), view.name, found.indices);
    if (!expected) return fail(expected.findings().front().message);
    by_reference(view, variant, a, b, found.indices, *expected, before);
  }

  void wrong(uint8_t variant, std::string what) {
    result_.right = false;
    result_.summary = std::move(what);
    if (variant == 1) result_.summary += fmt::format(" (where {})", input_.input.changed);
  }
  void fail(std::string why) {
    result_.trouble = true;
    result_.summary = std::move(why);
  }

  const TimedOutputsInput& input_;
  const task::Task& task_;
  TimedOutputs result_;
};

}  // namespace

TimedOutputs compare_timed_outputs(const TimedOutputsInput& input) { return Comparing(input).run(); }

std::vector<gpu::Element> elements_of_buffers(const task::Task& task) {
  std::vector<gpu::Element> elements;
  for (const auto& argument : task.arguments) {
    if (!argument.buffer()) continue;
    gpu::Element element = gpu::Element::exact;
    if (!argument.record() && argument.output()) {
      auto kind = task.tolerances.at(argument.name).kind;
      bool rounds = kind == Tolerance::Kind::floating || kind == Tolerance::Kind::absolute;
      if (rounds && argument.type == isa::Type::f16) element = gpu::Element::f16;
      if (rounds && argument.type == isa::Type::bf16) element = gpu::Element::bf16;
      if (rounds && argument.type == isa::Type::f32) element = gpu::Element::f32;
      if (rounds && argument.type == isa::Type::f64) element = gpu::Element::f64;
    }
    elements.push_back(element);
  }
  return elements;
}

std::vector<double> apart_of(const TimedOutputsInput& input) {
  auto elements = elements_of_buffers(input.prepared.task);
  std::vector<double> apart(elements.size(), 0);
  for (const auto& view : task::output_views(input.prepared.task)) {
    const auto& contents = input.opened.looks[0][0].contents;
    if (view.field || elements[view.buffer] == gpu::Element::exact || view.buffer >= contents.size()) continue;
    const std::string_view text = contents[view.buffer];
    Bytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    uint64_t count = task::elements_of(view, text.size());
    Allowance allowance(input.prepared.task.tolerances.at(view.name), view, input);
    allowance.scale_to(bytes, count);
    std::mutex mutex;
    double sum = 0;
    base::parallel_for((count + kPiece - 1) / kPiece, count < 8 * kPiece ? 1 : 0, [&](size_t piece) {
      double own = 0;
      for (uint64_t i = piece * kPiece; i < std::min(count, (piece + 1) * kPiece); ++i) {
        double value = std::fabs(as_double(bytes, view.type, i));
        if (std::isfinite(value)) own += allowance.bound(value) * allowance.bound(value);
      }
      std::lock_guard lock(mutex);
      sum += own;
    });
    apart[view.buffer] = std::sqrt(sum);
  }
  return apart;
}

}  // namespace ptxlab::judge
