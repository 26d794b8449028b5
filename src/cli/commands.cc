#include "cli/commands.h"

#include <fmt/format.h>

#include <exception>
#include <vector>

#include "base/nearest.h"
#include "cli/output.h"

namespace ptxlab::cli {
namespace {

constexpr Command kCommands[] = {
    {"check", "Is this legal PTX? Parse and verify, with a place and a hint for each fault", check},
    {"archive", "What was tried, and what came of it", archive},
    {"doctor", "What is there on this machine, what is missing, and what follows", doctor},
};

std::string help() {
  std::string text = "ptxlab: propose, judge, explain, learn PTX kernels\n\nUsage: ptxlab COMMAND ...\n\nCommands:\n";
  for (const auto& command : kCommands) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  text += "\n'ptxlab COMMAND --help' shows its options and an example.\n";
  return text;
}

const Command* find(std::string_view name) {
  for (const auto& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int unknown(const std::string& word) {
  std::vector<std::string> known;
  for (const auto& command : kCommands) known.emplace_back(command.name);
  auto near = base::nearest(word, known);
  return refuse("CLI0004", fmt::format("unknown command '{}'", word),
                near.empty() ? "'ptxlab --help' lists the commands" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run_command(Words words) {
  if (words.empty()) {
    print(help());
    return kExitWrongUse;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print(help());
    return kExitDone;
  }
  if (words[0] == "--version") {
    print(fmt::format("ptxlab {}\n", PTXLAB_VERSION));
    return kExitDone;
  }
  const Command* command = find(words[0]);
  if (!command) return unknown(words[0]);
  try {
    return command->run(words.subspan(1));
  } catch (const std::exception& error) {
    base::Finding finding;
    finding.code = "CLI0090";
    finding.message = fmt::format("{} stopped: {}", command->name, error.what());
    finding.hint = "trouble of this machine (memory, disk), or a fault of ptxlab";
    return refuse({finding}, kExitInfrastructure);
  }
}

}  // namespace ptxlab::cli
