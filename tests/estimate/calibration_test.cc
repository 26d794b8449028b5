// The estimate beside what an H200 measured: speed-ups of the vectorised kernels over what nvcc made, and the times of a
// scalar vector add. These figures chose the model's few free constants (docs/estimate.md), so this test says how well a
// handful of physical constants fits all of them, and that later changes do not undo it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>

#include "estimate/hardware.h"
#include "rewrite/rule.h"
#include "subject.h"

namespace ptxlab::test {
namespace {

const isa::Target kHopper{90, 'a'};

struct Measured {
  const char* task;
  int width;
  double speedup;
};

constexpr Measured kMeasured[] = {
    {"norm/rmsnorm_bf16", 2, 1.45},          {"norm/rmsnorm_bf16", 4, 1.96},
    {"norm/rmsnorm_bf16", 8, 2.29},          {"softmax/softmax_f32", 2, 1.32},
    {"softmax/softmax_f32", 4, 1.55},        {"softmax/softmax_f32", 8, 1.68},
    {"elementwise/vector_add_f32", 2, 1.25}, {"elementwise/vector_add_f32", 4, 1.26},
    {"elementwise/vector_add_f32", 8, 1.22},
};

Setting setting_of(const std::string& task, int64_t elements = int64_t{1} << 28) {
  Setting s;
  if (task == "elementwise/vector_add_f32") {
    s.parameters = {{"n", elements}};
    s.scalars = {{"n", integer("s32", elements)}};
    auto bytes = static_cast<uint64_t>(4 * elements);
    s.buffers = {{"a", bytes, false}, {"b", bytes, false}, {"c", bytes, true}};
    return s;
  }
  const int64_t m = 16384, n = 4096;
  s.parameters = {{"m", m}, {"n", n}};
  bool softmax = task == "softmax/softmax_f32";
  auto bytes = static_cast<uint64_t>(m * n) * (softmax ? 4 : 2);
  s.scalars = {{"n", integer(softmax ? "s32" : "u32", n)}};
  launch::Binding::Scalar eps;
  eps.type = "f32";
  eps.bits = 0x358637bd;
  s.scalars["eps"] = eps;
  s.buffers = {{"x", bytes, false}, {"w", 2 * n, false}, {"y", bytes, true}};
  return s;
}

struct Version {
  std::string ptx, plan;
};

Version baseline_of(const std::string& task) {
  return {file("tasks/" + task + "/baseline.ptx"), file("tasks/" + task + "/baseline.plan.toml")};
}

Version vectorised(const std::string& name, const Version& from, int width) {
  auto task = task::read_task(std::string(PTXLAB_SOURCE_DIR) + "/tasks/" + name + "/task.toml");
  if (!task.ok()) ADD_FAILURE() << task.findings().front().message;
  if (!task.ok()) return from;
  auto checked = ptx::check(from.ptx, "baseline.ptx");
  auto plan = launch::read_plan(from.plan, "baseline.plan.toml");
  rewrite::Subject subject;
  subject.module = &checked.module;
  subject.plan = &*plan;
  subject.task = &*task;  // sums may be taken in another order
  subject.target = kHopper;
  const auto* rule = rewrite::rule_named("vectorise");
  for (const auto& choice : rule->choices(subject)) {
    if (choice.name != std::to_string(width)) continue;
    auto made = rule->apply(subject, choice);
    EXPECT_TRUE(made.ok());
    if (made.ok()) return {made->ptx, made->plan.empty() ? from.plan : made->plan};
  }
  ADD_FAILURE() << "no vectorise-" << width;
  return from;
}

TEST(Calibration, SpeedUpsOfVectorisedKernels) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  std::string shown;
  double squares = 0, worst = 0;
  std::map<std::string, record::Estimate> baselines;
  for (const auto& one : kMeasured) {
    auto base = baseline_of(one.task);
    auto setting = setting_of(one.task);
    if (!baselines.count(one.task)) {
      baselines[one.task] = estimate(base.ptx, base.plan, setting, kHopper);
      shown += std::string(one.task) + " baseline " + describe(baselines[one.task]);
    }
    auto wide = vectorised(one.task, base, one.width);
    auto made = estimate(wide.ptx, wide.plan, setting, kHopper);
    double speedup = baselines[one.task].nanoseconds / made.nanoseconds;
    double error = std::log(speedup / one.speedup);
    squares += error * error;
    worst = std::max(worst, std::abs(error));
    shown += std::string(one.task) + " x" + std::to_string(one.width) + ": estimated " + std::to_string(speedup) +
             ", measured " + std::to_string(one.speedup) + "; " + describe(made);
  }
  double rms = std::sqrt(squares / std::size(kMeasured));
  shown += "RMS error " + std::to_string(rms) + ", worst " + std::to_string(worst) + "\n";
  if (getenv("PTXLAB_SHOW")) std::puts(shown.c_str());
  EXPECT_LT(rms, 0.06) << shown;
  EXPECT_LT(worst, 0.12) << shown;
}

TEST(Calibration, TimesOfTheScalarVectorAdd) {
  if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  auto base = baseline_of("elementwise/vector_add_f32");
  struct {
    int64_t elements;
    double us;
  } measured[] = {{int64_t{1} << 28, 12. * (1 << 28) / 3.43e6}, {1 << 20, 8.0}};
  for (const auto& one : measured) {
    auto made = estimate(base.ptx, base.plan, setting_of("elementwise/vector_add_f32", one.elements), kHopper);
    if (getenv("PTXLAB_SHOW"))
      std::printf("%ld: measured %f us, %s", long(one.elements), one.us, describe(made).c_str());
    EXPECT_NEAR(made.nanoseconds / 1e3 / one.us, 1, 0.12)
        << one.elements << ": measured " << one.us << " us, " << describe(made);
  }
}

}  // namespace
}  // namespace ptxlab::test
