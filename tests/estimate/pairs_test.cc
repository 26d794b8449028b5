// The estimate orders pairs of real kernels (pairs.cu) that compute the same, where the count of instructions is no guide:
// the better one often executes more of them. Each pair says by how much at least they differ on such devices.
#include <cstring>

#include <fmt/format.h>

#include "base/random.h"
#include "estimate/hardware.h"
#include "subject.h"

namespace ptxlab::test {
namespace {

const isa::Target kHopper{90, 'a'};

struct Side {
  std::string entry, grid, block = "256", args;
  int64_t shared = 0;
};

std::string plan_of(const Side& side) {
  return fmt::format(
      "schema = \"ptxlab.plan/1\"\n[[launch]]\nentry = \"{}\"\ngrid = [{}]\nblock = [{}]\nargs = [{}]\nshared = {}\n",
      side.entry, side.grid, side.block, side.args, side.shared);
}

class Pairs : public testing::Test {
 protected:
  void SetUp() override {
    if (!toolchain::installed().ptxas) GTEST_SKIP() << "no ptxas on this machine";
  }

  // Parameter and scalar of one name.
  void size(const std::string& name, int64_t value) {
    setting_.parameters[name] = value;
    setting_.scalars[name] = integer("s32", value);
  }
  void input(const std::string& name, uint64_t bytes) { setting_.buffers.push_back({name, bytes, false}); }
  void output(const std::string& name, uint64_t bytes) { setting_.buffers.push_back({name, bytes, true}); }

  record::Estimate of(const Side& side, const isa::Target& target = kHopper) {
    return estimate(text_.empty() ? file("tests/estimate/pairs.ptx") : text_, plan_of(side), setting_, target, fill_);
  }
  // `slow` takes at least `factor` times as long as `fast`, on every target asked for.
  void expect(const Side& slow, const Side& fast, double factor, std::initializer_list<int> targets = {80, 90}) {
    for (int sm : targets) {
      const isa::Target target{static_cast<uint16_t>(sm), 0};
      slow_ = of(slow, target);
      fast_ = of(fast, target);
      EXPECT_GT(slow_.nanoseconds, factor * fast_.nanoseconds)
          << target.name() << "\n"
          << slow.entry << ": " << describe(slow_) << fast.entry << ": " << describe(fast_);
    }
  }
  // Counting instructions would have said the opposite, or nothing.
  void expect_no_fewer_instructions(double at_least = 0.97) {
    EXPECT_GT(fast_.issue_slots, at_least * slow_.issue_slots);
  }

