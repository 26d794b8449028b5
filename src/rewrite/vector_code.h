// Code for V neighbouring elements a thread, made from an ElementRegion: a loop (or one group) with vector accesses,
// behind guards checked at run time, and a scalar loop for what is left over.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rewrite/editor.h"
#include "rewrite/element_region.h"

namespace ptxlab::rewrite {

// Edits of one function's body, by statement index of the original.
struct BodyEdit {
  std::map<uint32_t, Statements> before;                              // inserted in front of a statement
  std::vector<std::pair<uint32_t, uint32_t>> removed;                 // half-open ranges
  std::map<uint32_t, std::map<std::string, std::string>> retargeted;  // branches that go to other labels now
  Statements apply(std::vector<ptx::Statement> body) const;
};

// How the accesses of a region come out for groups of `width` elements.
struct Grouping {
  int width = 1;
  int in_flight = 1;                    // groups that a round of the loop loads before it works on the first
  std::vector<ElementAccess> accesses;  // those that become vector accesses
  uint32_t widest = 0;                  // bytes of the widest access
};
Grouping group(const ElementRegion& region, const ptx::Function& function, int width);

// Adds the code for `region` to `edit`.
void emit_groups(const Flow& flow, const ElementRegion& region, const Grouping& grouping, Editor& editor,
                 BodyEdit& edit);

}  // namespace ptxlab::rewrite
