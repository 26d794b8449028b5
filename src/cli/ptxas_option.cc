#include "cli/ptxas_option.h"

namespace ptxlab::cli {

base::Result<judge::Assemblers> choose_assemblers(const std::string& ptxas, const std::string& witness) {
  judge::Assemblers chosen = judge::installed_assemblers();
  if (!ptxas.empty()) {
    auto tool = toolchain::ptxas_named(ptxas, toolchain::installed_ptxas());
    if (!tool) return tool.findings();
    chosen.preferred = *tool;
    chosen.every = nullptr;  // the named one, and no other
  }
  if (!witness.empty()) {
    auto tool = toolchain::ptxas_named(witness, toolchain::installed_ptxas());
    if (!tool) return tool.findings();
    chosen.witness = *tool;
  }
  return chosen;
}

}  // namespace ptxlab::cli
