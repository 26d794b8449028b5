#include "launch/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace ptxlab::launch {
namespace {

constexpr std::array<const char*, 3> kAxes{"x", "y", "z"};

uint64_t product(const Dim3& dims) { return uint64_t{dims[0]} * dims[1] * dims[2]; }
std::string text_of(const Dim3& dims) { return fmt::format("{} x {} x {}", dims[0], dims[1], dims[2]); }

// What a directive such as `.maxntid 128, 1` declares.
std::optional<Dim3> declared(const ptx::Function& entry, std::string_view directive) {
  const std::vector<uint32_t> numbers = entry.directive(directive);
  if (numbers.empty()) return std::nullopt;
  Dim3 dims{1, 1, 1};
  std::copy_n(numbers.begin(), std::min<size_t>(numbers.size(), dims.size()), dims.begin());
  return dims;
}

class Checks {
 public:
  Checks(const ptx::Function& entry, const ResolvedLaunch& launch) : entry_(entry), launch_(launch) {}

  std::vector<GeometryFault> run() {
    block();
    cluster();
    return std::move(faults_);
  }

 private:
  void block() {
    const Dim3& block = launch_.block;
    const uint64_t threads = product(block);
    if (threads > kMaxThreadsPerCta) {
      faults_.push_back({"PLAN0024", true, fmt::format("a block of {} = {} threads", text_of(block), threads),
                         fmt::format("a CTA has at most {} threads", kMaxThreadsPerCta)});
      return;
    }
    const auto most = declared(entry_, ".maxntid"), exact = declared(entry_, ".reqntid");
    if (most && threads > product(*most)) contradicts(".maxntid", *most, "block", block);
    if (exact && block != *exact) contradicts(".reqntid", *exact, "block", block);
  }

  void cluster() {
    const Dim3& cluster = launch_.cluster;
    const uint64_t ctas = product(cluster);
    if (ctas > kMaxCluster)
      faults_.push_back({"PLAN0024", false, fmt::format("a cluster of {} CTAs", ctas),
                         fmt::format("a cluster has at most {} CTAs", kMaxCluster)});
    for (size_t axis = 0; axis < 3; ++axis) {
      if (launch_.grid[axis] % cluster[axis])
        faults_.push_back({"PLAN0024", false,
                           fmt::format("grid.{} = {} is no multiple of cluster.{} = {}", kAxes[axis],
                                       launch_.grid[axis], kAxes[axis], cluster[axis]),
                           ""});
    }
    if (auto exact = declared(entry_, ".reqnctapercluster"); exact && cluster != *exact)
      contradicts(".reqnctapercluster", *exact, "cluster", cluster);
    const std::vector<uint32_t> rank = entry_.directive(".maxclusterrank");
    if (!rank.empty() && ctas > rank[0])
      faults_.push_back({"PLAN0029", false,
                         fmt::format("the entry declares `.maxclusterrank {}`, the cluster has {} CTAs", rank[0], ctas),
                         ""});
  }

  void contradicts(std::string_view directive, const Dim3& says, std::string_view what, const Dim3& is) {
    faults_.push_back({"PLAN0029", what == "block",
                       fmt::format("the entry declares `{} {}, {}, {}`, the {} is {}", directive, says[0], says[1],
                                   says[2], what, text_of(is)),
                       ""});
  }

  const ptx::Function& entry_;
  const ResolvedLaunch& launch_;
  std::vector<GeometryFault> faults_;
};

}  // namespace

Dim3 required_cluster(const ptx::Function& entry) {
  const Dim3 dims = declared(entry, ".reqnctapercluster").value_or(Dim3{1, 1, 1});
  return product(dims) == 0 ? Dim3{1, 1, 1} : dims;
}

std::vector<GeometryFault> geometry_faults(const ptx::Function& entry, const ResolvedLaunch& launch) {
  return Checks(entry, launch).run();
}

}  // namespace ptxlab::launch
