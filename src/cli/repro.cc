// ptxlab repro ATTEMPT [DIR]: a folder that repeats one attempt anywhere.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "archive/bench.h"
#include "cli/archive_option.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"
#include "report/repro.h"
#include "task/task.h"
#include "toolchain/toolchain.h"

namespace ptxlab::cli {
namespace {

constexpr std::string_view kExample =
    "ptxlab repro 12\n"
    "ptxlab repro 12 folder && PTXLAB=./ptxlab folder/rerun";

// The task where the attempt found it, else by its name among those that come with ptxlab.
base::Result<task::Task> task_of(const record::Attempt& attempt, const std::string& wanted) {
  if (!wanted.empty()) return task::find_task(wanted, root() / "tasks");
  const auto brief = nlohmann::json::parse(attempt.brief_json, nullptr, false);
  if (brief.is_object() && brief.contains("task")) {
    const std::filesystem::path file = brief["task"].value("file", "");
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) {
      auto task = task::read_task(file);
      if (task && task->name == attempt.task) return task;
    }
  }
  return task::find_task(attempt.task, root() / "tasks");
}

nlohmann::json lock_of(archive::Archive& archive, const std::string& run) {
  auto bench = archive.bench(run);
  return bench ? nlohmann::json::parse(bench->lock, nullptr, false) : nlohmann::json();
}

// The last gate of a locked run; "": all of them.
std::string until_of(const nlohmann::json& lock) {
  if (!lock.is_object() || !lock.contains("spec") || !lock["spec"].is_object()) return "";
  const auto until = lock["spec"].find("until");
  const std::string gate = until != lock["spec"].end() && until->is_string() ? until->get<std::string>() : "";
  return gate == record::name_of(record::GateName::time) ? "" : gate;
}

// The hashes of a task's files in a locked run; empty: nobody knows them.
std::map<std::string, std::string> files_of(const nlohmann::json& lock, const std::string& task) {
  std::map<std::string, std::string> files;
  const auto at = nlohmann::json::json_pointer("/tasks") / task / "files";
  if (!lock.is_object() || !lock.contains(at) || !lock[at].is_object()) return files;
  for (const auto& [name, hash] : lock[at].items())
    if (hash.is_string()) files[name] = hash.get<std::string>();
  return files;
}

std::vector<std::pair<std::string, std::string>> tools() {
  std::vector<std::pair<std::string, std::string>> made;
  const auto& installed = toolchain::installed();
  for (const auto& [name, tool] : {std::pair("ptxas", &installed.ptxas), std::pair("nvcc", &installed.nvcc),
                                   std::pair("nvdisasm", &installed.nvdisasm)})
    if (*tool) made.emplace_back(name, (*tool)->version);
  return made;
}

}  // namespace

int repro(Words words) {
  std::string attempt_word, folder, archive_file, task_word;
  bool json = false;
  Options options("repro",
                  "Writes a folder that judges one attempt again, anywhere, and says whether it comes out the same.",
                  kExample);
  options.argument("ATTEMPT", attempt_word, "the attempt's number in the archive");
  options.optional_argument("DIR", folder, "the folder to make (attempt-N)");
  options.value("--task", "TASK", task_word, "its task, where that has moved since");
  options.value("--archive", "FILE", archive_file, "another archive than the one in the user's data folder");
  options.flag("--json", json, "Print one JSON object (ptxlab.repro/1)");
  if (auto code = options.parse(words)) return *code;
  auto archive = open_existing_archive(archive_file);
  if (!archive) return refuse_archive(archive.findings());
  auto attempt = attempt_named(**archive, attempt_word);
  if (!attempt) return refuse_archive(attempt.findings());
  auto task = task_of(*attempt, task_word);
  if (!task) return refuse(task.findings());
  auto run = (*archive)->run(attempt->run);
  if (!run) return refuse_archive(run.findings());
  if (folder.empty()) folder = fmt::format("attempt-{}", attempt->id);
  const auto lock = lock_of(**archive, run->id);
  auto made = report::write_repro(
      {*attempt, *task, PTXLAB_VERSION, run->seed, until_of(lock), tools(), files_of(lock, attempt->task)}, folder);
  if (!made) {
    const bool asked = made.findings().front().code == "REP0001";
    return refuse(made.findings(), asked ? kExitWrongUse : kExitInfrastructure);
  }
  if (json) {
    nlohmann::json findings = nlohmann::json::array();
    for (const auto& one : made->findings) findings.push_back(one.message);
    print_json({{"schema", "ptxlab.repro/1"}, {"folder", folder}, {"files", made->files}, {"findings", findings}});
    return kExitDone;
  }
  print_findings(made->findings, "");
  print(fmt::format("wrote {}: {} files; '{}/rerun' judges it again\n", folder, made->files.size(), folder));
  return kExitDone;
}

}  // namespace ptxlab::cli
