// CUDA C++ to PTX. nvcc's messages are passed on as findings in the user's own file; how it is called is ours to know.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"
#include "toolchain/tool_finding.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

constexpr size_t kMaxFindings = 20;

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

base::Finding stopped(const char* code, const std::filesystem::path& source, std::string message, std::string hint) {
  return tool_finding(code, base::Severity::error, std::move(message), std::move(hint), source.string());
}

// "k.cu(3): error: identifier "x" is undefined", or g++'s "k.cu:3:5: error: ...".
std::optional<base::Finding> message_of(std::string_view line) {
  size_t error = line.find("error");
  if (error == std::string_view::npos || error == 0) return std::nullopt;
  std::string_view head = trim(line.substr(0, error));
  std::string_view text = line.substr(error);
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto finding = stopped("CUC0002", {}, "nvcc: " + std::string(trim(text.substr(colon + 1))), "");
  size_t file_end = head.find_first_of("(:");
  if (file_end != std::string_view::npos && file_end + 1 < head.size()) {
    uint32_t number = 0;
    const char* at = head.data() + file_end + 1;
    auto parsed = std::from_chars(at, head.data() + head.size(), number);
    if (parsed.ec == std::errc()) finding.place = {std::string(head.substr(0, file_end)), number, 1, 1};
  }
  return finding;
}

// g++ shows lines of the source under its messages: "    1 | #error x". Nobody asked for them, and they are of any file.
bool shows_source(std::string_view line) {
  line = trim(line);
  size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return trim(line.substr(digits)).starts_with("|");
}

base::Findings refusals(std::string_view whole_log, const std::filesystem::path& source) {
  base::Findings findings;
  std::string log;
  std::string_view rest = whole_log;
  while (!rest.empty() && findings.size() < kMaxFindings) {
    size_t end = std::min(rest.find('\n'), rest.size());
    const auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (shows_source(line)) continue;
    log.append(line) += '\n';
    if (auto finding = message_of(line)) findings.push_back(std::move(*finding));
  }
  if (findings.empty()) {
    findings.push_back(
        stopped("CUC0002", source, "nvcc does not compile it: " + std::string(trim(log).substr(0, 2000)), ""));
  }
  return findings;
}

}  // namespace

namespace {

// The source with lines behind it, in a file of its own that names the user's in messages and line tables.
base::Findings append_lines(const std::filesystem::path& source, const std::vector<std::string>& lines,
                            const std::filesystem::path& to) {
  auto text = base::read_file(source);
  if (!text) return text.findings();
  std::error_code ignored;
  std::string whole = fmt::format("#line 1 \"{}\"\n{}\n", std::filesystem::absolute(source, ignored).string(), *text);
  whole += "#line 1 \"[compile] instantiate\"\n";
  for (const std::string& line : lines) whole += line + "\n";
  return base::write_file(to, whole);
}

// The files of a make rule: "out: a b\\ c \\\n d".
std::vector<std::filesystem::path> files_of_rule(std::string_view rule) {
  std::vector<std::filesystem::path> files;
  std::string word;
  size_t at = rule.find(" :") == rule.npos ? rule.find(": ") : rule.find(" :");
  for (at = std::min(at, rule.size()) + 2; at < rule.size(); ++at) {
    if (rule[at] == '\\' && at + 1 < rule.size() && rule[at + 1] != '\n') {
      word += rule[++at];
    } else if (rule[at] == '$' && at + 1 < rule.size() && rule[at + 1] == '$') {
      word += rule[++at];
    } else if (rule[at] == ' ' || rule[at] == '\n' || rule[at] == '\\') {
      if (!word.empty()) files.emplace_back(std::exchange(word, {}));
    } else {
      word += rule[at];
    }
  }
  if (!word.empty()) files.emplace_back(word);
  return files;
}

// The first file that the source has no business with; empty: there is none. Headers of the system are not in the rule, unless the
// source names them by their paths.
std::string foreign_file(const Tool& nvcc, const std::filesystem::path& source, const CompileOptions& options,
                         std::string_view rule) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> own = {fs::weakly_canonical(nvcc.path, ignored).parent_path().parent_path()};
  for (const auto& folder : options.readable) own.push_back(fs::weakly_canonical(folder, ignored));
  const fs::path itself = fs::weakly_canonical(source, ignored);
  for (const auto& file : files_of_rule(rule)) {
    const fs::path path = fs::weakly_canonical(file, ignored);
    const auto below = [&](const fs::path& folder) {
      return !folder.empty() &&
             std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
    };
    if (path != itself && std::none_of(own.begin(), own.end(), below)) return file.filename().string();
  }
  return "";
}

