#include "gpu/worker/canary.h"

#include "gpu/worker/digest.h"

namespace ptxlab::gpu {
namespace {

constexpr uint64_t kBytes = 64 << 10;  // some hundred warps' work
constexpr uint64_t kKey = 0x70747867;

Trouble work(Device& device, Address at, std::string_view song) {
  uint64_t sum = 0;
  std::string back(song.size(), '\0');
  if (auto why = device.fill(at, 0xa5, kBytes)) return why;
  if (auto why = device.write(at, song)) return why;
  if (auto why = device.copy(at + kBytes / 2, at, kBytes / 2)) return why;
  if (auto why = device.begin_digest()) return why;
  if (auto why = device.add_digest(at + kBytes / 2, kBytes / 2, 0, kKey)) return why;
  if (auto why = device.end_digest(sum)) return why;
  if (auto why = device.read(at + kBytes / 2, back)) return why;
  if (back != song || sum != digest(song, 0, kKey)) return "the canary's answer is wrong";
  return std::nullopt;
}

}  // namespace

Trouble run_canary(Device& device) {
  std::string song(kBytes / 2, '\0');
  for (size_t i = 0; i < song.size(); ++i) song[i] = static_cast<char>(i * 131 + (i >> 8));
  Address at = 0;
  if (auto why = device.allocate(kBytes, at)) return why;
  Trouble why = work(device, at, song);
  device.release(at);
  return why;
}

}  // namespace ptxlab::gpu
