#include "report/repro.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "record/json.h"
#include "task/files.h"

namespace ptxlab::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Where things lay on the machine of the attempt and on this one, longest first, and what to say instead.
class Paths {
 public:
  Paths(const std::string& task_file, const std::string& task_name, const task::Task& task) {
    const fs::path then(task_file);
    add(then.parent_path(), "task");
    std::error_code ignored;
    add(fs::absolute(task.folder, ignored), "task");
    add(task.folder, "task");
    // A task of the repository: what lies above tasks/FAMILY/NAME is the repository itself.
    const fs::path below = fs::path("tasks") / task_name;
    for (const fs::path& folder : {then.parent_path(), fs::absolute(task.folder, ignored)}) {
      const std::string text = folder.string(), end = "/" + below.string();
      if (text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0)
        add(text.substr(0, text.size() - end.size()), "ptxlab");
    }
    add(fs::current_path(ignored), ".");
    add(base::data_home(), "data");
    add(base::cache_home(), "cache");
    add(fs::temp_directory_path(ignored), "tmp");
    if (const char* home = std::getenv("HOME")) add(home, "home");
    std::stable_sort(known_.begin(), known_.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  }
  std::string without(std::string text) const {
    for (const auto& [path, word] : known_) {
      for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
        // A whole path, not the beginning of another name.
        const size_t end = at + path.size();
        const bool whole = end == text.size() || std::string_view("/\"' :,;)\\\n").find(text[end]) != std::string::npos;
        if (!whole) {
          at = end;
          continue;
        }
        text.replace(at, path.size(), word);
        at += word.size();
      }
    }
    return text;
  }

 private:
  void add(const fs::path& path, const char* word) {
    // A short one ("/", "/root") would be found in texts that mean something else; as a home it still goes by its subfolders.
    if (path.is_absolute() && path.string().size() > 4) known_.emplace_back(path.string(), word);
  }
  std::vector<std::pair<std::string, std::string>> known_;
};

// Without its [compile] table: the baseline is compiled already.
std::string without_compile(const std::string& toml) {
  std::istringstream in(toml);
  std::string out;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find_first_not_of(" \t");
    if (at != std::string::npos && line[at] == '[') inside = line.compare(at, 9, "[compile]") == 0;
    if (!inside) out += line + "\n";
  }
  return out;
}

// nvcc writes where the source lay: of these directives the file's name is enough.
std::string without_folders(const std::string& ptx) {
  static const std::regex kFile(R"((^|\n)([ \t]*\.file[ \t]+[0-9]+[ \t]+")[^"\n]*/)");
  return std::regex_replace(ptx, kFile, "$1$2");
}

std::string limits(const record::Constraints& constraints) {
  std::string words;
  if (constraints.max_registers) words += fmt::format(" --max-registers {}", *constraints.max_registers);
  if (constraints.max_shared_bytes) words += fmt::format(" --max-shared {}", *constraints.max_shared_bytes);
  if (constraints.max_block_threads) words += fmt::format(" --max-block {}", *constraints.max_block_threads);
  if (constraints.vector_bytes) words += fmt::format(" --max-vector {}", *constraints.vector_bytes);
  return words;
}

