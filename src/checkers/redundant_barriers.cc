// Every barrier of the module gets race checkers of its own, for which it orders nothing. Kernels whose barriers also hand
// over what asynchronous engines did are left alone.
#include "checkers/redundant_barriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "checkers/global_conflicts.h"
#include "checkers/shared_races.h"

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kRedundant = "CHK0042";
constexpr size_t kMostBarriers = 64;

// bar.sync, barrier.sync and bar.warp.sync; what counts or votes has a use beside its order.
bool is_plain_barrier(const ptx::Instruction& instruction) {
  if (instruction.words.empty() || (instruction.words[0] != "bar" && instruction.words[0] != "barrier")) return false;
  bool waits = false;
  for (const std::string& word : instruction.words) {
    if (word == ".red" || word == ".arrive" || word == ".cluster") return false;
    waits = waits || word == ".sync" || word == ".warp";
  }
  return waits;
}

bool is_asynchronous(const ptx::Instruction& instruction) {
  static constexpr std::string_view kNames[] = {"mbarrier", "wgmma", "tcgen05"};
  if (instruction.words.empty()) return false;
  if (std::find(std::begin(kNames), std::end(kNames), instruction.words[0]) != std::end(kNames)) return true;
  return std::any_of(instruction.words.begin(), instruction.words.end(),
                     [](const std::string& word) { return word == ".bulk" || word.rfind(".proxy", 0) == 0; });
}

class RedundantBarriers : public simt::Observer {
 public:
  std::string_view name() const override { return "redundant-barriers"; }
  uint32_t events() const override { return simt::kAccesses | simt::kAccessValues | simt::kBarriers | simt::kLaunches; }

  void context(const simt::LaunchContext& context) override {
    if (context.module != module_) prepare(context.module);
    each([&](simt::Observer& o) { o.context(context); });
  }
  void launch_begin(const launch::ResolvedLaunch& launch) override {
    each([&](simt::Observer& o) { o.launch_begin(launch); });
  }
  void launch_end() override {
    each([](simt::Observer& o) { o.launch_end(); });
  }
  void cta_begin(const simt::WarpId& id, uint32_t threads, uint32_t shared_bytes) override {
    each([&](simt::Observer& o) { o.cta_begin(id, threads, shared_bytes); });
  }
  void cta_end(const simt::WarpId& id) override {
    each([&](simt::Observer& o) { o.cta_end(id); });
  }
  void access(const simt::Access& access) override {
    ++accesses_;
    each([&](simt::Observer& o) { o.access(access); });
  }
  void barrier(const simt::Barrier& barrier) override {
    if (barrier.step == simt::Barrier::Step::complete)
      for (Left& left : left_out_) left.times += left.barrier == barrier.site.instruction;
    each([&](simt::Observer& o) { o.barrier(barrier); });
  }
  void fence(const simt::Issue& issue) override {
    each([&](simt::Observer& o) { o.fence(issue); });
  }
  base::Findings findings() const override;

 private:
  struct Left {
    const ptx::Instruction* barrier = nullptr;
    uint64_t times = 0;
    std::unique_ptr<simt::Observer> shared, global;
  };

  void prepare(const ptx::Module* module);
  template <class Tell>
  void each(Tell tell) {
    for (Left& left : left_out_) tell(*left.shared), tell(*left.global);
  }

  const ptx::Module* module_ = nullptr;
  std::vector<Left> left_out_;  // the first leaves nothing out
  uint64_t accesses_ = 0;
};

void RedundantBarriers::prepare(const ptx::Module* module) {
  module_ = module;
  left_out_.clear();
  left_out_.push_back({nullptr, 0, make_shared_races(), make_global_conflicts()});
  for (const ptx::Function& function : module->functions) {
    for (const ptx::Statement& statement : function.body) {
      const ptx::Instruction* i = statement.instruction();
      if (!i) continue;
      if (is_asynchronous(*i)) {
        left_out_.clear();
        return;
      }
      if (is_plain_barrier(*i) && left_out_.size() <= kMostBarriers)
        left_out_.push_back({i, 0, make_shared_races_without(*i), make_global_conflicts_without(*i)});
    }
  }
}

base::Findings RedundantBarriers::findings() const {
  base::Findings out;
  auto silent = [](const Left& left) { return left.shared->findings().empty() && left.global->findings().empty(); };
  if (left_out_.empty() || !silent(left_out_.front())) return out;
  for (const Left& left : left_out_) {
    if (!left.barrier || left.times == 0 || !silent(left)) continue;
    base::Finding finding;
    finding.code = kRedundant;
    finding.severity = base::Severity::note;
    finding.place.file = module_->file;
    finding.place.line = left.barrier->line;
    finding.message = fmt::format(
        "this barrier may be redundant: it was met {} time{}, and of {} accesses to shared and global memory no two "
        "need "
        "it to be ordered",
        left.times, left.times == 1 ? "" : "s", accesses_);
    finding.hint = "evidence of this run only: take it out and have the kernel judged";
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace

std::unique_ptr<simt::Observer> make_redundant_barriers() { return std::make_unique<RedundantBarriers>(); }

}  // namespace ptxlab::checkers
