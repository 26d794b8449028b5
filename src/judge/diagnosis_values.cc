// What wrong values have to do with the right ones: shifted, transposed, scaled, sign lost, rounded too early.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "judge/diagnosis.h"
#include "task/compare.h"
#include "task/fill.h"
#include "task/view.h"

namespace ptxlab::judge {
namespace {

constexpr size_t kFewest = 8;  // elements that a relation has to hold for before it is called one

double slack_at(const WrongOutput& out, double value, double magnitude) {
  const auto limits = task::float_limits(out.type);
  return 8 * limits.unit * std::max(std::fabs(value), limits.smallest_normal) + 1e-6 * magnitude;
}

// Whether `got` may be a rounding of `value`, which is right for element i of some output like this.
bool close(const WrongOutput& out, double got, double value, size_t i) {
  if (!std::isfinite(got) || !std::isfinite(value)) return false;
  if (!isa::is_float(out.type)) return got == value;
  return std::fabs(got - value) <= slack_at(out, value, out.magnitude[i]);
}

// How many of the wrong elements fit a relation, and how many it says something of.
struct Fit {
  size_t fits = 0, all = 0;
  bool convincing() const { return all >= kFewest && fits * 20 >= all * 19; }
};

// `source(i)` names the element whose right value element i is said to hold; nothing: none. An element whose right value is the same
// as its own says nothing.
template <class Source>
Fit holds_value_of(const WrongOutput& out, const Source& source) {
  Fit fit;
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] != ElementState::wrong) continue;
    const std::optional<size_t> from = source(i);
    if (!from || out.state[*from] == ElementState::not_counted) continue;
    ++fit.all;
    fit.fits += close(out, out.got[i], out.want[*from], *from);
  }
  return fit;
}

std::vector<int64_t> distances(const WrongOutput& out) {
  std::vector<int64_t> all;
  for (int64_t d = 1; d <= 16; ++d) all.push_back(d);
  for (int64_t d = 32; d <= 1024; d *= 2) all.push_back(d);
  int64_t row = 1;
  for (size_t d = out.shape.size(); d-- > 1;) {
    row *= out.shape[d];
    all.push_back(row);
  }
  const size_t half = all.size();
  for (size_t i = 0; i < half; ++i) all.push_back(-all[i]);
  return all;
}

std::optional<Diagnosis> shifted(const WrongCase& one, const WrongOutput& out) {
  const auto n = static_cast<int64_t>(out.state.size());
  for (int64_t d : distances(out)) {
    auto fit = holds_value_of(out, [&](size_t i) -> std::optional<size_t> {
      const int64_t from = static_cast<int64_t>(i) + d;
      return from >= 0 && from < n ? std::optional(static_cast<size_t>(from)) : std::nullopt;
    });
    if (!fit.convincing()) continue;
    return Diagnosis{Pattern::shifted,
                     fmt::format("{}: {} of {} wrong elements hold the right value of the element {} {}", one.label(),
                                 fit.fits, fit.all, std::abs(d), d > 0 ? "further on" : "before")};
  }
  return std::nullopt;
}

std::optional<Diagnosis> transposed(const WrongCase& one, const WrongOutput& out) {
  if (out.shape.size() < 2) return std::nullopt;
  const auto columns = static_cast<size_t>(out.shape.back());
  const size_t rows = columns ? out.state.size() / columns : 0;
  if (rows < 2 || columns < 2) return std::nullopt;
  auto fit = holds_value_of(out, [&](size_t i) { return std::optional((i % rows) * columns + i / rows); });
  if (!fit.convincing())
    fit = holds_value_of(out, [&](size_t i) -> std::optional<size_t> {
      const size_t r = i / columns, c = i % columns;
      return c < rows && r < columns ? std::optional(c * columns + r) : std::nullopt;
    });
  if (!fit.convincing()) return std::nullopt;
  return Diagnosis{Pattern::swapped,
                   fmt::format("{}: {} of {} wrong elements of '{}' hold the value that belongs at [column, row]",
                               one.label(), fit.fits, fit.all, out.name)};
}

