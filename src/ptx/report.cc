#include "ptx/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace ptxlab::ptx {

std::string spelling(Code code) { return fmt::format("PTX{:04}", static_cast<unsigned>(code)); }

std::string quoted(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) {
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

base::Place Report::place(base::Span span) {
  if (line_starts_.empty()) {
    line_starts_.push_back(0);
    for (size_t at = source_.find('\n'); at != std::string_view::npos; at = source_.find('\n', at + 1))
      line_starts_.push_back(static_cast<uint32_t>(at + 1));
  }
  auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), span.begin) - 1;
  size_t line_end = std::min(source_.find('\n', span.begin), source_.size());
  constexpr uint32_t kLongestCaret = 200;
  uint32_t length = std::min<uint32_t>(span.size(), static_cast<uint32_t>(line_end) - span.begin);
  return {file_, static_cast<uint32_t>(line - line_starts_.begin()) + 1, span.begin - *line + 1,
          std::clamp(length, 1u, kLongestCaret)};
}

void Report::add(Code code, base::Severity severity, base::Span span, std::string message, std::string hint,
                 std::vector<base::Edit> fix) {
  bool error = severity == base::Severity::error;
  if (findings_.size() == limit_) {
    cut_ = true;
    if (!error || full()) return;
    // An error must never be lost to a hundred warnings: the last of those makes room.
    auto victim = std::find_if(findings_.rbegin(), findings_.rend(),
                               [](const base::Finding& f) { return f.severity != base::Severity::error; });
    findings_.erase(std::next(victim).base());
  }
  if (error) ++errors_;
  findings_.push_back({spelling(code), severity, place(span), std::move(message), std::move(hint), std::move(fix)});
}

bool Report::full() const { return errors_ == limit_; }

namespace {

void sort_by_place(base::Findings& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const base::Finding& a, const base::Finding& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
}

base::Finding cut_note(std::string file, size_t limit) {
  return {spelling(Code::too_many_findings),
          base::Severity::note,
          {std::move(file), 0, 0, 0},
          fmt::format("more than {} findings; the others are not listed", limit),
          "mend the first ones: later ones often follow from them",
          {}};
}

}  // namespace

base::Findings Report::take() {
  sort_by_place(findings_);
  if (cut_) findings_.push_back(cut_note(file_, limit_));
  errors_ = 0;
  cut_ = false;
  return std::exchange(findings_, {});
}

base::Findings merged(base::Findings first, base::Findings second, size_t limit) {
  auto is_note = [](const base::Finding& finding) { return finding.code == spelling(Code::too_many_findings); };
  bool cut = false;
  base::Findings all;
  for (auto* part : {&first, &second}) {
    for (auto& finding : *part) {
      if (is_note(finding))
        cut = true;
      else
        all.push_back(std::move(finding));
    }
  }
  sort_by_place(all);
  if (all.size() > limit) {
    // Errors are kept before warnings.
    cut = true;
    std::stable_partition(all.begin(), all.end(),
                          [](const base::Finding& f) { return f.severity == base::Severity::error; });
    all.resize(limit);
    sort_by_place(all);
  }
  if (cut && !all.empty()) all.push_back(cut_note(all.front().place.file, limit));
  return all;
}

}  // namespace ptxlab::ptx
