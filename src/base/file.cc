// Whole files in and out. Writing goes through a temporary file in the same folder, fsync and rename, so that a reader
// sees the old content or the new, never a part; the signal for a file that grows too large is held back and becomes an
// error.
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/writable.h"

namespace ptxlab::base {
namespace {

namespace fs = std::filesystem;

Finding trouble(const char* code, const fs::path& path, std::string message, std::string hint) {
  Finding finding;
  finding.code = code;
  finding.place.file = path.string();
  finding.message = std::move(message);
  finding.hint = std::move(hint);
  return finding;
}

class Open {
 public:
  Open(const fs::path& path, int flags, mode_t mode = 0) : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Open() { close(); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  int get() const { return fd_; }
  bool close() {
    int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0;
  }

 private:
  int fd_;
};

// While one lives, this thread gets EFBIG from write() instead of being killed by SIGXFSZ.
class HoldBackXfsz {
 public:
  HoldBackXfsz() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  ~HoldBackXfsz() {
    timespec now{0, 0};
    if (!sigismember(&before_, SIGXFSZ)) {
      while (sigtimedwait(&only_, nullptr, &now) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldBackXfsz(const HoldBackXfsz&) = delete;
  HoldBackXfsz& operator=(const HoldBackXfsz&) = delete;

 private:
  sigset_t only_, before_;
};

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

Findings cannot_write(const fs::path& path, int error) {
  std::string hint = error == ENOSPC || error == EDQUOT || error == EFBIG  ? "make room, or write elsewhere"
                     : error == ENOENT || error == ENOTDIR                 ? "the folder must be there already"
                     : error == EACCES || error == EPERM || error == EROFS ? "choose a place that you may write to"
                                                                           : "";
  return {trouble("FILE0003", path, fmt::format("cannot write: {}", strerror(error)), hint)};
}

// A device or a FIFO (/dev/stdout) cannot be replaced, only written to.
Findings write_through(const fs::path& path, std::string_view content) {
  Open file(path, O_WRONLY);
  if (file.get() < 0 || !write_all(file.get(), content)) return cannot_write(path, errno);
  return {};
}

// A folder's own entry reaches the disk too; what it cannot promise it does not report.
void sync_folder(const fs::path& folder) {
  Open handle(folder, O_RDONLY | O_DIRECTORY);
  if (handle.get() >= 0) fsync(handle.get());
}

}  // namespace

Result<std::string> read_file(const fs::path& path, size_t limit) {
  Open file(path, O_RDONLY);
  struct stat about {};
  if (file.get() < 0 || fstat(file.get(), &about) != 0) {
    return trouble("FILE0001", path, fmt::format("cannot read: {}", strerror(errno)), "");
  }
  if (S_ISDIR(about.st_mode)) return trouble("FILE0001", path, "cannot read: it is a folder", "name a file in it");
  auto too_large = [&] {
    return trouble("FILE0002", path, fmt::format("larger than {} bytes", limit), "is this the right file?");
  };
  if (S_ISREG(about.st_mode) && static_cast<uint64_t>(about.st_size) > limit) return too_large();
  std::string content;
  content.reserve(static_cast<size_t>(about.st_size));
  char chunk[1 << 16];
  while (true) {
    ssize_t n = read(file.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return trouble("FILE0001", path, fmt::format("cannot read: {}", strerror(errno)), "");
    if (n == 0) return content;
    content.append(chunk, static_cast<size_t>(n));
    if (content.size() > limit) return too_large();
  }
}

Findings cannot_hold(const fs::path& path) {
  std::error_code none;
  const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto is = fs::status(path, none);
  if (fs::is_directory(is)) return cannot_write(path, EISDIR);
  const bool through = fs::exists(is) && !fs::is_regular_file(is);  // a device: it is written to, not replaced
  if (!fs::is_directory(folder, none)) return cannot_write(path, fs::exists(folder, none) ? ENOTDIR : ENOENT);
  if (faccessat(AT_FDCWD, (through ? path : folder).c_str(), W_OK, AT_EACCESS) != 0) return cannot_write(path, errno);
  return {};
}

Findings write_file(const fs::path& named, std::string_view content) {
  static std::atomic<unsigned> counter{0};
  HoldBackXfsz held;
  std::error_code unused, error;
  // Through a symbolic link the file that it names is replaced, not the link.
  fs::path path = fs::is_symlink(named, unused) ? fs::weakly_canonical(named, error) : named;
  if (error) return cannot_write(named, error.value());
  struct stat about {};
  bool there = stat(path.c_str(), &about) == 0;
  if (there && S_ISDIR(about.st_mode)) return cannot_write(named, EISDIR);
  if (there && !S_ISREG(about.st_mode)) return write_through(path, content);
  if (there && access(path.c_str(), W_OK) != 0) return cannot_write(named, errno);

  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  fs::path temporary = folder / fmt::format(".ptxlab-{}-{}.tmp", getpid(), counter++);
  int failed = 0;
  {
    Open file(temporary, O_WRONLY | O_CREAT | O_EXCL, there ? about.st_mode & 07777 : 0666);
    if (file.get() < 0) return cannot_write(named, errno);
    if (!write_all(file.get(), content) || fsync(file.get()) != 0) failed = errno;
    if (!file.close() && !failed) failed = errno;
  }
  if (!failed && rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed) {
    unlink(temporary.c_str());
    return cannot_write(named, failed);
  }
  sync_folder(folder);
  return {};
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  std::string name = (fs::temp_directory_path() / fmt::format("{}.XXXXXX", prefix)).string();
  if (!mkdtemp(name.data())) throw fs::filesystem_error("no temporary folder", name, {errno, std::generic_category()});
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

namespace {
fs::path home_for(const char* variable, const char* below_home) {
  const char* set = getenv(variable);
  if (set && set[0] == '/') return fs::path(set) / "ptxlab";  // the standard: a relative path is to be ignored
  const char* home = getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / below_home / "ptxlab";
}
}  // namespace

fs::path data_home() { return home_for("XDG_DATA_HOME", ".local/share"); }
fs::path cache_home() { return home_for("XDG_CACHE_HOME", ".cache"); }

}  // namespace ptxlab::base
