#include "cli/commands.h"

#include <fmt/format.h>

#include <exception>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/output.h"

namespace ptxlab::cli {
namespace {

constexpr Command kCommands[] = {
    {"check", "Is this legal PTX? Parse and verify, with a place and a hint for each fault", check},
    {"explain", "What a finding's code means, with a wrong and a right example", explain},
    {"structure", "What a kernel looks like: loops, live registers, memory accesses, barriers", structure},
    {"run", "Execute a kernel on the CPU, with every checker watching", run},
    {"judge", "Take one candidate through the gates, and explain the verdict", judge},
    {"brief", "What a model would be asked about a kernel, section by section", brief},
    {"optimize", "Look for a faster version of your kernel; on any doubt yours stays", optimize},
    {"bench", "Proposers x tasks x samples, locked, going on after any end", bench},
    {"tasks", "The kernel problems under tasks/: list, show, lint", tasks},
    {"archive", "What was tried, and what came of it", archive},
    {"compare", "Two runs task by task: what differs, and what cannot be said", compare},
    {"report", "A run as tables, or as one HTML page with every attempt in it", report},
    {"repro", "A folder that judges one attempt again, anywhere", repro},
    {"calibrate", "Measure on this GPU which difference in time means nothing", calibrate},
    {"model", "A small language model on this machine, for the loop", model},
    {"grammar", "A grammar of PTX for servers that hold a model to one", grammar},
    {"mcp", "The judge as a tool server for agents (Model Context Protocol)", mcp},
    {"doctor", "What is there on this machine, what is missing, and what follows", doctor},
};

std::string help(std::string_view prefix, std::span<const Command> known) {
  std::string text = prefix.empty() ? "ptxlab: propose, judge, explain, learn PTX kernels\n\n" : "";
  auto name = fmt::format("ptxlab{}{}", prefix.empty() ? "" : " ", prefix);
  text += fmt::format("Usage: {} COMMAND ...\n\nCommands:\n", name);
  for (const auto& command : known) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  text += fmt::format("\n'{} COMMAND --help' shows its options and an example.\n", name);
  return text;
}

int unknown(std::string_view prefix, std::span<const Command> known, const std::string& word) {
  std::vector<std::string> names;
  for (const auto& command : known) names.emplace_back(command.name);
  auto near = base::nearest(word, names);
  auto before = prefix.empty() ? "" : fmt::format("{} ", prefix);
  return refuse("CLI0004", fmt::format("unknown command '{}{}'", before, word),
                near.empty() ? fmt::format("'ptxlab {}--help' lists the commands", before)
                             : fmt::format("did you mean '{}{}'?", before, near));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run_subcommand(std::string_view prefix, std::span<const Command> known, Words words) {
  bool wants_help = !words.empty() && (words[0] == "--help" || words[0] == "-h" || words[0] == "help");
  if (words.empty() || wants_help) {
    print(help(prefix, known));
    return wants_help ? kExitDone : kExitWrongUse;
  }
  for (const auto& command : known) {
    if (command.name == words[0]) return command.run(words.subspan(1));
  }
  return unknown(prefix, known, words[0]);
}

int run_command(Words words) {
  if (!words.empty() && words[0] == "--version") {
    print(fmt::format("ptxlab {}\n", PTXLAB_VERSION));
    return kExitDone;
  }
  try {
    return run_subcommand("", kCommands, words);
  } catch (const std::exception& error) {
    return refuse(
        {base::error("CLI0090", fmt::format("{} stopped: {}", words.empty() ? "ptxlab" : words[0], error.what()),
                     "trouble of this machine (memory, disk), or a fault of ptxlab")},
        kExitInfrastructure);
  }
}

}  // namespace ptxlab::cli
