// Which elements are wrong: the last few of each row, whole blocks, every second one, halves of elements.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "judge/diagnosis.h"

namespace ptxlab::judge {
namespace {

// Only cases with special values are wrong, though the same sizes with ordinary ones are among the right.
std::optional<Diagnosis> only_special(const std::vector<WrongCase>& cases) {
  std::map<std::string, size_t> kinds;
  size_t ordinary_right = 0;
  for (const auto& one : cases) {
    const auto& special = one.prepared->data.what.special;
    if (one.right) {
      ordinary_right += special.empty();
    } else if (special.empty()) {
      return std::nullopt;
    } else {
      ++kinds[special];
    }
  }
  if (ordinary_right == 0) return std::nullopt;
  std::string list;
  for (const auto& [kind, count] : kinds) list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", kind, count);
  return Diagnosis{
      Pattern::special,
      fmt::format("all {} cases with ordinary values are right, wrong are cases with: {}", ordinary_right, list)};
}

// A way to see an output as a table: index = (outer * extent + column) * inner + i, with (outer, i) as the row.
struct Cut {
  size_t outer = 1, extent = 1, inner = 1;
};

// Without rows and columns in which nothing counts (halos).
struct Table {
  const WrongOutput* output = nullptr;
  bool unwritten_only = false;        // what else is wrong is not looked at
  std::vector<size_t> rows, columns;  // their parts of the index
  ElementState at(size_t r, size_t c) const { return output->state[rows[r] + columns[c]]; }
  bool bad(size_t r, size_t c) const {
    return unwritten_only ? at(r, c) == ElementState::unwritten : at(r, c) > ElementState::right;
  }
  bool counts(size_t r, size_t c) const { return at(r, c) != ElementState::not_counted; }
};

Table table_of(const WrongOutput& out, const Cut& cut, bool unwritten_only) {
  Table table{&out, unwritten_only, {}, {}};
  std::vector<bool> row(cut.outer * cut.inner, false), column(cut.extent, false);
  for (size_t i = 0; i < out.state.size(); ++i) {
    if (out.state[i] == ElementState::not_counted) continue;
    row[i / (cut.extent * cut.inner) * cut.inner + i % cut.inner] = true;
    column[i / cut.inner % cut.extent] = true;
  }
  for (size_t r = 0; r < row.size(); ++r)
    if (row[r]) table.rows.push_back(r / cut.inner * cut.extent * cut.inner + r % cut.inner);
  for (size_t c = 0; c < cut.extent; ++c)
    if (column[c]) table.columns.push_back(c * cut.inner);
  return table;
}

// What is bad, as the last `rows` rows and the last `columns` columns of the table and nothing else.
struct Edge {
  size_t rows = 0, columns = 0;
};

bool is_edge(const Table& t, const Edge& edge) {
  for (size_t r = 0; r < t.rows.size(); ++r) {
    for (size_t c = 0; c < t.columns.size(); ++c) {
      const bool inside = r < t.rows.size() - edge.rows && c < t.columns.size() - edge.columns;
      if (t.counts(r, c) && t.bad(r, c) == inside) return false;
    }
  }
  return true;
}

std::optional<Edge> edge_of(const Table& t) {
  Edge edge;
  auto row_bad = [&](size_t r) {
    for (size_t c = 0; c < t.columns.size(); ++c)
      if (t.counts(r, c) && !t.bad(r, c)) return false;
    return true;
  };
  while (edge.rows < t.rows.size() && row_bad(t.rows.size() - 1 - edge.rows)) ++edge.rows;
  auto column_bad = [&](size_t c) {
    for (size_t r = 0; r + edge.rows < t.rows.size(); ++r)
      if (t.counts(r, c) && !t.bad(r, c)) return false;
    return true;
  };
  if (edge.rows < t.rows.size())
    while (edge.columns < t.columns.size() && column_bad(t.columns.size() - 1 - edge.columns)) ++edge.columns;
  return is_edge(t, edge) ? std::optional(edge) : std::nullopt;
}

// How much of each of several lengths is missing at the end.
struct Missing {
  size_t length = 0, missing = 0;
};

// The smallest k with missing = length mod k everywhere; 0: there is none. A length below k may be right, where one block does all.
size_t modulus(const std::vector<Missing>& all) {
  for (size_t k : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    const bool fits = std::all_of(all.begin(), all.end(), [&](const Missing& m) {
      return m.missing == m.length % k || (m.missing == 0 && m.length < k);
    });
    // Where everything is wrong a large enough k always fits: some length has to try it.
    const bool tried =
        std::any_of(all.begin(), all.end(), [&](const Missing& m) { return m.missing && m.length >= k; });
    if (fits && tried) return k;
  }
  return 0;
}

// The largest power of two, from 32 on, that divides what is right of each wrong length; 0: there is none, or one end alone says so.
size_t block_of(const std::vector<Missing>& all) {
  size_t bits = 0;
  std::set<size_t> ends;
  for (const auto& m : all) {
    if (m.missing == 0 || m.missing == m.length) continue;
    bits |= m.length - m.missing;
    ends.insert(m.length - m.missing);
  }
  const size_t block = bits & (~bits + 1);
  return ends.size() >= 2 && block >= 32 ? block : 0;
}

std::string examples(const std::vector<Missing>& all) {
  std::string text;
  std::set<size_t> lengths;
  for (const auto& one : all) {
    if (one.missing == 0 || lengths.size() == 4 || !lengths.insert(one.length).second) continue;
    text += fmt::format("{}the last {} of {}", text.empty() ? "" : ", ", one.missing, one.length);
  }
  return text;
}

// What a plan's grid has to do with elements that are missing.
struct GridFacts {
  bool known = false;
  bool is_short = false;  // fewer CTAs than the elements need, in every wrong case
  std::string evidence;
};

GridFacts grid_facts(const std::vector<WrongCase>& cases, size_t output) {
  GridFacts facts;
  double most = 0;  // elements that a CTA gets right
  bool fewer = true, longer = true;
  for (const auto& one : cases) {
    if (one.ctas == 0 || output >= one.outputs.size()) return facts;
    const auto& out = one.outputs[output];
    most = std::max(most, static_cast<double>(out.counted - out.bad()) / static_cast<double>(one.ctas));
  }
  const WrongCase* example = nullptr;
  for (const auto& one : cases) {
    const auto& out = one.outputs[output];
    const bool less = one.baseline_ctas > 0 && one.ctas < one.baseline_ctas;
    if (out.bad() == 0) {
      // Small values may be right without being written.
      fewer = fewer && (!less || out.counted == 0 || !one.prepared->data.what.special.empty());
      continue;
    }
    fewer = fewer && less;
    longer = longer && static_cast<double>(out.counted) > most * static_cast<double>(one.ctas);
    if (!example) example = &one;
  }
  facts.known = example;
  facts.is_short = example && (fewer || longer);
  if (facts.is_short)
    facts.evidence = fmt::format(
        "; at {} {} CTA{} launched{}", example->label(), example->ctas, example->ctas == 1 ? " is" : "s are",
        example->baseline_ctas > example->ctas ? fmt::format(", {} by the kernel as it is", example->baseline_ctas)
                                               : "");
  return facts;
}

// Missing elements at an end of each length. `hollow`: nobody wrote them; a grid is to blame for nothing else.
std::optional<Diagnosis> name_missing(const std::vector<Missing>& all, std::string_view along, bool hollow,
                                      const GridFacts& grid) {
  const auto wrong =
      static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& m) { return m.missing; }));
  // Where all of it is missing nothing is known of where it ends.
  const bool partly =
      std::any_of(all.begin(), all.end(), [](const auto& m) { return m.missing && m.missing < m.length; });
  if (wrong == 0 || !partly) return std::nullopt;
  const auto right = all.size() - wrong;
  const size_t k = modulus(all);
  auto beyond = [&] {
    auto evidence = fmt::format("wrong are just the last {}s beyond a multiple of {}: {}", along, k, examples(all));
    if (right)
      evidence += fmt::format("; the {} cases whose number of {}s is a multiple of {} are right", right, along, k);
    return evidence;
  };
  if (hollow && grid.is_short)
    return Diagnosis{
        Pattern::grid,
        (k > 16 ? beyond() : fmt::format("the last {}s are missing: {}", along, examples(all))) + grid.evidence};
  const bool one_each = std::all_of(all.begin(), all.end(), [](const auto& m) { return m.missing <= 1; });
  const bool even_too =
      std::any_of(all.begin(), all.end(), [](const auto& m) { return m.length % 4 == 0 && m.missing; });
  // A CTA's size fits one element at one length as well; which it is shows in the grid alone.
  if (one_each && (even_too || k == 0 || (k > 16 && grid.known)))
    return Diagnosis{Pattern::off_by_one,
                     fmt::format("in {} cases just the last {} is wrong: {}", wrong, along, examples(all))};
  const bool halves = std::all_of(all.begin(), all.end(), [](const auto& m) {
    return m.length < 4 || (m.missing >= m.length / 2 && m.missing <= (m.length + 1) / 2);
  });
  if (hollow && halves && std::any_of(all.begin(), all.end(), [](const auto& m) { return m.length >= 4; }))
    return Diagnosis{Pattern::grid,
                     fmt::format("in each case the second half of the {}s is wrong: {}", along, examples(all))};
  if (k > 0 && k <= 16) return Diagnosis{Pattern::tail, beyond()};
  if (!hollow) return std::nullopt;
  if (k > 0) return Diagnosis{Pattern::grid, beyond()};
  const size_t block = block_of(all);
  if (block == 0) return std::nullopt;
  return Diagnosis{Pattern::grid,
                   fmt::format("what is right ends at a multiple of {} {}s: {}", block, along, examples(all))};
}