// All values are there, in another order.
std::optional<Diagnosis> misplaced(const WrongCase& one, const WrongOutput& out) {
  std::vector<double> got;
  std::vector<std::pair<double, double>> want;  // with its magnitude
  std::set<double> distinct;
  double typical = 0, spread = 0;
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] != ElementState::wrong) continue;
    if (!std::isfinite(out.got[i]) || !std::isfinite(out.want[i])) return std::nullopt;
    got.push_back(out.got[i]);
    want.emplace_back(out.want[i], out.magnitude[i]);
    distinct.insert(out.want[i]);
    typical += std::fabs(out.got[i] - out.want[i]);
    spread += std::fabs(out.want[i]);
  }
  if (distinct.size() < kFewest) return std::nullopt;
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  size_t fits = 0;
  for (size_t i = 0; i < got.size(); ++i)
    fits += isa::is_float(out.type) ? std::fabs(got[i] - want[i].first) <= slack_at(out, want[i].first, want[i].second)
                                    : got[i] == want[i].first;
  if (fits * 50 < got.size() * 49) return std::nullopt;
  // Errors that are small change the order of values little: then it is not the places that are wrong.
  if (typical < 0.05 * spread) return std::nullopt;
  return Diagnosis{Pattern::misplaced, fmt::format("{}: the {} wrong elements of '{}' hold each other's right values",
                                                   one.label(), got.size(), out.name)};
}

// Wrong only where a signed input is negative.
std::optional<Diagnosis> by_sign_of_input(const task::Task& task, const WrongCase& one, const WrongOutput& out) {
  for (const auto& view : task::input_views(task)) {
    if (!isa::is_signed(view.type)) continue;
    const auto bytes = task::gather(view, one.prepared->data.inputs[view.buffer]);
    const size_t n = bytes.size() / static_cast<size_t>(isa::bytes_of(view.type));
    if (n != out.state.size()) continue;
    size_t explained = 0, negative = 0, all = 0;
    for (size_t i = 0; i < n; ++i) {
      if (out.state[i] == ElementState::not_counted) continue;
      const bool below = task::element(bytes, view.type, i) < 0;
      ++all;
      negative += below;
      explained += out.state[i] == ElementState::wrong && below;
    }
    // By chance so many wrong ones would not all be negative.
    if (explained < kFewest || explained != out.bad() || negative * 4 > all * 3) continue;
    return Diagnosis{Pattern::signedness,
                     fmt::format("{}: all {} wrong elements of '{}' are ones whose '{}' is negative", one.label(),
                                 explained, out.name, view.name)};
  }
  return std::nullopt;
}

// Off by a power of two that a wrong extension adds, or without the sign.
std::optional<Diagnosis> by_value_of_sign(const WrongCase& one, const WrongOutput& out) {
  size_t wraps = 0, flipped = 0, all = 0, right = 0;
  for (size_t i = 0; i < out.state.size(); ++i) {
    right += out.state[i] == ElementState::right && out.want[i] != 0;
    if (out.state[i] != ElementState::wrong) continue;
    if (out.want[i] == 0 && out.got[i] == 0) continue;  // zeros of another sign say nothing of the rest
    ++all;
    const double difference = out.got[i] - out.want[i];
    wraps += difference == 256.0 || difference == 65536.0 || difference == 4294967296.0;
    flipped += out.want[i] != 0 && close(out, out.got[i], -out.want[i], i);
  }
  if (all < 3) return std::nullopt;
  if (wraps * 20 >= all * 19)
    return Diagnosis{
        Pattern::signedness,
        fmt::format("{}: {} of {} wrong elements are too large by just 2^8, 2^16 or 2^32", one.label(), wraps, all)};
  if (flipped * 20 >= all * 19 && right >= 3)
    return Diagnosis{Pattern::signedness, fmt::format("{}: {} of {} wrong elements have the other sign; {} are right",
                                                      one.label(), flipped, all, right)};
  return std::nullopt;
}

// got / want of elements that say something of it.
std::vector<double> ratios_of(const WrongOutput& out, size_t begin, size_t end) {
  std::vector<double> ratios;
  for (size_t i = begin; i < end; ++i) {
    if (out.state[i] == ElementState::not_counted || !std::isfinite(out.got[i]) || !std::isfinite(out.want[i]))
      continue;
    // Small ones are rounding.
    if (std::fabs(out.want[i]) < 1e-3 * out.magnitude[i] || out.want[i] == 0) continue;
    if (isa::is_float(out.type) && std::fabs(out.want[i]) < 64 * task::float_limits(out.type).smallest_normal) continue;
    ratios.push_back(out.got[i] / out.want[i]);
  }
  return ratios;
}

