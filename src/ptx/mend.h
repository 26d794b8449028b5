// Puts a module right where that is certain, and only there: a mend is a list of edits, and every byte that it does not
// name stays. What is certain is what the table and the rest of the module leave no choice about; whatever has two
// plausible mends keeps its hint and stays as it is.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ptx/verifier.h"

namespace ptxlab::ptx {

// check, and for every error that has a certain mend its edits in Finding::fix.
Checked check_with_fixes(std::string_view source, std::string_view file);

struct Mended {
  std::string text;
  base::Findings mended;          // what was put right, as notes; places and fixes are those of the original text
  std::vector<base::Edit> edits;  // from the original to `text`
  base::Findings left;            // of `text`, with its places
  bool ok() const { return !base::has_error(left); }
};

// Mends in rounds, since one mend may uncover another fault, until nothing certain is left. Each is checked again, and one
// that does not make things better is taken back.
Mended mend(std::string_view source, std::string_view file);

}  // namespace ptxlab::ptx
