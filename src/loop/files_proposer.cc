#include "loop/files_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/file.h"

namespace ptxlab::loop {
namespace {

namespace fs = std::filesystem;

// A candidate larger than this is no kernel: reading stops before memory does.
constexpr size_t kLargest = size_t{64} << 20;

class FilesProposer : public record::Proposer {
 public:
  explicit FilesProposer(fs::path folder) : folder_(std::move(folder)) {}
  std::string name() const override { return "files"; }

  base::Result<Proposal> propose(const record::Brief&, int count) override {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    }
    if (error || files.empty()) {
      return base::Finding{"LOOP0001",
                           base::Severity::error,
                           {folder_.string()},
                           error ? fmt::format("the folder cannot be read: {}", error.message())
                                 : std::string("the folder holds no .ptx file"),
                           "files:DIR takes every NAME.ptx in DIR, with NAME.plan.toml as its plan where there is one",
                           {}};
    }
    std::sort(files.begin(), files.end());
    Proposal proposal;
    for (const auto& file : files) {
      if (static_cast<int>(proposal.candidates.size()) == count) {
        proposal.note =
            fmt::format("{} of {} files taken; --candidates {} takes all", count, files.size(), files.size());
        break;
      }
      read(file, proposal);
    }
    return proposal;
  }

 private:
  void read(const fs::path& file, Proposal& proposal) {
    auto text = base::read_file(file, kLargest);
    if (!text) return append(proposal.findings, text.findings());
    record::Candidate candidate;
    candidate.ptx = *std::move(text);
    candidate.proposer = "files";
    candidate.name = file.stem().string();
    candidate.idea = fmt::format("{} as handed in", file.filename().string());
    fs::path plan = file;
    plan.replace_extension(".plan.toml");
    if (fs::exists(plan)) {
      auto plan_text = base::read_file(plan, kLargest);
      if (!plan_text) return append(proposal.findings, plan_text.findings());
      candidate.plan = *std::move(plan_text);
    }
    proposal.candidates.push_back(std::move(candidate));
  }

  static void append(base::Findings& to, const base::Findings& from) { to.insert(to.end(), from.begin(), from.end()); }

  fs::path folder_;
};

}  // namespace

std::unique_ptr<record::Proposer> make_files_proposer(fs::path folder) {
  return std::make_unique<FilesProposer>(std::move(folder));
}

}  // namespace ptxlab::loop
