// The data behind docs/tolerance.md: sums, rmsnorm and softmax computed here in the arithmetic of honest kernels and of
// cheating ones, and judged by compare(). Honest ones must pass on every input, each cheat must fail on one at least.
// The table of figures is printed by --gtest_also_run_disabled_tests --gtest_filter='*PrintTable'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/narrow_float.h"
#include "base/random.h"
#include "task/compare.h"
#include "task/fill.h"

namespace ptxlab::task {
namespace {

using isa::Type;
using Values = std::vector<float>;

float to_f16(float x) { return static_cast<float>(base::f16_to_double(base::double_to_f16(x))); }
float to_bf16(float x) { return static_cast<float>(base::bf16_to_double(base::double_to_bf16(x))); }
float to_tf32(float x) { return static_cast<float>(base::widen(base::narrow(x, base::kTf32), base::kTf32)); }
float cut_to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  bits &= 0xffff0000u;
  std::memcpy(&x, &bits, 4);
  return x;
}

// How a kernel accumulates: `lanes` accumulators, each over every lanes-th term, then a tree.
struct Accumulation {
  int lanes = 1;
  bool fused = true;
  bool half = false;  // every partial result rounded to f16
  int dropped = 0;    // terms left out at the end
};

float tree(Values values, bool half) {
  while (values.size() > 1) {
    const size_t rest = (values.size() + 1) / 2;
    for (size_t i = 0; i + rest < values.size(); ++i) {
      values[i] += values[i + rest];
      if (half) values[i] = to_f16(values[i]);
    }
    values.resize(rest);
  }
  return values[0];
}

float dot(const float* a, const float* b, int n, const Accumulation& how) {
  Values partial(static_cast<size_t>(how.lanes), 0.0f);
  for (int i = 0; i < n - how.dropped; ++i) {
    float& sum = partial[static_cast<size_t>(i % how.lanes)];
    sum = how.fused ? std::fmaf(a[i], b[i], sum) : sum + a[i] * b[i];
    if (how.half) sum = to_f16(sum);
  }
  return tree(std::move(partial), how.half);
}

struct Problem {
  Task task;
  CaseData data;
  std::vector<Expected> expected;
  int rows = 0, n = 0;
  Values x, w;
};

Values filled(const std::string& fill, Type type, int rows, int n, uint64_t seed) {
  FillSpec spec;
  spec.name = fill == "positive" ? "uniform" : fill;
  spec.type = type;
  spec.seed = seed;
  if (fill == "positive") spec.bounded = true, spec.low = 0, spec.high = 1;
  if (fill == "constant") spec.bounded = true, spec.low = spec.high = 0.1;
  std::vector<uint8_t> bytes(static_cast<size_t>(n) * static_cast<size_t>(isa::bytes_of(type)));
  Values values;
  for (int row = 0; row < rows; ++row) {
    fill_row(spec, static_cast<uint64_t>(row), bytes);
    for (int i = 0; i < n; ++i) values.push_back(static_cast<float>(element(bytes, type, static_cast<uint64_t>(i))));
  }
  return values;
}

Problem problem(Type out, int rows, int n, int64_t outputs) {
  Problem p;
  p.rows = rows;
  p.n = n;
  Argument y;
  y.name = "y";
  y.kind = Argument::Kind::out;
  y.type = out;
  p.task.arguments.push_back(y);
  Tolerance tolerance;
  tolerance.kind = Tolerance::Kind::floating;
  tolerance.terms = launch::Expression::constant(n);
  p.task.tolerances["y"] = tolerance;
  p.data.binding.buffers.push_back({"y", 0, launch::ResolvedBuffer::Role::out, launch::ResolvedBuffer::Init::poison});
  p.data.shapes.push_back({outputs});
  return p;
}

Comparison judge(const Problem& p, const Values& got) {
  const Type type = p.task.arguments[0].type;
  std::vector<uint8_t> bytes(got.size() * static_cast<size_t>(isa::bytes_of(type)));
  for (size_t i = 0; i < got.size(); ++i) store_element(bytes, type, i, got[i]);
  return compare(p.task, p.data, "y", bytes, p.expected, {});
}

struct Variant {
  std::string name;
  bool honest;
  std::function<Values(const Problem&)> run;
};

struct Study {
  std::string name;
  std::vector<std::string> fills;
  std::vector<int> sizes;
  std::function<Problem(const std::string& fill, int n)> make;
  std::vector<Variant> variants;
};

int rows_for(int n) { return n > 10'000 ? 8 : 32; }

Study dot_study() {
  const auto make = [](const std::string& fill, int n) {
    Problem p = problem(Type::f32, rows_for(n), n, rows_for(n));
    p.x = filled(fill, Type::f32, p.rows, n, 1);
    p.w = filled(fill, Type::f32, p.rows, n, 2);
    for (int r = 0; r < p.rows; ++r) {
      Expected e;
      for (int i = 0; i < n; ++i) {
        const double term =
            static_cast<double>(p.x[static_cast<size_t>(r * n + i)]) * p.w[static_cast<size_t>(r * n + i)];
        e.value += term;
        e.magnitude += std::fabs(term);
      }
      p.expected.push_back(e);
    }
    return p;
  };
  const auto sums = [](Accumulation how, float (*round)(float) = nullptr) {
    return [how, round](const Problem& p) {
      Values x = p.x, w = p.w, got;
      for (float& v : x) v = round ? round(v) : v;
      for (float& v : w) v = round ? round(v) : v;
      for (int r = 0; r < p.rows; ++r)
        got.push_back(dot(&x[static_cast<size_t>(r * p.n)], &w[static_cast<size_t>(r * p.n)], p.n, how));
      return got;
    };
  };
  return {"dot f32",
          {"normal", "positive", "heavy", "spike", "ties", "constant"},
          {256, 8192, 65536},
          make,
          {{"32 accumulators, fma", true, sums({32})},
           {"32 accumulators, mul + add", true, sums({32, false})},
           {"256 accumulators, fma", true, sums({256})},
           {"pairwise", true, sums({65536})},
           {"tf32 inputs", false, sums({32}, to_tf32)},
           {"bf16 inputs", false, sums({32}, to_bf16)},
           {"f16 accumulation", false, sums({256, true, true})},
           {"last term dropped", false, sums({32, true, false, 1})}}};
}

Study rmsnorm_study() {
  const auto make = [](const std::string& fill, int n) {
    Problem p = problem(Type::bf16, 8, n, int64_t{8} * n);
    p.x = filled(fill, Type::bf16, p.rows, n, 1);
    p.w = filled("uniform", Type::bf16, 1, n, 2);
    for (int r = 0; r < p.rows; ++r) {
      const float* row = &p.x[static_cast<size_t>(r * n)];
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += static_cast<double>(row[i]) * row[i];
      const double mean = sum / n, q = mean + 1e-6;
      for (int i = 0; i < n; ++i) {
        Expected e;
        e.value = row[i] / std::sqrt(q) * p.w[static_cast<size_t>(i)];
        e.magnitude = std::fabs(e.value) * (3 + 0.5 * (mean / q + 1));
        p.expected.push_back(e);
      }
    }
    return p;
  };
  using Product = float (*)(float, float, float);
  const auto norm = [](Accumulation how, Product product) {
    return [how, product](const Problem& p) {
      base::Random random(5);
      Values got;
      for (int r = 0; r < p.rows; ++r) {
        const float* row = &p.x[static_cast<size_t>(r * p.n)];
        const float mean = dot(row, row, p.n, how) / static_cast<float>(p.n);
        // rsqrt.approx errs by at most 2^-22.9.
        const auto scale = static_cast<float>((1 + 0x1p-23 * (2 * random.uniform() - 1)) /
                                              std::sqrt(static_cast<double>(mean + 1e-6f)));
        for (int i = 0; i < p.n; ++i) got.push_back(product(row[i], scale, p.w[static_cast<size_t>(i)]));
      }
      return got;
    };
  };
  const Product plain = [](float x, float s, float w) { return to_bf16(x * s * w); };
  return {"rmsnorm bf16",
          {"normal", "heavy", "spike", "ties", "constant", "large", "denormals"},
          {256, 4096, 8192},
          make,
          {{"serial", true, norm({1}, plain)},
           {"256 accumulators", true, norm({256}, plain)},
           {"x * (s * w)", true, norm({256}, [](float x, float s, float w) { return to_bf16(x * (s * w)); })},
           {"x * s rounded to bf16 first", true,
            norm({256}, [](float x, float s, float w) { return to_bf16(to_bf16(x * s) * w); })},
           {"result cut to bf16", true, norm({256}, [](float x, float s, float w) { return cut_to_bf16(x * s * w); })},
           {"f16 accumulation", false, norm({256, true, true}, plain)},
           {"last term dropped", false, norm({256, true, false, 1}, plain)},
           {"x 0.99", false, norm({256}, [](float x, float s, float w) { return to_bf16(0.99f * (x * s * w)); })},
           {"zeros", false, norm({256}, [](float, float, float) { return 0.0f; })}}};
}

Study softmax_study() {
  const auto make = [](const std::string& fill, int n) {
    Problem p = problem(Type::f32, n > 10'000 ? 2 : 8, n, 0);
    p.data.shapes[0] = {p.rows, n};
    p.x = filled(fill, Type::f32, p.rows, n, 1);
    for (int r = 0; r < p.rows; ++r) {
      const float* row = &p.x[static_cast<size_t>(r * n)];
      const double highest = *std::max_element(row, row + n);
      double sum = 0, weighted = 0;
      for (int i = 0; i < n; ++i) {
        const double d = row[i] - highest;
        sum += std::exp(d);
        weighted += std::exp(d) * (1 + std::fabs(d));
      }
      for (int i = 0; i < n; ++i) {
        const double d = row[i] - highest;
        Expected e;
        e.value = std::exp(d) / sum;
        e.magnitude = e.value * (2 + std::fabs(d) + weighted / sum);
        p.expected.push_back(e);
      }
    }
    return p;
  };
  using Exp = std::function<float(float)>;
  const auto soft = [](Accumulation how, const Exp& exponential, bool reciprocal = false) {
    return [how, exponential, reciprocal](const Problem& p) {
      const Values ones(static_cast<size_t>(p.n), 1.0f);
      Values got;
      for (int r = 0; r < p.rows; ++r) {
        const float* row = &p.x[static_cast<size_t>(r * p.n)];
        const float highest = *std::max_element(row, row + p.n);
        Values terms;
        for (int i = 0; i < p.n; ++i) terms.push_back(exponential(row[i] - highest));
        const float sum = dot(terms.data(), ones.data(), p.n, how);
        for (float term : terms) got.push_back(reciprocal ? term * (1 / sum) : term / sum);
      }
      return got;
    };
  };
  auto random = std::make_shared<base::Random>(3);
  const auto off = [random](double most) { return 1 + most * (2 * random->uniform() - 1); };
  const Exp careful = [off](float d) { return static_cast<float>(std::exp(static_cast<double>(d)) * off(0x1p-23)); };
  const Exp fast = [off](float d) {
    return static_cast<float>(std::exp2(static_cast<double>(d * 1.44269504f)) * off(0x1p-22));
  };
  const Exp half = [](float d) {
    return to_f16(static_cast<float>(std::exp2(static_cast<double>(to_f16(d * 1.44269504f)))));
  };
  return {"softmax f32",
          {"normal", "heavy", "spike", "ties", "sorted", "constant"},
          {256, 4096, 65536},
          make,
          {{"256 accumulators", true, soft({256}, careful)},
           {"32 accumulators, ex2.approx, 1/sum", true, soft({32}, fast, true)},
           {"1024 accumulators, ex2.approx", true, soft({1024}, fast)},
           {"f16 sum", false, soft({256, true, true}, careful)},
           {"f16 exponentials", false, soft({256}, half)},
           {"last term dropped", false, soft({256, true, false, 1}, careful)}}};
}

void check(const Study& study) {
  for (int n : study.sizes) {
    std::vector<bool> caught(study.variants.size());
    for (const std::string& fill : study.fills) {
      const Problem p = study.make(fill, n);
      for (size_t v = 0; v < study.variants.size(); ++v) {
        const Comparison result = judge(p, study.variants[v].run(p));
        if (study.variants[v].honest) {
          EXPECT_TRUE(result.right) << study.name << ", n = " << n << ", " << fill << ", " << study.variants[v].name
                                    << ": " << result.summary;
        }
        caught[v] = caught[v] || !result.right;
      }
    }
    for (size_t v = 0; v < study.variants.size(); ++v)
      EXPECT_NE(caught[v], study.variants[v].honest)
          << study.name << ", n = " << n << ": nothing catches " << study.variants[v].name;
  }
}

TEST(Tolerance, DotProducts) { check(dot_study()); }
TEST(Tolerance, Rmsnorm) { check(rmsnorm_study()); }
TEST(Tolerance, Softmax) { check(softmax_study()); }

// A single accumulator over 65,536 equal terms: rounding errors that all point one way are beyond a bound that grows
// with the square root. A task for such a kernel states `terms` squared.
TEST(Tolerance, SerialSumsOfEqualTermsNeedTermsSquared) {
  const Study study = dot_study();
  Problem p = study.make("constant", 65536);
  Values got;
  for (int r = 0; r < p.rows; ++r) got.push_back(dot(&p.x[0], &p.w[0], p.n, {1}));
  EXPECT_FALSE(judge(p, got).right);
  p.task.tolerances["y"].terms = launch::Expression::constant(int64_t{65536} * 65536);
  EXPECT_TRUE(judge(p, got).right);
}

// Why budget (b) knows about |r| / magnitude: an honest softmax with a warp a row is off by 25 u over equal terms.
TEST(Tolerance, AFixedBudgetOfFourUnitsWouldFailAnHonestSoftmax) {
  const Study study = softmax_study();
  const Problem p = study.make("ties", 65536);
  const Comparison result = judge(p, study.variants[1].run(p));
  EXPECT_TRUE(result.right) << result.summary;
  EXPECT_GT(result.rms, 4 * 0x1p-24);
}

TEST(Tolerance, DISABLED_PrintTable) {
  for (const Study& study : {dot_study(), rmsnorm_study(), softmax_study()}) {
    std::printf("%-13s %6s %-9s %-36s %10s %10s %10s\n", "kernel", "n", "inputs", "variant", "|e|/(a)", "RMS/u_acc",
                "RMS/(b)");
    for (int n : study.sizes) {
      for (const std::string& fill : study.fills) {
        const Problem p = study.make(fill, n);
        for (const Variant& variant : study.variants) {
          const Comparison result = judge(p, variant.run(p));
          std::printf("%-13s %6d %-9s %-36s %10.3g %10.3g %10.3g %s\n", study.name.c_str(), n, fill.c_str(),
                      variant.name.c_str(), result.worst, result.rms * 0x1p24, result.rms / result.rms_bound,
                      result.right     ? ""
                      : variant.honest ? "REFUSED"
                                       : "caught");
        }
      }
    }
  }
}

}  // namespace
}  // namespace ptxlab::task
