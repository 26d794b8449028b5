// The engine against its twin: every instruction on special and random values, chains of integer instructions, and the
// golden cases' kernels. Results agree bit for bit; any NaN equals any NaN, and approximate functions may differ by one unit
// in the last place (both round a double's result).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/random.h"
#include "case_kernel.h"
#include "engine_run.h"
#include "exact.h"
#include "forms.h"
#include "harness.h"
#include "operations.h"

namespace ptxlab::twin {
namespace {

// Bits and format of a result letter; nothing for integers.
std::optional<Format> float_of(char letter) {
  switch (letter) {
    case 'f':
    case 'F': return base::kF32;
    case 'd': return kF64;
    case 'e':
    case 'E': return base::kF16;
    case 'k':
    case 'K': return base::kBf16;
    default: return std::nullopt;
  }
}

bool agree(uint64_t a, uint64_t b, const Instruction& instruction) {
  if (a == b) return true;
  const auto format = float_of(instruction.result);
  if (!format) return false;
  const int width = format->exponent + format->fraction + 1;
  const int lanes = std::string_view("EKF").find(instruction.result) != std::string_view::npos ? 2 : 1;
  for (int lane = 0; lane < lanes; ++lane) {
    const Bits x = a >> (lane * width) & mask(width), y = b >> (lane * width) & mask(width);
    if (x == y || (is_nan(x, *format) && is_nan(y, *format))) continue;
    const uint64_t apart = x < y ? y - x : x - y;
    if (!instruction.near || apart > 1 || is_nan(x, *format) || is_nan(y, *format)) return false;
  }
  return true;
}

// What each thread's instruction read, for messages.
std::string sources(const std::string& written, const std::vector<uint64_t>& in, uint32_t thread) {
  std::string out;
  const std::map<std::string, char> letters = {
      {"h", 'h'}, {"r", 'r'}, {"q", 'q'}, {"s", 's'},   {"b", 'b'}, {"e", 'e'}, {"k", 'k'}, {"ee", 'E'}, {"kk", 'K'},
      {"f", 'f'}, {"d", 'd'}, {"p", 'p'}, {"oct", 'o'}, {"x", 'x'}, {"y", 'y'}, {"z", 'z'}, {"ff", 'F'}};
  for (size_t at = written.find('%', written.find('%') + 1); at != std::string::npos; at = written.find('%', at + 1)) {
    size_t digit = written.find_first_of("0123456789", at);
    auto letter = letters.find(written.substr(at + 1, digit - at - 1));
    const uint32_t slot = static_cast<uint32_t>(std::stoul(written.substr(digit)));
    char text[32];
    if (letter == letters.end() || slot >= kSlots) continue;
    std::snprintf(text, sizeof text, " 0x%llx",
                  static_cast<unsigned long long>(in[input_index(letter->second, slot, thread)]));
    out += text;
  }
  return out;
}

// Runs the instructions on both; the number that disagree, each said once.
void compare(const std::vector<Instruction>& instructions, base::Random& random, bool chained) {
  const Generated generated = generate(instructions, random, chained);
  const std::vector<uint64_t> in = inputs(random);
  std::vector<Argument> twin{buffer(in), zeros(instructions.size() * kThreads * kInputBytes)};
  std::vector<Argument> engine = twin;
  ASSERT_EQ(run_twin(generated.text, {1, 1, 1}, {kThreads, 1, 1}, twin), "");
  const EngineRun run = run_engine(generated.text, {1, 1, 1}, {kThreads, 1, 1}, engine);
  ASSERT_EQ(run.problem, "");
  const std::vector<uint64_t> want = values_of<uint64_t>(twin[1]), got = values_of<uint64_t>(engine[1]);
  for (size_t n = 0; n < instructions.size(); ++n) {
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      const size_t at = n * kThreads + thread;
      if (agree(want[at], got[at], instructions[n])) continue;
      ADD_FAILURE() << generated.written[n] << "  of" << sources(generated.written[n], in, thread) << std::hex
                    << ": engine 0x" << got[at] << ", twin 0x" << want[at];
      break;
    }
  }
}

TEST(Differential, EveryInstructionAgrees) {
  base::Random random(4);
  std::vector<Instruction> some;
  std::vector<Instruction> all = all_instructions();
  for (size_t i = 0; i < all.size(); ++i) {
    some.push_back(all[i]);
    if (some.size() < 40 && i + 1 < all.size()) continue;
    for (int round = 0; round < (i < 1000 ? 4 : 1); ++round) compare(some, random, false);
    some.clear();
  }
}

TEST(Differential, ChainsOfIntegerInstructionsAgree) {
  std::vector<Instruction> integers;
  for (const Instruction& i : all_instructions())
    if (i.text.find_first_of("fdeEkKFoxyzQL", i.text.find(' ')) == std::string::npos) integers.push_back(i);
  ASSERT_GT(integers.size(), 200u);
  base::Random random(5);
  for (int round = 0; round < 12; ++round) {
    std::vector<Instruction> some;
    for (int i = 0; i < 120; ++i) some.push_back(integers[random.below(integers.size())]);
    compare(some, random, true);
  }
}

TEST(Differential, KernelsOfTheCasesAgree) {
  for (const CaseKernel& kernel : all_case_kernels()) {
    if (kernel.bad) continue;
    std::vector<Argument> twin = kernel.arguments, engine = kernel.arguments;
    ASSERT_EQ(run_twin(kernel.text, kernel.grid, kernel.block, twin, kernel.shared_bytes), "") << kernel.name;
    const EngineRun run = run_engine(kernel.text, kernel.grid, kernel.block, engine, kernel.shared_bytes, 7);
    ASSERT_EQ(run.problem, "") << kernel.name;
    // What differs from one order to another is right in neither: a case may show just that.
    bool depends_on_order = false;
    for (uint64_t seed = 8; seed < 14; ++seed) {
      std::vector<Argument> again = kernel.arguments;
      run_engine(kernel.text, kernel.grid, kernel.block, again, kernel.shared_bytes, seed);
      for (size_t i = 0; i < again.size(); ++i) depends_on_order |= again[i].bytes != engine[i].bytes;
    }
    if (depends_on_order) continue;
    for (size_t i = 0; i < twin.size(); ++i)
      EXPECT_EQ(twin[i].bytes, engine[i].bytes) << kernel.name << " argument " << i;
  }
}

}  // namespace
}  // namespace ptxlab::twin
