// ptxlab report [RUN]: a run's tables in the terminal, its figures as JSON, and the whole of it as one HTML page.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "archive/archive.h"
#include "cli/archive_option.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report_page.h"
#include "cli/run_figures.h"
#include "record/json.h"
#include "record/text.h"
#include "report/attempt_run.h"

namespace ptxlab::cli {
namespace {

constexpr std::string_view kExample =
    "ptxlab report\n"
    "ptxlab report 20261129T171500 --html report.html\n"
    "ptxlab report --attempt 12 --html attempt.html\n"
    "ptxlab report last --json";

struct Wanted {
  std::string run, attempt, html, archive, ceilings;
  bool json = false;
};

// Everything that the three ways of telling share.
struct Told {
  report::RunData run;
  std::optional<record::Attempt> attempt;  // alone
};

int tell(archive::Archive& archive, const Told& told, const Wanted& wanted) {
  // The page first: it is there even where nobody reads all that is printed.
  std::string wrote;
  if (!wanted.html.empty()) {
    auto written = write_page(archive, told.run, wanted.html, wanted.ceilings);
    if (!written) {
      const bool asked = written.findings().front().code == "CLI0101" || written.findings().front().code == "FILE0001";
      return refuse(written.findings(), asked ? kExitWrongUse : kExitInfrastructure);
    }
    wrote = written->text(wanted.html) + "\n";
  }
  if (told.attempt && wanted.json) {
    print_json(record::to_json(*told.attempt));
  } else if (wanted.html.empty() && told.attempt) {
    const auto& candidate = told.attempt->candidate;
    print(record::text(told.attempt->verdict, {.sources = {{"candidate.ptx", candidate.ptx},
                                                           {"candidate.plan.toml", candidate.plan.value_or("")},
                                                           {"answer.md", candidate.answer}},
                                               .name = candidate.name,
                                               .color = colour_on_stdout()}));
  } else if (wanted.json || wanted.html.empty()) {
    auto figures = RunFigures::of(archive, told.run);
    if (!figures) return refuse(figures.findings(), kExitInfrastructure);
    wanted.json ? print_json(figures->json()) : print(figures->text(terminal_width()));
  } else {
    print(wrote);
  }
  return kExitDone;
}

}  // namespace

int report(Words words) {
  Wanted wanted;
  Options options("report",
                  "Shows a run: tables here, or one HTML page that needs nothing but itself, with every attempt in it.",
                  kExample);
  options.optional_argument("RUN", wanted.run, "the run's id or its beginning; the last one without it");
  options.value("--attempt", "N", wanted.attempt, "one attempt alone instead of a run");
  options.value("--html", "FILE", wanted.html, "write the page there");
  options.value("--archive", "FILE", wanted.archive, "another archive than the one in the user's data folder");
  options.value("--ceilings", "FILE", wanted.ceilings,
                "what 'ptxlab doctor --gpu --json' printed: ceilings that were measured, for the roofline");
  options.flag("--json", wanted.json, "Print one JSON object (ptxlab.bench/1; of an attempt ptxlab.attempt/1)");
  if (auto code = options.parse(words)) return *code;
  if (auto code = refuse_page(wanted.html)) return *code;
  if (!wanted.attempt.empty() && !wanted.run.empty())
    return refuse("CLI0102", "a run and an attempt", "--attempt N alone: its number names it in the whole archive");
  if (!wanted.ceilings.empty() && wanted.html.empty())
    return refuse("CLI0103", "--ceilings without --html", "ceilings are drawn in the page alone: add --html FILE");
  auto archive = open_existing_archive(wanted.archive);
  if (!archive) return refuse_archive(archive.findings());
  Told told;
  if (!wanted.attempt.empty()) {
    auto attempt = attempt_named(**archive, wanted.attempt);
    if (!attempt) return refuse_archive(attempt.findings());
    told.run = report::run_of({&*attempt, 1}, PTXLAB_VERSION);
    told.attempt = std::move(*attempt);
  } else {
    auto run = report::read_run(**archive, wanted.run.empty() ? "last" : wanted.run);
    if (!run) return refuse_archive(run.findings());
    told.run = std::move(*run);
  }
  return tell(**archive, told, wanted);
}

}  // namespace ptxlab::cli
