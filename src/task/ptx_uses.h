// What an entry does with each of its parameters, read from its instructions: loaded through, stored through, used as an
// address by way of values that were loaded. Drafts lean on it where the source alone leaves a question. Registers are
// followed without regard to order, so that every use that there is shows, and some that there is not may.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::task {

struct PtxUse {
  bool read = false, written = false;  // through the pointer in this parameter
  bool address = false;                // memory is reached by way of it at all
  std::set<uint32_t> indexes;          // parameters whose memory is reached at offsets that come from this one's values
  bool neighbours = false;             // its elements are loaded in pairs, i and i + 1: running sums
  isa::Type element = isa::Type::none;  // of the accesses through it, where all agree; bits where nothing says more
  bool named = false;                   // some instruction names the parameter
  bool null_checked = false;            // the pointer itself is compared
};

// One for each parameter. A struct by value counts as one pointer.
std::vector<PtxUse> uses_of_parameters(const ptx::Function& entry);

}  // namespace ptxlab::task
