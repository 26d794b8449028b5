// Findings of this folder: POLxxxx for what a candidate may not do, JDGxxxx for what stopped the judge itself.
#pragma once
#include <string>
#include <utility>

#include "base/finding.h"

namespace ptxlab::judge {

inline base::Finding judge_finding(const char* code, base::Severity severity, std::string message,
                                   std::string hint = "", base::Place place = {}) {
  base::Finding made;
  made.code = code;
  made.severity = severity;
  made.place = std::move(place);
  made.message = std::move(message);
  made.hint = std::move(hint);
  return made;
}

}  // namespace ptxlab::judge
