#include "simt/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace ptxlab::simt {

Memory::Memory(uint64_t seed, uint64_t base) : seed_(base::derive_seed(seed, "addresses")), next_(base) {}

size_t Memory::allocate(std::string name, uint64_t bytes, launch::ResolvedBuffer::Init init, bool writable) {
  size_t index = allocations_.size();
  uint64_t stream = base::derive_seed(seed_ + index, name);
  auto allocation = std::make_unique<Allocation>();
  allocation->name = std::move(name);
  allocation->address = next_ + kGuard + base::Random(stream).below(256) * 256;
  allocation->bytes = bytes;
  allocation->writable = writable;
  allocation->data.resize(bytes);
  if (init == launch::ResolvedBuffer::Init::poison) {
    fill_poison(allocation->data, stream);
    allocation->defined.assign(bytes, 0);
  }
  next_ = (allocation->address + bytes + 255) / 256 * 256;
  bytes_ += bytes;
  allocations_.push_back(std::move(allocation));
  return index;
}

namespace {

// The first allocation that ends behind `address`.
auto first_ending_after(const std::vector<std::unique_ptr<Allocation>>& allocations, uint64_t address) {
  return std::partition_point(allocations.begin(), allocations.end(),
                              [&](const auto& a) { return a->address + a->bytes <= address; });
}

std::string plural(uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::optional<size_t> Memory::find(uint64_t address) const {
  auto it = first_ending_after(allocations_, address);
  if (it == allocations_.end() || address < (*it)->address) return std::nullopt;
  return static_cast<size_t>(it - allocations_.begin());
}

std::string Memory::describe(uint64_t address, uint32_t bytes) const {
  if (allocations_.empty()) return "there is no buffer at all";
  auto above = first_ending_after(allocations_, address);
  if (above != allocations_.end() && address >= (*above)->address) {
    const Allocation& a = **above;
    uint64_t end = address + bytes - a.address;
    if (end <= a.bytes) return fmt::format("inside '{}' ({})", a.name, plural(a.bytes));
    return fmt::format("its last {} lie past the end of '{}' ({})", plural(end - a.bytes), a.name, plural(a.bytes));
  }
  const Allocation* below = above == allocations_.begin() ? nullptr : (above - 1)->get();
  uint64_t past = below ? address - (below->address + below->bytes) : ~uint64_t{0};
  uint64_t before = above == allocations_.end() ? ~uint64_t{0} : (*above)->address - address;
  if (past <= before)
    return fmt::format("{} past the end of '{}' ({})", plural(past), below->name, plural(below->bytes));
  return fmt::format("{} before '{}' ({})", plural(before), (*above)->name, plural((*above)->bytes));
}

void fill_poison(std::span<uint8_t> bytes, uint64_t seed) {
  // One random word repeated would make equal values of equal mistakes; a page of them is cheap and is not.
  uint64_t page[64];
  base::Random random(seed);
  for (uint64_t& word : page) word = random.next();
  for (size_t at = 0; at < bytes.size(); at += sizeof page)
    std::memcpy(bytes.data() + at, page, std::min(sizeof page, bytes.size() - at));
}

}  // namespace ptxlab::simt
