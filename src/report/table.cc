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

std::string cut(const std::string& text, size_t width) {
  if (length(text) <= width) return text;
  std::string out;
  size_t count = 0;
  for (char c : text) {
    if ((c & 0xc0) != 0x80 && ++count + 3 > width) break;
    out += c;
  }
  return out + "...";
}

}  // namespace

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
  if (width > 0 && !columns.empty()) {
    size_t before = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + 2;
    size_t room = width > before + 16 ? width - before : 16;
    widths.back() = std::min(widths.back(), room);
  }
  std::string out;
  auto line = [&](auto cell) {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      std::string content = cut(cell(i), widths[i]);
      std::string pad(widths[i] - std::min(widths[i], length(content)), ' ');
      text += columns[i].right ? pad + content : content + pad;
      if (i + 1 < columns.size()) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](size_t i) { return columns[i].title; });
  line([&](size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows) line([&](size_t i) { return row[i]; });
  return out;
}

}  // namespace ptxlab::report
