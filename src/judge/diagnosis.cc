#include "judge/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "judge/approximations.h"
#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

struct Words {
  std::string_view name, code, hint;
};

const Words& words_of(Pattern pattern) {
  static constexpr std::array<Words, static_cast<size_t>(Pattern::kEnd)> kWords{{
      {"missing barrier or atomic", "CMP0201",
       "look where one thread reads what another has written: a barrier belongs between, and again before it is "
       "written "
       "anew; where several add to one place, an atomic"},
      {"special values", "CMP0202",
       "look at maxima and comparisons with NaN, at infinities that meet, at signs of zero, and at .ftz, which loses "
       "denormals"},
      {"tail", "CMP0203",
       "look at what is done with the last elements where the size is no multiple of a vector's width"},
      {"part of the grid missing", "CMP0204",
       "look at the plan's grid: it has to be rounded up (ceildiv), and to cover every element that a CTA's threads "
       "do"},
      {"off by one", "CMP0205",
       "look at the comparisons that end loops and guard accesses: < against <=, n against n - 1"},
      {"wrong width", "CMP0206",
       "look at the width of loads and stores and at what an index is multiplied by: both have to be the element's "
       "size"},
      {"unwritten elements", "CMP0207",
       "look for stores under a predicate or branch that is not always taken, and for values that come from nowhere"},
      {"rows and columns swapped", "CMP0208", "look at which index is multiplied by the length of a row"},
      {"shifted", "CMP0209", "look at constants in addresses, and at which of two neighbours an index means"},
      {"right values at wrong places", "CMP0210", "look at how the index of a result is computed, and at shuffles"},
      {"inputs exchanged", "CMP0211", "look at the order of the plan's arguments against the entry's parameters"},
      {"signedness", "CMP0212",
       "look at the types of loads, conversions, shifts and comparisons: .s8 against .u8, .s32 against .u32"},
      {"wrong scalar", "CMP0213", "look at which parameter is read where, and at the order of the plan's arguments"},
      {"constant factor", "CMP0214", "look for a factor that is left out, or applied twice"},
      {"constant offset", "CMP0215", "look for a summand that is left out, or added twice"},
      {"precision", "CMP0216", "keep sums in f32, and convert to the narrow type once, at the end"},
      {"wrong reduction", "CMP0217", "look at the sum or maximum over the row: terms are left out, or counted twice"},
      {"updates lost or made twice", "CMP0219",
       "look for work that no thread does, or two do: the ends of loops, what a later CTA does again, sums that "
       "replace others"},
      {"counts in a wrong bin", "CMP0220",
       "look at how the place of an update is made of the value: masks, shifts, and types"},
      {"an input left out", "CMP0221",
       "look at whether every input of the formula is used, and its value not replaced"},
      {"approximations beyond the budget", "CMP0218",
       "use the exact instruction, or mend its result by a step of Newton's method"},
  }};
  return kWords[static_cast<size_t>(pattern)];
}

// Races that the checkers prove; what a wrong result is then is anybody's guess.
std::optional<Diagnosis> diagnose_order(const DiagnosisInput& input) {
  static const std::set<std::string, std::less<>> kRaces{"CHK0001", "CHK0003", "CHK0004"};
  for (const auto& finding : input.findings) {
    if (finding.severity != base::Severity::error || !kRaces.contains(finding.code)) continue;
    // Two that store to one place and nobody who reads it: the place is wrong, not the order.
    if (finding.message.find("load") == std::string::npos && finding.message.find("atom") == std::string::npos)
      continue;
    return Diagnosis{Pattern::barrier, fmt::format("{}: {}", finding.code, finding.message)};
  }
  if (!input.differs_by_schedule) return std::nullopt;
  return Diagnosis{Pattern::barrier,
                   "the same case is right under one order of warps and CTAs and wrong under another"};
}

// Where values are coarse, and the candidate approximates what the kernel as it is does not.
void blame_approximations(const DiagnosisInput& input, Diagnosis& found) {
  if (!input.candidate || found.pattern != Pattern::precision) return;
  const auto list = new_approximations(*input.candidate, input.baseline.module);
  if (list.empty()) return;
  found.pattern = Pattern::approximation;
  found.evidence += fmt::format("; the kernel as it is has no {}", list);
}

}  // namespace

std::string_view name_of(Pattern pattern) { return words_of(pattern).name; }
std::string_view code_of(Pattern pattern) { return words_of(pattern).code; }

std::optional<Diagnosis> diagnose(const DiagnosisInput& input) {
  if (auto found = diagnose_order(input)) return found;
  const bool any = std::any_of(input.cases.begin(), input.cases.end(), [](const auto& one) { return !one.right; });
  if (!any) return std::nullopt;
  auto found = diagnose_places(input.cases);
  if (found && found->pattern == Pattern::special) {
    // A scalar may matter for special values alone: an epsilon.
    auto scalar = diagnose_by_trials(input);
    if (scalar && scalar->pattern == Pattern::scalar) found = std::move(scalar);
  }
  if (!found) found = diagnose_by_trials(input);
  if (!found) found = diagnose_unwritten(input.cases, false);
  if (!found) found = diagnose_values(input.task, input.cases);
  if (!found) found = diagnose_counts(input.cases);
  if (!found) found = diagnose_unwritten(input.cases, true);
  if (found) blame_approximations(input, *found);
  return found;
}

base::Finding finding_of(const Diagnosis& diagnosis) {
  const auto& words = words_of(diagnosis.pattern);
  return judge_finding(std::string(words.code).c_str(), base::Severity::warning,
                       fmt::format("looks like: {}. {}", words.name, diagnosis.evidence), std::string(words.hint));
}

}  // namespace ptxlab::judge
