// Where a GPU computes something else than the engine did, on a text that every checker passed, its assembler may be to blame:
// the text is assembled in other ways, and what comes out right then makes the assembler the suspect instead of the
// candidate. (Known: an optimiser fault of ptxas 12.8 and 13.0 on a defined integer result that -O0 and 13.5 have not.)
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/assemblers.h"
#include "launch/resolved.h"
#include "ptx/module.h"
#include "toolchain/toolchain.h"

namespace ptxlab::judge {

struct Assembly {
  std::string name;  // "ptxas 13.0.88 -O0"
  std::function<base::Result<std::string>()> cubin;
};

// The text without optimisation, and by every other ptxas of the machine, the newest first.
std::vector<Assembly> other_assemblies(const Assemblers& assemblers, std::string_view ptx, std::string_view file,
                                       const ptx::Module& module, const toolchain::AssembleOptions& how);

struct SecondOpinion {
  std::vector<std::string> right, wrong;  // names of assemblies
  std::string cubin;                      // of the first that is right
  bool suspect() const { return !right.empty(); }
};
// `is_right` runs a cubin on the case that came out wrong; nothing: it could not be run.
SecondOpinion ask_others(const std::vector<Assembly>& assemblies,
                         const std::function<std::optional<bool>(const std::string& cubin)>& is_right);

// What a suspect's folder holds, for the assembler's makers: everything that is needed to see it again.
struct Suspect {
  std::string ptx, wrong_name, wrong_cubin;
  SecondOpinion opinion;
  std::string story;  // which case came out how
  launch::ResolvedPlan plan;
  std::vector<std::string> inputs, outputs;  // by buffer of the plan, before and after; empty: none
};
// Writes them below `folder`, in one named after the text's content. The folder's path, or FILE00xx.
base::Result<std::filesystem::path> write_suspect(const Suspect& suspect, const std::filesystem::path& folder);

}  // namespace ptxlab::judge
