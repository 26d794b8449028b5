// Runs a program to its end under limits on time, memory and output. What it prints is data; how it ended is an
// outcome, never an exception: a crash of ptxas is something to report.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptxlab::base {

struct Limits {
  std::chrono::milliseconds wall{60'000};
  uint64_t address_space = 0;              // bytes, RLIMIT_AS; 0: no limit (CUDA and sanitizers need that)
  uint64_t output = uint64_t{64} << 20;    // bytes kept of stdout and of stderr each; beyond that the process is killed
  uint64_t file_size = uint64_t{1} << 30;  // RLIMIT_FSIZE
  bool network = true;                     // false: seccomp refuses sockets
  // The processor time of all threads together is limited too, to `wall` on every core; core dumps are off.
};

struct Command {
  std::vector<std::string> argv;  // argv[0]: a path (as seen from the caller's folder), or a name looked up in PATH
  std::string input;              // stdin
  std::vector<std::string_view> more_input;                      // stdin goes on with these, which outlive run()
  std::filesystem::path cwd;                                     // empty: the caller's
  std::vector<std::pair<std::string, std::string>> environment;  // added to or replacing the caller's
  Limits limits;
  std::function<bool()> stop;  // asked twenty times a second where it is set; true ends the process and its group
};

struct Outcome {
  enum class End { exited, signalled, timed_out, output_limit, not_started, stopped };
  End end = End::not_started;
  int code = -1;       // exit status, or the signal's number
  std::string output;  // stdout
  std::string errors;  // stderr; for not_started the reason
  std::chrono::milliseconds wall{0};
  bool ok() const { return end == End::exited && code == 0; }
};

// Blocks until the process and its group are gone. Thread-safe.
Outcome run(const Command& command);

// Kills every group that runs now. Async-signal-safe: for handlers of signals that end this program. Without one of their own SIGINT,
// SIGTERM and SIGHUP do it.
void end_running_groups();

// "exited with 1", "killed by signal 11 (Segmentation fault)", "ran longer than 30 s" ...
std::string describe(const Outcome& outcome);

}  // namespace ptxlab::base
