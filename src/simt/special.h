// The special registers that the engine knows, as values of a warp's lanes.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "simt/machine.h"

namespace ptxlab::simt {

enum class Special : uint8_t {
  tid,
  ntid,
  ctaid,
  nctaid,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  total_smem_size,
  dynamic_smem_size,
  aggr_smem_size,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  zero,  // %envreg, %reserved_smem_offset, %current_graph_exec: what a plain launch without a driver's extras has
};

std::optional<Special> special_named(std::string_view name);

struct SpecialContext {
  const launch::ResolvedLaunch& launch;
  const Cta& cta;
  const Warp& warp;
  uint32_t shared_bytes;
  uint32_t smid;
};
// The same in all lanes of a CTA, and another in the next; the others depend on the warp and the launch alone.
bool differs_between_ctas(Special which);
uint64_t special_value(Special which, int component, const SpecialContext& context, int lane);

}  // namespace ptxlab::simt
