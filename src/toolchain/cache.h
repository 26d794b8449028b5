// A folder of results by content: a file a key, written beside and renamed, so that any number of processes may share
// it. Old files go when the folder grows beyond its bound. A cache never decides anything: where it fails, work is done
// again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ptxlab::toolchain {

class Cache {
 public:
  explicit Cache(std::filesystem::path folder, uint64_t bound = uint64_t{512} << 20)
      : folder_(std::move(folder)), bound_(bound) {}

  // What was stored for `key` (hexadecimal), or nothing; a damaged file counts as nothing and is removed.
  std::optional<std::string> get(const std::string& key) const;
  void put(const std::string& key, std::string_view content) const;
  // Removes the files unused for longest until the folder holds at most three quarters of its bound.
  void shrink() const;

 private:
  std::filesystem::path path_of(const std::string& key) const;
  std::filesystem::path folder_;
  uint64_t bound_;
};

}  // namespace ptxlab::toolchain
