// ptxlab compare RUN RUN: two runs, or two arms of one, task by task: what differs, how sure that is, and what cannot be said.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/finding_json.h"
#include "base/nearest.h"
#include "cli/archive_option.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report_page.h"
#include "report/compare_text.h"
#include "report/metrics.h"
#include "report/page.h"

namespace ptxlab::cli {
namespace {

constexpr std::string_view kExample =
    "ptxlab compare 20261129T171500 20261130T090000\n"
    "ptxlab compare last last --arm rules --arm model\n"
    "ptxlab compare last last --arm ptx --arm cuda --json";

base::Result<size_t> arm_of(const report::RunData& run, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& arm : run.arms) names.push_back(arm.name);
  if (name.empty() && names.size() == 1) return size_t{0};
  auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string list;
  for (const auto& one : names) list += (list.empty() ? "" : ", ") + one;
  auto near = base::nearest(name, names);
  return base::error("CLI0112",
                     name.empty() ? fmt::format("run {} has {} arms: which one?", run.id, names.size())
                                  : fmt::format("run {} has no arm '{}'", run.id, name),
                     near.empty() || name.empty() ? "--arm NAME, once for both or once for each; there are: " + list
                                                  : fmt::format("did you mean '{}'?", near));
}

// The arms to compare: those that are named, else all that both have.
base::Result<std::vector<std::pair<size_t, size_t>>> pairs_of(const report::RunData& a, const report::RunData& b,
                                                              const std::vector<std::string>& named) {
  std::vector<std::pair<size_t, size_t>> pairs;
  if (named.empty() && a.id != b.id) {
    for (size_t i = 0; i < a.arms.size(); ++i) {
      for (size_t j = 0; j < b.arms.size(); ++j) {
        if (a.arms[i].name == b.arms[j].name) pairs.emplace_back(i, j);
      }
    }
    if (!pairs.empty()) return pairs;
  }
  auto first = arm_of(a, named.empty() ? "" : named.front()), second = arm_of(b, named.empty() ? "" : named.back());
  if (!first) return first.findings();
  if (!second) return second.findings();
  pairs.emplace_back(*first, *second);
  return pairs;
}

}  // namespace

int compare(Words words) {
  std::string first, second, file, html;
  std::vector<std::string> arms;
  bool json = false;
  Options options(
      "compare",
      "Compares two runs task by task, and says which differences are not resolved. Measured speeds are compared "
      "with measured ones of the same device, estimated with estimated.",
      kExample);
  options.argument("RUN", first, "a run's id or its beginning, or 'last'");
  options.argument("RUN", second, "the other; the same for two arms of one run");
  options.values("--arm", "NAME", arms, "which arm; given twice: of the first, and of the second (all that both have)");
  options.value("--archive", "FILE", file, "another archive than the one in the user's data folder");
  options.value("--html", "FILE", html, "write it as one HTML page (docs/report.md)");
  options.flag("--json", json, "Print one JSON object (ptxlab.compare/1, in a list)");
  if (auto code = options.parse(words)) return *code;
  if (auto code = refuse_page(html)) return *code;
  if (arms.size() > 2) return refuse("CLI0113", "more than two arms", "--arm is given once or twice");
  auto archive = open_existing_archive(file);
  if (!archive) return refuse_archive(archive.findings());
  auto a = report::read_run(**archive, first);
  if (!a) return refuse_archive(a.findings());
  auto other = (*archive)->run(second);
  if (!other) return refuse_archive(other.findings());
  auto b = other->id == a->id ? a : report::read_run(**archive, other->id);
  if (!b) return refuse_archive(b.findings());
  auto pairs = pairs_of(*a, *b, arms);
  if (!pairs) return refuse(pairs.findings());
  nlohmann::json all = nlohmann::json::array();
  std::vector<report::Comparison> comparisons;
  for (size_t i = 0; i < pairs->size(); ++i) {
    auto comparison = report::compare(*a, (*pairs)[i].first, *b, (*pairs)[i].second);
    if (!html.empty()) comparisons.push_back(comparison);
    if (json) {
      all.push_back(report::to_json(comparison));
    } else if (html.empty()) {
      print((i ? "\n" : "") + report::compare_text(comparison, terminal_width()));
    }
  }
  if (json) print_json({{"schema", "ptxlab.compare/1"}, {"comparisons", std::move(all)}});
  if (!html.empty()) {
    const auto page = report::make_compare_page(comparisons, PTXLAB_VERSION, std::chrono::system_clock::now());
    if (auto failed = base::write_file(html, page); !failed.empty()) return refuse(failed, kExitInfrastructure);
    if (!json) print(fmt::format("wrote {}: {} kB\n", html, (page.size() + 999) / 1000));
  }
  return kExitDone;
}

}  // namespace ptxlab::cli
