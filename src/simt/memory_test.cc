#include "simt/memory.h"

#include <gtest/gtest.h>

#include <set>

namespace ptxlab::simt {
namespace {

using Init = launch::ResolvedBuffer::Init;

TEST(Memory, AllocationsAreGuardedAndFound) {
  Memory memory(7);
  size_t a = memory.allocate("a", 100, Init::zero);
  size_t b = memory.allocate("b", 4096, Init::data);
  const Allocation& first = memory.allocation(a);
  const Allocation& second = memory.allocation(b);
  EXPECT_EQ(first.address % 256, 0u);
  EXPECT_GE(second.address, first.address + first.bytes + kGuard);
  EXPECT_EQ(memory.find(first.address), a);
  EXPECT_EQ(memory.find(first.address + 99), a);
  EXPECT_EQ(memory.find(first.address + 100), std::nullopt);
  EXPECT_EQ(memory.find(first.address - 1), std::nullopt);
  EXPECT_EQ(memory.find(second.address + 17), b);
  EXPECT_EQ(memory.find(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(memory.bytes(), 4196u);
}

TEST(Memory, SaysHowFarOffAnAddressIs) {
  Memory memory(1);
  const Allocation& x = memory.allocation(memory.allocate("x", 64, Init::zero));
  const Allocation& y = memory.allocation(memory.allocate("y", 4096, Init::zero));
  EXPECT_EQ(memory.describe(y.address + 4100, 4), "4 bytes past the end of 'y' (4096 bytes)");
  EXPECT_EQ(memory.describe(x.address - 8, 4), "8 bytes before 'x' (64 bytes)");
  EXPECT_EQ(memory.describe(y.address + 4094, 4), "its last 2 bytes lie past the end of 'y' (4096 bytes)");
  EXPECT_EQ(memory.describe(x.address, 4), "inside 'x' (64 bytes)");
  EXPECT_EQ(Memory(1).describe(0, 4), "there is no buffer at all");
}

TEST(Memory, PoisonIsUndefinedAndSeeded) {
  Memory one(1), same(1), other(2);
  for (Memory* memory : {&one, &same, &other}) memory->allocate("y", 1000, Init::poison);
  EXPECT_EQ(one.allocation(0).data, same.allocation(0).data);
  EXPECT_NE(one.allocation(0).data, other.allocation(0).data);
  EXPECT_EQ(one.allocation(0).defined, std::vector<uint8_t>(1000, 0));
  EXPECT_GT(std::set<uint8_t>(one.allocation(0).data.begin(), one.allocation(0).data.end()).size(), 100u);
  EXPECT_TRUE(one.allocation(one.allocate("z", 8, Init::zero)).defined.empty());
}

TEST(Memory, AddressesDependOnTheSeed) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Memory memory(seed);
    seen.insert(memory.allocation(memory.allocate("x", 4, Init::zero)).address);
  }
  EXPECT_GT(seen.size(), 10u);
}

}  // namespace
}  // namespace ptxlab::simt
