// ptxlab check: parses and verifies PTX files; no toolkit, no GPU.
#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/finding_json.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "ptx/verifier.h"

namespace ptxlab::cli {
namespace {

size_t count(const base::Findings& findings, base::Severity severity) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const auto& f) { return f.severity == severity; }));
}

std::string plural(size_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

std::string summary(const std::string& file, const base::Findings& findings) {
  size_t errors = count(findings, base::Severity::error), warnings = count(findings, base::Severity::warning);
  std::string counts;
  if (errors) counts += ": " + plural(errors, "error");
  if (warnings) counts += (errors ? ", " : ": ") + plural(warnings, "warning");
  return fmt::format("{}: {}{}\n", file, errors ? "not accepted" : "accepted", counts);
}

}  // namespace

int check(Words words) {
  std::vector<std::string> files;
  bool json = false;
  Options options("check", "Parses and verifies PTX files: syntax, names, types, widths, state spaces, targets.",
                  "ptxlab check kernel.ptx\nptxlab check --json *.ptx");
  options.arguments("FILE", files, "PTX files; - is the standard input");
  options.flag("--json", json, "Print one JSON object (ptxlab.check/1)");
  if (auto code = options.parse(words)) return *code;

  nlohmann::json list = nlohmann::json::array();
  bool all_accepted = true, all_read = true;
  for (const auto& file : files) {
    auto source = base::read_file(file == "-" ? "/dev/stdin" : file);
    base::Findings findings = source.ok() ? ptx::check(*source, file).findings : source.findings();
    bool accepted = !base::has_error(findings);
    all_read = all_read && source.ok();
    all_accepted = all_accepted && accepted;
    if (json) {
      list.push_back({{"file", file}, {"accepted", accepted}, {"findings", base::to_json(findings)}});
    } else {
      print_findings(findings, source.ok() ? std::string_view(*source) : std::string_view());
      print(summary(file, findings));
    }
  }
  if (json) print_json({{"schema", "ptxlab.check/1"}, {"files", std::move(list)}});
  return !all_read ? kExitWrongUse : all_accepted ? kExitDone : kExitNo;
}

}  // namespace ptxlab::cli
