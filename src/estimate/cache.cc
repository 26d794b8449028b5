#include "estimate/cache.h"

namespace ptxlab::estimate {

void Cache::unlink(uint32_t node) {
  nodes_[nodes_[node].newer].older = nodes_[node].older;
  nodes_[nodes_[node].older].newer = nodes_[node].newer;
}

void Cache::push(uint32_t node) {
  nodes_[node].newer = 0;
  nodes_[node].older = nodes_[0].older;
  nodes_[nodes_[0].older].newer = node;
  nodes_[0].older = node;
}

Cache::Line* Cache::find(uint64_t key) {
  auto it = where_.find(key);
  return it == where_.end() ? nullptr : &touch(key);
}

Cache::Line& Cache::touch(uint64_t key) {
  if (nodes_.empty()) nodes_.emplace_back();
  auto [it, fresh] = where_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
  uint32_t node = it->second;
  if (!fresh) {
    unlink(node);
  } else if (nodes_.size() <= lines_) {
    nodes_.emplace_back().key = key;
  } else {
    node = nodes_[0].newer;  // the oldest: the ring's other end
    unlink(node);
    where_.erase(nodes_[node].key);
    nodes_[node] = {};
    nodes_[node].key = key;
    where_[key] = node;
  }
  push(node);
  return nodes_[node];
}

}  // namespace ptxlab::estimate
