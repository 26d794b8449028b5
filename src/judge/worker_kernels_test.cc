// The GPU worker's own kernels are PTX: they pass the checks that candidates pass, and compute on the engine what their twins
// in C++ do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "base/random.h"
#include "checkers/registry.h"
#include "gpu/contest.h"
#include "gpu/element_value.h"
#include "gpu/worker/digest.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::judge {
namespace {

struct WorkerKernels : ::testing::Test {
  ptx::Module module;
  std::unique_ptr<simt::Engine> engine = simt::make_simt_engine();

  void SetUp() override {
    auto text = base::read_file("src/gpu/worker/kernels.ptx");
    ASSERT_TRUE(text);
    auto checked = ptx::check(*text, "kernels.ptx");
    ASSERT_TRUE(checked.ok()) << base::render(checked.findings, *text);
    EXPECT_TRUE(checked.findings.empty()) << base::render(checked.findings, *text);
    module = std::move(checked.module);
  }

  // One launch over `bytes` of data; `rest` follows the data's address among the parameters, the address of the sums ends them.
  std::vector<uint8_t> run(const std::string& entry, launch::Dim3 grid, const std::string& bytes,
                           const std::string& rest, uint64_t sums) {
    auto program = engine->load(module, std::span(&entry, 1));
    EXPECT_TRUE(program) << base::render(program.findings(), "");
    simt::Memory memory(7);
    std::vector<size_t> buffers = {memory.allocate("data", bytes.size(), launch::ResolvedBuffer::Init::data, false),
                                   memory.allocate("sums", sums, launch::ResolvedBuffer::Init::zero, true)};
    std::copy(bytes.begin(), bytes.end(), memory.allocation(buffers[0]).data.begin());
    launch::ResolvedLaunch launch;
    launch.entry = entry;
    launch.grid = grid;
    launch.block = {256, 1, 1};
    launch.parameters.assign(8, 0);
    launch.parameters.insert(launch.parameters.end(), rest.begin(), rest.end());
    launch.pointers = {{0, 0, 0}, {static_cast<uint32_t>(launch.parameters.size()), 1, 0}};
    launch.parameters.resize(launch.parameters.size() + 8);
    auto report = (*program)->run(launch, buffers, memory, {}, {});
    EXPECT_TRUE(report.completed && report.findings.empty()) << base::render(report.findings, "");
    const auto& data = memory.allocation(buffers[1]).data;
    return {data.begin(), data.end()};
  }

  template <class... T>
  static std::string words(T... values) {
    std::string bytes;
    (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return bytes;
  }
};

TEST_F(WorkerKernels, TheDigestIsItsTwins) {
  base::Random random(3);
  for (size_t bytes : {1u, 7u, 8u, 9u, 255u, 256u, 8191u, 20'003u}) {
    std::string data(bytes, '\0');
    for (char& c : data) c = static_cast<char>(random.next());
    uint64_t first = random.below(1 << 20), key = random.next();
    uint64_t sum = 0;
    auto made = run("ptxlab_digest", {3, 1, 1}, data, words(uint64_t{bytes}, first, key), 8);
    std::memcpy(&sum, made.data(), 8);
    EXPECT_EQ(sum, gpu::digest(data, first, key)) << bytes;
  }
}

TEST_F(WorkerKernels, WordsThatAreNotPoisonAreCounted) {
  for (size_t count : {1u, 255u, 1024u, 3001u}) {
    std::string data(8 * count, '\x5a');
    for (size_t written : {size_t{0}, size_t{1}, size_t{3}}) {
      for (size_t k = 0; k < written; ++k) data[(k * 8 * count / 3 + 5) % data.size()] = '\x5b';
      uint64_t sum = 0;
      auto made = run("ptxlab_unlike", {2, 1, 1}, data, words(uint64_t{count}, 0x0101010101010101u * 0x5a), 8);
      std::memcpy(&sum, made.data(), 8);
      EXPECT_EQ(sum, gpu::unlike(data, 0x5a)) << count << " " << written;
      EXPECT_EQ(sum > 0, written > 0);
    }
  }
}

TEST_F(WorkerKernels, TheProjectionsAreTheirTwins) {
  base::Random random(5);
  for (auto type : {gpu::Element::f16, gpu::Element::bf16, gpu::Element::f32, gpu::Element::f64}) {
    const uint64_t count = 3001;
    std::string data(count * 8, '\0');
    for (char& c : data) c = static_cast<char>(random.next());  // every kind of number, NaN and infinity too
    if (type == gpu::Element::f64) {                            // not so large that sixteen sums of any order overflow
      for (uint64_t i = 0; i < count; ++i) {
        double value = i % 100 == 0 ? std::numeric_limits<double>::infinity() : random.normal();
        std::memcpy(data.data() + 8 * i, &value, 8);
      }
    }
    const uint64_t key = random.next();
    auto made =
        run("ptxlab_project", {3, 16, 1}, data, words(count, static_cast<uint32_t>(type), uint32_t{0}, key), 136);
    gpu::Projection expected =
        gpu::project(count, key, [&](uint64_t i) { return gpu::element_value(type, data.data(), i); });
    double largest = 0;
    for (uint64_t i = 0; i < count; ++i)
      if (double v = std::fabs(gpu::element_value(type, data.data(), i)); std::isfinite(v))
        largest = std::max(largest, v);
    for (size_t k = 0; k < gpu::Projection::kSums; ++k) {
      double sum = 0;
      std::memcpy(&sum, made.data() + 8 * k, 8);
      EXPECT_NEAR(sum, expected.sums.at(k), largest * 1e-10) << static_cast<int>(type) << " " << k;
    }
    uint64_t unusual = 0;
    std::memcpy(&unusual, made.data() + 128, 8);
    EXPECT_EQ(unusual, expected.unusual) << static_cast<int>(type);
    EXPECT_NE(unusual, 0u);
  }
}

}  // namespace
}  // namespace ptxlab::judge
