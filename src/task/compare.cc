// docs/tolerance.md derives the rule and shows the data behind its constants.
#include "task/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <map>

#include "base/narrow_float.h"
#include "isa/type.h"
#include "task/fill.h"
#include "task/view.h"

namespace ptxlab::task {
namespace {

using isa::Type;

uint64_t bits_at(std::span<const uint8_t> bytes, Type type, uint64_t index) {
  const auto width = static_cast<size_t>(isa::bytes_of(type));
  assert((index + 1) * width <= bytes.size());
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * width, width);
  return bits;
}

double float_value(uint64_t bits, Type type) {
  switch (type) {
    case Type::f64: return std::bit_cast<double>(bits);
    case Type::f32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Type::f16: return base::widen(static_cast<uint32_t>(bits), base::kF16);
    case Type::bf16: return base::widen(static_cast<uint32_t>(bits), base::kBf16);
    case Type::e4m3: return base::widen(static_cast<uint32_t>(bits), base::kE4m3);
    case Type::e5m2: return base::widen(static_cast<uint32_t>(bits), base::kE5m2);
    default: break;
  }
  assert(false && "a floating-point type of a buffer");
  return 0;
}

int64_t integer_value(uint64_t bits, Type type) {
  const int width = isa::bits_of(type);
  if (isa::is_signed(type) && width < 64) return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  return static_cast<int64_t>(bits);
}

std::string position(const std::vector<int64_t>& shape, uint64_t index) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto extent = static_cast<uint64_t>(shape[d]);
    text = fmt::format("{}{}{}", index % extent, text.empty() ? "" : ", ", text);
    index /= extent;
  }
  return "[" + text + "]";
}

// One comparison under way: counts, and keeps what the summary needs.
class Comparer {
 public:
  Comparer(const Task& task, const CaseData& data, const View& view, std::span<const uint8_t> actual,
           std::vector<uint64_t>* wrong_elements)
      : wrong_elements_(wrong_elements),
        tolerance_(task.tolerances.at(view.name)),
        data_(data),
        type_(view.type),
        shape_(shape_of(view, data)),
        actual_(actual),
        floating_(isa::is_float(type_)) {}

  Comparison run(std::span<const Expected> expected, std::span<const uint64_t> indices, double baseline_rms) {
    assert(indices.empty() || indices.size() == expected.size());
    result_.compared = expected.size();
    switch (tolerance_.kind) {
      case Tolerance::Kind::exact:
        each(expected, indices, [this](uint64_t i, const Expected& e) { exact(i, e); });
        break;
      case Tolerance::Kind::absolute:
        each(expected, indices, [this](uint64_t i, const Expected& e) { absolute(i, e); });
        break;
      case Tolerance::Kind::floating: floats(expected, indices, baseline_rms); break;
      case Tolerance::Kind::unordered: unordered(expected, indices); break;
    }
    result_.right = result_.wrong == 0 && !(result_.rms > result_.rms_bound);
    summarise();
    return std::move(result_);
  }

 private:
  template <class F>
  void each(std::span<const Expected> expected, std::span<const uint64_t> indices, F&& check) {
    for (uint64_t k = 0; k < expected.size(); ++k) check(indices.empty() ? k : indices[k], expected[k]);
  }

  void wrong(uint64_t index, std::string got, std::string wanted) {
    if (wrong_elements_) wrong_elements_->push_back(index);
    if (result_.wrong++ == 0) {
      result_.first_wrong = index;
      first_ = fmt::format("first at {}: got {}, expected {}", position(shape_, index), got, wanted);
    }
  }
  void note_ratio(uint64_t index, double ratio) {
    if (!(ratio > result_.worst)) return;
    result_.worst = ratio;
    result_.worst_index = index;
  }

  std::string show(double value) const { return fmt::format("{:.{}g}", value, type_ == Type::f64 ? 17 : 9); }

  void exact(uint64_t index, const Expected& e) {
    const uint64_t bits = bits_at(actual_, type_, index);
    if (!floating_) {
      const int64_t got = integer_value(bits, type_);
      if (e.spread > 0 && e.lowest <= got && got <= e.highest) return;
      if (got != e.integer) wrong(index, fmt::format("{}", got), fmt::format("{}", e.integer));
      return;
    }
    std::array<uint8_t, 8> rounded{};
    store_element(rounded, type_, 0, e.value);
    const double wanted = float_value(bits_at(rounded, type_, 0), type_), got = float_value(bits, type_);
    const bool same = std::isnan(wanted) ? std::isnan(got) : got == wanted && std::signbit(got) == std::signbit(wanted);
    if (!same) wrong(index, show(got), show(wanted));
  }

