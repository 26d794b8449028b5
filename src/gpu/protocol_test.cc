#include "gpu/protocol.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace ptxlab::gpu {
namespace {

Job a_job() {
  Job job;
  job.code = std::string("\0cubin\xff", 7);
  job.plan.buffers = {{"x", 5, launch::ResolvedBuffer::Role::inout, launch::ResolvedBuffer::Init::data},
                      {"part", 1 << 20, launch::ResolvedBuffer::Role::scratch, launch::ResolvedBuffer::Init::poison}};
  launch::ResolvedLaunch one;
  one.entry = "k";
  one.grid = {7, 2, 1};
  one.block = {32, 4, 2};
  one.cluster = {2, 1, 1};
  one.shared_bytes = 65536;
  one.cooperative = true;
  one.parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  one.pointers = {{0, 1, 64}, {8, 0, 0}};
  job.plan.launches = {one, one};
  job.plan.symbols = {{"taps", 0, 1, 4, {}, {}},
                      {"table", launch::ResolvedSymbol::kNoBuffer, 0, 0, {1, 2, 3, 4, 5, 6, 7, 8}, {{0, 1, 16}}}};
  job.contents = {"abcde", ""};
  job.launches = 3;
  return job;
}

TEST(Protocol, MessagesComeBackAsTheyWere) {
  Job job = a_job();
  auto again = decode_job(encode(job));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->code, job.code);
  EXPECT_EQ(again->plan, job.plan);
  EXPECT_EQ(again->contents, job.contents);
  EXPECT_EQ(again->launches, 3u);
  Done done;
  done.end = Done::End::executed;
  done.message = "fine";
  done.contents = {"abcde", std::string(3, '\0')};
  done.overruns = {{1, -4, 8}};
  done.milliseconds = 0.25;
  auto answer = decode_done(encode(done));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->contents, done.contents);
  EXPECT_EQ(answer->overruns, done.overruns);
  EXPECT_EQ(answer->milliseconds, 0.25);
  Hello hello;
  hello.device = "H";
  hello.sm = 90;
  hello.memory = uint64_t{139} << 30;
  auto greeting = decode_hello(encode(hello));
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->memory, hello.memory);
  auto header = decode_header(frame(Kind::job, "1234").substr(0, kFrameHeader));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->kind, Kind::job);
  EXPECT_EQ(header->bytes, 4u);
}

TEST(Protocol, WhatIsCutOffIsNoMessage) {
  std::string job = encode(a_job());
  for (size_t n = 0; n < job.size(); ++n) EXPECT_FALSE(decode_job(std::string_view(job).substr(0, n))) << n;
  EXPECT_FALSE(decode_job(job + "x"));
  EXPECT_FALSE(decode_header("ptxh000000000000"));
}

// Whatever arrives, nothing is read beyond it and nothing is allocated for what was never sent.
TEST(Protocol, NonsenseIsSurvived) {
  base::Random random(7);
  std::string job = encode(a_job());
  for (int n = 0; n < 20'000; ++n) {
    std::string bytes = job;
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (auto decoded = decode_job(bytes)) {
      for (const auto& launch : decoded->plan.launches) {
        for (const auto& pointer : launch.pointers) {
          ASSERT_LT(pointer.buffer, decoded->plan.buffers.size());
          ASSERT_LE(pointer.offset + uint64_t{8}, launch.parameters.size());
        }
      }
    }
    decode_done(bytes);
    decode_hello(bytes);
  }
}

}  // namespace
}  // namespace ptxlab::gpu
