#include "record/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/visible.h"
#include "record/timing_text.h"

namespace ptxlab::record {
namespace {

constexpr size_t kMaxWrongCases = 8;

// An outcome that is fine to use, one that says no, and one that says nothing of the candidate.
std::string_view tint(OutcomeName outcome) {
  switch (outcome) {
    case OutcomeName::faster:
    case OutcomeName::same:
    case OutcomeName::unverified: return "\x1b[1;32m";
    case OutcomeName::slower:
    case OutcomeName::unstable:
    case OutcomeName::infrastructure: return "\x1b[1;33m";
    case OutcomeName::malformed:
    case OutcomeName::rejected:
    case OutcomeName::faulted:
    case OutcomeName::wrong:
    case OutcomeName::cheating: return "\x1b[1;31m";
  }
  return "";
}

std::string duration(double milliseconds) {
  return milliseconds < 1000 ? fmt::format("{:.0f} ms", milliseconds) : fmt::format("{:.1f} s", milliseconds / 1000);
}

std::string time_of(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return fmt::format("{:.1f} us", nanoseconds / 1e3);
  return fmt::format("{:.2f} ms", nanoseconds / 1e6);
}

// "268 M", "1.5 k"
std::string count(double number) {
  if (number < 1e3) return fmt::format("{:.0f}", number);
  if (number < 1e6) return fmt::format("{:.1f} k", number / 1e3);
  if (number < 1e9) return fmt::format("{:.1f} M", number / 1e6);
  return fmt::format("{:.1f} G", number / 1e9);
}
std::string amount(double bytes) {
  std::string out = count(bytes);
  return out + (out.back() >= 'A' ? "B" : " B");
}

std::string gate_table(const Verdict& verdict) {
  std::string out;
  for (const auto& gate : verdict.gates) {
    std::string time = gate.milliseconds > 0 ? duration(gate.milliseconds) : "";
    std::string line =
        fmt::format("  {:<9} {:<8} {:>8}  {}", name_of(gate.name),
                    gate.status == GateStatus::not_run ? "not run" : name_of(gate.status), time, gate.reason);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string findings_text(const Gate& gate, const TextOptions& options) {
  std::string out;
  // Errors first: the first lines are those that are read.
  std::vector<const base::Finding*> ordered;
  for (const auto& finding : gate.findings) ordered.push_back(&finding);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) {
    return static_cast<int>(a->severity) > static_cast<int>(b->severity);
  });
  for (size_t i = 0; i < std::min(ordered.size(), options.max_findings); ++i) {
    std::string_view source;
    for (const auto& [file, content] : options.sources) {
      if (file == ordered[i]->place.file) source = content;
    }
    out += base::render(*ordered[i], source, options.color);
  }
  if (ordered.size() > options.max_findings) {
    out += fmt::format("... and {} more findings of the {} gate\n", ordered.size() - options.max_findings,
                       name_of(gate.name));
  }
  return out;
}

std::string cases_text(const Verdict& verdict) {
  std::string out;
  size_t wrong = 0;
  for (const auto& one : verdict.cases) {
    if (one.right) continue;
    if (++wrong <= kMaxWrongCases) out += fmt::format("  {}: {}\n", one.label, base::visible_lines(one.summary));
  }
  if (wrong > kMaxWrongCases) out += fmt::format("  ... and {} more\n", wrong - kMaxWrongCases);
  std::string head = fmt::format("{} of {} cases right", verdict.cases.size() - wrong, verdict.cases.size());
  if (!verdict.oracle.empty()) head += "; right is what this says: " + verdict.oracle;
  return head + "\n" + out;
}

std::string resources_text(const Verdict& verdict) {
  std::string out = fmt::format("  {:<24} {:>9} {:>7} {:>7} {:>7} {:>8} {:>9}\n", "entry", "registers", "spills",
                                "stack", "shared", "barriers", "code");
  for (const auto& r : verdict.resources) {
    out += fmt::format("  {:<24} {:>9} {:>7} {:>7} {:>7} {:>8} {:>9}\n", r.entry, r.registers,
                       r.spill_stores + r.spill_loads, r.stack, r.shared, r.barriers, r.code_bytes);
  }
  return out;
}

std::string sass_text(const Verdict& verdict) {
  std::string out;
  for (const auto& facts : verdict.sass) {
    auto lines = toolchain::sass_lines(facts);
    out += fmt::format("machine code{}: {}\n", verdict.sass.size() > 1 ? " of " + facts.entry : "", lines[0]);
    for (size_t i = 1; i < lines.size(); ++i) out += "  " + lines[i] + "\n";
  }
  return out;
}

// The three parts that matter most: "a value from DRAM 54 %, a busy pipe 11 %".
template <class Show>
std::string longest(const std::vector<Estimate::Part>& parts, const Show& show) {
  std::string out;
  for (size_t i = 0; i < parts.size() && i < 3; ++i)
    out += fmt::format("{}{} {}", i ? ", " : "", parts[i].name, show(parts[i].value));
  return out;
}

std::string estimate_text(const Verdict& verdict) {
  const Estimate& own = *verdict.estimate;
  std::string out = fmt::format("estimated, not measured: {} (bound by {})", time_of(own.nanoseconds), own.bound_by);
  if (verdict.baseline_estimate)
    out += fmt::format(", the baseline {} (bound by {})", time_of(verdict.baseline_estimate->nanoseconds),
                       verdict.baseline_estimate->bound_by);
  if (verdict.estimated_speedup)
    out +=
        fmt::format(": {:.2f} times as fast, give or take {:.0f} %", *verdict.estimated_speedup, 100 * own.uncertainty);
  out += '\n';
  if (own.resident_ctas > 0) {
    if (!own.size.empty()) out += fmt::format("  mostly at {}, {}:\n", own.size, time_of(own.size_ns));
    out += fmt::format("  on {}: {} CTA{} an SM (occupancy {:.0f} %, limited by {}), {:.1f} waves", own.device,
                       own.resident_ctas, own.resident_ctas == 1 ? "" : "s", 100 * own.occupancy, own.occupancy_limit,
                       own.waves);
    if (own.tail >= 0.005) out += fmt::format(", {:.0f} % of the SMs' time unused", 100 * own.tail);
    out += '\n';
  }
  if (!own.limits.empty())
    out += fmt::format("  each alone: {}; launches {}\n", longest(own.limits, time_of), time_of(own.launch_ns));
  if (!own.waits.empty())
    out += fmt::format("  warps wait for: {}\n",
                       longest(own.waits, [](double share) { return fmt::format("{:.0f} %", 100 * share); }));
  if (own.dram_bytes + own.l2_bytes > 0)
    out += fmt::format("  bytes: {} from and to DRAM, {} through L2, {} found in L1\n", amount(own.dram_bytes),
                       amount(own.l2_bytes), amount(own.l1_hit_bytes));
  if (own.bank_conflicts >= 1 || own.scattered_passes >= 1)
    out += fmt::format("  more passes than needed: {} by bank conflicts, {} by scattered addresses\n",
                       count(own.bank_conflicts), count(own.scattered_passes));
  for (const auto& guess : own.assumptions) out += fmt::format("  assumed: {}\n", guess);
  return out;
}

}  // namespace

std::string counters_text(const Counters& counters) {
  auto shown = [](const Counters::Counter& one, double value) {
    if (one.unit == "B") return amount(value);
    if (one.unit == "%") return fmt::format("{:.1f} %", value);
    return one.unit.empty() ? count(value) : fmt::format("{:.2f}", value);
  };
  std::string out = fmt::format("counters at {}, the candidate's and (the baseline's):\n", counters.size);
  for (const auto& one : counters.list) {
    out += fmt::format("  {:<30} {:>10}", one.name, shown(one, one.candidate));
    if (one.baseline) out += fmt::format(" ({})", shown(one, *one.baseline));
    out += "\n";
  }
  return out;
}

std::string ranges(const std::vector<uint32_t>& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size();) {
    size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1] == lines[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += last == i ? fmt::format("{}", lines[i]) : fmt::format("{}-{}", lines[i], lines[last]);
    i = last + 1;
  }
  return out;
}

std::string text(const Verdict& verdict, const TextOptions& options) {
  std::string word(name_of(verdict.outcome));
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string out = options.color ? fmt::format("{}{}\x1b[0m", tint(verdict.outcome), word) : word;
  for (const auto& [before, what] :
       {std::pair{" ", &options.name}, {" on ", &verdict.task}, {" for ", &verdict.target}, {": ", &verdict.reason}}) {
    if (!what->empty()) out.append(before).append(base::visible_lines(*what));
  }
  out += '\n';
  out += gate_table(verdict);
  for (const auto& gate : verdict.gates) out += findings_text(gate, options);
  if (!verdict.cases.empty()) out += cases_text(verdict);
  if (!verdict.resources.empty()) out += resources_text(verdict);
  out += sass_text(verdict);
  if (verdict.counters) out += counters_text(*verdict.counters);
  if (verdict.timing) out += timing_text(*verdict.timing);
  if (verdict.estimate) out += estimate_text(verdict);
  if (!verdict.unexecuted_lines.empty())
    out += fmt::format("PTX lines that no case executed: {}\n", ranges(verdict.unexecuted_lines));
  return out;
}

}  // namespace ptxlab::record
