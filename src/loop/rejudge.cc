#include "loop/rejudge.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace ptxlab::loop {
namespace {

namespace fs = std::filesystem;

// Hands in what the old run's proposer did for this cell. What was malformed in the answer stays so; CUDA C is compiled anew, for
// the new target.
class Remembered : public record::Proposer {
 public:
  Remembered(archive::Archive& archive, int64_t answer, std::string name)
      : archive_(archive), answer_(answer), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  bool learns() const override { return true; }
  base::Result<Proposal> propose(const record::Brief&, int) override {
    auto answer = archive_.answer(answer_);
    if (!answer) return answer.findings();
    Proposal proposal;
    proposal.note = answer->note;
    proposal.findings = answer->findings;
    if (answer->candidate) {
      // What nvcc said belongs to the old target.
      auto& candidate = proposal.candidates.emplace_back(*std::move(answer->candidate));
      if (!candidate.cuda.empty()) candidate.ptx.clear();
    }
    return proposal;
  }

 private:
  archive::Archive& archive_;
  int64_t answer_;
  std::string name_;
};

// What find_task finds the task by.
base::Result<std::string> word_of(const std::string& name, const std::map<std::string, fs::path>& files,
                                  const fs::path& root) {
  std::error_code ignored;
  const auto known = files.find(name);
  const fs::path file = known == files.end() ? fs::path() : known->second;
  const bool users = !file.empty() && file.filename() != "task.toml";
  if (!users && (file.empty() || fs::is_regular_file(root / name / "task.toml", ignored))) return name;
  if (fs::is_regular_file(file, ignored)) return file.string();
  return base::error("BENCH0015",
                     fmt::format("task `{}` was read from {}, and is no longer there", name, file.string()),
                     "judging again reads the task anew: put it back");
}

}  // namespace

base::Result<std::map<std::string, fs::path>> task_files_of(archive::Archive& archive, const std::string& run) {
  auto answers = archive.answers(run);
  if (!answers) return answers.findings();
  std::map<std::string, fs::path> files;
  for (const auto& row : *answers) {
    if (files.count(row.cell.task)) continue;
    auto answer = archive.answer(row.id);
    if (!answer) return answer.findings();
    const auto brief = nlohmann::json::parse(answer->brief_json, nullptr, false);
    const auto file = nlohmann::json::json_pointer("/task/file");
    const bool said = brief.is_object() && brief.contains(file) && brief[file].is_string();
    files[row.cell.task] = said ? brief[file].get<std::string>() : "";
  }
  return files;
}

base::Result<Lock> rejudge_lock(const nlohmann::json& old, const std::map<std::string, fs::path>& files,
                                const LockParts& parts, const std::optional<isa::Target>& target) {
  auto spec = spec_of_lock(old);
  if (!spec) return spec.findings();
  if (target) spec->target = target;
  // Which tasks they are is in the lock: the spec's choice may mean others by now.
  spec->tasks.clear();
  for (const auto& [name, task] : old.at("tasks").items()) {
    auto word = word_of(name, files, parts.tasks);
    if (!word) return word.findings();
    spec->tasks.push_back(*std::move(word));
  }
  spec->task_places.assign(spec->tasks.size(), {});
  auto arms = std::move(spec->arms);
  spec->arms.clear();
  auto lock = make_lock(*std::move(spec), parts);
  if (!lock) return lock.findings();
  lock->spec.arms = std::move(arms);
  // The words by which they were found are this machine's own.
  lock->json["spec"]["tasks"] = old.at("spec").at("tasks");
  // Every turn that the old run has is judged, whatever the turn before it comes to now.
  lock->spec.stop = Stop::turns;
  lock->json["spec"]["stop"] = "turns";
  lock->json["arms"] = old.at("arms");
  lock->json["arm_order"] = old.at("arm_order");
  return lock;
}

base::Result<BenchParts> rejudge_parts(archive::Archive& archive, const std::string& run, BenchParts parts) {
  auto answers = archive.answers(run);
  if (!answers) return answers.findings();
  auto known = std::make_shared<std::map<archive::Cell, int64_t>>();
  for (const auto& answer : *answers) known->emplace(answer.cell, answer.id);
  parts.proposer = [&archive, known](size_t,
                                     const archive::Cell& cell) -> base::Result<std::unique_ptr<record::Proposer>> {
    auto found = known->find(cell);
    int64_t answer = found == known->end() ? 0 : found->second;
    return std::unique_ptr<record::Proposer>(std::make_unique<Remembered>(archive, answer, cell.arm));
  };
  parts.exists = [known](const archive::Cell& cell) { return known->count(cell) > 0; };
  parts.refused = {};
  return parts;
}

}  // namespace ptxlab::loop
