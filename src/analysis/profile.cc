#include "analysis/profile.h"

namespace ptxlab::analysis {

void Profile::add(const Profile& other) {
  for (const auto& from : other.functions) {
    FunctionProfile* to = nullptr;
    for (auto& f : functions)
      if (f.function == from.function) to = &f;
    if (!to) {
      functions.push_back(from);
      continue;
    }
    if (to->statements.size() < from.statements.size()) to->statements.resize(from.statements.size());
    for (size_t i = 0; i < from.statements.size(); ++i) {
      auto& a = to->statements[i];
      const auto& b = from.statements[i];
      a.warps += b.warps;
      a.threads += b.threads;
      a.requests += b.requests;
      a.sectors += b.sectors;
      a.ideal_sectors += b.ideal_sectors;
      a.shared_wavefronts += b.shared_wavefronts;
      a.ideal_wavefronts += b.ideal_wavefronts;
    }
  }
}

}  // namespace ptxlab::analysis
