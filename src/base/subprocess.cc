// How a program is run: everything that allocates (paths, argv, environment, the seccomp program) is made before
// fork(), and the child makes only async-signal-safe calls, so that this works in a program with threads. The child
// leads a process group of its own; when it ends, or must end, or a signal ends this program, the whole group is killed. Its input is a memory file,
// not a pipe: nothing to feed, no dead-lock between both ends, no SIGPIPE, and the program may seek in it.
#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "base/thread_pool.h"

namespace ptxlab::base {
namespace {

using Clock = std::chrono::steady_clock;

// An open file descriptor, above 2 (so that dup2 onto 0..2 never closes it by accident) and closed on exec.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd_ < 0 || fd_ > 2) return;
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    ::close(fd);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read, write;
};

std::optional<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  if (!pipe.read || !pipe.write) return std::nullopt;
  return pipe;
}

// The groups that run now. Ctrl-C at a terminal does not reach them, and the system's own way to end a child with its parent
// (PR_SET_PDEATHSIG) reaches a group's first process alone: so a signal that ends this program ends them first.
std::array<std::atomic<pid_t>, 256> running_groups;

void end_groups(int signal) {
  end_running_groups();
  raise(signal);  // its handling is the system's own again, and it comes when this returns
}

void end_groups_by_signals() {
  static const bool done = [] {
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_DFL)
        continue;  // ignored, or handled by others
      now.sa_handler = end_groups;
      now.sa_flags = SA_RESETHAND;
      sigaction(number, &now, nullptr);
    }
    return true;
  }();
  static_cast<void>(done);
}

// Notes a group down for as long as its leader is not reaped, while its number is its own. More than there is room for go without.
class RunningGroup {
 public:
  explicit RunningGroup(pid_t leader) {
    for (auto& group : running_groups) {
      pid_t none = 0;
      if (!group.compare_exchange_strong(none, leader)) continue;
      slot_ = &group;
      return;
    }
  }
  ~RunningGroup() { forget(); }
  RunningGroup(const RunningGroup&) = delete;
  RunningGroup& operator=(const RunningGroup&) = delete;
  void forget() {
    if (slot_) slot_->store(0);
    slot_ = nullptr;
  }

 private:
  std::atomic<pid_t>* slot_ = nullptr;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

Descriptor input_file(const Command& command) {
  if (command.input.empty() && command.more_input.empty()) return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor file(memfd_create("stdin", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), command.input)) return {};
  for (std::string_view more : command.more_input) {
    if (!write_all(file.get(), more)) return {};
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// A seccomp program that refuses every way to a new socket (io_uring can open one too). Nothing is inherited that could
// be one: the child closes all other descriptors.
std::vector<sock_filter> network_filter() {
  scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
  if (!context) return {};
  std::vector<sock_filter> program;
  bool ok = true;
  for (int call : {SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(io_uring_setup)}) {
    ok = ok && seccomp_rule_add(context, SCMP_ACT_ERRNO(EACCES), call, 0) == 0;
  }
  Descriptor file(memfd_create("filter", MFD_CLOEXEC));
  if (ok && file && seccomp_export_bpf(context, file.get()) == 0) {
    off_t size = lseek(file.get(), 0, SEEK_END);
    program.resize(static_cast<size_t>(size) / sizeof(sock_filter));
    if (pread(file.get(), program.data(), static_cast<size_t>(size), 0) != size) program.clear();
  }
  seccomp_release(context);
  return program;
}

std::vector<std::string> child_environment(const Command& command) {
  std::map<std::string, std::string, std::less<>> values;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text(*entry);
    size_t equals = text.find('=');
    if (equals != std::string_view::npos) values.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : command.environment) values[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : values) lines.push_back(name + "=" + value);
  return lines;
}

bool executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// argv[0] as an absolute path; empty where PATH has no such program.
std::filesystem::path program_path(const std::string& name) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return std::filesystem::absolute(name, error);
  const char* path = getenv("PATH");
  std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    size_t colon = rest.find(':');
    std::filesystem::path folder(rest.substr(0, colon));
    auto candidate = std::filesystem::absolute(folder.empty() ? "." : folder, error) / name;
    if (!name.empty() && executable(candidate)) return candidate;
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
}

