// What a draft knows, and the two texts made of it.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::task {

struct DraftField {
  std::string name, type;
  long long count = 1;
  std::string value;    // of a struct by value
  std::string pointer;  // or the buffer that it points to
};

struct DraftArgument {
  std::string name, kind, type, value;  // kind: in, out, inout, scalar, struct
  std::vector<std::string> shape;
  std::vector<std::string> remarks;  // comments below the line
  std::vector<DraftField> fields;    // of a struct, or of a record
  std::string fill;                  // where it is known
};

struct DraftLaunch {
  std::string entry;
  std::vector<std::string> grid, block;
  std::string shared;
  bool cooperative = false;
  std::vector<std::pair<std::string, std::string>> loops;
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
  std::vector<std::pair<std::string, std::string>> symbols;  // a variable, and what fills it
  std::vector<std::string> instantiate;                      // lines for [compile]
};

// What the compiled instructions show of the arguments: which are read and written, and whose values are indices. What was
// settled or changed is said in the arguments' remarks and in `open`.
void apply_compiled_uses(DraftParts& parts, std::vector<std::string>& open);

std::string task_text(const DraftParts& parts);
std::string plan_text(const DraftParts& parts);

// Whether a type of the task format ("s32", "bf16") is one of integers or plain bits.
bool integer_type(std::string_view type);

}  // namespace ptxlab::task
