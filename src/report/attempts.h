// Attempts as people read them: a ranked table after a run, a list out of the archive.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "archive/archive.h"
#include "record/record.h"

namespace ptxlab::report {

// The right ones first, in the order of `ranking` (indices into `attempts`), then the others as proposed. `width`: the
// terminal's, 0 cuts nothing.
std::string ranked_table(std::span<const record::Attempt> attempts, std::span<const size_t> ranking, size_t width = 0);

std::string attempt_list(std::span<const archive::AttemptRow> rows, size_t width = 0);
std::string run_list(std::span<const archive::Run> runs, size_t width = 0);

}  // namespace ptxlab::report
