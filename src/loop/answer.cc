#include "loop/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/finding_json.h"
#include "record/json.h"
#include "record/timing_text.h"

namespace ptxlab::loop {
namespace {

// One comment line a sentence, so that a diff of two answers stays readable.
std::string gate_sentence(const record::Gate& gate, const record::Verdict& verdict) {
  switch (gate.name) {
    case record::GateName::check: return "syntax, types, state spaces and policy";
    case record::GateName::assemble: {
      std::vector<std::string> entries;
      for (const auto& r : verdict.resources) {
        entries.push_back(
            fmt::format("{}: {} registers, {} bytes spilled", r.entry, r.registers, r.spill_stores + r.spill_loads));
      }
      return fmt::format("assembled by ptxas for {} ({})", verdict.target, fmt::join(entries, "; "));
    }
    case record::GateName::emulate:
      return fmt::format("{} cases on the CPU engine with all checkers, results against {}", verdict.cases.size(),
                         verdict.oracle);
    case record::GateName::execute: return "run on a GPU";
    case record::GateName::time: return "timed on a GPU";
  }
  return "";
}

}  // namespace

std::string header_comment(const record::Attempt& attempt, const std::filesystem::path& kernel,
                           std::string_view version) {
  const auto& verdict = attempt.verdict;
  std::string out =
      fmt::format("// Made by ptxlab {} from {}: {}\n", version, kernel.filename().string(), attempt.candidate.idea);
  for (const auto& gate : verdict.gates) {
    switch (gate.status) {
      case record::GateStatus::passed: out += fmt::format("// checked: {}\n", gate_sentence(gate, verdict)); break;
      case record::GateStatus::skipped:
        out += fmt::format("// not checked: {} ({})\n", record::name_of(gate.name), gate.reason);
        break;
      case record::GateStatus::failed:
      case record::GateStatus::not_run: out += fmt::format("// not checked: {}\n", record::name_of(gate.name)); break;
    }
  }
  if (verdict.timing) {
    const auto own = record::over_first(*verdict.timing);
    out += fmt::format("// measured: {:.3f} times as fast as the original ({:.3f} to {:.3f}) on {}\n", own.speedup,
                       own.low, own.high, verdict.timing->device);
  } else if (verdict.estimated_speedup) {
    out +=
        fmt::format("// estimated, never measured: {:.2f} times as fast as the original\n", *verdict.estimated_speedup);
  }
  out += "// Test it on your GPU, with your own tests, before production.\n";
  return out;
}

base::Result<std::vector<std::filesystem::path>> write_best(const record::Attempt& attempt,
                                                            const std::filesystem::path& kernel,
                                                            const std::string& baseline_plan,
                                                            std::string_view version) {
  auto beside = [&](std::string_view ending) {
    auto file = kernel;
    return file.replace_extension(fmt::format(".unmeasured{}", ending));
  };
  std::vector<std::pair<std::filesystem::path, std::string>> files = {
      {beside(".ptx"), header_comment(attempt, kernel, version) + attempt.candidate.ptx},
      {beside(".plan.toml"), attempt.candidate.plan.value_or(baseline_plan)},
      {beside(".verdict.json"), base::print_json(record::to_json(attempt.verdict)) + "\n"},
  };
  std::vector<std::filesystem::path> written;
  for (const auto& [file, text] : files) {
    auto failed = base::write_file(file, text);
    if (base::has_error(failed)) {
      std::error_code ignored;
      for (const auto& path : written) std::filesystem::remove(path, ignored);
      return failed;
    }
    written.push_back(file);
  }
  return written;
}

}  // namespace ptxlab::loop
