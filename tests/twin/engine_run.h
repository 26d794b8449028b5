// Runs a kernel's text on the engine over a few buffers, for tests that hold it against the twin.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness.h"
#include "ptx/verifier.h"
#include "simt/engine.h"

namespace ptxlab::twin {

struct EngineRun {
  std::string problem;  // empty where all ran
  bool supported = true;
};

inline EngineRun run_engine(std::string_view text, launch::Dim3 grid, launch::Dim3 block,
                            std::vector<Argument>& arguments, uint32_t shared_bytes = 0, uint64_t seed = 1) {
  static const std::unique_ptr<simt::Engine> engine = simt::make_simt_engine();
  ptx::Checked checked = ptx::check(text, "kernel.ptx");
  if (!checked.ok()) return {base::render(checked.findings, text), true};
  auto program = engine->load(checked.module);
  if (!program) return {base::render(program.findings(), text), false};
  simt::Memory memory(seed);
  const std::vector<size_t> buffers = place_buffers(arguments, memory);
  simt::RunOptions options;
  options.seed = seed;
  const ptx::Function* entry = checked.module.entry("");
  simt::RunReport report =
      (*program)->run(make_launch(*entry, grid, block, arguments, shared_bytes), buffers, memory, options, {});
  fetch_buffers(memory, buffers, arguments);
  if (!report.completed || base::has_error(report.findings))
    return {base::render(report.findings, text), report.supported};
  return {};
}

}  // namespace ptxlab::twin
