// Faults planted in right kernels, to measure how they are named. Two kinds of them: edits that a person wrote down, of a task's
// CUDA source, PTX or plan (faults/*.toml), each with several magnitudes or places; and operations on any kernel's PTX
// (planters.cc), for what the rules make of the tasks' kernels and for the examples.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "judge/baseline.h"
#include "record/record.h"
#include "task/task.h"

namespace ptxlab::planted {

// The n-th occurrence (from 1) of `from` becomes `to`; 0: every one.
struct Edit {
  std::string from, to;
  int occurrence = 1;
};
using Edits = std::vector<Edit>;

struct Fault {
  std::string task;  // "norm/rmsnorm_bf16", or the path of a user's .task.toml
  std::string host;  // which kernel it stands in: "cuda", "ptx", "plan", "rule vectorise"
  std::string what;  // "the sum stops 3 early"
  // Names (of judge::Pattern) or codes that it may be given, the first the one that it is counted under. Empty: there is no name for
  // it, and any is wrong.
  std::vector<std::string> is;
  bool twice = false;  // two faults at once: each of their names will do
  bool slow = false;   // right, and slow: the codes of JDG008x and JDG009x that have to be said
  Edits cuda, ptx, plan;
  std::vector<std::string> flags;  // of nvcc
  std::string text, plan_text;     // the whole candidate, where it is none of the above
};

// All of a folder's, in the order of the files. Errors: TOML, keys, and types, with the file.
base::Result<std::vector<Fault>> read_faults(const std::filesystem::path& folder);

// A finding (STUDY0001) where an edit's place is not there.
base::Result<std::string> edited(std::string text, const Edits& edits);

// The fault in its kernel. Errors: of `edited`, of nvcc.
base::Result<record::Candidate> make(const Fault& fault, const judge::Baseline& baseline,
                                     const std::filesystem::path& source);

// The name that a wrong candidate was given, with what was said; empty: none.
std::pair<std::string, std::string> name_given(const record::Verdict& verdict);

// What planters make of a kernel: at most `places` of each kind.
std::vector<Fault> plant_everywhere(const task::Task& task, const std::string& host, const std::string& ptx,
                                    const std::string& plan, size_t places);

// Every rule's first way with a task's kernel: "rule vectorise", PTX, plan.
struct Host {
  std::string name, ptx, plan;
};
std::vector<Host> rule_outputs(const task::Task& task, const judge::Baseline& baseline);

}  // namespace ptxlab::planted
