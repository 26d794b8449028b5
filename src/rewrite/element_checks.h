// The checks behind element_region.h: is a body independent from element to element, and which of its accesses are
// adjacent.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "rewrite/aliasing.h"
#include "rewrite/element_region.h"

namespace ptxlab::rewrite {

// What is known of a region's surroundings while it is being checked.
struct RegionContext {
  const Flow& flow;
  const launch::Launch& launch;
  const analysis::Uniform& uniform;  // over the threads that share the range
  uint32_t loop = analysis::kNone;   // loops only
  std::vector<uint32_t> top_blocks;  // blocks that every element passes
  // The bytes that an address grows by from one element to the next; nothing where that is not a constant.
  std::function<std::optional<int64_t>(const analysis::Affine&)> stride;
  // What the index stays below, where it begins at 0 or above: loops only.
  std::optional<analysis::Affine> bound;
};

// Empty where the body only computes; else what it does that forbids re-mapping.
std::string check_instructions(const ElementRegion& region, const RegionContext& context);
// Empty where everything it reads from outside is uniform, its index, a pointer or an accumulator.
std::string check_inputs(const ElementRegion& region, const RegionContext& context);
// Finds ElementRegion::accumulators among `carried`; empty where each is a reduction combined across threads
// afterwards.
std::string check_reductions(ElementRegion& region, const RegionContext& context, const std::vector<uint32_t>& carried);
// Fills accesses and address_slice.
void find_accesses(ElementRegion& region, const RegionContext& context);
// Empty where no store can be seen by another element, here or in the code around without a barrier between.
std::string check_memory(ElementRegion& region, const RegionContext& context);

// True where the body writes the register.
bool writes_in(const ElementRegion& region, const Flow& flow, uint32_t reg);

}  // namespace ptxlab::rewrite