double median_of(std::vector<double>& values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double slack_of(const WrongOutput& out) {
  return isa::is_float(out.type) ? std::max(1e-5, 2 * task::float_limits(out.type).unit) : 0.01;
}

// The ratio that nearly all have, unless it is 1, or 0: then nothing is scaled.
std::optional<double> common_ratio(const WrongOutput& out, std::vector<double> ratios) {
  if (ratios.size() < kFewest) return std::nullopt;
  const double median = median_of(ratios), slack = slack_of(out);
  size_t fits = 0;
  for (double r : ratios) fits += std::fabs(r - median) <= 2 * slack * std::fabs(median);
  if (fits * 20 < ratios.size() * 19 || std::fabs(median - 1) <= 3 * slack || std::fabs(median) < 1e-9)
    return std::nullopt;
  return median;
}

// Sizes and scalars that a factor may be made of.
struct NamedValue {
  std::string name;
  double value = 0;
};
std::vector<NamedValue> values_of(const WrongCase& one) {
  std::vector<NamedValue> all;
  for (const auto& [name, value] : one.prepared->data.binding.parameters)
    if (value > 1) all.push_back({name, static_cast<double>(value)});
  return all;
}

// The same word for every case's factor: "n", "1 / n".
std::string name_of_factor(const std::vector<std::pair<const WrongCase*, double>>& factors, double slack) {
  if (factors.size() < 2) return "";
  for (const auto& candidate : values_of(*factors.front().first)) {
    for (int form = 0; form < 4; ++form) {
      std::set<double> seen;
      const bool all = std::all_of(factors.begin(), factors.end(), [&](const auto& pair) {
        const auto& parameters = pair.first->prepared->data.binding.parameters;
        auto found = parameters.find(candidate.name);
        if (found == parameters.end()) return false;
        const auto v = static_cast<double>(found->second);
        const double forms[] = {v, 1 / v, std::sqrt(v), 1 / std::sqrt(v)};
        seen.insert(v);
        return std::fabs(pair.second / forms[form] - 1) <= 4 * slack;
      });
      constexpr const char* kForms[] = {"{}", "1 / {}", "sqrt({})", "1 / sqrt({})"};
      if (all && seen.size() > 1) return fmt::format(fmt::runtime(kForms[form]), candidate.name);
    }
  }
  return "";
}

std::optional<Diagnosis> factor(const std::vector<WrongCase>& cases, size_t output) {
  std::vector<std::pair<const WrongCase*, double>> factors;
  double slack = 0;
  size_t elements = 0;
  for (const auto& one : cases) {
    if (one.right || output >= one.outputs.size() || !one.prepared->data.what.special.empty()) continue;
    const auto& out = one.outputs[output];
    const auto ratios = ratios_of(out, 0, out.state.size());
    if (ratios.size() < kFewest) continue;
    auto ratio = common_ratio(out, ratios);
    if (!ratio) return std::nullopt;
    slack = std::max(slack, slack_of(out));
    elements += ratios.size();
    factors.emplace_back(&one, *ratio);
  }
  if (factors.empty()) return std::nullopt;
  const auto name = name_of_factor(factors, slack);
  if (!name.empty())
    return Diagnosis{Pattern::scalar,
                     fmt::format("in {} cases every value is {} times the right one", factors.size(), name)};
  const double first = factors.front().second;
  const bool same = std::all_of(factors.begin(), factors.end(),
                                [&](const auto& f) { return std::fabs(f.second / first - 1) <= 4 * slack; });
  if (!same) return std::nullopt;
  return Diagnosis{Pattern::factor, fmt::format("in {} cases all {} values are {:.4g} times the right ones",
                                                factors.size(), elements, first)};
}

// The same difference everywhere, in every case. It shows best where values are small: large ones are rounded by more.
struct Offset {
  double value = 0;
  size_t fits = 0, all = 0;
};

std::optional<Offset> offset_of(const WrongOutput& out) {
  std::vector<std::pair<double, double>> by_size;  // |want|, difference
  for (size_t i = 0; i < out.state.size(); ++i)
    if (out.state[i] != ElementState::not_counted && std::isfinite(out.got[i] - out.want[i]))
      by_size.emplace_back(std::fabs(out.want[i]), out.got[i] - out.want[i]);
  if (by_size.size() < kFewest) return std::nullopt;
  std::sort(by_size.begin(), by_size.end());
  std::vector<double> differences;
  for (size_t i = 0; i < by_size.size() / 2; ++i) differences.push_back(by_size[i].second);
  Offset offset{median_of(differences), 0, by_size.size()};
  size_t seen = 0;  // elements in which it is more than rounding
  const double unit = isa::is_float(out.type) ? task::float_limits(out.type).unit : 0;
  for (const auto& [size, difference] : by_size) {
    const double slack = 2 * unit * (size + std::fabs(offset.value)) + 1e-5 * std::fabs(offset.value) + 1e-6 * size;
    offset.fits += std::fabs(difference - offset.value) <= 2 * slack;
    seen += std::fabs(offset.value) > 8 * slack;
  }
  if (offset.value == 0 || offset.fits * 20 < offset.all * 19 || seen * 4 < offset.all) return std::nullopt;
  return offset;
}

std::optional<Diagnosis> offset(const std::vector<WrongCase>& cases, size_t output) {
  size_t elements = 0, seen = 0;
  double value = 0;
  for (const auto& one : cases) {
    if (one.right || output >= one.outputs.size() || !one.prepared->data.what.special.empty()) continue;
    if (one.outputs[output].counted < kFewest) continue;
    const auto found = offset_of(one.outputs[output]);
    if (!found || (seen > 0 && std::fabs(found->value - value) > 0.02 * std::fabs(value))) return std::nullopt;
    if (seen++ == 0) value = found->value;
    elements += found->all;
  }
  if (seen == 0) return std::nullopt;
  return Diagnosis{Pattern::offset,
                   fmt::format("in {} cases all {} values are {:.4g} more than the right ones", seen, elements, value)};
}

// A factor for each row: what the row was divided by, or summed to, is wrong.
std::optional<Diagnosis> factor_by_row(const WrongCase& one, const WrongOutput& out) {
  if (out.shape.size() < 2) return std::nullopt;
  const auto columns = static_cast<size_t>(out.shape.back());
  if (columns < kFewest) return std::nullopt;
  size_t rows = 0;
  double lowest = 1e300, highest = -1e300;
  for (size_t begin = 0; begin < out.state.size(); begin += columns) {
    bool bad = false;
    for (size_t i = begin; i < begin + columns; ++i) bad = bad || out.is_bad(i);
    if (!bad) continue;
    auto ratio = common_ratio(out, ratios_of(out, begin, begin + columns));
    if (!ratio) return std::nullopt;
    lowest = std::min(lowest, *ratio);
    highest = std::max(highest, *ratio);
    ++rows;
  }
  if (rows == 0) return std::nullopt;
  return Diagnosis{Pattern::reduction, fmt::format("{}: {} rows are each off by one factor, from {:.4g} to {:.4g}",
                                                   one.label(), rows, lowest, highest)};
}

// Errors that are small against what is summed, in both directions, everywhere: of a format coarser than it has to be.
std::optional<Diagnosis> rounded(const std::vector<WrongCase>& cases, size_t output) {
  constexpr double kMost = 0.08;  // in one case: a single element may have bad luck, a format has no worse
  double squares = 0, least = 1e300, most = 0;
  size_t wrong_cases = 0, elements = 0;
  for (const auto& one : cases) {
    if (one.right || output >= one.outputs.size() || !one.prepared->data.what.special.empty()) continue;
    const auto& out = one.outputs[output];
    if (out.bad() == 0 && !out.by_budget) continue;
    // In place some values are as they were by chance.
    if ((out.unwritten + out.half_written) * 20 > out.bad() || !isa::is_float(out.type)) return std::nullopt;
    for (size_t i = 0; i < out.state.size(); ++i)
      if (out.state[i] == ElementState::wrong && !(std::fabs(out.got[i] - out.want[i]) <= 0.25 * out.magnitude[i]))
        return std::nullopt;
    squares += out.rms * out.rms * static_cast<double>(out.counted);
    elements += out.counted;
    least = std::min(least, out.rms);
    most = std::max(most, out.rms);
    ++wrong_cases;
  }
  if (wrong_cases == 0 || most > kMost) return std::nullopt;
  const double rms = std::sqrt(squares / static_cast<double>(elements));
  // Beyond 2^-5 of the magnitude no format that anyone uses is to blame.
  if (rms > 0.03) return std::nullopt;
  const double bits = -std::log2(rms);
  const char* like = bits > 15    ? "a format between f32 and f16"
                     : bits > 9.5 ? "f16 or tf32"
                     : bits > 6.5 ? "bf16"
                                  : "an 8-bit format";
  return Diagnosis{Pattern::precision,
                   fmt::format("in {} cases the errors are small everywhere, {:.2g} to {:.2g} of the magnitude (RMS), "
                               "as of sums or inputs kept in {}",
                               wrong_cases, least, most, like)};
}

// Numbers that are none where finite ones belong, in every wrong case, and most cases are right: something overflows on the way.
std::optional<Diagnosis> overflows(const std::vector<WrongCase>& cases, size_t output) {
  size_t wrong_cases = 0, infinite = 0;
  for (const auto& one : cases) {
    const auto& special = one.prepared->data.what.special;
    if (one.right || output >= one.outputs.size() || (!special.empty() && special != "large")) continue;
    const auto& out = one.outputs[output];
    if (out.bad() == 0) continue;
    size_t here = 0;
    for (size_t i = 0; i < out.state.size(); ++i)
      here += out.state[i] == ElementState::wrong && !std::isfinite(out.got[i]) && std::isfinite(out.want[i]);
    if (here == 0) return std::nullopt;
    infinite += here;
    ++wrong_cases;
  }
  const auto right =
      static_cast<size_t>(std::count_if(cases.begin(), cases.end(), [](const auto& c) { return c.right; }));
  if (wrong_cases < 2 || wrong_cases > right) return std::nullopt;
  return Diagnosis{Pattern::special,
                   fmt::format("in each of {} cases values are NaN or infinite where finite ones belong, "
                               "{} of them: something overflows on the way",
                               wrong_cases, infinite)};
}

// The case whose relations are easiest to see: ordinary values, many wrong elements, not endless.
std::vector<const WrongCase*> telling(const std::vector<WrongCase>& cases, size_t output) {
  std::vector<const WrongCase*> chosen;
  for (const auto& one : cases)
    if (!one.right && output < one.outputs.size() && one.outputs[output].bad() >= kFewest) chosen.push_back(&one);
  std::stable_sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) {
    const auto key = [&](const WrongCase* c) {
      return std::pair(c->prepared->data.what.special.empty(), std::min<size_t>(c->outputs[output].bad(), 4096));
    };
    return key(a) > key(b);
  });
  if (chosen.size() > 3) chosen.resize(3);
  return chosen;
}

