// The commands, one file each. A command gets the words after its name and returns the exit code (cli/output.h).
#pragma once
#include <span>
#include <string_view>

#include "cli/options.h"

namespace ptxlab::cli {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(Words words);
};

// All commands in the order in which help lists them: commands.cc.
std::span<const Command> commands();

int check(Words words);
int explain(Words words);
int archive(Words words);
int doctor(Words words);
int bench(Words words);
int compare(Words words);
int optimize(Words words);
int report(Words words);
int repro(Words words);
int run(Words words);
int judge(Words words);
int calibrate(Words words);
int brief(Words words);
int structure(Words words);
int tasks(Words words);
int model(Words words);
int mcp(Words words);
int grammar(Words words);

// Finds the command that words[0] names among `known` and runs it with the rest; `prefix` is what stands before it on the
// command line ("tasks"), empty for the program itself. Also --help, and a suggestion for a misspelt name.
int run_subcommand(std::string_view prefix, std::span<const Command> known, Words words);

// The whole program: the above for all commands, --version; an escaped exception becomes a finding and exit code 3.
int run_command(Words words);

}  // namespace ptxlab::cli
