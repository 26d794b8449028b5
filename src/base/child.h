// A program that keeps running while we talk to it: bytes to its standard input, bytes from its standard output, each with
// a deadline. For a worker that may hang, crash or write nonsense at any moment; base/subprocess.h is for programs that
// are run to their end.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ptxlab::base {

class Child {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Talk { done, late, gone };  // the deadline passed; the other end is closed, so the program ended or will

  // argv[0] is a path, or a name looked up in PATH. The child leads a process group of its own. Error: FILE0010, it could
  // not be started.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& argv);
  ~Child();  // kills what still runs
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Talk write(std::string_view bytes, Deadline deadline);
  // What there is, at least one byte and at most `most`; `got` says how many.
  Talk read_some(char* into, size_t most, size_t& got, Deadline deadline);
  // Exactly `bytes`, appended to `into`; where it ends early, what came.
  Talk read(size_t bytes, std::string& into, Deadline deadline);

  // Kills the program and its group, and says how it had ended or that it was killed: "exited with 1", "killed by signal 11
  // (Segmentation fault)", "stopped". Once; later calls repeat the answer.
  const std::string& stop();
  // What it wrote to stderr, the last 64 KiB; complete after stop().
  std::string errors() const;

 private:
  Child() = default;
  pid_t pid_ = -1;
  int talk_ = -1;    // our end of the socket that is its stdin and stdout
  int errors_ = -1;  // a memory file
  std::string ended_;
};

}  // namespace ptxlab::base