// Every way to cut an output's shape in two, the last dimensions as columns; then each dimension between the first and the last by
// itself.
std::vector<Cut> cuts_of(const std::vector<int64_t>& shape) {
  size_t all = 1;
  for (int64_t extent : shape) all *= static_cast<size_t>(extent);
  std::vector<Cut> cuts;
  if (all == 0) return cuts;
  size_t product = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    product *= static_cast<size_t>(shape[d]);
    cuts.push_back({all / product, product, 1});
  }
  size_t inner = 1;
  for (size_t d = shape.size(); d-- > 1;) {
    const auto extent = static_cast<size_t>(shape[d]);
    if (d + 1 < shape.size()) cuts.push_back({all / (extent * inner), extent, inner});
    inner *= extent;
  }
  return cuts;
}

// Rows or columns at the end, in every wrong case.
std::optional<Diagnosis> edges(const std::vector<WrongCase>& cases, size_t output, size_t cut, bool unwritten_only) {
  std::vector<Missing> rows, columns;
  bool any_row = false, any_column = false;
  size_t bad = 0, unwritten = 0;
  for (const auto& one : cases) {
    if (output >= one.outputs.size()) return std::nullopt;
    const auto& out = one.outputs[output];
    const auto cuts = cuts_of(out.shape);
    if (cut >= cuts.size() || (out.by_budget && !unwritten_only)) return std::nullopt;
    bad += unwritten_only ? out.unwritten : out.bad();
    unwritten += out.unwritten;
    const Table table = table_of(out, cuts[cut], unwritten_only);
    const auto edge = edge_of(table);
    if (!edge) return std::nullopt;
    any_row = any_row || edge->rows;
    any_column = any_column || edge->columns;
    rows.push_back({table.rows.size(), edge->rows});
    // Where every row is bad, nothing is known of the columns.
    if (edge->rows < table.rows.size()) columns.push_back({table.columns.size(), edge->columns});
  }
  const bool hollow = unwritten * 10 >= bad * 9;
  const auto grid = grid_facts(cases, output);
  if (any_column)
    if (auto found = name_missing(columns, "element", hollow, grid)) return found;
  const bool flat = cut + 1 == cases.front().outputs[output].shape.size();
  return any_row ? name_missing(rows, flat ? "element" : "row", hollow, grid) : std::nullopt;
}

