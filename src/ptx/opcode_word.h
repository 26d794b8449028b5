// The first words of the instructions: "add", "cp" of cp.async.bulk.
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "isa/table.h"

namespace ptxlab::ptx {

inline bool is_opcode_word(std::string_view word) {
  auto all = isa::opcodes();
  auto found = std::lower_bound(all.begin(), all.end(), word);
  return found != all.end() && found->starts_with(word) &&
         (found->size() == word.size() || (*found)[word.size()] == '.');
}

inline std::vector<std::string_view> opcode_words() {
  std::vector<std::string_view> words;
  for (std::string_view opcode : isa::opcodes()) {
    std::string_view first = opcode.substr(0, opcode.find('.'));
    if (words.empty() || words.back() != first) words.push_back(first);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace ptxlab::ptx
