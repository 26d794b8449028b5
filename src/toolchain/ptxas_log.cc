#include "toolchain/ptxas_log.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "toolchain/tool_finding.h"

namespace ptxlab::toolchain {
namespace {

constexpr size_t kMaxFindings = 50;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The number in front of `words`: "1024 bytes smem" holds 1024 before " bytes smem".
int number_before(std::string_view line, std::string_view words) {
  size_t at = line.find(words);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

std::string_view quoted(std::string_view line) {
  size_t begin = line.find('\'');
  if (begin == std::string_view::npos) return {};
  size_t end = line.find('\'', begin + 1);
  return end == std::string_view::npos ? std::string_view{} : line.substr(begin + 1, end - begin - 1);
}

std::string_view line_at(std::string_view text, uint32_t line) {
  for (uint32_t at = 1; at < line; ++at) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// ptxas gives a line only: the column is that of the word it quotes, else of the line's first word.
base::Place place_in(std::string_view ptx, std::string_view file, uint32_t line, std::string_view message) {
  std::string_view text = line_at(ptx, line);
  std::string_view word = quoted(message);
  size_t at = word.empty() ? std::string_view::npos : text.find(word);
  size_t length = word.size();
  if (at == std::string_view::npos) {
    std::string_view all = trim(text.substr(0, text.find("//")));
    at = all.empty() ? 0 : static_cast<size_t>(all.data() - text.data());
    length = all.size();
  }
  return {std::string(file), line, static_cast<uint32_t>(at + 1), static_cast<uint32_t>(std::max<size_t>(1, length))};
}

// "ptxas FILE, line 12; error   : text" or "ptxas warning : text".
struct Message {
  std::string_view level, text;
  uint32_t line = 0;
};

std::optional<Message> message_of(std::string_view line) {
  constexpr std::string_view kPtxas = "ptxas ";
  if (line.substr(0, kPtxas.size()) != kPtxas) return std::nullopt;
  std::string_view rest = line.substr(kPtxas.size());
  Message message;
  constexpr std::string_view kLine = ", line ";
  if (size_t at = rest.find(kLine); at != std::string_view::npos) {
    size_t end = rest.find(';', at);
    std::string_view digits = rest.substr(at + kLine.size());
    auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), message.line);
    if (parsed.ec == std::errc() && end != std::string_view::npos) rest = trim(rest.substr(end + 1));
  }
  size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  message.level = trim(rest.substr(0, colon));
  message.text = trim(rest.substr(colon + 1));
  return message;
}

class Reader {
 public:
  Reader(std::string_view ptx, std::string_view file) : ptx_(ptx), file_(file) {}

  void read(std::string_view line) {
    if (line.find("Internal error") != std::string_view::npos) log_.internal_error = true;
    for (std::string_view word : {"Memory allocation failure", "bad_alloc", "out of memory", "annot allocate memory",
                                  "Out of memory", "emory exhausted"}) {
      if (line.find(word) != std::string_view::npos) log_.out_of_memory = true;
    }
    if (auto message = message_of(line)) {
      take(*message);
    } else if (line.find("bytes stack frame") != std::string_view::npos) {
      if (Resources* entry = find(properties_of_)) {
        entry->stack = number_before(line, " bytes stack frame");
        entry->spill_stores = number_before(line, " bytes spill stores");
        entry->spill_loads = number_before(line, " bytes spill loads");
      }
    }
  }

  PtxasLog finish() && { return std::move(log_); }

 private:
  Resources* find(std::string_view name) {
    auto at =
        std::find_if(log_.entries.begin(), log_.entries.end(), [&](const Resources& r) { return r.entry == name; });
    return at == log_.entries.end() ? nullptr : &*at;
  }

  void take(const Message& message) {
    if (message.level == "info") {
      information(message);
    } else if (message.level == "warning") {
      add("ASM0011", base::Severity::warning, message);
    } else if (message.level == "error" || message.level == "fatal") {
      // The last line of every refusal says nothing new.
      if (message.text.find("assembly aborted due to errors") != std::string_view::npos) return;
      add("ASM0002", base::Severity::error, message);
    }
  }

  void information(const Message& message) {
    constexpr std::string_view kCompiling = "Compiling entry function ", kProperties = "Function properties for ";
    std::string_view text = message.text;
    if (text.substr(0, kCompiling.size()) == kCompiling) {
      compiling_ = std::string(quoted(text));
      if (!find(compiling_)) log_.entries.push_back({compiling_});
    } else if (text.substr(0, kProperties.size()) == kProperties) {
      properties_of_ = std::string(trim(text.substr(kProperties.size())));
    } else if (text.substr(0, 5) == "Used ") {
      if (Resources* entry = find(compiling_)) {
        entry->registers = number_before(text, " registers");
        entry->barriers = number_before(text, " barriers");
        entry->shared = number_before(text, " bytes smem");
        if (int all = number_before(text, " bytes cumulative stack size")) entry->stack = all;
      }
    } else if (text.substr(0, 2) == "(C") {
      add("ASM0012", base::Severity::note, message);
    }
  }

  void add(const char* code, base::Severity severity, const Message& message) {
    if (log_.findings.size() >= kMaxFindings) return;
    auto finding =
        tool_finding(code, severity, "ptxas: " + std::string(message.text.substr(0, 2000)), "", std::string(file_));
    if (message.line) finding.place = place_in(ptx_, file_, message.line, message.text);
    log_.findings.push_back(std::move(finding));
  }

  std::string_view ptx_, file_;
  std::string compiling_, properties_of_;
  PtxasLog log_;
};

}  // namespace

PtxasLog read_ptxas_log(std::string_view log, std::string_view ptx, std::string_view file) {
  Reader reader(ptx, file);
  while (!log.empty()) {
    size_t end = std::min(log.find('\n'), log.size());
    reader.read(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return std::move(reader).finish();
}

}  // namespace ptxlab::toolchain