// Good and bad by turns, in groups of one size.
std::optional<Diagnosis> periodic(const std::vector<WrongCase>& cases, size_t output) {
  for (size_t k : {2, 4, 8}) {
    std::vector<size_t> bad(k, 0), all(k, 0);
    size_t looked_at = 0;
    for (const auto& one : cases) {
      if (one.right || output >= one.outputs.size()) continue;
      const auto& out = one.outputs[output];
      if (out.state.size() < 2 * k) continue;
      ++looked_at;
      const auto row = static_cast<size_t>(out.shape.back());
      for (size_t i = 0; i < out.state.size(); ++i) {
        if (out.state[i] == ElementState::not_counted) continue;
        ++all[i % row % k];
        bad[i % row % k] += out.is_bad(i);
      }
    }
    if (looked_at == 0) continue;
    size_t good_classes = 0, bad_classes = 0;
    for (size_t r = 0; r < k; ++r) {
      good_classes += bad[r] * 20 <= all[r];
      bad_classes += bad[r] * 10 >= all[r] * 9;
    }
    if (good_classes + bad_classes != k || bad_classes == 0 || good_classes == 0) continue;
    return Diagnosis{Pattern::width,
                     fmt::format("of every {} neighbouring elements {} {} right and {} wrong, all along", k,
                                 good_classes, good_classes == 1 ? "is" : "are", bad_classes)};
  }
  return std::nullopt;
}

