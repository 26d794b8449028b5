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
int archive(Words words);
int doctor(Words words);

// The whole program: finds the command, runs it, turns an escaped exception into a finding and exit code 3.
int run_command(Words words);

}  // namespace ptxlab::cli
