// A table for the terminal: columns as wide as their cells, numbers to the right. Where the terminal is narrower, a last column of
// sentences is cut; then columns go below one another, each time with the first beside them.
#pragma once
#include <string>
#include <vector>

namespace ptxlab::report {

struct Column {
  std::string title;
  bool right = false;  // numbers
};

// Cells may hold anything: what acts on a terminal is made visible (base/visible.h). One line a row, two spaces between columns, a
// rule below the titles. `width` 0: nothing is cut.
std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                  size_t width = 0);

// At most `width` characters, the last of them "..." where it is longer.
std::string shortened(const std::string& text, size_t width);

}  // namespace ptxlab::report
