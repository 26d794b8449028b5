// A table for the terminal: columns as wide as their cells, numbers to the right, the last column cut at the terminal's
// width.
#pragma once
#include <string>
#include <vector>

namespace ptxlab::report {

struct Column {
  std::string title;
  bool right = false;  // numbers
};

// Cells may hold anything: what acts on a terminal is made visible (base/visible.h). One line a row, two spaces between columns, a rule below the titles. `width` 0: nothing is cut.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                  size_t width = 0);

}  // namespace ptxlab::report
