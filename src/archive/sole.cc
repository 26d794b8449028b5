#include "archive/sole.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace ptxlab::archive {

base::Result<Sole> Sole::take(const std::filesystem::path& archive) {
  // By whatever name it is called, the archive is one.
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::weakly_canonical(archive, ignored);
  if (file.empty()) file = archive;
  file += ".bench";
  int opened = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (opened < 0)
    return base::error("ARC0001", fmt::format("{} cannot be made: {}", file.string(), std::strerror(errno)),
                       "name another archive with --archive FILE");
  if (flock(opened, LOCK_EX | LOCK_NB) != 0) {
    close(opened);
    return base::error("ARC0009", fmt::format("another bench run is at work in {}", archive.string()),
                       "wait for it, or give this one an archive of its own with --archive FILE");
  }
  return Sole(opened);
}

Sole::~Sole() {
  if (file_ >= 0) close(file_);
}

}  // namespace ptxlab::archive
