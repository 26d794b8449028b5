// Reading whole files, and writing them so that a crash or a full disk never leaves half a file.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ptxlab::base {

// The file's bytes. Errors: FILE0001 not found or not readable, FILE0002 larger than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, size_t limit = size_t{1} << 30);

// Writes to a temporary file beside `path`, fsyncs, renames. Error: FILE0003 with the system's reason; `path` is then
// as before.
Findings write_file(const std::filesystem::path& path, std::string_view content);

// A fresh folder below the system's temporary folder, removed with all it holds when the object goes. Where none can be
// made the constructor throws std::filesystem::filesystem_error: trouble of the machine, not of the user's input.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// $XDG_DATA_HOME/ptxlab and $XDG_CACHE_HOME/ptxlab with the standard's defaults; created on first use by whoever
// writes.
std::filesystem::path data_home();
std::filesystem::path cache_home();

}  // namespace ptxlab::base
