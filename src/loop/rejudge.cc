#include "loop/rejudge.h"

#include <map>
#include <memory>

#include "base/error.h"

namespace ptxlab::loop {
namespace {

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

}  // namespace

base::Result<Lock> rejudge_lock(const nlohmann::json& old, const LockParts& parts,
                                const std::optional<isa::Target>& target) {
  auto spec = spec_of_lock(old);
  if (!spec) return spec.findings();
  if (target) spec->target = target;
  // Which tasks they are is in the lock: the spec's choice may mean others by now.
  spec->tasks.clear();
  for (const auto& [name, task] : old.at("tasks").items()) spec->tasks.push_back(name);
  spec->task_places.assign(spec->tasks.size(), {});
  auto arms = std::move(spec->arms);
  spec->arms.clear();
  auto lock = make_lock(*std::move(spec), parts);
  if (!lock) return lock.findings();
  lock->spec.arms = std::move(arms);
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
