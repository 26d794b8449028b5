// A plan file ("ptxlab.plan/1"): the launches of a candidate in stream order, as expressions over the task's
// parameters.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "launch/expression.h"
#include "launch/resolved.h"
#include "ptx/module.h"

namespace ptxlab::launch {

struct Scratch {
  std::string name;
  Expression bytes;
  bool zero = false;  // else poison
  base::Place place;  // in its file; line 0 where a program made it
};

// A module's variable, filled before the launches from a place, a scalar, a struct or an expression.
struct Symbol {
  std::string name;  // as in the PTX, or unmangled where that names one
  std::string from;  // as written
  base::Place place, from_place;
};

// Runs a launch for name = 0 .. count - 1.
struct Loop {
  std::string name;
  Expression count;
  base::Place place;
};

// A tensor map as the format has it; tensor_map.h has its words and rules.
struct TensorMap {
  std::string name, buffer, type;                               // buffer: a place, as an argument has it
  std::vector<Expression> dims, strides, box, element_strides;  // innermost first; strides in bytes, one fewer
  std::string swizzle = "none", interleave = "none", l2 = "none", oob = "zero";
  base::Place place, buffer_place;
};

struct Launch {
  std::string entry;
  std::vector<Expression> grid, block, cluster;  // 1 to 3 each; cluster empty: 1
  Expression shared;
  std::vector<std::string> arguments;  // as written: places, scalars, expressions, "null"
  std::optional<Expression> when;
  std::vector<Loop> loops;  // outermost first; neighbouring launches with the same loops are one body
  bool cooperative = false;
  base::Place place;                         // of its [[launch]]; line 0 where a program made it
  std::vector<base::Place> argument_places;  // beside `arguments`, or empty
};

struct Plan {
  std::vector<std::pair<std::string, Expression>> lets;
  std::vector<Scratch> scratch;
  std::vector<Symbol> symbols;
  std::vector<TensorMap> tensor_maps;
  std::vector<Launch> launches;
  std::string text;  // the TOML it came from; print() where it was made by a program
};

// Errors: PLAN0010 TOML syntax, PLAN0011 unknown key (with the nearest right one), PLAN0012 wrong type or missing key,
// PLAN0001 an expression or a place that is none.
base::Result<Plan> read_plan(std::string_view text, std::string_view file);
std::string print(const Plan& plan);

// What a plan's names mean for one case of a task.
struct Binding {
  std::map<std::string, int64_t> parameters;  // the task's params with their sizes
  struct Scalar {
    std::string type;     // "u32", "f32" ...
    uint64_t bits = 0;    // in that type
    int64_t integer = 0;  // its value for expressions; integers only
  };
  std::map<std::string, Scalar> scalars;  // the task's scalar arguments
  std::vector<ResolvedBuffer> buffers;    // the task's buffer arguments in order
  struct Struct {
    std::vector<uint8_t> bytes;
    std::vector<Relocation> pointers;  // offsets within the bytes
  };
  std::map<std::string, Struct> structs;  // the task's struct arguments
};

// What a plan may resolve to at most; loops multiply.
inline constexpr size_t kMaxLaunches = 20'000;

// Evaluates everything, lays the arguments out by the entries' .param declarations and checks limits: entry exists,
// argument count and sizes, block and grid limits, scratch sizes. Errors, each naming the launch:
// PLAN0020 no such entry, or not one; PLAN0021 number of arguments; PLAN0022 an argument that names nothing; PLAN0023
// an argument that does not fit its .param; PLAN0024 grid, block or cluster; PLAN0025 scratch size; PLAN0026 shared
// bytes; PLAN0027 a name used twice; PLAN0028 a place outside its buffer; PLAN0029 the entry's .maxntid or .reqntid
// forbids the block; PLAN0030 a symbol that the module lacks or that its value does not fit; PLAN0031 a loop's count, or
// too many launches; PLAN0032 an index outside its pick; PLAN0033 a tensor map that the driver
// would not make; PLAN0034 one that reaches outside its buffer.
// `which`, where given: the index in `plan.launches` of each launch that came out.
base::Result<ResolvedPlan> resolve(const Plan& plan, const ptx::Module& module, const Binding& binding,
                                   std::vector<uint32_t>* which = nullptr);

// How many threads the plan launches in all; saturates at the largest value.
uint64_t thread_count(const ResolvedPlan& plan);

// The byte offsets of an entry's parameters and the total size (manual, ".param": natural alignment).
struct ParameterLayout {
  std::vector<uint32_t> offsets;
  uint32_t bytes = 0;
};
ParameterLayout layout_of(const ptx::Function& entry);

}  // namespace ptxlab::launch
