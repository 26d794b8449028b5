// What an edit would lead to: the edited text is checked again, and what it leaves behind is counted. Of several legal ways
// the right one leaves the fewest loose ends: registers read before they are written, values never read, labels that nothing
// reaches, parameters that nothing reads.
#pragma once
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"

namespace ptxlab::ptx {

struct Outcome {
  size_t errors = 0;
  size_t orphans = 0;  // registers read before anything above writes them, labels that nothing reaches
  size_t idle = 0;     // registers written and never read, parameters never read
  friend auto operator<=>(const Outcome&, const Outcome&) = default;
};

class Trials {
 public:
  // At most `budget` bytes are checked in all.
  Trials(const Module& module, size_t budget) : module_(module), budget_(budget) {}

  // Of one function with `edits` of the module's text, the bodies of all others left out. Nothing where the budget is
  // spent. `function` may be null: everything is looked at.
  std::optional<Outcome> outcome(const Function* function, const std::vector<base::Edit>& edits);

 private:
  const std::string& reduced(const Function* function);

  const Module& module_;
  size_t budget_;
  const Function* of_ = nullptr;
  std::string reduced_;  // the text with the other bodies blanked, for `of_`
};

}  // namespace ptxlab::ptx
