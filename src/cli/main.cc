#include <signal.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "llm/key.h"

int main(int argc, char** argv) {
  // Before anything else is started: no compiler, assembler or oracle inherits a model's key, whatever the command.
  ptxlab::llm::take_keys();
  signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of print(), not a signal
  std::vector<std::string> words(argv + 1, argv + argc);
  return ptxlab::cli::run_command(words);
}
