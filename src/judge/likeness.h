// Whose text a candidate is: texts that are known here (the tasks' own kernels, snippets, what the user keeps under known/)
// against its instruction sequences. A note, never a fault: pasting is allowed, passing it off is not.
//
//   JDG0074 most of a candidate stands in a known text
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/similarity.h"
#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::judge {

struct KnownText {
  std::string name;  // "tasks/softmax/softmax_f32/baseline.ptx"
  analysis::Fingerprints fingerprints;
};

// Every .ptx below tasks/, snippets/ and known/ of `root`; texts that do not parse are left out.
std::vector<KnownText> known_texts(const std::filesystem::path& root);

// What the candidate shares with the task's own baseline counts for nothing: it is made from it.
base::Findings likeness(const ptx::Module& candidate, const ptx::Module& baseline, const std::vector<KnownText>& known);

}  // namespace ptxlab::judge