std::optional<Diagnosis> halves_of_elements(const std::vector<WrongCase>& cases, size_t output) {
  size_t half = 0, bad = 0;
  for (const auto& one : cases) {
    if (output >= one.outputs.size()) continue;
    half += one.outputs[output].half_written;
    bad += one.outputs[output].bad();
  }
  if (half == 0 || half * 10 < bad * 9) return std::nullopt;
  return Diagnosis{Pattern::width, fmt::format("of {} elements only some of the bytes were ever written", half)};
}

// Long runs of written and unwritten elements by turns, of one length each: every second CTA, or every third.
std::optional<Diagnosis> blocks(const std::vector<WrongCase>& cases, size_t output) {
  for (const auto& one : cases) {
    if (one.right || output >= one.outputs.size()) continue;
    const auto& out = one.outputs[output];
    if (out.unwritten != out.bad()) continue;
    // The last run may be cut off.
    std::set<size_t> good, missing;
    size_t start = 0, runs = 0;
    for (size_t i = 1; i < out.state.size(); ++i) {
      if (out.is_bad(i) == out.is_bad(start)) continue;
      (out.is_bad(start) ? missing : good).insert(i - start);
      start = i;
      ++runs;
    }
    if (runs < 3 || good.size() != 1 || missing.size() != 1) continue;
    // Whole rows, or blocks of a CTA's size.
    const auto unit = out.shape.size() > 1 ? static_cast<size_t>(out.shape.back()) : size_t{32};
    const size_t there = *good.begin(), gone = *missing.begin();
    if (std::min(there, gone) < 16 || there % unit != 0 || gone % unit != 0) continue;
    return Diagnosis{Pattern::grid,
                     fmt::format("{}: {} elements are written and {} are not, by turns", one.label(), there, gone)};
  }
  return std::nullopt;
}

