#include "judge/assemblers.h"

#include <fmt/format.h>

namespace ptxlab::judge {
namespace {

// 0: the tool did not say what it takes, so it is asked to try.
bool takes(const toolchain::Tool& tool, isa::PtxVersion version) {
  return tool.ptx_version == 0 || version <= tool.ptx_version;
}

}  // namespace

const toolchain::Tool* Assemblers::taking(isa::PtxVersion version) const {
  if (!preferred) return nullptr;
  if (takes(*preferred, version)) return &*preferred;
  if (!every) return nullptr;
  for (const auto& tool : every()) {
    if (takes(tool, version)) return &tool;
  }
  return nullptr;
}

std::string Assemblers::why_none(isa::PtxVersion version) const {
  if (!preferred) return "there is no ptxas on this machine (tools/setup fetches one)";
  return fmt::format(
      "ptxas {} takes PTX ISA up to {}.{}, the module says {}.{} (tools/setup --witnesses fetches a newer one)",
      preferred->version, preferred->ptx_version / 10, preferred->ptx_version % 10, version / 10, version % 10);
}

isa::Target target_on_gpu(const isa::Target& of_module, uint32_t sm, const std::optional<isa::Target>& judged) {
  if (judged && judged->sm == sm) return *judged;
  return of_module.sm == sm ? of_module : isa::Target{static_cast<uint16_t>(sm), 0};
}

Assemblers installed_assemblers() {
  return {toolchain::installed().ptxas,
          []() -> const std::vector<toolchain::Tool>& { return toolchain::installed_ptxas(); },
          {}};
}

}  // namespace ptxlab::judge
