// Buffers of timed sizes, which may be gigabytes, filled only where a few CTAs look. Where what a kernel does depends on
// what it reads, each CTA is first run for the sake of the places that it reads; those are filled as the task fills them,
// and once more, until it reads nothing new: indices lead to places that only they name.
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "launch/resolved.h"
#include "simt/engine.h"
#include "simt/memory.h"
#include "task/case.h"

namespace ptxlab::judge {

// Writes the bytes that lie at `offset` of buffer `index`; a multiple of kFillChunk, and at most that many.
inline constexpr uint64_t kFillChunk = 16 * 1024;
using FillChunk = std::function<void(size_t index, uint64_t offset, std::span<uint8_t> bytes)>;

// The task's fills, as a case of it would have them. Values of an unbroken order (sorted, permutation, offsets) are laid
// out over the whole buffer, so that they stay legal; the others repeat a few chunks.
FillChunk fill_of(const task::Task& task, const task::CaseData& data);

class LazyBuffers {
 public:
  // `buffers`: index of the plan's buffer to index of Memory.
  LazyBuffers(const launch::ResolvedPlan& plan, simt::Memory& memory, const std::vector<size_t>& buffers,
              FillChunk fill);
  // Runs `cta` until everything that it reads is filled. What it wrote meanwhile is undone, but for module variables.
  void settle(simt::Program& program, const launch::ResolvedLaunch& launch, uint32_t cta, uint64_t budget);

 private:
  const launch::ResolvedPlan& plan_;
  simt::Memory& memory_;
  const std::vector<size_t>& buffers_;
  FillChunk fill_;
  std::set<std::pair<uint32_t, uint64_t>> filled_;  // allocation, chunk
};

}  // namespace ptxlab::judge
