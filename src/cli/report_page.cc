#include "cli/report_page.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>

#include "base/file.h"
#include "base/writable.h"
#include "cli/output.h"
#include "cli/page_facts.h"
#include "report/attempt_run.h"
#include "report/metrics.h"
#include "report/page.h"

namespace ptxlab::cli {
namespace {

base::Result<WrittenPage> write(report::RunData run,
                                const std::function<base::Result<record::Attempt>(int64_t)>& attempt, bool archived,
                                const std::string& file, const std::string& ceilings) {
  auto facts = PageFacts::read(run.target, ceilings);
  if (!facts) return facts.findings();
  if (run.program.empty()) run.program = PTXLAB_VERSION;
  WrittenPage written;
  for (const auto& sample : run.samples) written.attempts += sample.turns.size();
  const auto metrics = report::compute(run);
  auto page = report::make_page({.run = run,
                                 .metrics = metrics,
                                 .attempt = attempt,
                                 .task = [&](const auto& task) { return facts->task(task); },
                                 .work = [&](const auto& task, const auto& size) { return facts->work(task, size); },
                                 .ceilings = facts->ceilings(),
                                 .alone = written.attempts == 1,
                                 .archived = archived,
                                 .made = std::chrono::system_clock::now()});
  if (!page) return page.findings();
  if (auto failed = base::write_file(file, *page); !failed.empty()) return failed;
  written.bytes = page->size();
  return written;
}

}  // namespace

std::optional<int> refuse_page(const std::string& file) {
  if (file.empty()) return std::nullopt;
  auto findings = base::cannot_hold(file);
  return findings.empty() ? std::nullopt : std::optional(refuse(findings, kExitWrongUse));
}

std::string WrittenPage::text(const std::string& file) const {
  return fmt::format("wrote {}: {} attempt{}, {}", file, attempts, attempts == 1 ? "" : "s",
                     bytes < 1'000'000 ? fmt::format("{} kB", (bytes + 999) / 1000)
                                       : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6));
}

base::Result<WrittenPage> write_page(archive::Archive& archive, const report::RunData& run, const std::string& file,
                                     const std::string& ceilings) {
  return write(
      run, [&](int64_t id) { return archive.attempt(id); }, true, file, ceilings);
}

base::Result<WrittenPage> write_page(const std::vector<record::Attempt>& attempts, const std::string& file) {
  std::vector<record::Attempt> numbered = attempts;
  for (size_t i = 0; i < numbered.size(); ++i) numbered[i].id = static_cast<int64_t>(i) + 1;
  return write(
      report::run_of(numbered, PTXLAB_VERSION),
      [&](int64_t id) -> base::Result<record::Attempt> { return numbered.at(static_cast<size_t>(id) - 1); }, false,
      file, "");
}

}  // namespace ptxlab::cli
