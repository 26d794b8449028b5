// Values are drawn as doubles and rounded once into the type. Fills bring out what plain normal values hide: spikes
// show dropped terms and narrow accumulators, heavy tails show overflow and cancellation, ties show wrong comparisons.
#include "task/fill.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/narrow_float.h"
#include "base/random.h"
#include "base/thread_pool.h"

namespace ptxlab::task {
namespace {

using isa::Type;

base::Format format_of(Type type) {
  if (type == Type::f16) return base::kF16;
  if (type == Type::bf16) return base::kBf16;
  if (type == Type::e5m2) return base::kE5m2;
  if (type == Type::e4m3) return base::kE4m3;
  assert(type == Type::f32);
  return base::kF32;
}

void store_bits(std::span<uint8_t> bytes, Type type, uint64_t index, uint64_t bits) {
  const auto width = static_cast<size_t>(isa::bytes_of(type));
  std::memcpy(bytes.data() + index * width, &bits, width);  // little-endian, as the device is
}

// Student's t with 3 degrees of freedom: variance 3, tails like 1/t^4.
double heavy(base::Random& random) {
  const double a = random.normal(), b = random.normal(), c = random.normal();
  return random.normal() / std::sqrt((a * a + b * b + c * c) / 3 + 1e-300);
}

struct Integers {
  double low, high;
};
Integers range_of(Type type) {
  const int bits = isa::bits_of(type);
  if (isa::is_signed(type)) return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
  return {0, std::ldexp(1, bits) - 1};
}

class Row {
 public:
  Row(const FillSpec& spec, uint64_t row, size_t count)
      : spec_(spec),
        row_(row),
        random_(base::derive_seed(spec.seed, "row") + row * 0x9e3779b97f4a7c15u),
        values_(count),
        floating_(isa::is_float(spec.type)),
        scale_(floating_ ? 1 : 10) {}

  std::vector<double> make() {
    if (spec_.name == "normal") {
      each([&] { return scale_ * random_.normal(); });
    } else if (spec_.name == "heavy") {
      each([&] { return scale_ * heavy(random_); });
    } else if (spec_.name == "uniform") {
      uniform();
    } else if (spec_.name == "ties") {
      each([&] { return (static_cast<double>(random_.below(8)) - 3) * (floating_ ? 0.5 : 1); });
    } else if (spec_.name == "constant") {
      each([&] { return spec_.bounded ? spec_.low : 1; });
      return std::move(values_);
    } else if (spec_.name == "spike") {
      spike();
    } else if (spec_.name == "sorted") {
      each([&] { return scale_ * random_.normal(); });
      clamp();
      std::sort(values_.begin(), values_.end());
    } else if (spec_.name == "permutation") {
      permutation();
      return std::move(values_);
    } else if (spec_.name == "spd") {
      positive_definite();
      return std::move(values_);
    } else if (spec_.name == "offsets") {
      offsets();
      return std::move(values_);
    } else {
      special();
      return std::move(values_);
    }
    clamp();
    return std::move(values_);
  }

  base::Random& random() { return random_; }

 private:
  template <class F>
  void each(F&& draw) {
    for (double& value : values_) value = draw();
  }
  void clamp() {
    if (!spec_.bounded) return;
    for (double& value : values_) value = std::clamp(value, spec_.low, spec_.high);
  }
  void uniform() {
    if (floating_) {
      const double low = spec_.bounded ? spec_.low : -1, high = spec_.bounded ? spec_.high : 1;
      return each([&] { return low + (high - low) * random_.uniform(); });
    }
    const Integers range = range_of(spec_.type);
    const double low = spec_.bounded ? spec_.low : std::max(range.low, -128.0),
                 high = spec_.bounded ? spec_.high : std::min(range.high, 255.0);
    each([&] { return low + static_cast<double>(random_.below(static_cast<uint64_t>(high - low) + 1)); });
  }
  void spike() {
    each([&] { return scale_ * random_.normal(); });
    const size_t last = values_.size() - 1;
    for (size_t at : {size_t{0}, last, static_cast<size_t>(random_.below(values_.size()))})
      values_[at] = 64 * scale_ * (random_.below(2) ? 1 : -1) * (0.5 + random_.uniform());
  }
  void permutation() {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(i);
    for (size_t i = values_.size(); i > 1; --i) std::swap(values_[i - 1], values_[random_.below(i)]);
  }
  void offsets() {
    const auto total = static_cast<uint64_t>(spec_.high);
    each([&] { return static_cast<double>(random_.below(total + 1)); });
    std::sort(values_.begin(), values_.end());
    values_.front() = 0;
    values_.back() = static_cast<double>(total);
  }
  void special() {
    const FloatLimits limits = float_limits(spec_.type);
    if (spec_.name == "zeros") return each([&] { return random_.below(2) ? 0.0 : -0.0; });
    if (spec_.name == "denormals") {
      const double smallest = limits.smallest_normal * 2 * limits.unit;
      const auto steps = static_cast<uint64_t>(limits.smallest_normal / smallest);
      return each(
          [&] { return (random_.below(2) ? 1 : -1) * smallest * static_cast<double>(1 + random_.below(steps - 1)); });
    }
    assert(spec_.name == "large");
    // Large enough to overflow a narrower accumulator, small enough that sums of a few thousand squares stay finite in
    // the accumulator that goes with the type.
    const int exponent = spec_.type == Type::f64                               ? 300
                         : spec_.type == Type::f16 || spec_.type == Type::e5m2 ? 7
                         : spec_.type == Type::e4m3                            ? 4
                                                                               : 50;
    each([&] { return (random_.below(2) ? 1 : -1) * std::ldexp(1 + random_.uniform(), exponent); });
  }

