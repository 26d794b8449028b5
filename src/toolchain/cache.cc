#include "toolchain/cache.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace ptxlab::toolchain {
namespace fs = std::filesystem;

namespace {
constexpr size_t kDigest = 64;         // hexadecimal digits of SHA-256 in front of the content
constexpr unsigned kShrinkEvery = 64;  // stores between looks at the folder's size
}  // namespace

fs::path Cache::path_of(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

std::optional<std::string> Cache::get(const std::string& key) const {
  fs::path path = path_of(key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  auto content = base::read_file(path);
  if (!content) return std::nullopt;
  std::string_view all = *content;
  if (all.size() < kDigest || base::sha256(all.substr(kDigest)) != all.substr(0, kDigest)) {
    fs::remove(path, error);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used now: shrink() takes it last
  return std::string(all.substr(kDigest));
}

void Cache::put(const std::string& key, std::string_view content) const {
  fs::path path = path_of(key);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return;
  std::string all = base::sha256(content);
  all += content;
  if (!base::write_file(path, all).empty()) return;
  static std::atomic<unsigned> stores{0};
  if (stores++ % kShrinkEvery == 0) shrink();
}

void Cache::shrink() const {
  struct File {
    fs::path path;
    uint64_t bytes;
    fs::file_time_type used;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  // Another process may remove files meanwhile: what is gone is skipped.
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    File file{at->path(), at->file_size(gone), at->last_write_time(gone)};
    if (gone) continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  if (total <= bound_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= bound_ / 4 * 3) break;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    total -= file.bytes;
  }
}

}  // namespace ptxlab::toolchain
