#include "loop/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "record/json.h"

namespace ptxlab::loop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSchema = "ptxlab.transcript/1";

std::string digest(const record::Brief& brief) { return base::sha256(base::print_json(record::to_json(brief), -1)); }

class RecordingProposer : public record::Proposer {
 public:
  RecordingProposer(std::unique_ptr<record::Proposer> proposer, fs::path folder)
      : proposer_(std::move(proposer)), folder_(std::move(folder)) {}
  std::string name() const override { return proposer_->name(); }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    auto proposal = proposer_->propose(brief, count);
    if (!proposal) return proposal;
    json exchange = {{"schema", kSchema}, {"proposer", name()},     {"brief_sha256", digest(brief)},
                     {"count", count},    {"note", proposal->note}, {"candidates", json::array()}};
    for (const auto& candidate : proposal->candidates) exchange["candidates"].push_back(record::to_json(candidate));
    std::error_code error;
    fs::create_directories(folder_, error);
    auto failed = base::write_file(next_file(), base::print_json(exchange) + "\n");
    proposal->findings.insert(proposal->findings.end(), failed.begin(), failed.end());
    return proposal;
  }

 private:
  // Numbers go on where earlier exchanges in the folder ended, whoever wrote them: several proposers may share it.
  fs::path next_file() const {
    for (int number = 1;; ++number) {
      std::string prefix = fmt::format("{:04}-", number);
      std::error_code error;
      bool taken = false;
      for (const auto& entry : fs::directory_iterator(folder_, error)) {
        taken |= entry.path().filename().string().starts_with(prefix);
      }
      if (!taken) return folder_ / (prefix + name() + ".json");
    }
  }

  std::unique_ptr<record::Proposer> proposer_;
  fs::path folder_;
};

class ReplayProposer : public record::Proposer {
 public:
  explicit ReplayProposer(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() == ".json") files_.push_back(entry.path());
    }
    std::sort(files_.begin(), files_.end());
  }
  std::string name() const override { return "replay"; }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    if (files_.empty()) return bad(folder_, "the folder holds no transcript", "record one with --record DIR");
    if (next_ == files_.size()) {
      Proposal end;
      end.note = fmt::format("all {} recorded exchanges are used up", files_.size());
      return end;
    }
    const fs::path& file = files_[next_++];
    auto text = base::read_file(file);
    if (!text) return text.findings();
    auto exchange = json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!exchange.is_object() || exchange.value("schema", "") != kSchema || !exchange["candidates"].is_array()) {
      return bad(file, fmt::format("this is no {} file", kSchema), "it is damaged, or was written by something else");
    }
    Proposal proposal;
    proposal.note = exchange.value("note", "");
    for (const auto& item : exchange["candidates"]) {
      if (static_cast<int>(proposal.candidates.size()) == count) break;
      auto candidate = record::candidate_from_json(item);
      if (!candidate) return candidate.findings();
      proposal.candidates.push_back(*std::move(candidate));
    }
    if (exchange.value("brief_sha256", "") != digest(brief)) {
      proposal.findings.push_back({"LOOP0003",
                                   base::Severity::warning,
                                   {file.string()},
                                   "the exchange was recorded for another brief",
                                   "the task, the baseline or the constraints have changed since; what was recorded is "
                                   "judged against today's",
                                   {}});
    }
    return proposal;
  }

 private:
  static base::Finding bad(const fs::path& place, std::string message, std::string hint) {
    return {"LOOP0002", base::Severity::error, {place.string()}, std::move(message), std::move(hint), {}};
  }

  fs::path folder_;
  std::vector<fs::path> files_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<record::Proposer> make_recording_proposer(std::unique_ptr<record::Proposer> proposer, fs::path folder) {
  return std::make_unique<RecordingProposer>(std::move(proposer), std::move(folder));
}

std::unique_ptr<record::Proposer> make_replay_proposer(fs::path folder) {
  return std::make_unique<ReplayProposer>(std::move(folder));
}

}  // namespace ptxlab::loop
