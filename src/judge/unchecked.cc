#include "judge/unchecked.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

using base::Severity;

// Estimates count the traffic of a few CTAs: only what is far below the floor means something.
constexpr double kShareOfFloor = 0.6;

// A statement of a function, by name and index.
using Ran = std::set<std::pair<std::string, size_t>>;

Ran statements_of(const analysis::Profile& profile) {
  Ran ran;
  for (const auto& function : profile.functions)
    for (size_t i = 0; i < function.statements.size(); ++i)
      if (function.statements[i].warps > 0) ran.insert({function.function, i});
  return ran;
}

// "45", "45 to 52", "45 to 52 and 60": lines that follow one another in the text, the rest counted.
std::string text_of(const std::set<uint32_t>& lines) {
  std::vector<std::pair<uint32_t, uint32_t>> runs;
  for (uint32_t line : lines) {
    if (!runs.empty() && line - runs.back().second <= 1) {
      runs.back().second = line;
    } else {
      runs.emplace_back(line, line);
    }
  }
  std::string text;
  for (size_t i = 0; i < runs.size() && i < 3; ++i) {
    text += i == 0 ? "" : ", ";
    text += runs[i].first == runs[i].second ? std::to_string(runs[i].first)
                                            : fmt::format("{} to {}", runs[i].first, runs[i].second);
  }
  if (runs.size() > 3) text += fmt::format(" and {} further places", runs.size() - 3);
  return text;
}

void lines(const UncheckedInput& input, base::Findings& findings) {
  const Ran checked = statements_of(input.checked), timed = statements_of(input.timed.profile);
  std::set<uint32_t> only;
  const ptx::Statement* first = nullptr;
  for (const auto& [name, index] : timed) {
    if (checked.count({name, index})) continue;
    const ptx::Function* function = input.module.function(name);
    if (!function || index >= function->body.size()) continue;
    const ptx::Statement& statement = function->body[index];
    const ptx::Instruction* instruction = statement.instruction();
    if (!instruction) continue;
    only.insert(instruction->line);
    if (!first || instruction->line < first->instruction()->line) first = &statement;
  }
  if (only.empty()) return;
  findings.push_back(
      judge_finding("JDG0070", Severity::warning,
                    fmt::format("line{} {} run{} at the timed sizes and in no case: nothing has checked {}",
                                only.size() == 1 ? "" : "s", text_of(only), only.size() == 1 ? "s" : "",
                                only.size() == 1 ? "it" : "them"),
                    "a size under [sizes] emulate that takes this way, or a GPU, which compares at the timed sizes",
                    base::place_of(input.module.source, first->span, input.module.file)));
}

// Which of the plan's launches a size takes; nothing where the plan does not fit.
std::optional<std::set<uint32_t>> choice(const UncheckedInput& input, const task::CaseData& data) {
  std::vector<uint32_t> which;
  if (!launch::resolve(input.plan, input.module, data.binding, &which)) return std::nullopt;
  return std::set<uint32_t>(which.begin(), which.end());
}

void launches(const UncheckedInput& input, base::Findings& findings) {
  const auto& all = input.plan.launches;
  if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.when || !one.loops.empty(); })) return;
  std::set<std::set<uint32_t>> seen;
  for (const auto& one : input.prepared.cases)
    if (auto taken = choice(input, one.data)) seen.insert(*taken);
  for (const auto& data : input.prepared.timed) {
    auto taken = choice(input, data);
    if (!taken || seen.count(*taken)) continue;
    findings.push_back(judge_finding(
        "JDG0071", Severity::warning,
        fmt::format("at {} the plan takes {} of its {} launches together as no case does: nothing has checked that",
                    data.what.label(), taken->size(), all.size()),
        "a size under [sizes] emulate that makes the same choice", all.front().place));
    return;
  }
}

void traffic(const UncheckedInput& input, base::Findings& findings) {
  const task::Task& task = input.prepared.task;
  if (!task.floor_bytes) return;
  for (size_t i = 0; i < input.prepared.timed.size() && i < input.timed.l2_bytes.size(); ++i) {
    const auto& sizes = input.prepared.timed[i].what.sizes;
    auto floor = task.floor_bytes->evaluate([&](std::string_view name) -> std::optional<int64_t> {
      auto at = sizes.find(std::string(name));
      return at == sizes.end() ? std::nullopt : std::optional<int64_t>(at->second);
    });
    if (!floor || input.timed.l2_bytes[i] >= kShareOfFloor * static_cast<double>(*floor)) continue;
    findings.push_back(judge_finding(
        "JDG0073", Severity::warning,
        fmt::format(
            "at {} about {:.3g} bytes go between the SMs and L2, and the task has to move {}: part of the work is "
            "left out, or the estimate is wrong",
            input.prepared.timed[i].what.label(), input.timed.l2_bytes[i], *floor),
        "look at the grid and the conditions of the plan at this size"));
    return;
  }
}

}  // namespace

base::Findings unchecked_when_timed(const UncheckedInput& input) {
  base::Findings findings;
  lines(input, findings);
  launches(input, findings);
  traffic(input, findings);
  return findings;
}

}  // namespace ptxlab::judge