base::Result<std::string> run_nvcc(const Tool& nvcc, const std::filesystem::path& source,
                                   const CompileOptions& options) {
  base::TemporaryFolder folder("ptxlab-nvcc");
  std::filesystem::path output = folder.path() / "output.ptx";
  base::Command command;
  command.argv = {nvcc.path.string(), "-O3", "-ptx", "-arch=" + options.target.name()};
  if (options.line_info) command.argv.emplace_back("-lineinfo");
  command.argv.insert(command.argv.end(), options.flags.begin(), options.flags.end());
  std::filesystem::path input = source;
  if (!options.appended.empty()) {
    input = folder.path() / source.filename();
    if (auto wrong = append_lines(source, options.appended, input); !wrong.empty()) return wrong;
    // Headers beside the source stay beside it.
    command.argv.push_back("-I" + (source.parent_path().empty() ? "." : source.parent_path().string()));
  }
  command.argv.insert(command.argv.end(), {input.string(), "-o", output.string()});
  const std::filesystem::path rule = folder.path() / "files";
  if (options.only_own_files) command.argv.insert(command.argv.end(), {"-MMD", "-MF", rule.string()});
  command.environment = {{"TMPDIR", folder.path().string()}};
  command.limits.wall = options.wall;
  // A user's own source may be of any size; a kernel that anybody wrote needs no more than one gigabyte.
  command.limits.address_space = uint64_t{options.only_own_files ? 6u : 16u} << 30;
  command.limits.output = uint64_t{8} << 20;
  base::Outcome outcome = base::run(command);
  if (outcome.end == base::Outcome::End::not_started) {
    return stopped("CUC0001", source, "nvcc could not be started: " + outcome.errors, "check the CUDA installation");
  }
  if (outcome.end != base::Outcome::End::exited) {
    return stopped("CUC0003", source, "nvcc " + base::describe(outcome), "");
  }
  if (options.only_own_files) {
    // Where there is no list the preprocessor had something to say, of what it read first.
    auto read = base::read_file(rule);
    const std::string foreign = read ? foreign_file(nvcc, input, options, *read) : "";
    if (!foreign.empty() || (!read && outcome.code == 0))
      return stopped("CUC0005", source, fmt::format("it reads `{}`, which is none of its files", foreign),
                     "a candidate is one file, and may include CUDA's own headers");
  }
  if (outcome.code != 0) return refusals(outcome.errors + outcome.output, source);
  auto ptx = base::read_file(output);
  if (!ptx) return stopped("CUC0004", source, "nvcc reported success but wrote no PTX", "check the CUDA installation");
  return std::move(*ptx);
}

}  // namespace

base::Result<std::string> compile_to_ptx(const Tool& nvcc, const std::filesystem::path& source,
                                         const CompileOptions& options) {
  try {
    return run_nvcc(nvcc, source, options);
  } catch (const std::filesystem::filesystem_error& error) {
    return stopped("CUC0004", source, fmt::format("no place for nvcc's files: {}", error.what()),
                   "free some room in the temporary folder");
  }
}

base::Result<std::string> compile_to_ptx(const std::filesystem::path& source, const CompileOptions& options) {
  const auto& nvcc = installed().nvcc;
  if (!nvcc) {
    return stopped("CUC0001", source, "there is no nvcc on this machine to compile the kernel with",
                   "tools/setup fetches one; PTXLAB_CUDA names a CUDA folder");
  }
  return compile_to_ptx(*nvcc, source, options);
}

}  // namespace ptxlab::toolchain
