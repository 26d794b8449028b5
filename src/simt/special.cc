#include "simt/special.h"

namespace ptxlab::simt {
namespace {

constexpr std::string_view kNames[] = {"%tid",
                                       "%ntid",
                                       "%ctaid",
                                       "%nctaid",
                                       "%laneid",
                                       "%warpid",
                                       "%nwarpid",
                                       "%smid",
                                       "%nsmid",
                                       "%gridid",
                                       "%lanemask_eq",
                                       "%lanemask_le",
                                       "%lanemask_lt",
                                       "%lanemask_ge",
                                       "%lanemask_gt",
                                       "%clusterid",
                                       "%nclusterid",
                                       "%cluster_ctaid",
                                       "%cluster_nctaid",
                                       "%cluster_ctarank",
                                       "%cluster_nctarank",
                                       "%is_explicit_cluster",
                                       "%total_smem_size",
                                       "%dynamic_smem_size",
                                       "%aggr_smem_size",
                                       "%clock",
                                       "%clock_hi",
                                       "%clock64",
                                       "%globaltimer",
                                       "%globaltimer_lo",
                                       "%globaltimer_hi"};

constexpr uint32_t kWarpSlots = 64;

// %warpid names a slot of the SM, and nothing says which slots the warps of a CTA get: here they lie apart, from a first one
// on that differs between SMs, so that neither it nor its low bits are the thread's number over 32.
uint64_t warp_slot(const SpecialContext& context) {
  uint32_t index = context.warp.index;
  return (index * 8 + index / 8 + context.smid * 29 + 13) % kWarpSlots;
}

uint64_t component_of(const launch::Dim3& dim, int component) {
  return component >= 0 && component < 3 ? dim[static_cast<size_t>(component)] : 0;
}

}  // namespace

std::optional<Special> special_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<Special>(i);
  for (std::string_view prefix : {"%envreg", "%reserved_smem_offset", "%current_graph_exec"})
    if (name.starts_with(prefix)) return Special::zero;
  return std::nullopt;
}

bool differs_between_ctas(Special which) {
  return which == Special::ctaid || which == Special::clusterid || which == Special::smid || which == Special::warpid;
}

uint64_t special_value(Special which, int component, const SpecialContext& context, int lane) {
  const launch::Dim3& block = context.launch.block;
  uint32_t thread = context.warp.index * kLanes + static_cast<uint32_t>(lane);
  LaneMask self = LaneMask{1} << lane;
  switch (which) {
    case Special::tid:
      return component_of({thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]}, component);
    case Special::ntid: return component_of(block, component);
    case Special::ctaid:
    case Special::clusterid: return component_of(context.cta.id, component);  // clusters of one CTA
    case Special::nctaid:
    case Special::nclusterid: return component_of(context.launch.grid, component);
    case Special::laneid: return static_cast<uint64_t>(lane);
    case Special::warpid: return warp_slot(context);
    case Special::nwarpid: return kWarpSlots;
    case Special::smid: return context.smid;
    case Special::nsmid: return 132;
    case Special::gridid: return 1;
    case Special::lanemask_eq: return self;
    case Special::lanemask_le: return self | (self - 1);
    case Special::lanemask_lt: return self - 1;
    case Special::lanemask_ge: return ~(self - 1);
    case Special::lanemask_gt: return ~(self | (self - 1));
    case Special::cluster_ctaid: return 0;
    case Special::cluster_nctaid: return component < 3 ? 1 : 0;
    case Special::cluster_ctarank: return 0;
    case Special::cluster_nctarank: return 1;
    case Special::is_explicit_cluster:
    case Special::zero: return 0;
    case Special::total_smem_size:
    case Special::aggr_smem_size: return context.shared_bytes;
    case Special::dynamic_smem_size: return context.launch.shared_bytes;
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi: return 0;  // read through mov, at the time of the read
  }
  return 0;
}

}  // namespace ptxlab::simt
