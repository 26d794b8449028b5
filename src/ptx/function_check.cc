#include "ptx/function_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/nearest.h"

namespace ptxlab::ptx {
namespace {

// Manual: "Performance-Tuning Directives", "Cluster Dimension Directives", ".noreturn", "ABI Preserve Directives".
struct Known {
  std::string_view word;
  int least, most;  // numbers behind it
  isa::Gate gate;
  std::string_view excludes;  // another directive that may not stand beside it
};
constexpr isa::Gate since(isa::PtxVersion version, uint16_t sm) {
  isa::Gate gate;
  gate.ptx_since = version;
  gate.sm_since = sm;
  return gate;
}
constexpr Known kKnown[] = {
    {".maxntid", 1, 3, {}, ".reqntid"},
    {".reqntid", 1, 3, {}, ".maxntid"},
    {".maxnreg", 1, 1, {}, ""},
    {".minnctapersm", 1, 1, {}, ""},
    {".noreturn", 0, 0, since(64, 30), ""},
    {".pragma", 0, 0, {}, ""},
    {".explicitcluster", 0, 0, since(78, 90), ""},
    {".reqnctapercluster", 1, 3, since(78, 90), ".maxclusterrank"},
    {".maxclusterrank", 1, 1, since(78, 90), ".reqnctapercluster"},
    {".blocksareclusters", 0, 0, since(90, 90), ""},
    {".abi_preserve", 1, 1, since(90, 80), ""},
    {".abi_preserve_control", 1, 1, since(90, 80), ""},
    {".language", 0, 1, {}, ""},
};

// A thread has 255 registers at most. ptxas ignores a greater .maxnreg, with a warning, and refuses 0.
void check_register_limit(const Function& function, std::string_view word, Span span, Report& report) {
  constexpr uint32_t kMost = 255;
  if (word != ".maxnreg") return;
  std::vector<uint32_t> numbers = function.directive(word);
  if (numbers.empty()) return;
  if (numbers[0] == 0) {
    report.error(Code::bad_directive, span, ".maxnreg takes a positive number");
  } else if (numbers[0] > kMost) {
    report.warning(Code::register_overflow, span,
                   fmt::format("a thread has at most {} registers: .maxnreg {} says nothing", kMost, numbers[0]),
                   "ptxas ignores it; leave it out, or name the limit that is meant");
  }
}

std::string_view word_of(std::string_view directive) { return directive.substr(0, directive.find_first_of(" \t\r\n")); }

}  // namespace

std::optional<isa::Gate> directive_gate(std::string_view word) {
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& each) { return each.word == word; });
  return known == std::end(kKnown) ? std::nullopt : std::optional(known->gate);
}

void report_unknown_directive(Report& report, std::string_view word, Span span, std::span<const std::string_view> known,
                              std::string_view hint) {
  auto near = word.size() < 64 ? base::nearest(word, known) : "";
  std::vector<base::Edit> fix;
  if (!near.empty() && base::edit_distance(near, word) == 1) fix.push_back({span, near});
  report.add(Code::unknown_directive, base::Severity::error, span, "there is no directive " + quoted(word),
             near.empty() ? std::string(hint) : "did you mean " + near + "?", std::move(fix));
}

void check_function_directive(const Function& function, size_t index, Span span, isa::PtxVersion version,
                              const isa::Target& target, Report& report) {
  std::string_view word = word_of(function.directives[index]);
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& each) { return each.word == word; });
  if (word == ".maxnctapersm") {
    report.error(Code::unknown_directive, span, ".maxnctapersm is gone from PTX", "use .minnctapersm");
    return;
  }
  if (known == std::end(kKnown)) {
    std::vector<std::string_view> words;
    for (const Known& each : kKnown) words.push_back(each.word);
    report_unknown_directive(report, word, span, words, "");
    return;
  }
  auto numbers =
      static_cast<int>(std::count(function.directives[index].begin(), function.directives[index].end(), ',')) +
      (function.directives[index].size() > word.size() ? 1 : 0);
  if (word != ".pragma" && (numbers < known->least || numbers > known->most)) {
    report.error(Code::bad_directive, span,
                 known->least == known->most
                     ? fmt::format("{} takes {} numbers, not {}", word, known->least, numbers)
                     : fmt::format("{} takes {} to {} numbers, not {}", word, known->least, known->most, numbers));
  }
  check_register_limit(function, word, span, report);
  for (size_t i = 0; i < index && !known->excludes.empty(); ++i) {
    if (word_of(function.directives[i]) != known->excludes) continue;
    report.error(Code::bad_directive, span, fmt::format("{} and {} exclude each other", known->excludes, word),
                 "keep one of them");
    break;
  }
  if (version == 0 || target.sm == 0) return;
  if (auto refusal = isa::refusal(known->gate, version, target); !refusal.empty())
    report.error(Code::gate, span, fmt::format("{} {}", word, refusal));
}

void check_signature(const Function& function, Report& report) {
  for (const Variable& parameter : function.parameters) {
    auto wrong = [&](std::string_view what, std::string_view hint) {
      report.error(Code::bad_declaration, parameter.span, fmt::format("{} {}", quoted(parameter.name), what),
                   std::string(hint));
    };
    if (function.entry && parameter.space == isa::Space::reg)
      wrong("is a kernel's parameter: it lies in .param", "write .param");
    if (function.entry && !parameter.dims.empty() && parameter.dims[0] == 0) wrong("has no size", "give its dimension");
    if (parameter.space == isa::Space::param && parameter.vector > 1)
      wrong("cannot be a vector", "declare .align 16 .b8 name[16] and load it with ld.param.v4");
  }
  if (function.results.size() < 2) return;
  for (const Variable& result : function.results) {
    if (result.space != isa::Space::param) continue;
    report.error(Code::bad_declaration, result.span, "several results lie in registers",
                 "return one .param of bytes, or .reg results");
    return;
  }
}

}  // namespace ptxlab::ptx
