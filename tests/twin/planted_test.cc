// The golden cases' kernels with every checker watching, under many seeds: a planted fault is found whatever order warps and
// CTAs happen to run in, and an honest kernel never gives a finding.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "case_kernel.h"
#include "checkers/registry.h"
#include "checkers/unwritten.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::twin {
namespace {

constexpr uint64_t kSeeds = 10;
constexpr uint64_t kBudget = 3'000'000;  // thread instructions, 32 a warp's: the honest kernels take fewer by far

// The codes of all findings, with their text.
base::Findings watch(const CaseKernel& kernel, uint64_t seed) {
  static const std::unique_ptr<simt::Engine> engine = simt::make_simt_engine();
  ptx::Checked checked = ptx::check(kernel.text, "kernel.ptx");
  if (!checked.ok()) return checked.findings;
  auto program = engine->load(checked.module);
  if (!program) return program.findings();
  simt::Memory memory(seed);
  const std::vector<size_t> buffers = place_buffers(kernel.arguments, memory);
  std::vector<std::unique_ptr<simt::Observer>> owned;
  std::vector<simt::Observer*> observers;
  for (const checkers::Checker& checker : checkers::all_checkers()) {
    owned.push_back(checker.make());
    observers.push_back(owned.back().get());
  }
  simt::RunOptions options;
  options.seed = seed;
  options.budget = kBudget;
  options.run_apart = seed % 2 == 0;
  const auto launch =
      make_launch(*checked.module.entry(""), kernel.grid, kernel.block, kernel.arguments, kernel.shared_bytes);
  base::Findings findings = (*program)->run(launch, buffers, memory, options, observers).findings;
  for (const simt::Observer* observer : observers)
    for (base::Finding& finding : observer->findings()) findings.push_back(std::move(finding));
  for (size_t buffer : buffers) {
    if (!checkers::unwritten_elements(memory.allocation(buffer), 1)) continue;
    base::Finding finding;
    finding.code = "CMP0101";  // as `ptxlab run` says it of an output with undefined bits
    findings.push_back(finding);
  }
  return findings;
}

TEST(Planted, HonestKernelsGiveNoFinding) {
  size_t count = 0;
  for (const CaseKernel& kernel : all_case_kernels()) {
    if (kernel.bad) continue;
    ++count;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const base::Findings findings = watch(kernel, seed);
      EXPECT_TRUE(findings.empty()) << kernel.name << " seed " << seed << "\n" << base::render(findings, kernel.text);
    }
  }
  EXPECT_GE(count, 40u);
}

std::string baseline(const std::string& task) {
  std::ifstream in(std::string(PTXLAB_SOURCE_DIR) + "/tasks/" + task + "/baseline.ptx");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Planted, BaselinesOfTheTasksGiveNoFinding) {
  const std::vector<float> x(3 * 777, 0.5f);
  const std::vector<uint16_t> brains(3 * 777, 0x3f00);
  const Argument out = zeros(4 * x.size());
  const CaseKernel kernels[] = {{"vector add",
                                 false,
                                 {},
                                 baseline("elementwise/vector_add_f32"),
                                 {10, 1, 1},
                                 {256, 1, 1},
                                 0,
                                 {buffer(x), buffer(x), out, scalar<uint32_t>(2331)}},
                                {"softmax",
                                 false,
                                 {},
                                 baseline("softmax/softmax_f32"),
                                 {3, 1, 1},
                                 {256, 1, 1},
                                 0,
                                 {buffer(x), out, scalar<uint32_t>(777)}},
                                {"rmsnorm",
                                 false,
                                 {},
                                 baseline("norm/rmsnorm_bf16"),
                                 {3, 1, 1},
                                 {256, 1, 1},
                                 0,
                                 {buffer(brains), buffer(brains), out, scalar<uint32_t>(777), scalar(1e-6f)}}};
  for (const CaseKernel& kernel : kernels) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const base::Findings findings = watch(kernel, seed);
      EXPECT_TRUE(findings.empty()) << kernel.name << " seed " << seed << "\n" << base::render(findings, kernel.text);
    }
  }
}

TEST(Planted, FaultsAreFoundUnderEverySeed) {
  size_t count = 0;
  for (const CaseKernel& kernel : all_case_kernels()) {
    if (!kernel.bad) continue;
    ++count;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const base::Findings findings = watch(kernel, seed);
      std::set<std::string> codes;
      for (const base::Finding& finding : findings) codes.insert(finding.code);
      for (const std::string& code : kernel.must_find)
        EXPECT_TRUE(codes.contains(code)) << kernel.name << " seed " << seed << " lacks " << code << "\n"
                                          << base::render(findings, kernel.text);
    }
  }
  EXPECT_GE(count, 40u);
}

}  // namespace
}  // namespace ptxlab::twin