// All that the child needs, made beforehand.
struct Prepared {
  std::filesystem::path program;
  std::vector<std::string> environment;
  std::vector<char*> argv, envp;
  std::vector<sock_filter> filter;
  std::string cwd;
  rlim_t cpu_seconds = RLIM_INFINITY;
  pid_t parent = 0;
};

// What went wrong between fork and exec, sent to the parent through a pipe that exec closes.
struct Failure {
  enum Step : int { none, group, folder, limit, filter, exec } step = none;
  int error = 0;
};

bool set_limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return false;
  if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max) value = now.rlim_max;
  rlimit limit{value, value};
  return setrlimit(resource, &limit) == 0;
}

// Runs in the child; async-signal-safe calls only. Returns only where a step failed.
Failure::Step become(const Command& command, const Prepared& prepared, int in, int out, int err) {
  if (setpgid(0, 0) != 0) return Failure::group;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != prepared.parent) _exit(127);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  if (!prepared.cwd.empty() && chdir(prepared.cwd.c_str()) != 0) return Failure::folder;
  const Limits& limits = command.limits;
  if (!set_limit(RLIMIT_CORE, 0) || !set_limit(RLIMIT_FSIZE, limits.file_size)) return Failure::limit;
  if (!set_limit(RLIMIT_CPU, prepared.cpu_seconds)) return Failure::limit;
  if (limits.address_space && !set_limit(RLIMIT_AS, limits.address_space)) return Failure::limit;
  if (!limits.network) {
    sock_fprog program{static_cast<unsigned short>(prepared.filter.size()),
                       const_cast<sock_filter*>(prepared.filter.data())};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failure::filter;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return Failure::filter;
  }
  execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  return Failure::exec;
}

// The pid, or -1 where fork failed. Signals are blocked around fork so that no handler of ours runs in the child.
pid_t fork_child(const Command& command, const Prepared& prepared, int in, int out, int err, int report) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = fork();
  if (child == 0) {
    Failure failure;
    failure.step = become(command, prepared, in, out, err);
    failure.error = errno;
    [[maybe_unused]] ssize_t n = write(report, &failure, sizeof failure);
    _exit(127);
  }
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

std::string reason(const Failure& failure, const Command& command) {
  std::string why = strerror(failure.error);
  switch (failure.step) {
    case Failure::none: break;
    case Failure::group: return "cannot make a process group: " + why;
    case Failure::folder: return "cannot enter " + command.cwd.string() + ": " + why;
    case Failure::limit: return "cannot set a resource limit: " + why;
    case Failure::filter: return "cannot refuse the network (seccomp): " + why;
    case Failure::exec: return "cannot execute " + command.argv[0] + ": " + why;
  }
  return why;
}

bool ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child;
}

// Reads what is there. False where the stream is over or, with `full` set, has more than `limit` bytes.
bool drain(int fd, std::string& kept, uint64_t limit, bool& full) {
  std::array<char, 1 << 16> chunk;
  ssize_t n = read(fd, chunk.data(), chunk.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  size_t take = std::min<uint64_t>(static_cast<uint64_t>(n), limit - kept.size());
  kept.append(chunk.data(), take);
  full = full || take < static_cast<size_t>(n);
  return !full;
}

// Reads both streams until the child has ended and both are empty, or a limit is met. Sets outcome.end in the latter
// case.
void follow(pid_t child, Descriptor out, Descriptor err, const Command& command, Clock::time_point start,
            Outcome& outcome) {
  const Limits& limits = command.limits;
  Descriptor handle(static_cast<int>(
      syscall(SYS_pidfd_open, child, 0)));  // readable once the child has ended; where the kernel lacks it: short waits
  auto deadline = start + limits.wall;
  bool gone = false;
  while (out || err || !gone) {
    auto now = Clock::now();
    if (now >= deadline) {
      if (!gone) outcome.end = Outcome::End::timed_out;
      return;
    }
    if (!gone && command.stop && command.stop()) {
      outcome.end = Outcome::End::stopped;
      return;
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    int longest = command.stop ? 50 : 60'000;
    int wait = static_cast<int>(std::min<int64_t>(left, handle || gone ? longest : 10));
    pollfd wanted[3] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}, {gone ? -1 : handle.get(), POLLIN, 0}};
    poll(wanted, 3, wait);
    bool full = false;
    if (wanted[0].revents && !drain(out.get(), outcome.output, limits.output, full)) out.close();
    if (wanted[1].revents && !drain(err.get(), outcome.errors, limits.output, full)) err.close();
    if (full) {
      outcome.end = Outcome::End::output_limit;
      return;
    }
    if (!gone && ended(child)) {
      gone = true;
      kill(-child, SIGKILL);  // what it left behind would hold the pipes open
      deadline = std::min(deadline, Clock::now() + std::chrono::milliseconds(500));  // ... or has left the group
    }
  }
}

