#include "base/blob.h"

#include <sys/mman.h>

namespace ptxlab::base {
namespace {

constexpr size_t kLarge = size_t{1} << 22;  // below this the heap is as good

// Null: there is no such memory.
std::shared_ptr<char> uninitialised(size_t bytes) {
  if (bytes < kLarge) return std::shared_ptr<char>(new char[bytes], std::default_delete<char[]>());
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_HUGEPAGE);  // a wish
  return {static_cast<char*>(at), [bytes](char* begin) { munmap(begin, bytes); }};
}

}  // namespace

std::optional<Blob> Blob::made(size_t bytes, const std::function<bool(std::span<char>)>& fill) {
  auto memory = uninitialised(bytes);
  if (!memory || !fill({memory.get(), bytes})) return std::nullopt;
  std::string_view view(memory.get(), bytes);
  return Blob(std::move(memory), view);
}

}  // namespace ptxlab::base
