// The pages that explain findings: one file a code under docs/codes/, a title, some text, and where it helps a wrong and a
// right example.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ptxlab::cli {

struct CodePage {
  std::string code;   // "PTX0101"
  std::string title;  // without the code
  std::string text;
  std::string wrong, right;  // modules; empty where the page has none
};

// Every page, sorted by code. Error: CLI0062, there are none or one is malformed.
base::Result<std::vector<CodePage>> code_pages();
// From a page's text; nothing where it is not one.
base::Result<CodePage> code_page(std::string_view text, std::string_view file);

}  // namespace ptxlab::cli
