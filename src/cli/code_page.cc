#include "cli/code_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "cli/files.h"

namespace ptxlab::cli {
namespace {

base::Finding trouble(std::string message, std::string_view file) {
  return base::error_in(std::string(file), "CLI0062", std::move(message),
                        "the pages belong to the project: is this checkout whole?");
}

// The lines between the fences behind `heading`.
std::optional<std::string> example(std::string_view text, std::string_view heading) {
  constexpr std::string_view kOpen = "\n```ptx\n", kClose = "```";
  size_t at = text.find(heading);
  if (at == text.npos) return std::nullopt;
  size_t begin = at + heading.size();
  if (text.substr(begin, kOpen.size()) != kOpen) return std::nullopt;
  begin += kOpen.size();
  size_t end = text.find(kClose, begin);
  return end == text.npos ? std::nullopt : std::optional(std::string(text.substr(begin, end - begin)));
}

}  // namespace

base::Result<CodePage> code_page(std::string_view text, std::string_view file) {
  CodePage page;
  size_t colon = text.find(": "), line = text.find('\n');
  if (!text.starts_with("# ") || colon == text.npos || line == text.npos || colon > line)
    return trouble("a page begins with '# CODE: title'", file);
  page.code = text.substr(2, colon - 2);
  page.title = text.substr(colon + 2, line - colon - 2);
  size_t examples = text.find("\n## ");
  page.text = text.substr(line + 1, examples == text.npos ? text.npos : examples - line - 1);
  while (!page.text.empty() && page.text.front() == '\n') page.text.erase(0, 1);
  while (!page.text.empty() && page.text.back() == '\n') page.text.pop_back();
  if (page.text.empty()) return trouble("a page without text", file);
  if (examples == text.npos) return page;
  auto wrong = example(text, "\n## Wrong"), right = example(text, "\n## Right");
  if (!wrong || !right) return trouble("a page has both a wrong and a right example, or neither", file);
  page.wrong = *wrong;
  page.right = *right;
  return page;
}

base::Result<std::vector<CodePage>> code_pages() {
  namespace fs = std::filesystem;
  fs::path folder = root() / "docs" / "codes";
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".md") files.push_back(entry->path());
  if (files.empty()) return trouble("there are no pages", folder.string());
  std::sort(files.begin(), files.end());
  std::vector<CodePage> pages;
  for (const auto& file : files) {
    auto text = base::read_file(file);
    if (!text.ok()) return text.findings();
    auto page = code_page(*text, file.string());
    if (!page.ok()) return page.findings();
    if (page->code != file.stem().string()) return trouble("the page is about " + page->code, file.string());
    pages.push_back(std::move(*page));
  }
  return pages;
}

}  // namespace ptxlab::cli
