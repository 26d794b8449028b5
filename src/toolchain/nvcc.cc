// CUDA C++ to PTX. nvcc's messages are passed on as findings in the user's own file; how it is called is ours to know.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

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

base::Findings refusals(std::string_view log, const std::filesystem::path& source) {
  base::Findings findings;
  std::string_view rest = log;
  while (!rest.empty() && findings.size() < kMaxFindings) {
    size_t end = std::min(rest.find('\n'), rest.size());
    if (auto finding = message_of(rest.substr(0, end))) findings.push_back(std::move(*finding));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (findings.empty()) {
    findings.push_back(
        stopped("CUC0002", source, "nvcc does not compile it: " + std::string(trim(log.substr(0, 2000))), ""));
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
  command.environment = {{"TMPDIR", folder.path().string()}};
  command.limits.wall = options.wall;
  command.limits.address_space = uint64_t{16} << 30;
  command.limits.output = uint64_t{8} << 20;
  base::Outcome outcome = base::run(command);
  if (outcome.end == base::Outcome::End::not_started) {
    return stopped("CUC0001", source, "nvcc could not be started: " + outcome.errors, "check the CUDA installation");
  }
  if (outcome.end != base::Outcome::End::exited) {
    return stopped("CUC0003", source, "nvcc " + base::describe(outcome), "");
  }
  if (outcome.code != 0) return refusals(outcome.errors + outcome.output, source);
  auto ptx = base::read_file(output);
  if (!ptx) return stopped("CUC0003", source, "nvcc reported success but wrote no PTX", "check the CUDA installation");
  return std::move(*ptx);
}

}  // namespace

base::Result<std::string> compile_to_ptx(const Tool& nvcc, const std::filesystem::path& source,
                                         const CompileOptions& options) {
  try {
    return run_nvcc(nvcc, source, options);
  } catch (const std::filesystem::filesystem_error& error) {
    return stopped("CUC0003", source, fmt::format("no place for nvcc's files: {}", error.what()),
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
