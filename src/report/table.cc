#include "report/table.h"

#include <algorithm>
#include <cassert>

#include "base/visible.h"

namespace ptxlab::report {
namespace {

// Bytes of UTF-8 that begin a character: what a terminal counts, wide characters apart.
size_t length(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

constexpr size_t kLeast = 16;  // of a column that may be cut

// Sentences may be cut, numbers and names may not.
size_t least(const std::vector<Column>& columns, const std::vector<size_t>& widths, size_t i) {
  const bool sentence = i + 1 == columns.size() && !columns[i].right;
  return sentence ? std::min(widths[i], std::max(kLeast, length(columns[i].title))) : widths[i];
}

// Which columns stand beside each other: as many as there is room for. What is left follows below, with the first column
// again, so that each row keeps its name.
std::vector<std::vector<size_t>> blocks_of(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                                           size_t width) {
  std::vector<std::vector<size_t>> blocks(1);
  size_t used = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t more = least(columns, widths, i) + (blocks.back().empty() ? 0 : 2);
    if (width > 0 && blocks.back().size() > 1 && used + more > width) {
      blocks.push_back({0});
      used = widths[0] + 2 + least(columns, widths, i);
    } else {
      used += more;
    }
    blocks.back().push_back(i);
  }
  return blocks;
}

}  // namespace

std::string shortened(const std::string& text, size_t width) {
  if (length(text) <= width) return text;
  std::string out;
  size_t count = 0;
  for (char c : text) {
    if ((c & 0xc0) != 0x80 && ++count + 3 > width) break;
    out += c;
  }
  return out + "...";
}

std::string table(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& given,
                  size_t width) {
  auto rows = given;
  for (auto& row : rows)
    for (auto& cell : row) cell = base::visible(cell);
  std::vector<size_t> widths;
  for (const auto& column : columns) widths.push_back(length(column.title));
  for (const auto& row : rows) {
    assert(row.size() == columns.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length(row[i]));
  }
  if (width > 0 && columns.size() > 1) widths[0] = std::min(widths[0], std::max(kLeast, width * 2 / 5));
  std::string out;
  for (const auto& block : blocks_of(columns, widths, width)) {
    if (!out.empty()) out += "\n";
    auto shown = widths;
    if (const size_t last = block.back(); width > 0) {
      size_t before = 0;
      for (size_t i : block) before += i == last ? 0 : widths[i] + 2;
      shown[last] = std::max(least(columns, widths, last), std::min(widths[last], width > before ? width - before : 0));
    }
    auto line = [&](auto cell) {
      std::string text;
      for (size_t i : block) {
        std::string content = shortened(cell(i), shown[i]);
        std::string pad(shown[i] - std::min(shown[i], length(content)), ' ');
        text += columns[i].right ? pad + content : content + pad;
        if (i != block.back()) text += "  ";
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    };
    line([&](size_t i) { return columns[i].title; });
    line([&](size_t i) { return std::string(shown[i], '-'); });
    for (const auto& row : rows) line([&](size_t i) { return row[i]; });
  }
  return out;
}

}  // namespace ptxlab::report
