// One attempt as a run of its own, so that its page and tables are made as those of a run are.
#pragma once
#include <string>

#include "record/record.h"
#include "report/run_data.h"

namespace ptxlab::report {

RunData run_of(const record::Attempt& attempt, std::string program);

}  // namespace ptxlab::report
