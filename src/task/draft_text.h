// What a draft knows, and the two texts made of it.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::task {

struct DraftArgument {
  std::string name, kind, type, value;  // kind: in, out, inout, scalar
  std::vector<std::string> shape;
  std::vector<std::string> remarks;  // comments below the line
};

struct DraftLaunch {
  std::string entry;
  std::vector<std::string> grid, block;
  std::string shared;
  std::vector<std::string> arguments;
  std::vector<std::string> remarks;
};

struct DraftParts {
  std::filesystem::path file;
  const ptx::Module* compiled = nullptr;
  std::vector<std::string> params;
  std::set<std::string> inner;             // params that a kernel is called with
  std::map<std::string, long long> sizes;  // a param's value in the user's program
  std::vector<DraftArgument> arguments;
  std::vector<DraftLaunch> launches;
};

std::string task_text(const DraftParts& parts);
std::string plan_text(const DraftParts& parts);

// Whether a type of the task format ("s32", "bf16") is one of integers or plain bits.
bool integer_type(std::string_view type);

}  // namespace ptxlab::task
