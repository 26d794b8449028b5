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

// Behind the string or character literal that begins at `at`; `at` where none does. A literal ends with its line at the latest, and
// 1'000 is no character.
size_t literal_end(std::string_view text, size_t at) {
  char quote = text[at];
  if (quote != '"' && quote != '\'') return at;
  bool digits = quote == '\'' && at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]));
  if (digits) return at;
  size_t i = at + 1;
  while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
  return std::min(i < text.size() && text[i] == quote ? i + 1 : i, text.size());
}

// The text as the preprocessor's first phases see it: no continued lines, no comments, digraphs and trigraphs of '#' spelled
// out. Line ends stay, a continued line's move behind it, so that lines keep their numbers.
std::string preprocessed(std::string_view text) {
  std::string joined;
  size_t owed = 0;
  const auto newline = [&] {
    joined.append(owed + 1, '\n');
    owed = 0;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (rest.starts_with("?\?=")) {
      joined += '#', i += 2;
    } else if (rest.starts_with("\?\?/")) {
      joined += '\\', i += 2;
    } else if (rest[0] == '\r' && rest.substr(1).starts_with("\n")) {
      continue;
    } else if (rest[0] == '\n' && !joined.empty() && joined.back() == '\\') {
      joined.pop_back();
      ++owed;
    } else if (rest[0] == '\n') {
      newline();
    } else {
      joined += rest[0];
    }
  }
  std::string out;
  for (size_t i = 0; i < joined.size(); ++i) {
    std::string_view rest = std::string_view(joined).substr(i);
    if (size_t behind = literal_end(joined, i); behind > i) {
      out.append(joined, i, behind - i);
      i = behind - 1;
    } else if (rest.starts_with("//")) {
      i = std::min(joined.find('\n', i), joined.size()) - 1;
    } else if (rest.starts_with("/*")) {
      size_t end = joined.find("*/", i + 2);
      out += ' ';
      for (size_t j = i; j < std::min(end, joined.size()); ++j) {
        if (joined[j] == '\n') out += '\n';
      }
      i = end == joined.npos ? joined.size() : end + 1;
    } else if (rest.starts_with("%:")) {
      out += '#', ++i;
    } else {
      out += joined[i];
    }
  }
  return out;
}

class Policy {
 public:
  explicit Policy(std::string_view file) : file_(file) {}

  base::Findings read(std::string_view cuda) {
    if (cuda.size() > kLargest) {
      say("CUC0012", 0, fmt::format("{} bytes of CUDA C", cuda.size()), fmt::format("at most {} are taken", kLargest));
      return std::move(findings_);
    }
    std::string text = preprocessed(cuda);
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
    for (size_t at = text.find("R\""); at != text.npos; at = text.find("R\"", at + 1)) {
      // A macro's name may end so before a string; a raw string's prefix may be u8, u, U or L.
      size_t word = at;
      while (word > 0 && (std::isalnum(static_cast<unsigned char>(text[word - 1])) || text[word - 1] == '_')) --word;
      auto prefix = text.substr(word, at - word);
      if (prefix.empty() || prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L")
        return say("CUC0011", number, "a raw string, in which directives could hide", "a kernel needs none");
    }
    std::string_view directive = trim(text);
    if (!directive.starts_with("#")) return;
    directive = trim(directive.substr(1));
    size_t end = std::min(directive.find_first_of(" \t<\"("), directive.size());
    std::string_view name = directive.substr(0, end), rest = trim(directive.substr(end));
    if (name == "include") return include(rest, number);
    if (name == "include_next" || name == "import" || name == "embed")
      say("CUC0011", number, fmt::format("`#{}` reads files", name), "a candidate is one file");
  }

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

void compile_candidate(const toolchain::Tool& nvcc, const task::Task& task, const isa::Target& target,
                       record::Candidate& candidate) {
  auto& findings = candidate.findings;
  const auto add = [&](const base::Findings& more) { findings.insert(findings.end(), more.begin(), more.end()); };
  if (auto refused = cuda_policy(candidate.cuda, kCudaFile); !refused.empty()) return add(refused);
  try {
    base::TemporaryFolder folder("ptxlab-candidate");
    auto file = folder.path() / kCudaFile;
    if (auto failed = base::write_file(file, candidate.cuda); !failed.empty()) return add(failed);
    toolchain::CompileOptions options;
    options.target = target;
    options.flags = task.compile.flags;
    options.wall = kWall;
    auto ptx = toolchain::compile_to_ptx(nvcc, file, options);
    if (ptx) {
      candidate.ptx = *std::move(ptx);
      return;
    }
    auto said = ptx.findings();
    // Where it lay for the moment is nobody's affair.
    for (auto& finding : said) {
      if (finding.place.file == file.string()) finding.place.file = kCudaFile;
      for (size_t at; (at = finding.message.find(folder.path().string() + "/")) != std::string::npos;)
        finding.message.erase(at, folder.path().string().size() + 1);
    }
    add(said);
  } catch (const std::filesystem::filesystem_error& error) {
    add({base::error("FILE0003", fmt::format("no place to compile in: {}", error.what()), "")});
  }
}

}  // namespace ptxlab::loop