  // NaN and infinities: settled here where either side is not finite. `slack` is what the value may be off.
  bool settled(uint64_t index, double got, double wanted, double slack) {
    if (std::isfinite(got) && std::isfinite(wanted)) return false;
    if (!std::isfinite(wanted)) slack = 0;  // the magnitude of an infinite result may be no number
    const FloatLimits limits = float_limits(type_);
    // A result within its bound of the overflow threshold may be infinite (or NaN, in a format without infinities).
    const double threshold = limits.largest * (1 + limits.unit);
    bool same;
    if (std::isnan(wanted)) {
      same = std::isnan(got);
    } else if (std::isnan(got)) {
      same = !limits.infinities && std::fabs(wanted) + slack >= threshold;
    } else if (std::isinf(got)) {
      same = std::signbit(got) == std::signbit(wanted) && std::fabs(wanted) + slack >= threshold;
    } else {
      same = false;  // finite where an infinity belongs
    }
    if (!same) wrong(index, show(got), show(wanted));
    return true;
  }

  void bounded(uint64_t index, double got, double wanted, double bound) {
    const double error = std::fabs(got - wanted);
    const double ratio = bound > 0 ? error / bound : error > 0 ? std::numeric_limits<double>::infinity() : 0;
    note_ratio(index, ratio);
    if (ratio > 1) wrong(index, show(got), fmt::format("{} +- {:.2g}", show(wanted), bound));
  }

  void absolute(uint64_t index, const Expected& e) {
    const uint64_t bits = bits_at(actual_, type_, index);
    if (!floating_) {
      const auto got = static_cast<double>(integer_value(bits, type_)), wanted = static_cast<double>(e.integer);
      return bounded(index, got, wanted, tolerance_.abs + tolerance_.rel * std::fabs(wanted));
    }
    const double got = float_value(bits, type_);
    const double bound = tolerance_.abs + tolerance_.rel * std::fabs(e.value);
    if (!settled(index, got, e.value, bound)) bounded(index, got, e.value, bound);
  }

  double terms() const {
    auto value = tolerance_.terms.evaluate([this](std::string_view name) -> std::optional<int64_t> {
      const auto it = data_.binding.parameters.find(std::string(name));
      return it == data_.binding.parameters.end() ? std::nullopt : std::optional<int64_t>(it->second);
    });
    return value && *value > 1 ? static_cast<double>(*value) : 1;
  }

  // The kernel's own randomly rounded runs are the oracle: how far they lie apart bounds the error.
  void spreads(std::span<const Expected> expected, std::span<const uint64_t> indices) {
    const FloatLimits out = float_limits(type_);
    const double typical = typical_spread(expected);
    each(expected, indices, [&](uint64_t index, const Expected& e) {
      if (e.loose) return;
      const double got = float_value(bits_at(actual_, type_, index), type_);
      const double size = std::max(std::fabs(e.value), out.smallest_normal);
      const double bound = tolerance_.granted * (4 * out.unit * size + 8 * std::max(e.spread, typical));
      if (!settled(index, got, e.value, bound)) bounded(index, got, e.value, bound);
    });
  }
  static double typical_spread(std::span<const Expected> expected) {
    double squares = 0;
    uint64_t counted = 0;
    for (const Expected& e : expected) {
      if (e.loose || !std::isfinite(e.spread)) continue;
      squares += e.spread * e.spread;
      ++counted;
    }
    return counted ? std::sqrt(squares / static_cast<double>(counted)) : 0;
  }

