// posix_spawn makes the child, so that a program with threads and gigabytes starts it cheaply; a socket pair is both ends of
// the talk, since send() can be told not to raise SIGPIPE.
#include "base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

extern char** environ;

namespace ptxlab::base {
namespace {

Finding not_started(const std::string& program, int error) {
  Finding finding;
  finding.code = "FILE0010";
  finding.message = fmt::format("'{}' could not be started: {}", program, strerror(error));
  return finding;
}

// Waits until `events` can be done without blocking. False: the deadline passed.
bool ready(int fd, short events, Child::Deadline deadline) {
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd one{fd, events, 0};
    int found = poll(&one, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (found > 0) return true;
    if (found < 0 && errno == EINTR) continue;
    if (left <= 0) return false;
  }
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& argv) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return not_started(argv.at(0), errno);
  std::unique_ptr<Child> child(new Child);
  child->talk_ = pair[0];
  child->errors_ = memfd_create("stderr", MFD_CLOEXEC);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 0);
  posix_spawn_file_actions_adddup2(&actions, pair[1], 1);
  posix_spawn_file_actions_adddup2(&actions, child->errors_, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int error = posix_spawnp(&child->pid_, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pair[1]);
  if (error != 0) {
    child->pid_ = -1;
    return not_started(argv[0], error);
  }
  return child;
}

Child::~Child() {
  stop();
  if (talk_ >= 0) close(talk_);
  if (errors_ >= 0) close(errors_);
}

// Both try first and wait only where they must: a message of gigabytes is many thousand of these calls.
Child::Talk Child::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t sent = send(talk_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (!ready(talk_, POLLOUT, deadline)) return Talk::late;
      continue;
    }
    if (sent <= 0) return Talk::gone;
    bytes.remove_prefix(static_cast<size_t>(sent));
    if (!bytes.empty() && std::chrono::steady_clock::now() > deadline) return Talk::late;
  }
  return Talk::done;
}

Child::Talk Child::read_some(char* into, size_t most, size_t& got, Deadline deadline) {
  while (true) {
    ssize_t came = recv(talk_, into, most, 0);
    if (came > 0) {
      got = static_cast<size_t>(came);
      return Talk::done;
    }
    if (came < 0 && errno == EINTR) continue;
    if (came == 0 || errno != EAGAIN) return Talk::gone;
    if (!ready(talk_, POLLIN, deadline)) return Talk::late;
  }
}

Child::Talk Child::read(size_t bytes, std::string& into, Deadline deadline) {
  char block[1 << 16];
  while (bytes > 0) {
    size_t got = 0;
    if (auto talk = read_some(block, std::min(bytes, sizeof block), got, deadline); talk != Talk::done) return talk;
    into.append(block, got);
    bytes -= got;
  }
  return Talk::done;
}

const std::string& Child::stop() {
  if (pid_ < 0) return ended_;
  int status = 0;
  bool by_itself = waitpid(pid_, &status, WNOHANG) == pid_;
  kill(-pid_, SIGKILL);
  if (!by_itself) {
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (WIFEXITED(status)) {
    ended_ = fmt::format("exited with {}", WEXITSTATUS(status));
  } else if (!by_itself && WTERMSIG(status) == SIGKILL) {
    ended_ = "stopped";
  } else {
    ended_ = fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return ended_;
}

std::string Child::errors() const {
  constexpr off_t kMost = 1 << 16;
  off_t end = errors_ < 0 ? 0 : lseek(errors_, 0, SEEK_END), from = std::max<off_t>(0, end - kMost);
  std::string text(static_cast<size_t>(end - from), '\0');
  ssize_t got = pread(errors_, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

}  // namespace ptxlab::base
