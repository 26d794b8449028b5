#include "loop/cuda_candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace ptxlab::loop {
namespace {

constexpr size_t kLargest = size_t{1} << 20;
constexpr std::chrono::milliseconds kWall{120'000};

constexpr std::array<std::string_view, 34> kHeaders = {"cuda_runtime.h",
                                                       "cuda_runtime_api.h",
                                                       "device_launch_parameters.h",
                                                       "cuda_fp16.h",
                                                       "cuda_bf16.h",
                                                       "cuda_fp8.h",
                                                       "cuda_fp4.h",
                                                       "cuda_fp6.h",
                                                       "mma.h",
                                                       "cooperative_groups.h",
                                                       "cooperative_groups/reduce.h",
                                                       "cooperative_groups/scan.h",
                                                       "cooperative_groups/memcpy_async.h",
                                                       "cuda_pipeline.h",
                                                       "cuda_pipeline_primitives.h",
                                                       "cuda_awbarrier.h",
                                                       "cuda_awbarrier_primitives.h",
                                                       "cuda/pipeline",
                                                       "cuda/barrier",
                                                       "cuda/atomic",
                                                       "cuda/std/cstdint",
                                                       "cuda/std/type_traits",
                                                       "cuda/std/limits",
                                                       "vector_types.h",
                                                       "math_constants.h",
                                                       "stdint.h",
                                                       "cstdint",
                                                       "cfloat",
                                                       "float.h",
                                                       "limits.h",
                                                       "climits",
                                                       "cmath",
                                                       "math.h",
                                                       "type_traits"};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v'; }
bool starts_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) || c == '_' || c == '$' || byte >= 0x80;
}
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)); }

// Lines that a '\' continues are one; blanks may stand behind it, as g++ takes it. Line ends stay, a continued line's move behind
// it, so that lines keep their numbers.
std::string joined(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // the mark that some editors begin a file with
  std::string out;
  size_t owed = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] != '\n') {
      out += text[i];
      continue;
    }
    size_t end = out.size();
    while (end > 0 && (blank(out[end - 1]) || out[end - 1] == '\0')) --end;
    if (end > 0 && out[end - 1] == '\\') {
      out.resize(end - 1);
      ++owed;
    } else {
      out.append(owed + 1, '\n');
      owed = 0;
    }
  }
  return out;
}

// The text as the preprocessor's first phases see it: lines joined, no comments, the digraph of '#' spelled out. Words, numbers and
// literals are read as C++ reads them, since what begins a comment depends on it: L'/*' is a character, and so is the '/*' of 1'/*'.
class Phases {
 public:
  explicit Phases(std::string_view text) : in_(joined(text)) {}

  std::string run() {
    while (at_ < in_.size()) {
      if (starts_word(in_[at_])) {
        word();
      } else if (digit(at_) || (in_[at_] == '.' && digit(at_ + 1))) {
        number();
      } else if (in_[at_] == '"' || in_[at_] == '\'') {
        literal();
      } else if (rest().starts_with("//")) {
        at_ = std::min(in_.find('\n', at_), in_.size());
      } else if (rest().starts_with("/*")) {
        comment();
      } else if (rest().starts_with("%:")) {
        out_ += '#', at_ += 2;
      } else {
        take(1);
      }
    }
    return std::move(out_);
  }
  // The byte of the result at which the first raw string begins; npos: there is none.
  size_t raw_string() const { return raw_; }

 private:
  std::string_view rest() const { return std::string_view(in_).substr(at_); }
  bool digit(size_t i) const { return i < in_.size() && std::isdigit(static_cast<unsigned char>(in_[i])); }
  void take(size_t count) {
    out_.append(in_, at_, count);
    at_ += count;
  }
  void word() {
    size_t end = at_;
    while (end < in_.size() && in_word(in_[end])) ++end;
    const std::string_view name = std::string_view(in_).substr(at_, end - at_);
    const bool raw = name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R";
    if (raw && end < in_.size() && in_[end] == '"') raw_ = std::min(raw_, out_.size());
    take(end - at_);
  }
  void number() {
    size_t end = at_ + 1;
    for (; end < in_.size(); ++end) {
      const char c = in_[end], before = in_[end - 1];
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator = c == '\'' && end + 1 < in_.size() && in_word(in_[end + 1]);
      if (!in_word(c) && c != '.' && !sign && !separator) break;
    }
    take(end - at_);
  }
  // It ends with its line at the latest.
  void literal() {
    const char quote = in_[at_];
    size_t end = at_ + 1;
    while (end < in_.size() && in_[end] != quote && in_[end] != '\n')
      end += in_[end] == '\\' && end + 1 < in_.size() && in_[end + 1] != '\n' ? 2 : 1;
    take(std::min(end < in_.size() && in_[end] == quote ? end + 1 : end, in_.size()) - at_);
  }
  void comment() {
    const size_t end = in_.find("*/", at_ + 2);
    out_ += ' ';
    for (size_t i = at_; i < std::min(end, in_.size()); ++i) {
      if (in_[i] == '\n') out_ += '\n';
    }
    at_ = end == in_.npos ? in_.size() : end + 2;
  }

  std::string in_, out_;
  size_t at_ = 0, raw_ = std::string::npos;
};

class Policy {
 public:
  explicit Policy(std::string_view file) : file_(file) {}

