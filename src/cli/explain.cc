// ptxlab explain: what a finding's code means, why it happens, and what is right instead.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/code_page.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace ptxlab::cli {
namespace {

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("    {}", text.substr(0, end));
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string shown(const CodePage& page) {
  std::string text = fmt::format("{}: {}\n\n{}\n", page.code, page.title, page.text);
  if (!page.wrong.empty()) text += fmt::format("\nWrong:\n{}\nRight:\n{}", indented(page.wrong), indented(page.right));
  return text;
}

std::string listed(const std::vector<CodePage>& pages) {
  std::string text;
  for (const auto& page : pages) text += fmt::format("{:<9} {}\n", page.code, page.title);
  return text;
}

nlohmann::json to_json(const CodePage& page) {
  return {
      {"code", page.code}, {"title", page.title}, {"text", page.text}, {"wrong", page.wrong}, {"right", page.right}};
}

// "ptx101" is PTX0101.
std::string spelt_out(std::string code) {
  std::transform(code.begin(), code.end(), code.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  size_t digits = code.find_first_of("0123456789");
  if (digits != code.npos && digits > 0)
    while (code.size() - digits < 4) code.insert(digits, "0");
  return code;
}

// The nearest code: of the same letters the nearest number, else the one spelt most alike.
std::string nearest_code(const std::string& code, const std::vector<CodePage>& pages) {
  size_t digits = std::min(code.find_first_of("0123456789"), code.size());
  auto number = [](std::string_view text) {
    long value = 0;
    for (char c : text.substr(0, 9))
      if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
    return value;
  };
  const CodePage* best = nullptr;
  std::vector<std::string> all;
  for (const auto& page : pages) {
    all.push_back(page.code);
    bool family = digits > 0 && page.code.compare(0, digits, code, 0, digits) == 0;
    if (!family) continue;
    auto away = [&](const CodePage& each) { return std::abs(number(each.code) - number(code)); };
    if (!best || away(page) < away(*best)) best = &page;
  }
  return best ? best->code : code.size() < 32 ? base::nearest(code, all) : "";
}

}  // namespace

int explain(Words words) {
  std::string code;
  bool json = false;
  Options options("explain", "What a finding's code means, why it happens, and what is right instead.",
                  "ptxlab explain\nptxlab explain PTX0302");
  options.optional_argument("CODE", code, "A code as findings show it; without one all are listed");
  options.flag("--json", json, "Print JSON (ptxlab.codes/1)");
  if (auto exit = options.parse(words)) return *exit;
  auto pages = code_pages();
  if (!pages.ok()) return refuse(pages.findings(), kExitInfrastructure);
  nlohmann::json list = nlohmann::json::array();
  if (code.empty()) {
    if (!json) return print(listed(*pages)), kExitDone;
    for (const auto& page : *pages) list.push_back(to_json(page));
  } else {
    std::string wanted = spelt_out(code);
    auto found = std::find_if(pages->begin(), pages->end(), [&](const CodePage& page) { return page.code == wanted; });
    if (found == pages->end()) {
      auto near = nearest_code(wanted, *pages);
      return refuse("CLI0061", fmt::format("there is no page about '{}'", code),
                    near.empty() ? "'ptxlab explain' lists the codes" : fmt::format("did you mean {}?", near));
    }
    if (!json) return print(shown(*found)), kExitDone;
    list.push_back(to_json(*found));
  }
  print_json({{"schema", "ptxlab.codes/1"}, {"codes", std::move(list)}});
  return kExitDone;
}

}  // namespace ptxlab::cli
