// What the tool server offers: each tool is one of the program's own commands, run as a process of its own with --json. So a tool says
// what the command says, and what hangs or crashes ends that call alone.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.h"

namespace ptxlab::serve {

// What one call of a tool answers: the command's JSON, or findings where there is none.
struct Answer {
  nlohmann::json content;  // an object
  bool failed = false;
};

// Runs a command to its end; tests put another in its place.
using Runner = std::function<base::Outcome(const base::Command&)>;

struct Tool {
  std::string name, title, description;
  nlohmann::json input, output;  // JSON schemas
  std::chrono::seconds limit;    // where the call names none
  // The command's words; the texts that it reads are in the folder that it runs in.
  std::vector<std::string> (*words)(const nlohmann::json& arguments);
};

const std::vector<Tool>& tools();

struct Calling {
  std::filesystem::path program;       // ptxlab itself
  std::chrono::seconds longest{3600};  // no call may ask for more
  std::function<bool()> stop;          // asked twenty times a second
  // Where tasks lie that a call may name by path. A task brings a reference that is compiled and executed: naming one is as good as
  // running a program.
  std::vector<std::filesystem::path> tasks;
};

// Findings: MCP0001 the arguments are not as the schema says, MCP0005 the task lies elsewhere, MCP0002 it took too long, MCP0003 it was given up, MCP0004 the command
// crashed or its answer is none; else the command's own.
Answer call(const Tool& tool, const nlohmann::json& arguments, const Calling& calling, const Runner& run = base::run);

// What is wrong with `value` by `schema` ("'ptx' is missing"), or "". The part of JSON Schema that our own schemas use.
std::string mismatch(const nlohmann::json& schema, const nlohmann::json& value, const std::string& where = "");

}  // namespace ptxlab::serve
