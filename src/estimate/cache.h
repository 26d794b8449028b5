// Least recently used lines of a cache, each with a mask of the sectors that are there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ptxlab::estimate {

class Cache {
 public:
  explicit Cache(size_t lines) : lines_(lines < 1 ? 1 : lines) {}

  struct Line {
    uint64_t key = 0;
    uint32_t valid = 0, dirty = 0;  // sectors
    uint32_t newer = 0, older = 0;
  };
  // The line of `key`, now the newest; a fresh one is empty and takes the place of the oldest.
  Line& touch(uint64_t key);
  // The same, but null where it is not there.
  Line* find(uint64_t key);
  size_t size() const { return nodes_.empty() ? 0 : nodes_.size() - 1; }

 private:
  void unlink(uint32_t node);
  void push(uint32_t node);

  size_t lines_;
  std::vector<Line> nodes_;  // 0 is the ring's anchor
  std::unordered_map<uint64_t, uint32_t> where_;
};

}  // namespace ptxlab::estimate
