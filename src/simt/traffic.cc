#include "simt/traffic.h"

#include <algorithm>
#include <bit>

namespace ptxlab::simt {
namespace {

constexpr uint32_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

// The active lanes' addresses in ascending order; most patterns ascend already.
uint32_t sorted(const uint64_t* addresses, LaneMask active, uint64_t* out) {
  uint32_t n = 0;
  for (LaneMask left = active; left; left &= left - 1) {
    uint64_t address = addresses[std::countr_zero(left)];
    uint32_t at = n++;
    for (; at && out[at - 1] > address; --at) out[at] = out[at - 1];
    out[at] = address;
  }
  return n;
}

// Passes for one group of lanes: as many as its busiest bank has different words.
uint32_t group_passes(const uint64_t* addresses, LaneMask lanes, uint32_t bytes, bool atomic) {
  uint64_t words[kLanes * 4];
  uint8_t next[kLanes * 4];  // the bank's word before this one
  std::array<uint8_t, kBanks> last{}, count{};
  uint32_t n = 0, most = 0;
  for (LaneMask left = lanes; left; left &= left - 1) {
    uint64_t first = addresses[std::countr_zero(left)];
    for (uint64_t word = first / kBankBytes; word <= (first + bytes - 1) / kBankBytes; ++word) {
      auto bank = static_cast<size_t>(word % kBanks);
      bool known = false;
      for (uint32_t i = last[bank]; i && !known && !atomic; i = next[i - 1]) known = words[i - 1] == word;
      if (known) continue;
      words[n] = word;
      next[n] = last[bank];
      last[bank] = static_cast<uint8_t>(++n);
      most = std::max<uint32_t>(most, ++count[bank]);
    }
  }
  return most;
}

}  // namespace

Traffic count_sectors(const uint64_t* addresses, LaneMask active, uint32_t bytes) {
  uint64_t in_order[kLanes];
  uint32_t n = sorted(addresses, active, in_order);
  uint64_t next_sector = 0, next_byte = 0, sectors = 0, distinct = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t begin = in_order[i], end = begin + bytes;
    uint64_t first = std::max(begin / kSectorBytes, next_sector), last = (end - 1) / kSectorBytes;
    if (last >= first) sectors += last - first + 1;
    next_sector = std::max(next_sector, last + 1);
    if (end > next_byte) distinct += end - std::max(begin, next_byte);
    next_byte = std::max(next_byte, end);
  }
  return {static_cast<uint16_t>(sectors), static_cast<uint16_t>((distinct + kSectorBytes - 1) / kSectorBytes)};
}

Traffic count_passes(const uint64_t* addresses, LaneMask active, uint32_t bytes, bool atomic) {
  int lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  Traffic traffic;
  for (int start = 0; start < kLanes; start += lanes) {
    LaneMask group = active & static_cast<LaneMask>(((uint64_t{1} << lanes) - 1) << start);
    if (!group) continue;
    traffic.units = static_cast<uint16_t>(traffic.units + group_passes(addresses, group, bytes, atomic));
    ++traffic.ideal;
  }
  return traffic;
}

bool TrafficMemo::repeats(const uint64_t* addresses, LaneMask active, uint32_t key) {
  uint64_t first = addresses[std::countr_zero(active)];
  uint64_t differs = (active ^ active_) | (key ^ key_);
  if (active == kAllLanes) {
    for (int l = 0; l < kLanes; ++l) differs |= (addresses[l] - first) ^ distance_[static_cast<size_t>(l)];
  } else {
    for (int l = 0; l < kLanes; ++l) {
      uint64_t counts = uint64_t{0} - (active >> l & 1);
      differs |= ((addresses[l] - first) ^ distance_[static_cast<size_t>(l)]) & counts;
    }
  }
  if (!differs) return true;
  active_ = active;
  key_ = key;
  for (int l = 0; l < kLanes; ++l) distance_[static_cast<size_t>(l)] = addresses[l] - first;
  return false;
}

Traffic TrafficMemo::sectors(const uint64_t* addresses, LaneMask active, uint32_t bytes) {
  auto phase = static_cast<uint32_t>(addresses[std::countr_zero(active)] % kSectorBytes);
  if (!repeats(addresses, active, phase << 8 | bytes)) traffic_ = count_sectors(addresses, active, bytes);
  return traffic_;
}

Traffic TrafficMemo::passes(const uint64_t* addresses, LaneMask active, uint32_t bytes, bool atomic) {
  auto phase = static_cast<uint32_t>(addresses[std::countr_zero(active)] % kBankBytes);
  uint32_t key = uint32_t{1} << 31 | uint32_t{atomic} << 30 | phase << 8 | bytes;
  if (!repeats(addresses, active, key)) traffic_ = count_passes(addresses, active, bytes, atomic);
  return traffic_;
}

}  // namespace ptxlab::simt
