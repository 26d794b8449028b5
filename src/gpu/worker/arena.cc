#include "gpu/worker/arena.h"

namespace ptxlab::gpu {
namespace {

constexpr uint64_t kPlaces = 2048;               // different beginnings
constexpr uint64_t kKept = uint64_t{256} << 20;  // an arena larger than this is given back once a small job comes
constexpr uint64_t kRoom = (kPlaces - 1) * kBufferAlignment;  // for those beginnings

}  // namespace

Trouble Arena::take(uint64_t bytes, uint8_t poison, Address& at) {
  const uint64_t needed = bytes + kRoom;
  if (needed > bytes_ || (bytes_ > kKept && needed < bytes_ / 4)) {
    release();
    if (auto why = device_.allocate(needed, whole_)) return why;
    bytes_ = needed;
  }
  at = whole_ + random_.below(kPlaces) * kBufferAlignment;
  return device_.fill(whole_, poison, bytes_);
}

void Arena::release() {
  if (whole_) device_.release(whole_);
  whole_ = 0;
  bytes_ = 0;
}

}  // namespace ptxlab::gpu
