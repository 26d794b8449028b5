#include "ptx/verifier.h"

#include "ptx/parser.h"

namespace ptxlab::ptx {

base::Findings verify(Module&) { return {}; }

Checked check(std::string_view source, std::string_view file) {
  Parsed parsed = parse(source, file);
  base::Findings more = verify(parsed.module);
  parsed.findings.insert(parsed.findings.end(), more.begin(), more.end());
  return {std::move(parsed.module), std::move(parsed.findings)};
}

}  // namespace ptxlab::ptx
