#include "base/nearest.h"

#include <algorithm>

namespace ptxlab::base {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rolling rows.
  std::vector<size_t> two(b.size() + 1), one(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) one[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({one[j] + 1, now[j - 1] + 1, one[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], two[j - 2] + 1);
    }
    std::swap(two, one);
    std::swap(one, now);
  }
  return one[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
  size_t best = std::max<size_t>(1, (word.size() + 2) / 3) + 1;
  std::string_view found;
  for (auto candidate : known) {
    if (candidate.size() > word.size() + best || word.size() > candidate.size() + best) continue;
    size_t distance = edit_distance(word, candidate);
    // Of two that are equally near the one of the same length: letters are exchanged more often than lost.
    bool same_length = candidate.size() == word.size() && found.size() != word.size() && !found.empty();
    if (distance < best || (distance == best && same_length)) {
      best = distance;
      found = candidate;
    }
  }
  return std::string(found);
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string_view> views(known.begin(), known.end());
  return nearest(word, std::span<const std::string_view>(views));
}

}  // namespace ptxlab::base