  base::Findings read(std::string_view cuda) {
    if (cuda.size() > kLargest) {
      say("CUC0012", 0, fmt::format("{} bytes of CUDA C", cuda.size()), fmt::format("at most {} are taken", kLargest));
      return std::move(findings_);
    }
    // Whether they mean anything depends on how the compiler is called.
    for (std::string_view trigraph : {"?\?=", "?\?/"}) {
      if (size_t at = cuda.find(trigraph); at != cuda.npos)
        say("CUC0011", line_of(cuda, at), "a trigraph, in which directives could hide", "a kernel needs none");
    }
    Phases phases(cuda);
    const std::string text = phases.run();
    if (size_t at = phases.raw_string(); at != text.npos)
      say("CUC0011", line_of(text, at), "a raw string, in which directives could hide", "a kernel needs none");
    uint32_t number = 1;
    for (std::string_view rest = text; !rest.empty(); ++number) {
      size_t end = rest.find('\n');
      line(rest.substr(0, end), number);
      rest = end == rest.npos ? "" : rest.substr(end + 1);
    }
    return std::move(findings_);
  }

 private:
  void say(const char* code, uint32_t line, std::string message, std::string hint) {
    base::Place place;
    place.file = file_;
    place.line = line;
    findings_.push_back(base::error(code, std::move(message), std::move(hint), place));
  }

  static uint32_t line_of(std::string_view text, size_t at) {
    return static_cast<uint32_t>(1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
  }

  static std::string_view trim(std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    return text;
  }

  void line(std::string_view text, uint32_t number) {
    for (std::string_view word : {"__has_include", "__has_embed", "__has_include_next"}) {
      if (text.find(word) != text.npos)
        return say("CUC0011", number, fmt::format("`{}` looks for files", word), "a candidate is one file");
    }
    for (size_t at = text.find("_Pragma"); at != text.npos; at = text.find("_Pragma", at + 1)) {
      const auto words = trim(text.substr(at + std::string_view("_Pragma").size()));
      if (!words.starts_with("(") || !trim(words.substr(1)).starts_with("\""))
        return say("CUC0011", number, "a _Pragma that does not say itself what it asks for", "`_Pragma(\"unroll\")`");
      if (!harmless(trim(trim(words.substr(1)).substr(1)))) return say_pragma(number);
    }
    std::string_view directive = trim(text);
    if (!directive.starts_with("#")) return;
    directive = trim(directive.substr(1));
    const size_t end =
        static_cast<size_t>(std::find_if_not(directive.begin(), directive.end(), in_word) - directive.begin());
    std::string_view name = directive.substr(0, end), rest = trim(directive.substr(end));
    if (name == "include") return include(rest, number);
    if (name == "include_next" || name == "import" || name == "embed")
      return say("CUC0011", number, fmt::format("`#{}` reads files", name), "a candidate is one file");
    // The compiler shows the lines of the file that it believes to be in.
    if (name == "line" || (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front()))))
      return say("CUC0011", number, "a directive that names another file", "a candidate is one file");
    if (name == "pragma" && !harmless(rest)) say_pragma(number);
  }

  // g++ has pragmas that open files.
  static bool harmless(std::string_view pragma) {
    return pragma.find("dependency") == pragma.npos && pragma.find("pch_preprocess") == pragma.npos;
  }
  void say_pragma(uint32_t number) { say("CUC0011", number, "a pragma that opens files", "a candidate is one file"); }

  void include(std::string_view rest, uint32_t number) {
    char close = rest.starts_with("<") ? '>' : rest.starts_with("\"") ? '"' : '\0';
    size_t end = close ? rest.find(close, 1) : rest.npos;
    std::string_view name = end == rest.npos ? "" : rest.substr(1, end - 1);
    if (std::find(kHeaders.begin(), kHeaders.end(), name) != kHeaders.end()) return;
    say("CUC0010", number,
        name.empty() ? std::string("an include that names no header itself")
                     : fmt::format("`{}` is none of the headers that a candidate may include", name.substr(0, 80)),
        "CUDA's own are taken: cuda_fp16.h, cuda_bf16.h, mma.h, cooperative_groups.h, cuda_pipeline.h and their like");
  }

  std::string file_;
  base::Findings findings_;
};

}  // namespace

base::Findings cuda_policy(std::string_view cuda, std::string_view file) { return Policy(file).read(cuda); }

base::Findings compile_candidate(const toolchain::Tool& nvcc, const task::Task& task, const isa::Target& target,
                                 record::Candidate& candidate) {
  auto& findings = candidate.findings;
  const auto add = [&](const base::Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
    return base::Findings();
  };
  if (auto refused = cuda_policy(candidate.cuda, kCudaFile); !refused.empty()) return add(refused);
  try {
    base::TemporaryFolder folder("ptxlab-candidate");
    auto file = folder.path() / kCudaFile;
    if (auto failed = base::write_file(file, candidate.cuda); !failed.empty()) return failed;
    toolchain::CompileOptions options;
    options.target = target;
    options.flags = task.compile.flags;
    options.wall = kWall;
    options.only_own_files = true;
    // A task that brings flags may bring files by them.
    if (!options.flags.empty()) options.readable.push_back(task.folder);
    auto ptx = toolchain::compile_to_ptx(nvcc, file, options);
    if (ptx) {
      candidate.ptx = *std::move(ptx);
      return {};
    }
    auto said = ptx.findings();
    if (said.front().code == "CUC0001" || said.front().code == "CUC0004") return said;
    // Where it lay for the moment is nobody's affair.
    for (auto& finding : said) {
      if (finding.place.file == file.string()) finding.place.file = kCudaFile;
      for (size_t at; (at = finding.message.find(folder.path().string() + "/")) != std::string::npos;)
        finding.message.erase(at, folder.path().string().size() + 1);
    }
    return add(said);
  } catch (const std::filesystem::filesystem_error& error) {
    return {base::error("CUC0004", fmt::format("no place to compile in: {}", error.what()),
                        "free some room in the temporary folder")};
  }
}

}  // namespace ptxlab::loop
