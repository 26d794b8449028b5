#include "task/reference_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "task/reference_text.h"

namespace ptxlab::task {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

using Flags = std::vector<std::string>;
const Flags kFlags{"-std=c++20", "-O2", "-ffp-contract=off"};
const Flags kPortableFlags{"-static-libstdc++", "-static-libgcc", "-s", "-Wl,--gc-sections", "-ffunction-sections"};
#if defined(__x86_64__)
constexpr const char* kMachine = "linux x86-64";
#elif defined(__aarch64__)
constexpr const char* kMachine = "linux aarch64";
#else
constexpr const char* kMachine = "another machine";
#endif
constexpr size_t kMessageBytes = 4000;

base::Finding fault(const char* code, const fs::path& file, std::string message, std::string hint = "") {
  return base::error_in(file.string(), code, std::move(message), std::move(hint));
}

// The compiler's version, part of the cache's key; empty where there is no compiler. Asked once.
const std::string& compiler_version() {
  static const std::string version = [] {
    base::Command command;
    command.argv = {"g++", "-dumpfullversion", "-dumpmachine"};
    command.limits.wall = seconds(20);
    const base::Outcome outcome = base::run(command);
    return outcome.ok() ? outcome.output : std::string();
  }();
  return version;
}

base::Finding no_compiler(const Task& task) {
  return fault("ORA0001", *task.reference, "there is no g++ to compile the reference with",
               "install g++, or put it on PATH; 'ptxlab tasks oracles' makes, where there is one, what is needed here");
}

// Header, text and flags, and who compiles: the same key, the same answers.
std::string key_of(const std::string& text, const Flags& flags, const std::string& compiler) {
  std::string key = compiler + std::string(reference_header()) + text;
  for (const std::string& flag : flags) key += flag;
  return base::sha256(key);
}
// Which compiler made it does not matter: what was made elsewhere was made by another one.
std::string portable_key(const std::string& text) { return key_of(text, kFlags, kMachine); }

base::Result<std::string> text_of(const Task& task) {
  if (!task.reference) return fault("ORA0005", task.file, "the task has no reference.cc");
  return base::read_file(*task.reference, size_t{4} << 20);
}

// reference.cc and the header it includes, side by side as they are compiled.
base::Findings compile(const fs::path& source, const std::string& text, const fs::path& program, const Flags& flags) {
  base::TemporaryFolder folder("ptxlab-reference");
  std::error_code error;
  fs::create_directories(folder.path() / "task", error);
  fs::create_directories(program.parent_path(), error);
  if (error) return {fault("ORA0003", program, fmt::format("the cache's folder cannot be made: {}", error.message()))};
  base::Findings findings = base::write_file(folder.path() / "task" / "reference.h", reference_header());
  // The line directive makes messages name the task's own file.
  const base::Findings more =
      base::write_file(folder.path() / "reference.cc", fmt::format("#line 1 \"{}\"\n{}", source.string(), text));
  findings.insert(findings.end(), more.begin(), more.end());
  if (base::has_error(findings)) return findings;
  // Made beside its final place and renamed: two processes may compile the same reference at once.
  static std::atomic<int> serial{0};
  const fs::path made = program.string() + fmt::format(".{}.{}", getpid(), serial++);
  base::Command command;
  command.argv = {"g++"};
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  command.argv.insert(command.argv.end(),
                      {"-I", folder.path().string(), "-o", made.string(), (folder.path() / "reference.cc").string()});
  command.limits.wall = seconds(120);
  command.limits.address_space = uint64_t{4} << 30;
  command.limits.network = false;
  const base::Outcome outcome = base::run(command);
  if (!outcome.ok()) {
    fs::remove(made, error);
    return {fault("ORA0002", source,
                  fmt::format("the reference does not compile (g++ {}):\n{}", base::describe(outcome),
                              outcome.errors.substr(0, kMessageBytes)))};
  }
  fs::rename(made, program, error);
  if (error)
    return {fault("ORA0003", program, fmt::format("the compiled reference cannot be kept: {}", error.message()))};
  return {};
}

// Compiled with these flags by the compiler that is here, unless the cache has it.
base::Result<fs::path> compiled(const Task& task, const std::string& text, const Flags& flags) {
  if (compiler_version().empty()) return no_compiler(task);
  fs::path program = base::cache_home() / "references" / key_of(text, flags, compiler_version());
  std::error_code error;
  if (!fs::exists(program, error)) {
    const base::Findings findings = compile(*task.reference, text, program, flags);
    if (base::has_error(findings)) return findings;
  }
  return program;
}

}  // namespace

fs::path portable_references() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / "oracles";
}

base::Result<fs::path> reference_program(const Task& task) {
  auto text = text_of(task);
  if (!text) return text.findings();
  fs::path made = portable_references() / portable_key(*text);
  if (access(made.c_str(), X_OK) == 0) return made;
  return compiled(task, *text, kFlags);
}

base::Result<fs::path> make_portable_reference(const Task& task, const fs::path& folder) {
  auto text = text_of(task);
  if (!text) return text.findings();
  Flags flags = kFlags;
  flags.insert(flags.end(), kPortableFlags.begin(), kPortableFlags.end());
  auto program = compiled(task, *text, flags);
  if (!program) return program.findings();
  fs::path place = folder / portable_key(*text);
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::copy_file(*program, place, fs::copy_options::overwrite_existing, error);
  if (error) return fault("ORA0003", place, fmt::format("the reference cannot be written: {}", error.message()));
  return place;
}

}  // namespace ptxlab::task
