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

// What judging took differs from run to run, and where the task lies from place to place; neither says anything of the brief.
std::string digest(record::Brief brief) {
  brief.task.file.clear();
  for (auto& earlier : brief.earlier) {
    for (auto& gate : earlier.verdict.gates) gate.milliseconds = 0;
  }
  return base::sha256(base::print_json(record::to_json(brief), -1));
}

json to_json(const record::Exchange& exchange) {
  json tries = json::array();
  for (const auto& one : exchange.tries) {
    tries.push_back({{"status", one.status},
                     {"end", one.end},
                     {"milliseconds", one.took.count()},
                     {"waited_milliseconds", one.waited.count()}});
  }
  json written = {{"request", record::text_json(exchange.request)},
                  {"response", record::text_json(exchange.response)},
                  {"tries", std::move(tries)}};
  if (exchange.usage) written["usage"] = record::to_json(*exchange.usage);
  if (exchange.candidate) written["candidate"] = *exchange.candidate;
  return written;
}

class RecordingProposer : public record::Proposer {
 public:
  RecordingProposer(std::unique_ptr<record::Proposer> proposer, fs::path folder)
      : proposer_(std::move(proposer)), folder_(std::move(folder)) {}
  std::string name() const override { return proposer_->name(); }
  bool learns() const override { return proposer_->learns(); }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    auto answered = proposer_->propose(brief, count);
    Proposal proposal;
    if (answered) {
      proposal = *std::move(answered);
    } else {
      proposal.findings = answered.findings();
    }
    json exchange = {{"schema", kSchema},
                     {"proposer", name()},
                     {"learns", learns()},
                     {"brief_sha256", digest(brief)},
                     {"count", count},
                     {"note", proposal.note},
                     {"findings", base::to_json(proposal.findings)},
                     {"candidates", json::array()},
                     {"exchanges", json::array()}};
    for (const auto& candidate : proposal.candidates) exchange["candidates"].push_back(record::to_json(candidate));
    for (const auto& one : proposal.exchanges) exchange["exchanges"].push_back(to_json(one));
    if (proposal.usage) exchange["usage"] = record::to_json(*proposal.usage);
    std::error_code error;
    fs::create_directories(folder_, error);
    auto failed = base::write_file(next_file(), base::print_json(exchange) + "\n");
    proposal.findings.insert(proposal.findings.end(), failed.begin(), failed.end());
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
      if (!taken) return folder_ / (prefix + file_name() + ".json");
    }
  }

  // Models have names such as "Qwen/Qwen3:8b".
  std::string file_name() const {
    std::string text = name().substr(0, 80);
    for (char& c : text) {
      bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      if (!plain) c = '_';
    }
    return text;
  }

  std::unique_ptr<record::Proposer> proposer_;
  fs::path folder_;
};

base::Finding bad(const fs::path& place, std::string message, std::string hint) {
  return {"LOOP0002", base::Severity::error, {place.string()}, std::move(message), std::move(hint), {}};
}

// One file; of a damaged one `wrong` says what is wrong with it.
struct Recorded {
  fs::path file;
  std::string proposer;
  bool learns = false;
  std::string brief;  // SHA-256
  record::Proposer::Proposal proposal;
  base::Findings wrong;
};

Recorded read_recorded(const fs::path& file) {
  Recorded recorded;
  recorded.file = file;
  auto text = base::read_file(file);
  if (!text) {
    recorded.wrong = text.findings();
    return recorded;
  }
  auto exchange = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  recorded.wrong = {
      bad(file, fmt::format("this is no {} file", kSchema), "it is damaged, or was written by something else")};
  auto is = [&](const char* key, auto holds) { return exchange.contains(key) && holds(exchange[key]); };
  auto string = [](const json& value) { return value.is_string(); };
  auto list = [](const json& value) { return value.is_array(); };
  if (!exchange.is_object() || !is("schema", [](const json& v) { return v == kSchema; }) || !is("candidates", list) ||
      !is("proposer", string) || !is("brief_sha256", string) || !is("note", string))
    return recorded;
  recorded.proposer = exchange["proposer"].get<std::string>();
  recorded.brief = exchange["brief_sha256"].get<std::string>();
  recorded.learns = exchange.contains("learns") && exchange["learns"] == true;
  recorded.proposal.note = exchange["note"].get<std::string>();
  for (const auto& item : exchange["candidates"]) {
    auto candidate = record::candidate_from_json(item);
    if (!candidate) {
      recorded.wrong = candidate.findings();
      return recorded;
    }
    recorded.proposal.candidates.push_back(*std::move(candidate));
  }
  // Files of earlier versions have no findings.
  if (is("findings", list)) {
    for (const auto& item : exchange["findings"]) {
      auto finding = base::finding_from_json(item);
      if (!finding) return recorded;
      recorded.proposal.findings.push_back(*std::move(finding));
    }
  }
  recorded.wrong.clear();
  return recorded;
}

class ReplayProposer : public record::Proposer {
 public:
  explicit ReplayProposer(std::vector<Recorded> files) : files_(std::move(files)) {}
  std::string name() const override {
    const auto& recorded = files_.front().proposer;
    return recorded.empty() ? "replay" : "replay:" + recorded;
  }
  bool learns() const override { return files_.front().learns; }

  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    if (next_ == files_.size()) {
      Proposal end;
      end.note = files_.size() == 1 ? "the recorded exchange is used up"
                                    : fmt::format("all {} recorded exchanges are used up", files_.size());
      return end;
    }
    const auto& recorded = files_[next_++];
    if (!recorded.wrong.empty()) return recorded.wrong;
    Proposal proposal = recorded.proposal;
    if (proposal.candidates.size() > static_cast<size_t>(count)) proposal.candidates.resize(static_cast<size_t>(count));
    if (recorded.brief != digest(brief)) {
      proposal.findings.push_back({"LOOP0003",
                                   base::Severity::warning,
                                   {recorded.file.string()},
                                   "the exchange was recorded for another brief",
                                   "the task, the baseline or the constraints have changed since; what was recorded is "
                                   "judged against today's",
                                   {}});
    }
    return proposal;
  }

 private:
  std::vector<Recorded> files_;
  size_t next_ = 0;
};

// What a folder without transcripts has to say, where proposers are asked.
class NothingRecorded : public record::Proposer {
 public:
  explicit NothingRecorded(fs::path folder) : folder_(std::move(folder)) {}
  std::string name() const override { return "replay"; }
  base::Result<Proposal> propose(const record::Brief&, int) override {
    return bad(folder_, "the folder holds no transcript", "record one with --record DIR");
  }

 private:
  fs::path folder_;
};

}  // namespace

std::unique_ptr<record::Proposer> make_recording_proposer(std::unique_ptr<record::Proposer> proposer, fs::path folder) {
  return std::make_unique<RecordingProposer>(std::move(proposer), std::move(folder));
}

std::vector<std::unique_ptr<record::Proposer>> make_replay_proposers(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::vector<Recorded>> groups;  // by proposer
  for (const auto& file : files) {
    auto recorded = read_recorded(file);
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.front().proposer == recorded.proposer; });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(std::move(recorded));
  }
  std::vector<std::unique_ptr<record::Proposer>> proposers;
  for (auto& group : groups) proposers.push_back(std::make_unique<ReplayProposer>(std::move(group)));
  if (proposers.empty()) proposers.push_back(std::make_unique<NothingRecorded>(folder));
  return proposers;
}

}  // namespace ptxlab::loop