Outcome not_started(std::string why) {
  Outcome outcome;
  outcome.errors = std::move(why);
  return outcome;
}

std::optional<Outcome> prepare(const Command& command, Prepared& prepared) {
  if (command.argv.empty()) return not_started("no program named");
  prepared.program = program_path(command.argv[0]);
  if (prepared.program.empty()) return not_started("no program '" + command.argv[0] + "' in PATH");
  prepared.cwd = command.cwd.string();
  prepared.environment = child_environment(command);
  for (const auto& word : command.argv) prepared.argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& line : prepared.environment) prepared.envp.push_back(const_cast<char*>(line.c_str()));
  prepared.argv.push_back(nullptr);
  prepared.envp.push_back(nullptr);
  if (!command.limits.network) {
    prepared.filter = network_filter();
    if (prepared.filter.empty()) return not_started("cannot refuse the network: no seccomp filter");
  }
  // A backstop, should the wall clock's watcher (this process) die: all cores busy for the whole time.
  auto seconds = std::chrono::ceil<std::chrono::seconds>(command.limits.wall).count() + 1;
  prepared.cpu_seconds = static_cast<rlim_t>(std::max<int64_t>(1, seconds)) * core_count();
  prepared.parent = getpid();
  return std::nullopt;
}

}  // namespace

void end_running_groups() {
  for (auto& group : running_groups) {
    if (pid_t leader = group.load()) kill(-leader, SIGKILL);
  }
}

Outcome run(const Command& command) {
  Prepared prepared;
  if (auto failed = prepare(command, prepared)) return *failed;
  auto out = make_pipe(), err = make_pipe(), report = make_pipe();
  Descriptor in = input_file(command);
  if (!out || !err || !report || !in) return not_started(std::string("cannot open pipes: ") + strerror(errno));

  end_groups_by_signals();
  auto start = Clock::now();
  pid_t child = fork_child(command, prepared, in.get(), out->write.get(), err->write.get(), report->write.get());
  if (child < 0) return not_started(std::string("cannot start a process: ") + strerror(errno));
  RunningGroup group(child);
  out->write.close();
  err->write.close();
  report->write.close();

  Failure failure;
  ssize_t n;
  do n = read(report->read.get(), &failure, sizeof failure);
  while (n < 0 && errno == EINTR);
  if (n == sizeof failure) {
    group.forget();
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return not_started(reason(failure, command));
  }

  Outcome outcome;
  outcome.end = Outcome::End::exited;
  follow(child, std::move(out->read), std::move(err->read), command, start, outcome);
  // Not reaped yet, so the group's number is still ours.
  kill(-child, SIGKILL);
  group.forget();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.wall = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  if (outcome.end == Outcome::End::exited) {
    if (WIFSIGNALED(status)) outcome.end = Outcome::End::signalled;
    outcome.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  }
  return outcome;
}

std::string describe(const Outcome& outcome) {
  switch (outcome.end) {
    case Outcome::End::exited: return fmt::format("exited with {}", outcome.code);
    case Outcome::End::signalled: return fmt::format("killed by signal {} ({})", outcome.code, strsignal(outcome.code));
    case Outcome::End::timed_out:
      return fmt::format("ran longer than {:.3g} s", static_cast<double>(outcome.wall.count()) / 1000);
    case Outcome::End::output_limit: return "printed more than it may";
    case Outcome::End::stopped: return "was stopped";
    case Outcome::End::not_started: return "did not start: " + outcome.errors;
  }
  return "";
}

}  // namespace ptxlab::base
