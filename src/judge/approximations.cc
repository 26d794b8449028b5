#include "judge/approximations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ptxlab::judge {
namespace {

std::string words_of(const ptx::Instruction& instruction) {
  std::string text;
  for (const auto& word : instruction.words)
    if (word != ".ftz") text += word;
  return text;
}

// By their words, each with its first line.
std::map<std::string, uint32_t> approximations(const ptx::Module& module) {
  std::map<std::string, uint32_t> found;
  for (const auto& function : module.functions)
    for (const auto& statement : function.body)
      if (const auto* instruction = statement.instruction(); instruction && is_approximate(*instruction))
        found.try_emplace(words_of(*instruction), instruction->line);
  return found;
}

}  // namespace

bool is_approximate(const ptx::Instruction& instruction) {
  if (instruction.form.row && instruction.form.row->effects.approximate) return true;
  return std::find(instruction.words.begin(), instruction.words.end(), ".approx") != instruction.words.end();
}

std::string new_approximations(const ptx::Module& candidate, const ptx::Module& baseline) {
  const auto known = approximations(baseline);
  std::string list;
  for (const auto& [words, line] : approximations(candidate))
    if (!known.contains(words)) list += fmt::format("{}{} (line {})", list.empty() ? "" : ", ", words, line);
  return list;
}

}  // namespace ptxlab::judge