constexpr std::string_view kRerun = R"sh(#!/usr/bin/env bash
# Judges the candidate again and compares with what was found then (verdict.json).
#   PTXLAB=/path/to/ptxlab ./rerun     without it: the ptxlab on PATH
# Exit: 0 the same outcome; 1 another one; 3 this machine cannot tell.
set -euo pipefail
here=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
ptxlab=${{PTXLAB:-ptxlab}}
case $ptxlab in
  */*) ptxlab=$(cd "$(dirname "$ptxlab")" && pwd)/$(basename "$ptxlab") ;;
esac
command -v "$ptxlab" >/dev/null || {{ echo "rerun: no ptxlab: say PTXLAB=/path/to/ptxlab" >&2; exit 3; }}
cd "$here"
then={outcome}
status=0
"$ptxlab" judge candidate.ptx --task {task} --target {target} --seed {seed}{limits} --json >outcome.json || status=$?
now=$(sed -n 's/^  "outcome": "\(.*\)",\{{0,1\}}$/\1/p' outcome.json)
if [ -z "$now" ]; then echo "rerun: ptxlab gave no verdict (exit $status)" >&2; exit 3; fi
if [ "$now" = "$then" ]; then echo "the same outcome: $now"; exit 0; fi
# Right then and right now; whether it is faster takes a GPU, and whether it is the baseline's own code takes ptxas.
case $then:$now in
  faster:unverified|slower:unverified|same:unverified|unstable:unverified|unverified:*er|unverified:same|unverified:unstable)
    echo "right as then, but $then then and $now here: the same gates do not run on both machines"; exit 3 ;;
  *:infrastructure) echo "this machine cannot tell: $now"; exit 3 ;;
esac
echo "another outcome: $then then, $now now (outcome.json)"
{why}exit 1
)sh";

constexpr std::string_view kReadme = R"md(# Attempt {id}: {outcome}

{reason}

| | |
|---|---|
| task | {task} |
| proposer | {proposer} |
| target | {target} |
| judged | {at:%Y-%m-%d %H:%M:%S} UTC, run {run} |

`./rerun` judges it again with the ptxlab on your `PATH` (or `PTXLAB=/path/to/ptxlab ./rerun`) and says whether the outcome is the same.

- `candidate.ptx`, `candidate.plan.toml`: what was handed in (in `.file` directives the names of files without their folders);
  without a plan it used the baseline's
- `task/`: the task as it lay where this folder was made, with the baseline's PTX and plan of then{changed}
- `verdict.json`: what was found; `brief.json`: what was told
- `prompt.md`, `answer.md`, `candidate.cu`: what a model was asked, said and wrote, where one was
- `versions.json`: which tools made this folder
)md";

class Writer {
 public:
  Writer(const ReproInput& input, fs::path folder) : input_(input), folder_(std::move(folder)) {}

  base::Result<Repro> write() {
    brief_ = json::parse(input_.attempt.brief_json, nullptr, false);
    if (!brief_.is_object() || !brief_.contains("task"))
      return base::error("REP0002", fmt::format("the brief of attempt {} cannot be read", input_.attempt.id));
    paths_.emplace(brief_["task"].value("file", ""), input_.task.name, input_.task);
    try {
      find_changes();
      task_files();
      own_files();
      scripts();
    } catch (const json::exception& error) {
      return base::error("REP0002",
                         fmt::format("the brief of attempt {} cannot be read: {}", input_.attempt.id, error.what()));
    }
    if (!failed_.empty()) return failed_;
    return std::move(made_);
  }

 private:
  void put(const std::string& name, std::string_view content) {
    if (!failed_.empty()) return;
    std::error_code error;
    fs::create_directories((folder_ / name).parent_path(), error);
    failed_ = base::write_file(folder_ / name, content);
    made_.files.push_back(name);
  }
  std::string read(const fs::path& file) {
    auto content = base::read_file(file);
    if (content) return *content;
    if (failed_.empty()) failed_ = content.findings();
    return "";
  }
  void warn(std::string message, std::string hint) {
    base::Finding finding;
    finding.code = "REP0003";
    finding.severity = base::Severity::warning;
    finding.message = std::move(message);
    finding.hint = std::move(hint);
    made_.findings.push_back(std::move(finding));
  }

  // Which of the task's files are others than when this was judged. The baseline's own are those of then in any case.
  void find_changes() {
    auto then = input_.files;
    if (const auto told = brief_["task"].find("files"); told != brief_["task"].end() && told->is_object()) {
      then.clear();
      for (const auto& [name, hash] : told->items()) then[name] = hash.get<std::string>();
    }
    auto now = task::file_hashes(input_.task);
    if (!now) {
      failed_ = now.findings();
      return;
    }
    if (then.empty()) {
      unknown_ = true;
      return;
    }
    std::set<std::string> names;
    for (const auto* files : {&then, &*now}) {
      for (const auto& [name, hash] : *files) names.insert(name);
    }
    for (const auto& name : names) {
      const auto old = then.find(name), is = now->find(name);
      if (old == then.end()) {
        changes_.push_back(name + " is new");
      } else if (is == now->end()) {
        changes_.push_back(name + " is gone");
      } else if (old->second != is->second) {
        changes_.push_back(name + " is another");
      }
    }
    if (!changes_.empty())
      warn(fmt::format("the task has changed since this was judged: {}", fmt::join(changes_, ", ")),
           "the folder has the baseline of then, and the rest of the task as it is now");
  }

  // Of a folder of the repository all files; of a user's task those that belong to it, its baseline as PTX.
  void task_files() {
    const task::Task& task = input_.task;
    const std::string ptx = brief_.at("baseline_ptx").get<std::string>(),
                      plan = brief_.at("baseline_plan").get<std::string>();
    std::error_code ignored;
    if (!task.user) {
      for (const auto& entry : fs::directory_iterator(task.folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file(ignored) || name == task.ptx->filename() || name == task.plan.filename()) continue;
        put("task/" + name, read(entry.path()));
      }
      put("task/" + task.ptx->filename().string(), without_folders(ptx));
      put("task/" + task.plan.filename().string(), plan);
      task_ = "task";
      return;
    }
    const std::string name = task.file.filename().string(),
                      stem = name.substr(0, name.size() - std::string_view(".task.toml").size());
    put("task/" + name, paths_->without(without_compile(read(task.file))));
    put("task/" + stem + ".ptx", without_folders(ptx));
    put("task/" + stem + ".plan.toml", plan);
    if (task.reference) put("task/" + stem + ".reference.cc", read(*task.reference));
    // Beside the PTX under another name: the kernel that is judged against is the PTX.
    const std::string source = brief_.value("source", "");
    if (!source.empty()) put("task/" + stem + ".source.cu", source);
    for (const auto& argument : task.arguments) {
      put_filled(argument.fills);
      for (const auto& field : argument.fields) put_filled(field.fills);
    }
    task_ = "task/" + name;
  }

  void put_filled(const std::vector<task::Fill>& fills) {
    for (const auto& fill : fills)
      if (!fill.file.empty()) put("task/" + fill.file, read(input_.task.folder / fill.file));
  }

  void own_files() {
    const auto& candidate = input_.attempt.candidate;
    put("candidate.ptx", without_folders(candidate.ptx));
    if (candidate.plan) put("candidate.plan.toml", *candidate.plan);
    if (!candidate.cuda.empty()) put("candidate.cu", candidate.cuda);
    if (!candidate.prompt.empty()) put("prompt.md", paths_->without(candidate.prompt));
    if (!candidate.answer.empty()) put("answer.md", candidate.answer);
    json brief = brief_;
    brief["task"].erase("file");
    put("brief.json", paths_->without(base::print_json(brief, 2)) + "\n");
    put("verdict.json", paths_->without(base::print_json(record::to_json(input_.attempt.verdict), 2)) + "\n");
    json versions = {{"ptxlab", input_.program}};
    for (const auto& [tool, version] : input_.tools) versions[tool] = version;
    put("versions.json", base::print_json(versions, 2) + "\n");
  }

  void scripts() {
    const auto& attempt = input_.attempt;
    const auto& verdict = attempt.verdict;
    record::Constraints constraints;
    const json& limits_told = brief_.at("constraints");
    auto limit = [&](const char* key, std::optional<int>& into) {
      if (auto at = limits_told.find(key); at != limits_told.end() && at->is_number_integer()) into = at->get<int>();
    };
    limit("max_registers", constraints.max_registers);
    limit("max_shared_bytes", constraints.max_shared_bytes);
    limit("max_block_threads", constraints.max_block_threads);
    const std::string target = verdict.target.empty() ? brief_.at("target").get<std::string>() : verdict.target;
    put("rerun",
        fmt::format(
            kRerun, fmt::arg("outcome", record::name_of(verdict.outcome)), fmt::arg("task", quoted(task_)),
            fmt::arg("target", quoted(target)), fmt::arg("seed", input_.seed),
            fmt::arg("why", changes_.empty()
                                ? std::string()
                                : fmt::format("echo {}\n",
                                              quoted(fmt::format("the task had changed when this folder was made: {}",
                                                                 fmt::join(changes_, ", "))))),
            fmt::arg("limits", limits(constraints) + (input_.until.empty() ? "" : " --until " + input_.until))));
    std::error_code ignored;
    fs::permissions(folder_ / "rerun", fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, ignored);
    put("README.md",
        fmt::format(kReadme, fmt::arg("id", attempt.id), fmt::arg("outcome", record::name_of(verdict.outcome)),
                    fmt::arg("reason", paths_->without(verdict.reason)), fmt::arg("task", attempt.task),
                    fmt::arg("proposer", attempt.candidate.proposer), fmt::arg("target", target),
                    fmt::arg("at", fmt::gmtime(std::chrono::system_clock::to_time_t(attempt.at))),
                    fmt::arg("run", attempt.run), fmt::arg("changed", changed())));
  }

  std::string changed() const {
    if (!changes_.empty()) return fmt::format(";\n  it had **changed** by then: {}", fmt::join(changes_, ", "));
    return unknown_ ? ";\n  whether it had changed by then is not known: the attempt is older than what would say so"
                    : "";
  }

  // For the shell, whatever a file is called.
  static std::string quoted(const std::string& word) {
    std::string out = "'";
    for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }

  const ReproInput& input_;
  fs::path folder_;
  json brief_;
  std::optional<Paths> paths_;
  std::string task_;  // what `judge --task` is told
  Repro made_;
  base::Findings failed_;
  std::vector<std::string> changes_;  // "task.toml is another"
  bool unknown_ = false;              // nobody wrote down what the files were
};

}  // namespace

base::Result<Repro> write_repro(const ReproInput& input, const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return base::error_in(folder.string(), "REP0001", "is there already", "name another folder, or remove it");
  fs::path beside = folder;
  if (!beside.has_filename()) beside = beside.parent_path();
  const fs::path building = beside.string() + ".new";
  fs::remove_all(building, error);
  auto made = Writer(input, building).write();
  if (made) {
    fs::remove(beside, error);  // where it is there and empty
    fs::rename(building, beside, error);
    if (error) made = base::error_in(folder.string(), "FILE0003", "cannot be written: " + error.message());
  }
  if (!made) fs::remove_all(building, error);
  return made;
}

}  // namespace ptxlab::report