  Setting setting_;
  std::string text_;
  judge::FillChunk fill_;
  record::Estimate slow_, fast_;
};

TEST_F(Pairs, UnrolledLoadsAreInFlightTogether) {
  // One warp a CTA and few of them: latency is all there is.
  size("n", 65536);
  input("x", 4 * 65536 * 1056);
  output("y", 4 * 1056);
  expect({"row_sums", "1056", "32", "\"x\", \"y\", \"n\""}, {"row_sums_unrolled", "1056", "32", "\"x\", \"y\", \"n\""},
         1.8);
  EXPECT_EQ(slow_.bound_by, "DRAM latency");
}

TEST_F(Pairs, LoadsThatMayPassStores) {
  size("n", 1 << 26);
  input("x", uint64_t{4} << 26);
  output("y", uint64_t{4} << 26);
  // A quarter of the warps that an SM could hold.
  Side slow{"scale_stores_between", "ceildiv(n, 2048)", "256", "\"x\", \"y\", \"n\"", 100 * 1024};
  Side fast{"scale_read_only", "ceildiv(n, 2048)", "256", "\"x\", \"y\", \"n\"", 100 * 1024};
  slow.grid = fast.grid = "\"ceildiv(n, 2048)\"";
  expect(slow, fast, 1.3, {90});
}

TEST_F(Pairs, VectorsBeatScalars) {
  size("n", 1 << 26);
  size("quarter", 1 << 24);
  input("x", uint64_t{4} << 26);
  output("y", uint64_t{4} << 26);
  expect({"copy", "\"ceildiv(n, 256)\"", "256", "\"x\", \"y\", \"n\""},
         {"copy_vectors", "\"ceildiv(quarter, 256)\"", "256", "\"x\", \"y\", \"quarter\""}, 1.05);
  EXPECT_EQ(fast_.bound_by, "DRAM bandwidth");
}

TEST_F(Pairs, UncoalescedReadsCostMoreThanTheInstructionsOfATile) {
  size("n", 8192);
  input("x", uint64_t{4} * 8192 * 8192);
  output("y", uint64_t{4} * 8192 * 8192);
  expect({"transpose", "256, 256", "32, 8", "\"x\", \"y\", \"n\""},
         {"transpose_padded", "256, 256", "32, 8", "\"x\", \"y\", \"n\""}, 1.4);
  expect_no_fewer_instructions();
  EXPECT_GT(slow_.scattered_passes, 10 * fast_.scattered_passes);
}

TEST_F(Pairs, BankConflicts) {
  size("n", 8192);
  input("x", uint64_t{4} * 8192 * 8192);
  output("y", uint64_t{4} * 8192 * 8192);
  expect({"transpose_conflicts", "256, 256", "32, 8", "\"x\", \"y\", \"n\""},
         {"transpose_padded", "256, 256", "32, 8", "\"x\", \"y\", \"n\""}, 1.1, {86, 90});
  EXPECT_NEAR(slow_.issue_slots / fast_.issue_slots, 1, 0.05);
  EXPECT_GT(slow_.bank_conflicts, 1e6);
  EXPECT_EQ(fast_.bank_conflicts, 0);
}

// The very same instructions; only the stride in shared memory differs.
TEST_F(Pairs, StridesInSharedMemory) {
  size("turns", 256);
  size("sixteen", 16);
  size("seventeen", 17);
  input("x", 4 * 256 * 1056);
  output("y", 4 * 256 * 1056);
  expect({"exchange", "1056", "256", "\"x\", \"y\", \"sixteen\", \"turns\"", 17 * 1024},
         {"exchange", "1056", "256", "\"x\", \"y\", \"seventeen\", \"turns\"", 17 * 1024 + 512}, 2);
  EXPECT_EQ(slow_.issue_slots, fast_.issue_slots);
  EXPECT_EQ(slow_.bound_by, "load/store unit");
}

TEST_F(Pairs, RecordsAgainstFields) {
  size("n", 1 << 22);
  input("x", uint64_t{64} << 22);
  output("y", uint64_t{4} << 22);
  expect({"records_by_thread", "\"ceildiv(n, 256)\"", "256", "\"x\", \"y\", \"n\""},
         {"records_by_field", "\"ceildiv(n, 256)\"", "256", "\"x\", \"y\", \"n\""}, 1.15);
  expect_no_fewer_instructions(0.9);
}

TEST_F(Pairs, IndependentChainsHideArithmeticLatency) {
  size("turns", 4096);
  input("x", 4096);
  output("y", 4 * 128 * 132);
  // A warp a scheduler.
  expect({"one_chain", "108", "128", "\"x\", \"y\", \"turns\""},
         {"four_chains", "108", "128", "\"x\", \"y\", \"turns\""}, 1.7);
  expect_no_fewer_instructions();
  EXPECT_EQ(slow_.bound_by, "dependent arithmetic");
}

TEST_F(Pairs, EnoughWarpsHideItToo) {
  size("turns", 4096);
  input("x", 4096);
  output("y", 4 * 1024 * 264);
  Side one{"one_chain", "264", "1024", "\"x\", \"y\", \"turns\""},
      four{"four_chains", "264", "1024", "\"x\", \"y\", \"turns\""};
  auto chain = of(one), chains = of(four);
  EXPECT_NEAR(chain.nanoseconds / chains.nanoseconds, 1, 0.1) << describe(chain) << describe(chains);
}

TEST_F(Pairs, OccupancyLostToRegisters) {
  size("turns", 64);
  input("next", uint64_t{4} << 22);
  input("w", 4 * 96 * 32);
  output("y", uint64_t{4} << 22);
  // Neighbours stay neighbours, so that latency is what counts.
  fill_ = [](size_t index, uint64_t offset, std::span<uint8_t> bytes) {
    for (uint64_t at = 0; at + 4 <= bytes.size() && index == 0; at += 4) {
      auto to = static_cast<uint32_t>(((offset + at) / 4 + 32 * 40503) % (1u << 22));
      std::memcpy(bytes.data() + at, &to, 4);
    }
  };
  Side slow{"follow_holding", "16384", "256", "\"next\", \"w\", \"y\", \"turns\""}, fast = slow;
  fast.entry = "follow_then_load";
  expect(slow, fast, 1.3, {90});
  EXPECT_LT(slow_.occupancy, 0.6 * fast_.occupancy);
  EXPECT_EQ(slow_.occupancy_limit, "registers");
}

TEST_F(Pairs, OccupancyLostToSharedMemory) {
  size("n", 65536);
  input("x", 4 * 65536 * 1056);
  output("y", 4 * 1056);
  Side fast{"row_sums", "1056", "32", "\"x\", \"y\", \"n\""}, slow = fast;
  slow.shared = 100 * 1024;
  expect(slow, fast, 2, {90});
  EXPECT_EQ(slow_.occupancy_limit, "shared memory");
}

// Six CTAs an SM instead of two, paid with sums in thread memory inside the loop.
TEST_F(Pairs, SpillsCostMoreThanTheWarpsTheyBuy) {
  size("k", 2048);
  input("a", 4 * 128 * 2048);
  input("b", 4 * 128 * 2048);
  output("c", uint64_t{4} * 256 * 64 * 1584);
  expect({"outer_spilled", "1584", "256", "\"a\", \"b\", \"c\", \"k\""},
         {"outer", "1584", "256", "\"a\", \"b\", \"c\", \"k\""}, 1.1, {90});
  EXPECT_GT(slow_.occupancy, fast_.occupancy);
}

TEST_F(Pairs, OneCounterForAll) {
  size("n", 1 << 24);
  input("x", uint64_t{4} << 24);
  output("count", 4);
  expect({"count_each", "\"ceildiv(n, 256)\"", "256", "\"x\", \"count\", \"n\""},
         {"count_by_block", "\"ceildiv(n, 256)\"", "256", "\"x\", \"count\", \"n\""}, 3);
  EXPECT_EQ(slow_.bound_by, "atomics at one address");
}

// Bins that many threads want, and bins of a CTA's own: more instructions, less waiting. Pictures have few values.
TEST_F(Pairs, HistogramsOfSkewedData) {
  size("n", 1 << 26);
  input("x", uint64_t{1} << 26);
  output("bins", 1024);
  fill_ = [](size_t index, uint64_t offset, std::span<uint8_t> bytes) {
    base::Random random(offset + index);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random.below(4) ? 17 : random.below(256));
  };
  expect({"histogram_global", "1056", "256", "\"x\", \"bins\", \"n\""},
         {"histogram_shared", "1056", "256", "\"x\", \"bins\", \"n\""}, 2);
  expect_no_fewer_instructions();
}

// The same work in 133 CTAs and in 132: one more wave for one CTA.
TEST_F(Pairs, TheLastWave) {
  size("turns", 65536);
  input("x", 4096);
  output("y", 4 * 1024 * 265);
  // 132 SMs with two CTAs each: the last one has the machine for itself.
  Side fits{"one_chain", "264", "1024", "\"x\", \"y\", \"turns\""}, spills_over = fits;
  spills_over.grid = "265";
  expect(spills_over, fits, 1.4, {90});
  EXPECT_GT(slow_.tail, 0.3);
  EXPECT_LT(fast_.tail, 0.01);
}

TEST_F(Pairs, ManySmallLaunches) {
  size("n", 4096);
  input("x", 4 * 4096);
  output("y", 4 * 4096);
  auto whole = of({"copy", "16", "256", "\"x\", \"y\", \"n\""});
  std::string plan = "schema = \"ptxlab.plan/1\"\n";
  for (int i = 0; i < 16; ++i)
    plan += "[[launch]]\nentry = \"copy\"\ngrid = [1]\nblock = [256]\nargs = [\"x\", \"y\", \"n\"]\n";
  auto pieces = estimate(file("tests/estimate/pairs.ptx"), plan, setting_, kHopper);
  EXPECT_GT(pieces.nanoseconds, 8 * whole.nanoseconds);
  EXPECT_EQ(pieces.bound_by, "launch overhead");
}

// The same multiply-adds in a loop of 64 and in one that no instruction cache holds, which has fewer jumps.
std::string straight_code(int body) {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry straight(.param .u64 y, .param .u32 turns)\n{\n"
      ".reg .pred %p<2>;\n.reg .f32 %f<9>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
      "ld.param.u64 %rd1, [y];\nld.param.u32 %r1, [turns];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n"
      "mov.u32 %r4, %ntid.x;\nmad.lo.u32 %r5, %r3, %r4, %r2;\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "cvt.rn.f32.u32 %f1, %r2;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nmov.f32 %f5, %f1;\n"
      "LOOP:\n.pragma \"nounroll\";\n";
  for (int i = 0; i < body; ++i)
    text += fmt::format("fma.rn.f32 %f{0}, %f{0}, %f1, 0f3F80{1:04X};\n", 2 + i % 4, i % 65536);
  return text +
         "add.u32 %r1, %r1, -1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra LOOP;\nadd.f32 %f2, %f2, %f3;\nadd.f32 %f4, %f4, "
         "%f5;\n"
         "add.f32 %f2, %f2, %f4;\nst.global.f32 [%rd3], %f2;\nret;\n}\n";
}

TEST_F(Pairs, LoopsBeyondTheInstructionCache) {
  output("y", 4 * 256 * 528);
  size("turns", 4);
  text_ = straight_code(16384);
  auto huge = of({"straight", "528", "256", "\"y\", \"turns\""});
  setting_.scalars["turns"] = integer("s32", 4 * 256);
  text_ = straight_code(64);
  auto small = of({"straight", "528", "256", "\"y\", \"turns\""});
  EXPECT_GT(huge.nanoseconds, 1.3 * small.nanoseconds) << describe(huge) << describe(small);
  EXPECT_LE(huge.issue_slots, small.issue_slots);
  EXPECT_EQ(huge.bound_by, "instruction fetch");
}

// Gaming devices have a token fp64 unit; the count of instructions is the same.
TEST_F(Pairs, DoublesWhereThereAreFewLanes) {
  std::string single = straight_code(64), twice = single;
  output("y", 8 * 256 * 528);
  size("turns", 256);
  auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = twice.find(from, at)) != std::string::npos; at += to.size())
      twice.replace(at, from.size(), to);
  };
  replace("rn.f32 %f", "rn.f64 %f");
  replace("mov.f32", "mov.f64");
  replace("add.f32", "add.f64");
  replace(".reg .f32", ".reg .f64");
  replace("st.global.f32", "st.global.f64");
  replace("mul.wide.u32 %rd2, %r5, 4", "mul.wide.u32 %rd2, %r5, 8");
  replace("cvt.rn.f32.u32", "cvt.rn.f64.u32");
  for (size_t at = 0; (at = twice.find(", 0f3F80", at)) != std::string::npos;)
    twice.replace(at, 12, ", 0d3FF0" + twice.substr(at + 8, 4) + "00000000");
  const isa::Target gaming{86, 0};
  Side side{"straight", "528", "256", "\"y\", \"turns\""};
  text_ = single;
  auto fp32 = of(side, gaming);
  text_ = twice;
  auto fp64 = of(side, gaming), fp64_server = of(side);
  EXPECT_GT(fp64.nanoseconds, 20 * fp32.nanoseconds) << describe(fp64) << describe(fp32);
  EXPECT_EQ(fp64.bound_by, "fp64 pipe");
  EXPECT_GT(fp64.nanoseconds, 10 * fp64_server.nanoseconds);
}

}  // namespace
}  // namespace ptxlab::test
