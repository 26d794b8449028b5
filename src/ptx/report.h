// Collects findings about one text: places from spans, a cap on their number, long spellings cut short.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "ptx/codes.h"

namespace ptxlab::ptx {

class Report {
 public:
  // `source` must outlive the report. More than `limit` findings are cut off.
  Report(std::string_view source, std::string_view file, size_t limit) : source_(source), file_(file), limit_(limit) {}

  void error(Code code, base::Span span, std::string message, std::string hint = "") {
    add(code, base::Severity::error, span, std::move(message), std::move(hint));
  }
  void warning(Code code, base::Span span, std::string message, std::string hint = "") {
    add(code, base::Severity::warning, span, std::move(message), std::move(hint));
  }
  void add(Code code, base::Severity severity, base::Span span, std::string message, std::string hint = "",
           std::vector<base::Edit> fix = {});

  // As many errors as are ever listed: the caller may stop.
  bool full() const;
  std::string_view source() const { return source_; }

  // The findings sorted by place; the report is empty afterwards.
  base::Findings take();

 private:
  base::Place place(base::Span span);

  std::string_view source_;
  std::string file_;
  size_t limit_;
  base::Findings findings_;
  std::vector<uint32_t> line_starts_;
  size_t errors_ = 0;
  bool cut_ = false;  // something was left out
};

// Two sorted lists as one, sorted and capped like each of them.
base::Findings merged(base::Findings first, base::Findings second, size_t limit);

// 'text' in quotes for a message, cut at 60 bytes, with bytes that are not printable shown as \xNN.
std::string quoted(std::string_view text);

}  // namespace ptxlab::ptx
