// ptxlab archive list | show: what was tried, and what came of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "archive/archive.h"
#include "base/finding_json.h"
#include "base/nearest.h"
#include "cli/archive_option.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "record/json.h"
#include "record/text.h"
#include "report/attempts.h"

namespace ptxlab::cli {
namespace {

constexpr std::string_view kExample =
    "ptxlab archive list\n"
    "ptxlab archive list --task norm/rmsnorm_bf16 --outcome wrong\n"
    "ptxlab archive show 12\n"
    "ptxlab archive show 12 --json";

nlohmann::json as_json(const archive::AttemptRow& row) {
  nlohmann::json json = {
      {"id", row.id},
      {"run", row.run},
      {"task", row.task},
      {"proposer", row.proposer},
      {"name", row.name},
      {"idea", row.idea},
      {"outcome", row.outcome},
      {"reason", row.reason},
      {"at_ms", std::chrono::duration_cast<std::chrono::milliseconds>(row.at.time_since_epoch()).count()}};
  json["estimated_speedup"] = row.estimated_speedup ? nlohmann::json(*row.estimated_speedup) : nlohmann::json(nullptr);
  return json;
}

nlohmann::json as_json(const archive::Run& run) {
  return {{"id", run.id},     {"command", run.command},     {"task", run.task},        {"target", run.target},
          {"seed", run.seed}, {"proposers", run.proposers}, {"attempts", run.attempts}};
}

int list(archive::Archive& archive, const archive::AttemptFilter& filter, bool runs, bool json) {
  if (runs) {
    auto rows = archive.runs(filter.limit);
    if (!rows) return refuse(rows.findings(), kExitInfrastructure);
    if (!json) print(report::run_list(*rows));
    if (json) {
      nlohmann::json out = {{"schema", "ptxlab.archive.runs/1"}, {"runs", nlohmann::json::array()}};
      for (const auto& row : *rows) out["runs"].push_back(as_json(row));
      print_json(out);
    }
    return kExitDone;
  }
  auto rows = archive.attempts(filter);
  if (!rows) return refuse(rows.findings(), kExitInfrastructure);
  if (!json) print(report::attempt_list(*rows));
  if (json) {
    nlohmann::json out = {{"schema", "ptxlab.archive.attempts/1"}, {"attempts", nlohmann::json::array()}};
    for (const auto& row : *rows) out["attempts"].push_back(as_json(row));
    print_json(out);
  }
  return kExitDone;
}

int show(archive::Archive& archive, int64_t id, std::string_view part, bool json) {
  auto attempt = archive.attempt(id);
  if (!attempt) {
    bool unknown = attempt.findings().front().code == "ARC0005";
    return refuse(attempt.findings(), unknown ? kExitWrongUse : kExitInfrastructure);
  }
  const auto& candidate = attempt->candidate;
  if (!part.empty()) {
    print(part == "ptx" ? candidate.ptx : part == "prompt" ? candidate.prompt : candidate.answer);
  } else if (json) {
    print_json(record::to_json(*attempt));
  } else {
    print(fmt::format("attempt {} of run {}, task {}, by {}: {}\n\n", attempt->id, attempt->run, attempt->task,
                      candidate.proposer, candidate.idea));
    print(record::text(attempt->verdict, {.sources = {{"candidate.ptx", candidate.ptx},
                                                      {"candidate.plan.toml", candidate.plan.value_or("")},
                                                      {"answer.md", candidate.answer}},
                                          .name = candidate.name}));
    if (!candidate.ptx.empty())
      print(fmt::format("\n'ptxlab archive show {} --ptx' prints the candidate itself\n", id));
    if (!candidate.prompt.empty())
      print(fmt::format("\n'ptxlab archive show {} --prompt' prints what the model was asked, --answer what it said\n",
                        id));
  }
  return kExitDone;
}

}  // namespace

int archive(Words words) {
  std::string verb, id_text, file, run, task, outcome;
  uint64_t limit = 50;
  bool runs = false, ptx = false, prompt = false, answer = false, json = false;
  Options options("archive", "Lists the attempts that were kept, or shows one whole.", kExample);
  options.argument("VERB", verb, "list or show");
  options.optional_argument("ID", id_text, "show: the attempt's number in the list");
  options.value("--run", "RUN", run, "list: attempts of this run only: its id, the beginning of it, or 'last'");
  options.value("--task", "TASK", task, "list: attempts at this task only");
  options.value("--outcome", "OUTCOME", outcome, "list: attempts with this outcome only");
  options.value("--limit", "N", limit, "list: at most so many, newest first (50)");
  options.flag("--runs", runs, "list: runs instead of attempts");
  options.flag("--ptx", ptx, "show: print the candidate's PTX alone");
  options.flag("--prompt", prompt, "show: print what a model was asked alone");
  options.flag("--answer", answer, "show: print what a model answered alone");
  options.value("--archive", "FILE", file, "Another archive than the one in the user's data folder");
  options.flag("--json", json, "Print one JSON object");
  if (auto code = options.parse(words)) return *code;
  int64_t id = 0;
  if (verb == "show") {
    auto [end, error] = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
    if (error != std::errc() || end != id_text.data() + id_text.size()) {
      return refuse("CLI0020", fmt::format("'{}' is not the number of an attempt", id_text),
                    "'ptxlab archive list' shows the numbers");
    }
  } else if (verb != "list") {
    return refuse("CLI0021", fmt::format("unknown verb '{}'", verb), "it is 'archive list' or 'archive show ID'");
  }
  std::vector<std::string> known;
  for (auto name : record::all_outcomes()) known.emplace_back(record::name_of(name));
  if (!outcome.empty() && std::find(known.begin(), known.end(), outcome) == known.end()) {
    const auto near = base::nearest(outcome, known);
    return refuse(
        "CLI0022", fmt::format("there is no outcome '{}'", outcome),
        near.empty() ? fmt::format("one of: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near));
  }
  auto archive = open_existing_archive(file);
  if (!archive) return refuse_archive(archive.findings());
  if (verb == "show") return show(**archive, id, ptx ? "ptx" : prompt ? "prompt" : answer ? "answer" : "", json);
  archive::AttemptFilter filter;
  if (!run.empty()) {
    auto found = (*archive)->run(run);
    if (!found) return refuse_archive(found.findings());
    filter.run = found->id;
  }
  if (!task.empty()) filter.task = task;
  if (!outcome.empty()) filter.outcome = outcome;
  filter.limit = static_cast<int64_t>(limit);
  return list(**archive, filter, runs, json);
}

}  // namespace ptxlab::cli
