// Runs ptxas on a text that nobody vouches for: under limits, in a folder of its own, with every way of ending told
// apart.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "toolchain/cache.h"
#include "toolchain/cubin.h"
#include "toolchain/ptxas_log.h"
#include "toolchain/tool_finding.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

namespace fs = std::filesystem;

base::Finding finding(const char* code, base::Severity severity, std::string message, std::string hint,
                      std::string_view file) {
  return tool_finding(code, severity, std::move(message), std::move(hint), std::string(file));
}

// Code for a debugger (nvcc -G: `.target sm_80, debug`), which ptxas takes without optimisation only.
bool for_debugger(std::string_view ptx) {
  for (size_t at = ptx.find(".target"); at != std::string_view::npos; at = ptx.find(".target", at + 1)) {
    if (at > 0 && ptx[at - 1] != '\n') continue;
    std::string_view line = ptx.substr(at, ptx.find('\n', at) - at);
    return line.find("debug") != std::string_view::npos;
  }
  return false;
}

std::vector<std::string> options_of(const AssembleOptions& options, std::string_view ptx) {
  int optimise = for_debugger(ptx) ? 0 : options.optimise;
  std::vector<std::string> all = {"-v", "-arch=" + options.target.name(), fmt::format("-O{}", optimise)};
  if (!options.fmad) all.emplace_back("--fmad=false");
  if (options.max_registers) all.push_back(fmt::format("-maxrregcount={}", *options.max_registers));
  return all;
}

// Everything that the result depends on. The tool's size and time stand for its content, which is too large to hash
// each time.
std::string key_of(const Tool& ptxas, std::string_view ptx, const AssembleOptions& options) {
  std::error_code error;
  auto size = fs::file_size(ptxas.path, error);
  auto time = fs::last_write_time(ptxas.path, error).time_since_epoch().count();
  std::string text = fmt::format("ptxas/1\n{}\n{}\n{} {}\n", ptxas.path.string(), ptxas.version, size, time);
  for (const auto& option : options_of(options, ptx)) text += option + "\n";
  text += ptx;
  return base::sha256(text);
}

// What is cached: ptxas's answer, yes or no, as "log bytes\n" + log + cubin. A no has an empty cubin.
struct Answer {
  std::string log, cubin;
};

std::string pack(const Answer& answer) { return fmt::format("{}\n", answer.log.size()) + answer.log + answer.cubin; }

std::optional<Answer> unpack(std::string_view text) {
  size_t end = text.find('\n');
  if (end == std::string_view::npos || end > 12 || text.find_first_not_of("0123456789") != end) return std::nullopt;
  size_t size = std::stoull(std::string(text.substr(0, end)));
  text.remove_prefix(end + 1);
  if (size > text.size()) return std::nullopt;
  return Answer{std::string(text.substr(0, size)), std::string(text.substr(size))};
}

base::Result<Assembled> assembled(Answer answer, std::string_view ptx, std::string_view file) {
  PtxasLog log = read_ptxas_log(answer.log, ptx, file);
  auto cubin = Cubin::read(answer.cubin);
  if (!cubin) return cubin.findings();
  Assembled result;
  for (auto& entry : log.entries) {
    entry.code_bytes = cubin->code_bytes(entry.entry);
    entry.max_threads = cubin->max_threads(entry.entry);
  }
  result.entries = std::move(log.entries);
  result.findings = std::move(log.findings);
  result.cubin = std::move(answer.cubin);
  return result;
}

