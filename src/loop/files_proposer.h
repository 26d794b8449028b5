// The proposer `files:DIR`: every N.ptx in a folder, with N.plan.toml where there is one, in the order of their names.
#pragma once
#include <filesystem>
#include <memory>

#include "record/proposer.h"

namespace ptxlab::loop {

// A folder that is not there or holds no .ptx is a finding of propose(), LOOP0001.
std::unique_ptr<record::Proposer> make_files_proposer(std::filesystem::path folder);

}  // namespace ptxlab::loop
