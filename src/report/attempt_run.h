// Attempts at one task as a run of their own, so that their page and tables are made as those of a run are.
#pragma once
#include <span>
#include <string>

#include "record/record.h"
#include "report/run_data.h"

namespace ptxlab::report {

// At least one; arms are their proposers.
RunData run_of(std::span<const record::Attempt> attempts, std::string program);

}  // namespace ptxlab::report
