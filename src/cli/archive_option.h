// --archive FILE of the commands that read the archive and never make one.
#pragma once
#include <memory>
#include <string>

#include "archive/archive.h"
#include "base/result.h"

namespace ptxlab::cli {

// `file` empty: the user's own. Error: ARC0006 there is none; those of Archive::open.
base::Result<std::unique_ptr<archive::Archive>> open_existing_archive(const std::string& file);

// The attempt whose number this is. Errors: CLI0100 no number, ARC0005 no such attempt.
base::Result<record::Attempt> attempt_named(archive::Archive& archive, const std::string& word);

// What is not there was asked for wrongly; what cannot be read is trouble of the machine. Prints, and returns the exit code.
int refuse_archive(const base::Findings& findings);

}  // namespace ptxlab::cli
