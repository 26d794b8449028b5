// Writes what a run leaves beside the user's kernel: the best candidate as NAME.unmeasured.ptx with its plan and
// verdict, and, where --out asks, the answer itself. The user's own files are never written to.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::loop {

// The comment that opens a written candidate: made from what, checked how and with what, and what was not done.
std::string header_comment(const record::Attempt& attempt, const std::filesystem::path& kernel,
                           std::string_view version);

// Writes STEM.unmeasured.ptx, .unmeasured.plan.toml and .unmeasured.verdict.json beside `kernel`; the paths written.
// `baseline_plan` is the plan of a candidate that brings none. Errors: FILE0003; then none of the three is left
// half-written.
base::Result<std::vector<std::filesystem::path>> write_best(const record::Attempt& attempt,
                                                            const std::filesystem::path& kernel,
                                                            const std::string& baseline_plan, std::string_view version);

}  // namespace ptxlab::loop