// Why there is no cubin, for every end but a plain refusal; nothing where it is one.
std::optional<base::Finding> trouble(const base::Outcome& outcome, const PtxasLog& log, const AssembleOptions& options,
                                     std::string_view file) {
  using End = base::Outcome::End;
  constexpr auto kError = base::Severity::error;
  std::string how = base::describe(outcome);
  if (outcome.end == End::not_started) {
    return finding("ASM0006", kError, "ptxas could not be started: " + outcome.errors,
                   "this machine's trouble, not the kernel's", file);
  }
  if (outcome.end == End::timed_out) {
    return finding("ASM0004", kError, fmt::format("ptxas {}", how), "shorten the kernel or its unrolled loops", file);
  }
  if (outcome.end == End::output_limit) {
    return finding("ASM0005", kError, "ptxas printed more than its limit", "mend the first errors that it names", file);
  }
  if (outcome.end == End::signalled && outcome.code == 25) {  // SIGXFSZ
    return finding("ASM0005", kError, "ptxas wrote a file larger than its limit", "cap initialised data and unrolling",
                   file);
  }
  if (outcome.end == End::signalled && outcome.code == 9) {
    return finding("ASM0006", kError, "ptxas was killed from outside, perhaps because this machine ran out of memory",
                   "this machine's trouble, not the kernel's: free some memory and judge again", file);
  }
  if (log.out_of_memory) {
    return finding("ASM0005", kError, fmt::format("ptxas wanted more than {} MiB of memory", options.memory >> 20),
                   "shorten the kernel or its unrolled loops", file);
  }
  if (outcome.end == End::signalled || log.internal_error) {
    return finding("ASM0003", kError,
                   log.internal_error ? "ptxas stopped with an internal error" : fmt::format("ptxas crashed: {}", how),
                   "a fault of ptxas that this text sets off: write the unusual part another way", file);
  }
  if (outcome.code != 0 && !base::has_error(log.findings)) {
    return finding("ASM0003", kError, fmt::format("ptxas {} without saying why", how),
                   "a fault of ptxas that this text sets off: write the unusual part another way", file);
  }
  return std::nullopt;
}

}  // namespace

const Resources* Assembled::entry(std::string_view name) const {
  for (const auto& resources : entries) {
    if (resources.entry == name) return &resources;
  }
  return nullptr;
}

namespace {

base::Result<Assembled> run_ptxas(const Tool& ptxas, std::string_view ptx, std::string_view file,
                                  const AssembleOptions& options) {
  Cache cache(options.cache.empty() ? base::cache_home() / "ptxas" : options.cache);
  std::string key = key_of(ptxas, ptx, options);
  if (auto stored = cache.get(key)) {
    if (auto answer = unpack(*stored)) {
      if (answer->cubin.empty()) return read_ptxas_log(answer->log, ptx, file).findings;
      auto result = assembled(std::move(*answer), ptx, file);
      if (result) result->cached = true;
      return result;
    }
  }
  base::TemporaryFolder folder("ptxlab-ptxas");
  if (auto failed = base::write_file(folder.path() / "input.ptx", ptx); !failed.empty()) {
    return finding("ASM0006", base::Severity::error, "no place for ptxas's input: " + failed[0].message, failed[0].hint,
                   file);
  }
  base::Command command;
  command.argv = {ptxas.path.string()};
  for (auto& option : options_of(options, ptx)) command.argv.push_back(std::move(option));
  command.argv.insert(command.argv.end(), {"input.ptx", "-o", "output.cubin"});
  command.cwd = folder.path();
  command.limits.wall = options.wall;
  command.limits.address_space = options.memory;
  command.limits.output = uint64_t{8} << 20;
  command.limits.network = false;
  base::Outcome outcome = base::run(command);
  Answer answer{outcome.output + outcome.errors, ""};
  PtxasLog log = read_ptxas_log(answer.log, ptx, file);
  if (auto why = trouble(outcome, log, options, file)) return *why;
  if (outcome.code != 0) {
    cache.put(key, pack(answer));
    return log.findings;
  }
  auto cubin = base::read_file(folder.path() / "output.cubin");
  if (!cubin) {
    return finding("ASM0006", base::Severity::error, "ptxas reported success but wrote no cubin",
                   "the installation of ptxas is broken", file);
  }
  answer.cubin = std::move(*cubin);
  std::string packed = pack(answer);
  auto result = assembled(std::move(answer), ptx, file);
  if (!result) {
    return finding("ASM0006", base::Severity::error,
                   "ptxas reported success but what it wrote is " + result.findings()[0].message,
                   "the installation of ptxas is broken", file);
  }
  cache.put(key, packed);
  return result;
}

}  // namespace

base::Result<Assembled> assemble(const Tool& ptxas, std::string_view ptx, std::string_view file,
                                 const AssembleOptions& options) {
  try {
    return run_ptxas(ptxas, ptx, file, options);
  } catch (const std::filesystem::filesystem_error& error) {
    return finding("ASM0006", base::Severity::error, fmt::format("no place for ptxas's files: {}", error.what()),
                   "free some room in the temporary folder", file);
  }
}

base::Result<Assembled> assemble(std::string_view ptx, std::string_view file, const AssembleOptions& options) {
  const auto& ptxas = installed().ptxas;
  if (!ptxas) {
    return finding("ASM0001", base::Severity::error, "there is no ptxas on this machine",
                   "tools/setup fetches one; PTXLAB_CUDA names a CUDA folder", file);
  }
  return assemble(*ptxas, ptx, file, options);
}

}  // namespace ptxlab::toolchain
