// A task ("ptxlab.task/1"): one kernel problem, read from a folder under tasks/ or from a user's foo.task.toml.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "isa/type.h"
#include "launch/expression.h"
#include "launch/plan.h"

namespace ptxlab::task {

using Sizes = std::map<std::string, int64_t>;  // a value for each param

// A formula in doubles over the params, as floating-point scalars and bounds have it.
struct Formula {
  std::string text;
  base::Place place;  // of its first byte
};

struct Fill {
  std::string name;                        // one of fill_names()
  std::vector<launch::Expression> bounds;  // { uniform = [0, "vocab - 1"] }: of integers
  std::string file;                        // file:NAME
  std::vector<Formula> formulas;           // { uniform = [0.5, "sqrt(n)"] }: of floating-point values
  bool bounded() const { return !bounds.empty() || !formulas.empty(); }
};

// Every fill that a task may name: normal, uniform, heavy, spike, ties, sorted, permutation, offsets, constant, spd.
const std::vector<std::string>& fill_names();

// A part of a struct by value or of a record.
struct Field {
  std::string name;
  isa::Type type = isa::Type::none;  // none: a pointer
  int64_t count = 1;                 // elements: int dims[4]
  uint64_t offset = 0;               // in bytes
  std::vector<std::string> values;   // of a struct: an expression or a formula for each element
  std::string buffer;                // of a pointer: what it points to, "null" for nothing
  launch::Expression addend;         // and how many bytes further on
  std::vector<Fill> fills;           // of a record that is an input
  base::Place place;
  uint64_t bytes() const;
};

// How much of an output counts: an expression over params in which elements of other outputs may stand ("count[0]").
struct Prefix {
  launch::Expression count;  // an element of an output stands in it as a name of its own
  struct Element {
    std::string name, output;  // "count[0]" is the name "count_at_0"
    uint64_t index = 0;
  };
  std::vector<Element> elements;
};

struct Argument {
  enum class Kind : uint8_t { in, out, inout, scalar, structure };
  std::string name;
  Kind kind = Kind::in;
  isa::Type type = isa::Type::none;       // of records b8
  std::vector<launch::Expression> shape;  // buffers: elements, outermost first
  std::vector<Fill> fills;
  std::vector<std::string> special;  // nan, inf
  bool zeroed = false;               // out: init = "zero" instead of poison
  std::string value;                 // scalar: expression (integers) or formula in doubles (floats)
  std::vector<Field> fields;         // of a structure, or of a record
  uint64_t field_bytes = 0;          // of all fields together; 0: neither structure nor record
  std::optional<Prefix> valid;       // only this many of the first dimension's entries count
  base::Place place;
  bool buffer() const { return kind != Kind::scalar && kind != Kind::structure; }
  bool record() const { return buffer() && field_bytes > 0; }
  bool output() const { return kind == Kind::out || kind == Kind::inout; }
};

struct Tolerance {
  enum class Kind : uint8_t { exact, floating, unordered, absolute };
  Kind kind = Kind::exact;
  isa::Type accumulate = isa::Type::f32;
  launch::Expression terms;
  bool without_terms = false;  // floating, and `terms` was left out: a user's own kernel is the oracle
  double abs = 0, rel = 0;
  std::string reason;
  base::Place place;
  double granted = 1;  // factor on the bounds, for a user's own kernel that is itself less exact
};

struct Baseline {
  std::string kind;  // ptx
  std::string file, plan;
};

// How a user's source becomes PTX.
struct Compile {
  std::vector<std::string> flags;              // for nvcc
  std::vector<std::filesystem::path> include;  // folders, as found from the task's
  std::vector<std::string> instantiate;        // lines appended to the source: templates and static kernels
};

struct Task {
  std::filesystem::path folder;                    // where its files lie
  std::filesystem::path file;                      // task.toml itself
  bool user = false;                               // foo.task.toml: the user's own kernel
  std::filesystem::path kernel;                    // kernel.cu, or the user's foo.cu / foo.ptx
  std::filesystem::path plan;                      // baseline.plan.toml, or the user's foo.plan.toml; it exists
  std::optional<std::filesystem::path> ptx;        // baseline.ptx; a user's foo.ptx; nothing for a user's foo.cu
  std::optional<std::filesystem::path> reference;  // reference.cc, or the user's foo.reference.cc
  std::string name, split, objective, origin;
  int version = 1, level = 0;
  std::vector<std::string> tags, targets, allow, params;
  std::vector<launch::Expression> where;
  std::vector<Argument> arguments;
  std::vector<Sizes> emulate;
  struct Timed {
    Sizes sizes;
    double weight = 1;
  };
  std::vector<Timed> time;
  int random_count = 0;
  std::map<std::string, std::pair<launch::Expression, launch::Expression>> random_ranges;
  std::map<std::string, Tolerance> tolerances;  // by output name
  std::map<std::string, std::string> mutant_skips;
  std::optional<launch::Expression> floor_bytes, floor_flops;
  std::vector<Baseline> baselines;
  Compile compile;

  const Argument* argument(std::string_view argument_name) const;
};

// Errors: TASK0001 TOML syntax, TASK0002 unknown key (with the nearest right one), TASK0003 wrong type or value,
// TASK0004 missing key, TASK0005 a form of the format that this version does not read yet, TASK0006 a file that is not
// there.
base::Result<Task> read_task(const std::filesystem::path& file);
// The same from a text, as if it stood in `file`: drafts and tests.
base::Result<Task> read_task_text(std::string_view text, const std::filesystem::path& file);

// Where a user's foo.cu or foo.ptx has its task and its launch: foo.task.toml and foo.plan.toml beside it.
std::filesystem::path task_file_of(const std::filesystem::path& kernel);
std::filesystem::path plan_file_of(const std::filesystem::path& kernel);

// A task by name under `root` ("norm/rmsnorm_bf16"), by folder, or by the path of a .task.toml. TASK0007: no such task.
base::Result<Task> find_task(std::string_view word, const std::filesystem::path& root);
std::vector<std::string> list_tasks(const std::filesystem::path& root);

}  // namespace ptxlab::task
