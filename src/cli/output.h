// How commands speak: results on stdout, trouble with the command line itself on stderr, and the exit codes that
// scripts rely on.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/finding.h"

namespace ptxlab::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;  // the answer is no: malformed, rejected, faulted, wrong
inline constexpr int kExitWrongUse = 2;
inline constexpr int kExitInfrastructure = 3;  // a missing tool, a full disk: nobody's kernel is to blame

// To stdout. A reader that has gone (| head) ends the program quietly.
void print(std::string_view text);
void print_json(const nlohmann::json& value);

// Findings as people read them, to stdout, in colour on a terminal. `source` is the text of the file they point into,
// or empty.
void print_findings(const base::Findings& findings, std::string_view source);

// Colours are for terminals only; NO_COLOR turns them off, and so does a terminal that calls itself dumb.
bool colour_on_stdout();

// Columns of the terminal; 0: stdout is none, so that nothing is cut.
size_t terminal_width();

// Wrong use, explained on stderr; returns kExitWrongUse.
int refuse(std::string_view code, std::string_view message, std::string_view hint);
// The same for findings from elsewhere: a file that cannot be read, a task that is none. `code` is the exit code to
// return.
int refuse(const base::Findings& findings, int code = kExitWrongUse);

}  // namespace ptxlab::cli