  // A row of a symmetric matrix whose diagonal outweighs it, which makes it positive definite. Each pair of places draws
  // from a stream of its own, so that rows can be made alone and agree.
  void positive_definite() {
    const uint64_t n = values_.size(), i = row_ % n, matrix = row_ / n;
    double sum = 0;
    for (uint64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const uint64_t pair = (matrix * n + std::min(i, j)) * n + std::max(i, j);
      base::Random random(base::derive_seed(spec_.seed, "pair") + pair * 0x9e3779b97f4a7c15u);
      values_[j] = 2 * random.uniform() - 1;
      sum += std::fabs(values_[j]);
    }
    values_[i] = 1 + sum;
  }

  const FillSpec& spec_;
  uint64_t row_;
  base::Random random_;
  std::vector<double> values_;
  bool floating_;
  double scale_;
};

// NaN in the format, or infinities of either sign: one for every 16 elements and one more.
void plant(const FillSpec& spec, base::Random& random, std::span<uint8_t> bytes, size_t count) {
  for (size_t i = 0; i <= count / 16; ++i) {
    const uint64_t at = random.below(count);
    const bool negative = random.below(2);
    const double value = spec.special == "nan" ? std::numeric_limits<double>::quiet_NaN()
                         : negative            ? -std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::infinity();
    store_element(bytes, spec.type, at, value);
  }
}

}  // namespace

FloatLimits float_limits(Type type) {
  switch (type) {
    case Type::f64: return {0x1p-1022, std::numeric_limits<double>::max(), 0x1p-53, true};
    case Type::f16: return {0x1p-14, 65504, 0x1p-11, true};
    case Type::bf16: return {0x1p-126, 0x1.fep127, 0x1p-8, true};
    case Type::tf32: return {0x1p-126, 0x1.ffcp127, 0x1p-11, true};
    case Type::e5m2: return {0x1p-14, 57344, 0x1p-3, true};
    case Type::e4m3: return {0x1p-6, 448, 0x1p-4, false};
    default: return {0x1p-126, 0x1.fffffep127, 0x1p-24, true};  // f32
  }
}

void store_element(std::span<uint8_t> bytes, Type type, uint64_t index, double value) {
  uint64_t bits = 0;
  if (type == Type::f64) {
    std::memcpy(&bits, &value, 8);
  } else if (type == Type::f32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, 4);
  } else if (isa::is_float(type)) {
    bits = base::narrow(value, format_of(type));
  } else {
    const Integers range = range_of(type);
    const double whole = std::nearbyint(value);
    if (isa::is_signed(type)) {
      bits = whole >= range.high  ? static_cast<uint64_t>((uint64_t{1} << (isa::bits_of(type) - 1)) - 1)
             : whole <= range.low ? ~((uint64_t{1} << (isa::bits_of(type) - 1)) - 1)
                                  : static_cast<uint64_t>(static_cast<int64_t>(whole));
    } else {
      bits = whole <= 0 ? 0 : whole >= range.high ? ~uint64_t{0} : static_cast<uint64_t>(whole);
    }
  }
  store_bits(bytes, type, index, bits);
}

void fill_row(const FillSpec& spec, uint64_t row, std::span<uint8_t> bytes) {
  const size_t count = bytes.size() / static_cast<size_t>(isa::bytes_of(spec.type));
  if (count == 0) return;
  Row maker(spec, row, count);
  const std::vector<double> values = maker.make();
  for (size_t i = 0; i < count; ++i) store_element(bytes, spec.type, i, values[i]);
  // About half of the rows, and always the first, so that clean rows show whether a NaN spills over.
  if (!spec.special.empty() && (row == 0 || maker.random().below(2))) plant(spec, maker.random(), bytes, count);
}

void fill_rows(const FillSpec& spec, uint64_t row_bytes, std::span<uint8_t> bytes) {
  const auto width = static_cast<uint64_t>(isa::bytes_of(spec.type));
  const bool whole =
      spec.name == "sorted" || spec.name == "permutation" || spec.name == "offsets" || spec.name == "spd";
  const uint64_t piece = whole ? row_bytes : std::min(row_bytes, kLongRow * width);
  const uint64_t pieces_a_row = (row_bytes + piece - 1) / piece, rows = bytes.size() / row_bytes;
  // Small buffers are not worth a thread.
  base::parallel_for(rows * pieces_a_row, bytes.size() < (uint64_t{4} << 20) ? 1 : 0, [&](size_t i) {
    const uint64_t row = i / pieces_a_row, begin = i % pieces_a_row * piece;
    fill_row(spec, i, bytes.subspan(row * row_bytes + begin, std::min(piece, row_bytes - begin)));
  });
}

}  // namespace ptxlab::task