template <class Look>
std::optional<Diagnosis> in_all(const std::vector<const WrongCase*>& cases, size_t output, const Look& look) {
  std::optional<Diagnosis> first;
  for (const auto* one : cases) {
    auto found = look(*one, one->outputs[output]);
    if (!found) return std::nullopt;
    if (!first) first = std::move(found);
  }
  return first;
}

}  // namespace

std::optional<Diagnosis> diagnose_values(const task::Task& task, const std::vector<WrongCase>& cases) {
  if (cases.empty()) return std::nullopt;
  for (size_t output = 0; output < cases.front().outputs.size(); ++output) {
    const auto some = telling(cases, output);
    const auto by_sign = [&](const WrongCase& c, const WrongOutput& o) { return by_sign_of_input(task, c, o); };
    if (auto found = in_all(some, output, by_sign)) return found;
    if (auto found = in_all(some, output, by_value_of_sign)) return found;
    if (auto found = in_all(some, output, transposed)) return found;
    if (auto found = in_all(some, output, shifted)) return found;
    if (auto found = factor(cases, output)) return found;
    if (auto found = offset(cases, output)) return found;
    if (auto found = rounded(cases, output)) return found;
    if (auto found = in_all(some, output, misplaced)) return found;
    if (auto found = in_all(some, output, factor_by_row)) return found;
    if (auto found = overflows(cases, output)) return found;
  }
  return std::nullopt;
}

}  // namespace ptxlab::judge
