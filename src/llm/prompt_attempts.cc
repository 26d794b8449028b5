// Earlier attempts as a question shows them: what came of each, and what was found.
#include <algorithm>
#include <cmath>

#include "llm/prompt_data.h"
#include "llm/prompt_kernel.h"
#include "llm/prompt_values.h"
#include "record/text.h"
#include "record/timing_text.h"

namespace ptxlab::llm {
namespace {

// What the gates said, errors first; more than a dozen say no more than the first.
std::string findings_of(const record::Earlier& earlier) {
  constexpr size_t kMost = 12;
  base::Findings all;
  for (const auto& gate : earlier.verdict.gates) all.insert(all.end(), gate.findings.begin(), gate.findings.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.severity > b.severity; });
  std::string text;
  for (size_t i = 0; i < all.size() && i < kMost; ++i) {
    const auto& place = all[i].place.file;
    bool plan = place.ends_with(".toml"), answer = place.ends_with(".md");
    const std::string& source = answer                           ? earlier.candidate.answer
                                : plan && earlier.candidate.plan ? *earlier.candidate.plan
                                                                 : earlier.candidate.ptx;
    text += base::render(all[i], source);
  }
  if (all.size() > kMost) text += fmt::format("and {} more\n", all.size() - kMost);
  return trimmed(std::move(text));
}

// Where it was measured: the speed-up with its interval, over all sizes and by size, beside the baseline's own time.
std::string measured(const record::Verdict& verdict) {
  if (!verdict.timing) return "";
  const auto& timing = *verdict.timing;
  std::string text = fmt::format("{} on {}", record::speedup_text(timing), timing.device);
  for (const auto& one : timing.sizes) {
    text += fmt::format("; at {} {} against {} of {}, {}", one.size, record::microseconds_text(one.candidate_us),
                        record::microseconds_text(one.baseline_us), one.baseline,
                        record::speedup_text(one.speedup, one.low, one.high));
    if (!one.reason.empty()) text += fmt::format(" ({})", one.reason);
  }
  return text;
}

// "tile: 40 registers a thread, nothing spilled, 4096 bytes of shared memory, 5120 bytes of code".
std::string resources_of(const record::Verdict& verdict) {
  std::vector<std::string> all;
  for (const auto& one : verdict.resources) {
    const int spilled = one.spill_stores + one.spill_loads;
    all.push_back(fmt::format(
        "{}: {} registers a thread, {}, {} bytes of static shared memory, {} bytes of code", one.entry, one.registers,
        spilled ? fmt::format("{} bytes spilled", spilled) : "nothing spilled", one.shared, one.code_bytes));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

data attempt_of(const record::Earlier& earlier, size_t number) {
  data item;
  item.set("number", fmt::format("{}", number));
  item.set("name", earlier.candidate.name);
  item.set("outcome", std::string(record::name_of(earlier.verdict.outcome)));
  item.set("reason", earlier.verdict.reason);
  set_or_false(item, "idea", earlier.candidate.idea);
  // An estimate only where nothing was measured.
  const auto& verdict = earlier.verdict;
  set_or_false(item, "measured", measured(verdict));
  const bool shown = !verdict.timing && verdict.estimated_speedup;
  set_or_false(item, "estimate", shown ? fmt::format("{:.2f}", *verdict.estimated_speedup) : "");
  set_or_false(item, "resources", resources_of(verdict));
  set_or_false(item, "machine_code", machine_code(verdict.sass, ""));
  set_or_false(item, "counters", verdict.counters ? trimmed(record::counters_text(*verdict.counters)) : "");
  std::string findings = findings_of(earlier);
  set_bool(item, "has_findings", !findings.empty());
  item.set("findings", findings);
  const bool cuda = !earlier.candidate.cuda.empty();
  set_or_false(item, "ptx", trimmed(cuda ? earlier.candidate.cuda : earlier.candidate.ptx));
  set_or_false(item, "plan", trimmed(earlier.candidate.plan.value_or("")));
  return item;
}

}  // namespace

std::vector<size_t> most_telling(const std::vector<record::Earlier>& earlier) {
  std::vector<size_t> order;
  for (size_t i = earlier.size(); i-- > 0;) order.push_back(i);
  // Measured before estimated, right before wrong, and then the newest.
  auto speed = [&](size_t i) {
    const auto& verdict = earlier[i].verdict;
    if (!record::is_right(verdict.outcome)) return std::pair(0, 0.0);
    return verdict.timing ? std::pair(2, verdict.timing->low) : std::pair(1, verdict.estimated_speedup.value_or(1));
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return speed(a) > speed(b); });
  return order;
}

void add_earlier(data& values, const record::Brief& brief, const record::Ask& ask, const std::vector<size_t>& shown) {
  data list(data::type::list);
  for (size_t i : shown) list.push_back(attempt_of(brief.earlier[i], i + 1));
  const size_t others = brief.earlier.size() - (ask.about && *ask.about < brief.earlier.size() ? 1 : 0);
  set_bool(values, "has_earlier", others > 0);
  values.set("earlier", list);
  const size_t missing = others - shown.size();
  values.set("left_out", missing ? fmt::format("{} more are not shown.", missing) : "");
}

void add_focus(data& values, const record::Brief& brief, const record::Ask& ask) {
  if (!ask.about || *ask.about >= brief.earlier.size()) {
    set_bool(values, "focus", false);
    return;
  }
  const auto& earlier = brief.earlier[*ask.about];
  data item = attempt_of(earlier, *ask.about + 1);
  // The answer itself where there is nothing else to show.
  set_or_false(item, "answer", earlier.candidate.ptx.empty() ? trimmed(earlier.candidate.answer) : "");
  // Where work is matters once it is right.
  const bool right = record::is_right(earlier.verdict.outcome) && earlier.candidate.cuda.empty();
  add_hot_lines(item, right ? earlier.verdict.profile : std::nullopt, earlier.candidate.ptx, {});
  data list(data::type::list);
  list.push_back(item);
  values.set("focus", list);
}

}  // namespace ptxlab::llm
