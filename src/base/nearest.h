// "Did you mean": the known word nearest to a misspelt one, by edit distance with transpositions.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::base {

size_t edit_distance(std::string_view a, std::string_view b);

// The nearest of `known`, or "" where none is near enough to suggest (more than a third of the word differs).
std::string nearest(std::string_view word, std::span<const std::string_view> known);
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace ptxlab::base
