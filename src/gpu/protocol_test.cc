#include "gpu/protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "gpu/wire.h"

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
  launch::ResolvedTensorMap map;
  map.name = "tm";
  map.buffer = 1;
  map.addend = 4096;
  map.type = launch::ResolvedTensorMap::Type::tf32_ftz;
  map.dims = {64, uint64_t{1} << 32}, map.strides = {uint64_t{1} << 39}, map.box = {16, 256},
  map.element_strides = {1, 8};
  map.interleave = launch::ResolvedTensorMap::Interleave::bytes32;
  map.swizzle = launch::ResolvedTensorMap::Swizzle::bytes128;
  map.promotion = launch::ResolvedTensorMap::Promotion::bytes256;
  map.outside = launch::ResolvedTensorMap::Outside::nan;
  job.plan.tensor_maps = {map, map};
  job.plan.tensor_maps[1].name = "other";
  job.plan.launches[1].parameters.resize(256);
  job.plan.launches[1].tensor_maps = {{64, 1}, {128, 0}};
  launch::ResolvedSymbol constant;
  constant.name = "c_map";
  constant.value.resize(128);
  constant.tensor_maps = {{0, 1}};
  job.plan.symbols.push_back(constant);
  job.contents = {"abcde", ""};
  job.launches = 3;
  return job;
}

Contest a_contest() {
  Contest contest;
  Job job = a_job();
  contest.sides[0] = {"one", job.plan};
  contest.sides[1] = {"two", job.plan};
  contest.sides[1].plan.buffers[1].bytes = 77;  // scratch: each side's own
  contest.shared = 1;
  contest.contents = {"abcde"};
  contest.elements = {Element::bf16};
  contest.change = {0, 3, "xy"};
  contest.seed = 9;
  contest.pairs = 12;
  contest.outputs = false;
  return contest;
}

Measured a_measurement() {
  Measured measured;
  measured.end = Done::End::executed;
  measured.checked = 48;
  Epoch epoch;
  Pair pair;
  pair.microseconds = {5.25f, 5.5f};
  pair.mhz = {1980, 1979};
  pair.first = Arm::b;
  pair.variant = 1;
  pair.set = 7;
  epoch.pairs = {pair, pair};
  epoch.before.celsius = 41;
  epoch.after.throttle = 0x4;
  epoch.milliseconds = 9.5;
  measured.epochs = {epoch, epoch};
  measured.mismatches = {{Arm::b, 1, 3, 1, true}};
  return measured;
}

TEST(Protocol, ContestsComeBackAsTheyWere) {
  auto contest = decode<Contest>(encode(a_contest()));
  ASSERT_TRUE(contest);
  EXPECT_EQ(contest->sides[1].code, "two");
  EXPECT_EQ(contest->sides[1].plan, a_contest().sides[1].plan);
  EXPECT_EQ(contest->contents, a_contest().contents);
  EXPECT_EQ(contest->elements, a_contest().elements);
  EXPECT_EQ(contest->change.bytes, "xy");
  EXPECT_EQ(contest->pairs, 12u);
  EXPECT_FALSE(contest->outputs);
  Opened opened;
  opened.end = Done::End::executed;
  opened.looks[1][0].contents = {"", "out"};
  opened.looks[1][0].overruns = {{1, 5, 1}};
  opened.looks[0][1].changed = {2};
  opened.looks[0][1].unsteady = {1};
  opened.microseconds = {5, 6};
  opened.batch = 16;
  auto again = decode<Opened>(encode(opened));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->looks[1][0].contents, opened.looks[1][0].contents);
  EXPECT_EQ(again->looks[1][0].overruns, opened.looks[1][0].overruns);
  EXPECT_EQ(again->looks[0][1].changed, opened.looks[0][1].changed);
  EXPECT_EQ(again->looks[0][1].unsteady, opened.looks[0][1].unsteady);
  EXPECT_EQ(again->batch, 16u);
  auto measured = decode<Measured>(encode(a_measurement()));
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->epochs.size(), 2u);
  EXPECT_EQ(measured->epochs[1].pairs[1].microseconds[1], 5.5f);
  EXPECT_EQ(measured->epochs[1].pairs[1].first, Arm::b);
  EXPECT_EQ(measured->epochs[0].before.celsius, 41u);
  EXPECT_FALSE(measured->epochs[0].before.throttle);
  EXPECT_EQ(measured->epochs[0].after.throttle, 4u);
  ASSERT_EQ(measured->mismatches.size(), 1u);
  EXPECT_TRUE(measured->mismatches[0].input);
}

// The worker indexes by these without looking again.
TEST(Protocol, AContestWhoseSidesDoNotShareTheirBuffersIsNone) {
  Contest contest = a_contest();
  contest.sides[1].plan.buffers[0].bytes = 4;
  EXPECT_FALSE(decode<Contest>(encode(contest)));
  contest = a_contest();
  contest.shared = 3;
  EXPECT_FALSE(decode<Contest>(encode(contest)));
  contest = a_contest();
  contest.change.offset = 4;  // two bytes at 4 of 5
  EXPECT_FALSE(decode<Contest>(encode(contest)));
  contest = a_contest();
  contest.contents.clear();
  EXPECT_FALSE(decode<Contest>(encode(contest)));
}

