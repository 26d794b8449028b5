// Hands what an engine tells of a CTA to the estimate's tracer.
#pragma once
#include <map>
#include <vector>

#include "estimate/trace.h"
#include "simt/observer.h"

namespace ptxlab::judge {

// The ranges of all functions of a module, in its order.
std::vector<estimate::FunctionRange> number_statements(const ptx::Module& module);

class TraceRecorder : public simt::Observer {
 public:
  // `trace` has its functions and buffers; buffers are numbered as Memory's allocations, the module's variables follow
  // after `allocations` of them.
  TraceRecorder(const ptx::Module& module, const estimate::LaunchTrace& trace, estimate::Tracer& tracer,
                uint32_t allocations);

  std::string_view name() const override { return "trace"; }
  uint32_t events() const override { return simt::kAccesses | simt::kIssues; }
  void access(const simt::Access& access) override;
  void issue(const simt::Issue& issue) override;

 private:
  uint32_t statement_of(const simt::Site& site);

  estimate::Tracer& tracer_;
  uint32_t allocations_;
  std::map<const ptx::Function*, uint32_t> first_;
  const ptx::Function* last_ = nullptr;
  uint32_t last_first_ = 0;
  std::vector<uint32_t> at_;  // by warp: its last statement
};

}  // namespace ptxlab::judge