  void floats(std::span<const Expected> expected, std::span<const uint64_t> indices, double baseline_rms) {
    if (!expected.empty() && expected[0].spread >= 0) {
      spread_ = true;
      return spreads(expected, indices);
    }
    const FloatLimits out = float_limits(type_);
    const double u_acc = float_limits(tolerance_.accumulate).unit, root = std::sqrt(terms());
    double errors = 0, roundings = 0, sums = 0;  // sums of squares, each relative to the magnitude
    uint64_t counted = 0;
    for (uint64_t k = 0; k < expected.size(); ++k) {
      const uint64_t index = indices.empty() ? k : indices[k];
      const Expected& e = expected[k];
      const double got = float_value(bits_at(actual_, type_, index), type_);
      const double size = std::max(std::fabs(e.value), out.smallest_normal);
      const double bound = tolerance_.granted * (4 * out.unit * size + 8 * root * u_acc * e.magnitude);
      if (settled(index, got, e.value, bound)) continue;
      bounded(index, got, e.value, bound);
      if (e.magnitude == 0) continue;
      // Below the smallest normal number errors are absolute: there the smallest normal is the magnitude.
      const double magnitude = std::max(e.magnitude, out.smallest_normal);
      const double error = (got - e.value) / magnitude, share = std::fabs(e.value) / magnitude;
      // What rounding to the output's type is relative to; below the smallest normal number a rounding stays as large.
      const double rounded = size / magnitude;
      // Partial sums are about as large as the sum itself or, where signs alternate, as magnitude / sqrt(terms).
      const double sum = std::max(1.0, root * share);
      errors += error * error;
      roundings += rounded * rounded;
      sums += sum * sum;
      ++counted;
    }
    if (counted == 0) return;
    const auto n = static_cast<double>(counted);
    result_.rms = std::sqrt(errors / n);
    result_.rms_bound = tolerance_.granted * 4 *
                        std::max({out.unit * std::sqrt(roundings / n / 3), u_acc * std::sqrt(sums / n), baseline_rms});
  }

  // The value as its bits, all NaN alike.
  uint64_t key(uint64_t bits) const { return floating_ && std::isnan(float_value(bits, type_)) ? ~uint64_t{0} : bits; }
  uint64_t key(const Expected& e) const {
    std::array<uint8_t, 8> bytes{};
    if (floating_) {
      store_element(bytes, type_, 0, e.value);
    } else {
      std::memcpy(bytes.data(), &e.integer, 8);
    }
    return key(bits_at(bytes, type_, 0));
  }

  // All elements that are compared, as a multiset.
  void unordered(std::span<const Expected> expected, std::span<const uint64_t> indices) {
    std::map<uint64_t, int64_t> balance;
    each(expected, indices, [&](uint64_t i, const Expected& e) {
      ++balance[key(e)];
      --balance[key(bits_at(actual_, type_, i))];
    });
    each(expected, indices, [&](uint64_t i, const Expected&) {
      const uint64_t bits = bits_at(actual_, type_, i);
      int64_t& left = balance[key(bits)];
      if (left >= 0) return;
      ++left;
      wrong(i, floating_ ? show(float_value(bits, type_)) : fmt::format("{}", integer_value(bits, type_)),
            "other values (compared without order)");
    });
  }

  void summarise() {
    if (result_.wrong > 0) {
      result_.summary = fmt::format("{} of {} elements differ; {}", result_.wrong, result_.compared, first_);
    } else if (!result_.right) {
      result_.summary = fmt::format(
          "each element is within its bound, but the error over all {} is too large: RMS {:.2g} of the magnitude, at "
          "most {:.2g}",
          result_.compared, result_.rms, result_.rms_bound);
    } else if (tolerance_.kind == Tolerance::Kind::floating && spread_) {
      result_.summary =
          fmt::format("{} elements right; the worst has {:.2g} of its bound", result_.compared, result_.worst);
    } else if (tolerance_.kind == Tolerance::Kind::floating) {
      result_.summary = fmt::format("{} elements right; the worst has {:.2g} of its bound, RMS {:.2g} of {:.2g}",
                                    result_.compared, result_.worst, result_.rms, result_.rms_bound);
    } else {
      result_.summary = fmt::format("{} elements right", result_.compared);
    }
  }

  std::vector<uint64_t>* wrong_elements_;
  const Tolerance& tolerance_;
  const CaseData& data_;
  Type type_;
  std::vector<int64_t> shape_;
  std::span<const uint8_t> actual_;
  bool floating_;
  bool spread_ = false;  // compared with randomly rounded runs
  Comparison result_;
  std::string first_;
};

}  // namespace

double element(std::span<const uint8_t> bytes, Type type, uint64_t index) {
  const uint64_t bits = bits_at(bytes, type, index);
  if (isa::is_float(type)) return float_value(bits, type);
  return isa::is_signed(type) ? static_cast<double>(integer_value(bits, type)) : static_cast<double>(bits);
}

Comparison compare(const Task& task, const CaseData& data, std::string_view output, std::span<const uint8_t> actual,
                   std::span<const Expected> expected, std::span<const uint64_t> indices, double baseline_rms,
                   std::vector<uint64_t>* wrong_elements) {
  return Comparer(task, data, output_view(task, output), actual, wrong_elements).run(expected, indices, baseline_rms);
}

}  // namespace ptxlab::task
