// The patterns are legal PTX, and the twin knows every one of them.
#include "forms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"
#include "ptx/verifier.h"

namespace ptxlab::twin {
namespace {

TEST(Forms, Expand) {
  EXPECT_EQ(expand("add{.rn,}{.ftz}.f32 f"), (std::vector<std::string>{"add.rn.ftz.f32 f", "add.ftz.f32 f"}));
  EXPECT_GT(all_instructions().size(), 5000u);
}

TEST(Forms, TheVerifierAcceptsThemAll) {
  base::Random random(1);
  const Generated generated = generate(all_instructions(), random, false);
  const ptx::Checked checked = ptx::check(generated.text, "forms.ptx");
  EXPECT_TRUE(checked.ok()) << base::render(checked.findings, generated.text);
}

TEST(Forms, TheTwinKnowsThemAll) {
  base::Random random(2);
  const std::vector<Instruction> all = all_instructions();
  for (size_t at = 0; at < all.size(); at += 40) {
    const std::vector<Instruction> some(all.begin() + static_cast<std::ptrdiff_t>(at),
                                        all.begin() + static_cast<std::ptrdiff_t>(std::min(at + 40, all.size())));
    const Generated generated = generate(some, random, false);
    std::vector<Argument> arguments{buffer(inputs(random)), zeros(some.size() * kThreads * kInputBytes)};
    EXPECT_EQ(run_twin(generated.text, {1, 1, 1}, {4, 1, 1}, arguments), "") << generated.written[0] << " ...";
  }
}

}  // namespace
}  // namespace ptxlab::twin
