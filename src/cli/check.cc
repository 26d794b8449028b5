// ptxlab check: parses and verifies PTX files, and mends them where asked; no toolkit, no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "analysis/pressure.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "ptx/mend.h"

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

nlohmann::json to_json(const std::vector<base::Edit>& edits) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& edit : edits)
    list.push_back({{"begin", edit.span.begin}, {"end", edit.span.end}, {"text", edit.text}});
  return list;
}

// What becomes of the text: on stdout, in another file, in its place.
struct Fixing {
  bool on = false, in_place = false;
  std::string out;
};

std::string mend_lines(const base::Findings& mended) {
  std::string lines;
  for (const auto& finding : mended)
    lines += fmt::format("{}:{}:{}: mended[{}]: {}\n", finding.place.file, finding.place.line, finding.place.column,
                         finding.code, finding.message);
  return lines;
}

// Mends one file. Its text goes to stdout, and then the report to stderr.
int fix(const std::string& file, const std::string& source, const Fixing& fixing, bool json, nlohmann::json& list) {
  ptx::Mended mended = ptx::mend(source, file);
  std::string target = fixing.in_place ? file : fixing.out;
  bool to_stdout = target.empty() || target == "-";
  bool unchanged = fixing.in_place && mended.edits.empty();
  if (!to_stdout && !unchanged) {
    if (auto trouble = base::write_file(target, mended.text); !trouble.empty()) return refuse(trouble);
  }
  if (json) {
    nlohmann::json object = {{"file", file},
                             {"accepted", mended.ok()},
                             {"mended", base::to_json(mended.mended)},
                             {"edits", to_json(mended.edits)},
                             {"findings", base::to_json(mended.left)}};
    if (to_stdout) object["text"] = mended.text;
    list.push_back(std::move(object));
    return mended.ok() ? kExitDone : kExitNo;
  }
  std::string report =
      mend_lines(mended.mended) + base::render(mended.left, mended.text, colour_on_stdout()) +
      fmt::format("{}, {} mended\n", summary(file, mended.left).substr(0, summary(file, mended.left).size() - 1),
                  mended.mended.size());
  if (to_stdout) {
    print(mended.text);
    fmt::print(stderr, "{}", report);
  } else {
    print(report);
  }
  return mended.ok() ? kExitDone : kExitNo;
}

// What check says, and of a legal text how many registers it needs.
base::Findings findings_of(const std::string& source, const std::string& file) {
  ptx::Checked checked = ptx::check_with_fixes(source, file);
  if (!checked.ok()) return checked.findings;
  for (auto& finding : analysis::register_overflow(checked.module)) checked.findings.push_back(std::move(finding));
  return checked.findings;
}

size_t errors_in(const base::Findings& findings) {
  return static_cast<size_t>(std::count_if(
      findings.begin(), findings.end(), [](const auto& finding) { return finding.severity == base::Severity::error; }));
}

// How many of the errors --fix would put right: one mend (a bank declared, a label spelt) often settles several.
std::string fixable(const base::Findings& findings, std::string_view source, std::string_view file) {
  const bool any = std::any_of(findings.begin(), findings.end(), [](const auto& finding) {
    return finding.severity == base::Severity::error && !finding.fix.empty();
  });
  if (!any) return "";
  const size_t before = errors_in(findings), after = errors_in(ptx::mend(source, file).left);
  const size_t certain = before - std::min(before, after);
  return certain == 0 ? ""
                      : fmt::format("{} a certain mend: --fix\n",
                                    certain == 1 ? "1 error has" : fmt::format("{} errors have", certain));
}

}  // namespace

int check(Words words) {
  std::vector<std::string> files;
  bool json = false;
  Fixing fixing;
  Options options("check", "Parses and verifies PTX files: syntax, names, types, widths, state spaces, targets.",
                  "ptxlab check kernel.ptx\nptxlab check --json *.ptx\nptxlab check --fix --in-place kernel.ptx");
  options.arguments("FILE", files, "PTX files; - is the standard input");
  options.flag("--json", json, "Print one JSON object (ptxlab.check/1)");
  options.flag("--fix", fixing.on, "Mend what has one certain mend, and print the mended text");
  options.value("--out", "FILE", fixing.out, "With --fix: write the mended text to FILE");
  options.flag("--in-place", fixing.in_place, "With --fix: write the mended text back to its own file");
  if (auto code = options.parse(words)) return *code;
  bool standard_input = std::find(files.begin(), files.end(), "-") != files.end();
  if ((fixing.in_place || !fixing.out.empty()) && !fixing.on)
    return refuse("CLI0060", "--out and --in-place go with --fix", "ptxlab check --fix --in-place FILE");
  if (fixing.in_place && (!fixing.out.empty() || standard_input))
    return refuse("CLI0060", "--in-place writes to the file itself: it goes neither with --out nor with -", "");
  if (fixing.on && files.size() > 1 && !fixing.in_place && !json)
    return refuse("CLI0060", "--fix prints one mended text, here are several files",
                  "mend one at a time, or --in-place");
  if (!fixing.out.empty() && files.size() > 1) return refuse("CLI0060", "--out takes one file", "");

  nlohmann::json list = nlohmann::json::array();
  bool all_accepted = true, all_read = true;
  for (const auto& file : files) {
    auto source = base::read_file(file == "-" ? "/dev/stdin" : file);
    if (fixing.on && source.ok()) {
      int code = fix(file, *source, fixing, json, list);
      if (code != kExitDone && code != kExitNo) return code;
      all_accepted = all_accepted && code == kExitDone;
      continue;
    }
    base::Findings findings = source.ok() ? findings_of(*source, file) : source.findings();
    bool accepted = !base::has_error(findings);
    all_read = all_read && source.ok();
    all_accepted = all_accepted && accepted;
    if (json) {
      list.push_back({{"file", file}, {"accepted", accepted}, {"findings", base::to_json(findings)}});
    } else {
      print_findings(findings, source.ok() ? std::string_view(*source) : std::string_view());
      print(summary(file, findings) + (source.ok() ? fixable(findings, *source, file) : ""));
    }
  }
  if (json) print_json({{"schema", "ptxlab.check/1"}, {"files", std::move(list)}});
  return !all_read ? kExitWrongUse : all_accepted ? kExitDone : kExitNo;
}

}  // namespace ptxlab::cli
