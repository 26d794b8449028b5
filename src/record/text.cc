#include "record/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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
    if (++wrong <= kMaxWrongCases) out += fmt::format("  {}: {}\n", one.label, one.summary);
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

std::string estimate_text(const Verdict& verdict) {
  const Estimate& own = *verdict.estimate;
  std::string out = fmt::format("estimated, not measured: {} ({} bound, occupancy {:.0f} %)", time_of(own.nanoseconds),
                                own.bound_by, 100 * own.occupancy);
  if (verdict.baseline_estimate)
    out += fmt::format(", the baseline {}", time_of(verdict.baseline_estimate->nanoseconds));
  if (verdict.estimated_speedup) out += fmt::format(": {:.2f} times as fast", *verdict.estimated_speedup);
  return out + "\n";
}

}  // namespace

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
    if (!what->empty()) out.append(before).append(*what);
  }
  out += '\n';
  out += gate_table(verdict);
  for (const auto& gate : verdict.gates) out += findings_text(gate, options);
  if (!verdict.cases.empty()) out += cases_text(verdict);
  if (!verdict.resources.empty()) out += resources_text(verdict);
  if (verdict.estimate) out += estimate_text(verdict);
  if (!verdict.unexecuted_lines.empty())
    out += fmt::format("PTX lines that no case executed: {}\n", ranges(verdict.unexecuted_lines));
  return out;
}

}  // namespace ptxlab::record