std::optional<Diagnosis> first_only(const std::vector<WrongCase>& cases, size_t output, size_t cut) {
  size_t wrong = 0;
  for (const auto& one : cases) {
    if (output >= one.outputs.size()) return std::nullopt;
    const auto& out = one.outputs[output];
    const auto cuts = cuts_of(out.shape);
    if (cut >= cuts.size() || out.by_budget) return std::nullopt;
    if (out.bad() == 0) continue;
    const auto first = [&](size_t i) { return i / cuts[cut].inner % cuts[cut].extent == 0; };
    for (size_t i = 0; i < out.state.size(); ++i)
      if (out.state[i] != ElementState::not_counted && out.is_bad(i) != first(i)) return std::nullopt;
    wrong += out.state.size() > 2;
  }
  if (wrong < 2) return std::nullopt;
  return Diagnosis{Pattern::off_by_one,
                   fmt::format("in all {} cases just the first element of each row is wrong", wrong)};
}

// Zeros everywhere where something else belongs.
std::optional<Diagnosis> all_zero(const std::vector<WrongCase>& cases, size_t output) {
  size_t zeros = 0, bad = 0;
  for (const auto& one : cases) {
    if (output >= one.outputs.size() || one.right) continue;
    const auto& out = one.outputs[output];
    if (out.accumulates) return std::nullopt;
    for (size_t i = 0; i < out.state.size(); ++i) zeros += out.state[i] == ElementState::wrong && out.got[i] == 0;
    bad += out.bad();
  }
  if (zeros < 8 || zeros != bad) return std::nullopt;
  return Diagnosis{Pattern::unwritten, fmt::format("{} of {} wrong elements of '{}' are 0", zeros, bad,
                                                   cases.front().outputs[output].name)};
}

std::optional<Diagnosis> never_written(const std::vector<WrongCase>& cases, size_t output) {
  size_t unwritten = 0, bad = 0, counted = 0;
  for (const auto& one : cases) {
    if (output >= one.outputs.size() || one.right) continue;
    // What is counted begins at zero: only where nothing is counted at all nobody writes.
    const auto& got = one.outputs[output].got;
    if (one.outputs[output].accumulates && std::any_of(got.begin(), got.end(), [](double v) { return v != 0; }))
      return std::nullopt;
    unwritten += one.outputs[output].unwritten;
    bad += one.outputs[output].bad();
    counted += one.outputs[output].counted;
  }
  if (unwritten == 0 || unwritten * 10 < bad * 9) return std::nullopt;
  return Diagnosis{
      Pattern::unwritten,
      fmt::format("{} of {} elements of '{}' were never given a defined value, or kept what was there before",
                  unwritten, counted, cases.front().outputs[output].name)};
}

}  // namespace

std::optional<Diagnosis> diagnose_places(const std::vector<WrongCase>& cases) {
  if (cases.empty()) return std::nullopt;
  if (auto found = only_special(cases)) return found;
  for (size_t output = 0; output < cases.front().outputs.size(); ++output) {
    const size_t bad = [&] {
      size_t sum = 0;
      for (const auto& one : cases)
        if (output < one.outputs.size()) sum += one.outputs[output].bad();
      return sum;
    }();
    if (bad == 0) continue;
    if (auto found = halves_of_elements(cases, output)) return found;
    const size_t cuts = cuts_of(cases.front().outputs[output].shape).size();
    for (size_t cut = 0; cut < cuts; ++cut)
      if (auto found = edges(cases, output, cut, false)) return found;
    for (size_t cut = 0; cut < cuts; ++cut)
      if (auto found = first_only(cases, output, cut)) return found;
    if (auto found = periodic(cases, output)) return found;
    if (auto found = blocks(cases, output)) return found;
    // Where values are wrong besides, what nobody wrote may have a place all the same.
    for (size_t cut = 0; cut < cuts && !cases.front().outputs[output].accumulates; ++cut) {
      auto found = edges(cases, output, cut, true);
      if (!found) continue;
      found->evidence += "; other elements have wrong values besides";
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Diagnosis> diagnose_unwritten(const std::vector<WrongCase>& cases, bool zeros) {
  if (cases.empty()) return std::nullopt;
  for (size_t output = 0; output < cases.front().outputs.size(); ++output)
    if (auto found = zeros ? all_zero(cases, output) : never_written(cases, output)) return found;
  return std::nullopt;
}

}  // namespace ptxlab::judge
