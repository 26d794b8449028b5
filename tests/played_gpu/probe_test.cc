// doctor --gpu on a GPU that is played: canaries, what is reported, recovery, and ceilings that follow its made-up clock.
#include "gpu/probe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "gpu/worker_client.h"

namespace ptxlab::gpu {
namespace {

std::unique_ptr<Worker> played() {
  std::error_code error;
  auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  auto worker = Worker::start({{(folder / "ptxlab-gpu-played").string()}});
  if (!worker) return ADD_FAILURE() << base::render(worker.findings(), ""), nullptr;
  return std::move(*worker);
}

ProbeOptions quick() {
  ProbeOptions options;
  options.enough = 0.001;
  return options;
}

TEST(Probe, APlayedGpuPasses) {
  auto gpu = played();
  ASSERT_TRUE(gpu);
  Probe found = probe(*gpu, quick());
  ASSERT_EQ(found.canaries.size(), 5u);
  for (const auto& step : found.canaries) EXPECT_TRUE(step.ok) << step.name << ": " << step.said;
  EXPECT_NE(found.canaries[1].said.find("reported"), std::string::npos);
  ASSERT_EQ(found.ceilings.size(), 4u);
  for (const auto& ceiling : found.ceilings) EXPECT_GT(ceiling.rate, 0) << ceiling.name << ": " << ceiling.trouble;
  EXPECT_TRUE(found.sensors);
}

// Answers each job as it is told; what is wrong with a GPU must be seen.
class Liar : public Runner {
 public:
  enum class Manner { wrong_element, swallows_faults, dies };
  explicit Liar(Manner manner) : manner_(manner), honest_(played()) {}
  const Hello& hello() const override { return honest_->hello(); }
  base::Result<Done> run(const Job& job, std::chrono::milliseconds limit) override {
    auto done = honest_->run(job, limit);
    if (manner_ == Manner::wrong_element && done && !done->contents.empty()) done->contents[0][40] ^= 1;
    if (manner_ == Manner::swallows_faults && done && done->end == Done::End::faulted) done->end = Done::End::executed;
    if (manner_ == Manner::dies && ++jobs_ > 2) {
      base::Finding gone;
      gone.code = "GPU0005";
      gone.message = "the GPU worker ended without an answer";
      return gone;
    }
    return done;
  }
  base::Result<Opened> open(const Contest& contest, std::chrono::milliseconds limit) override {
    return honest_->open(contest, limit);
  }
  base::Result<Measured> measure(const MeasureRequest& request, std::chrono::milliseconds limit) override {
    return honest_->measure(request, limit);
  }

 private:
  Manner manner_;
  std::unique_ptr<Worker> honest_;
  int jobs_ = 0;
};

TEST(Probe, AGpuThatIsNotToBeTrustedHasNoCeilings) {
  for (auto manner : {Liar::Manner::wrong_element, Liar::Manner::swallows_faults, Liar::Manner::dies}) {
    Liar gpu(manner);
    Probe found = probe(gpu, quick());
    EXPECT_FALSE(found.ok());
    EXPECT_TRUE(found.ceilings.empty());
  }
}

}  // namespace
}  // namespace ptxlab::gpu