TEST(Protocol, MessagesComeBackAsTheyWere) {
  Job job = a_job();
  auto again = decode<Job>(encode(job));
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
  auto answer = decode<Done>(encode(done));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->contents, done.contents);
  EXPECT_EQ(answer->overruns, done.overruns);
  EXPECT_EQ(answer->milliseconds, 0.25);
  Hello hello;
  hello.device = "H";
  hello.sm = 90;
  hello.memory = uint64_t{139} << 30;
  auto greeting = decode<Hello>(encode(hello));
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->memory, hello.memory);
  auto header = decode_header(frame_header(Kind::job, 4));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->kind, Kind::job);
  EXPECT_EQ(header->bytes, 4u);
}

// The worker puts 128 bytes where a use says, and hands five numbers of each kind to the driver.
TEST(Protocol, TensorMapsThatReachOutsideAreNone) {
  auto decoded = [](const std::function<void(launch::ResolvedPlan&)>& change) {
    Job job = a_job();
    change(job.plan);
    return decode<Job>(encode(job)).has_value();
  };
  EXPECT_TRUE(decoded([](auto&) {}));
  EXPECT_FALSE(decoded([](auto& plan) { plan.launches[1].tensor_maps[0].map = 2; }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.launches[1].tensor_maps[0].offset = 129; }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.launches[0].tensor_maps = {{0, 0}}; }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.symbols[2].value.resize(127); }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.tensor_maps[1].buffer = 2; }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.tensor_maps[0].strides.push_back(16); }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.tensor_maps[0].box.pop_back(); }));
  EXPECT_FALSE(decoded([](auto& plan) { plan.tensor_maps[0].element_strides.clear(); }));
  EXPECT_FALSE(
      decoded([](auto& plan) { plan.tensor_maps[0].swizzle = static_cast<launch::ResolvedTensorMap::Swizzle>(4); }));
  EXPECT_FALSE(decoded([](auto& plan) {
    auto& map = plan.tensor_maps[0];
    map.dims.resize(6), map.strides.resize(5), map.box.resize(6), map.element_strides.resize(6);
  }));
}

// A pipe that hands over a few bytes at a time, and has more behind the message.
class Trickle : public Source {
 public:
  explicit Trickle(std::string bytes) : bytes_(std::move(bytes)) {}
  size_t read(char* into, size_t most) override {
    size_t some = std::min({most, size_t{1} + random_.below(most > 1000 ? 100'000 : 7), bytes_.size() - at_});
    bytes_.copy(into, some, at_);
    at_ += some;
    return some;
  }
  size_t at() const { return at_; }

 private:
  std::string bytes_;
  size_t at_ = 0;
  base::Random random_{3};
};

// Large buffers are named and not copied when they go out, and read into their place when they come.
TEST(Protocol, LargeBuffersArriveWhole) {
  Contest contest = a_contest();
  std::string large(3 << 20, 'a');
  for (size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>(i);
  contest.contents = {large};
  auto pieces = framed(Kind::contest, contest);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].named.data(), contest.contents[0].data());
  std::string whole = joined(pieces);
  auto header = decode_header(std::string_view(whole).substr(0, kFrameHeader));
  ASSERT_TRUE(header && header->bytes == whole.size() - kFrameHeader);

  Trickle trickle(whole.substr(kFrameHeader) + "the next frame");
  Reader in(trickle, header->bytes);
  Contest came;
  ASSERT_TRUE(read(in, came));
  EXPECT_EQ(came.contents, contest.contents);
  EXPECT_EQ(came.change.bytes, contest.change.bytes);
  EXPECT_EQ(trickle.at(), header->bytes) << "nothing is taken of what follows";

  for (size_t end : {size_t{10}, whole.size() / 2, whole.size() - kFrameHeader - 1}) {
    Trickle ends(whole.substr(kFrameHeader, end));
    Reader cut(ends, header->bytes);
    Contest none;
    EXPECT_FALSE(read(cut, none)) << end;
  }
  Trickle longer(whole.substr(kFrameHeader) + "x");
  Reader in_longer(longer, header->bytes + 1);
  EXPECT_FALSE(read(in_longer, came));
}

TEST(Protocol, WhatIsCutOffIsNoMessage) {
  std::string job = encode(a_job());
  for (size_t n = 0; n < job.size(); ++n) EXPECT_FALSE(decode<Job>(std::string_view(job).substr(0, n))) << n;
  EXPECT_FALSE(decode<Job>(job + "x"));
  EXPECT_FALSE(decode_header("ptxh000000000000"));
}

// Whatever arrives, nothing is read beyond it and nothing is allocated for what was never sent.
TEST(Protocol, NonsenseIsSurvived) {
  base::Random random(7);
  const std::string messages[] = {encode(a_job()), encode(a_contest()), encode(a_measurement())};
  for (int n = 0; n < 30'000; ++n) {
    std::string bytes = messages[n % 3];
    for (uint64_t flips = 1 + random.below(4); flips > 0; --flips)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (auto decoded = decode<Job>(bytes)) {
      for (const auto& launch : decoded->plan.launches) {
        for (const auto& pointer : launch.pointers) {
          ASSERT_LT(pointer.buffer, decoded->plan.buffers.size());
          ASSERT_LE(pointer.offset + uint64_t{8}, launch.parameters.size());
        }
        for (const auto& use : launch.tensor_maps) {
          ASSERT_LT(use.map, decoded->plan.tensor_maps.size());
          ASSERT_LE(use.offset + uint64_t{128}, launch.parameters.size());
        }
      }
    }
    decode<Done>(bytes);
    decode<Hello>(bytes);
    decode<Contest>(bytes);
    decode<Opened>(bytes);
    decode<Measured>(bytes);
  }
}

}  // namespace
}  // namespace ptxlab::gpu
