// For tests: kernels and plans of tasks with a few places changed by hand.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ptxlab::judge {

using Edits = std::vector<std::pair<std::string, std::string>>;  // what is replaced, once each, by what

// An edit whose place is not there fails the test.
inline std::string edited(std::string text, const Edits& edits) {
  for (const auto& [from, to] : edits) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    if (at == std::string::npos) return text;
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace ptxlab::judge
