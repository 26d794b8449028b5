#include "base/finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/visible.h"

namespace ptxlab::base {
namespace {

std::string_view line_at(std::string_view source, uint32_t line) {
  for (uint32_t at = 1; at < line; ++at) {
    size_t end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  return source.substr(0, source.find('\n'));
}

// Long lines (a 50 MB file may be one) are cut to a window around the caret, and bytes beyond ASCII become one '?' each:
// columns count bytes, and a text that is none must not reach the terminal.
struct Window {
  std::string text;
  size_t caret;
};

Window window_around(std::string_view line, uint32_t column) {
  constexpr size_t kWidth = 140;
  size_t at = std::min<size_t>(column - 1, line.size());
  size_t from = at > kWidth - 40 ? at - (kWidth - 40) : 0;
  Window window{from > 0 ? "..." : "", 0};
  window.caret = window.text.size() + (at - from);
  for (char c : line.substr(from, kWidth)) {
    bool plain = c >= 0x20 && c < 0x7f;
    window.text += plain ? c : c == '\t' ? ' ' : '?';
  }
  return window;
}

std::string hint_line(const Finding& finding) {
  return finding.hint.empty() ? "" : fmt::format("       hint: {}\n", visible_lines(finding.hint));
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

bool has_error(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

std::string render(const Finding& finding, std::string_view source, bool color) {
  std::string out;
  const Place& place = finding.place;
  if (!place.file.empty() || place.line) {
    out += visible(place.file);
    if (place.line) out += fmt::format("{}{}", place.file.empty() ? "" : ":", place.line);
    if (place.line && place.column) out += fmt::format(":{}", place.column);
    out += ": ";
  }
  std::string_view tint = !color                                  ? ""
                          : finding.severity == Severity::error   ? "\x1b[1;31m"
                          : finding.severity == Severity::warning ? "\x1b[1;35m"
                                                                  : "\x1b[1;36m";
  std::string_view reset = color ? "\x1b[0m" : "";
  out += fmt::format("{}{}[{}]{}: {}\n", tint, name_of(finding.severity), finding.code, reset,
                     visible_lines(finding.message));
  if (place.line && !source.empty()) {
    auto line = line_at(source, place.line);
    auto window = window_around(line, std::max<uint32_t>(1, place.column));
    out += fmt::format("{:>6} | {}\n", place.line, window.text);
    if (!place.column) return out + hint_line(finding);  // the whole line is meant
    size_t room = window.text.size() > window.caret ? window.text.size() - window.caret : 1;
    size_t length = std::clamp<size_t>(place.length, 1, std::max<size_t>(1, room));
    out +=
        fmt::format("       | {}{}^{}{}\n", std::string(window.caret, ' '), tint, std::string(length - 1, '~'), reset);
  }
  return out + hint_line(finding);
}

std::string render(const Findings& findings, std::string_view source, bool color) {
  std::string out;
  for (const auto& finding : findings) out += render(finding, source, color);
  return out;
}

}  // namespace ptxlab::base
