#include "judge/likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "judge/judge_finding.h"
#include "ptx/verifier.h"

namespace ptxlab::judge {
namespace {

namespace fs = std::filesystem;

constexpr double kMost = 0.5;         // the share from which on it is said
constexpr size_t kFewSequences = 12;  // below, a text says too little of itself

}  // namespace

std::vector<KnownText> known_texts(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const char* folder : {"tasks", "snippets", "known"})
    for (fs::recursive_directory_iterator at(root / folder, ignored), end; at != end; at.increment(ignored))
      if (at->path().extension() == ".ptx") files.push_back(at->path());
  std::sort(files.begin(), files.end());
  std::vector<KnownText> known;
  for (const auto& file : files) {
    auto text = base::read_file(file);
    if (!text.ok()) continue;
    auto checked = ptx::check(*text, file.string());
    if (checked.ok()) known.push_back({file.lexically_relative(root).string(), analysis::fingerprints(checked.module)});
  }
  return known;
}

base::Findings likeness(const ptx::Module& candidate, const ptx::Module& baseline,
                        const std::vector<KnownText>& known) {
  const auto theirs = analysis::fingerprints(baseline);
  const auto own = analysis::except(analysis::fingerprints(candidate), theirs);
  if (own.size() < kFewSequences) return {};
  const KnownText* most = nullptr;
  double share = 0;
  for (const KnownText& text : known) {
    const double here = analysis::share_of(own, text.fingerprints);
    if (here > share) share = here, most = &text;
  }
  if (!most || share < kMost) return {};
  return {judge_finding("JDG0074", base::Severity::note,
                        fmt::format("{:.0f} % of its instruction sequences stand in {}", 100 * share, most->name),
                        "say where a text comes from; its licence may ask for it")};
}

}  // namespace ptxlab::judge
