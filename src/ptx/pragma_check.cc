#include "ptx/pragma_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace ptxlab::ptx {
namespace {

// Manual, "Pragma Strings"; the versions and places are those at which ptxas takes them.
struct Known {
  std::string_view name;
  isa::PtxVersion since;
  bool argument;  // needs one
  bool anywhere;  // outside bodies too
};
constexpr Known kKnown[] = {
    {"nounroll", 20, false, true},
    {"used_bytes_mask", 83, true, false},
    {"enable_smem_spilling", 87, false, false},
    {"frequency", 90, true, false},
};
// What newer versions add is not called unknown.
constexpr isa::PtxVersion kNewest = 90;

void unknown(std::string_view text, std::string_view name, base::Span span, PragmaPlace place, Report& report) {
  std::vector<std::string> names;
  for (const auto& known : kKnown) names.emplace_back(known.name);
  auto near = base::nearest(name, names);
  bool refused = place == PragmaPlace::module;
  std::string effect = refused ? "ptxas refuses it here" : "ptxas ignores it";
  report.add(Code::unknown_pragma, refused ? base::Severity::error : base::Severity::warning, span,
             fmt::format("there is no pragma {}", quoted(text)),
             near.empty() ? effect : fmt::format("did you mean \"{}\"? {}", near, effect));
}

void check_one(std::string_view text, base::Span span, PragmaPlace place, isa::PtxVersion version, Report& report) {
  auto name = text.substr(0, text.find(' '));
  auto known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.name == name; });
  if (known == std::end(kKnown)) {
    if (version <= kNewest) unknown(text, name, span, place, report);
  } else if (version != 0 && version < known->since) {
    report.error(
        Code::gate, span,
        fmt::format("pragma {} needs PTX ISA {}.{} or later", quoted(name), known->since / 10, known->since % 10),
        fmt::format("the module says .version {}.{}", version / 10, version % 10));
  } else if (!known->anywhere && place != PragmaPlace::body) {
    report.error(Code::misplaced_directive, span, fmt::format("pragma {} stands inside a body", quoted(name)));
  } else if (known->argument && text.size() <= name.size() + 1) {
    report.error(Code::bad_directive, span, fmt::format("pragma {} needs a value behind its name", quoted(name)));
  }
}

}  // namespace

void check_pragma(std::string_view directive, base::Span span, PragmaPlace place, isa::PtxVersion version,
                  Report& report) {
  for (size_t open = 0; (open = directive.find('"', open)) != directive.npos;) {
    size_t close = directive.find('"', open + 1);
    if (close == directive.npos) return;
    check_one(directive.substr(open + 1, close - open - 1), span, place, version, report);
    open = close + 1;
  }
}

}  // namespace ptxlab::ptx
