// Device memory of one run: guarded allocations in a 64-bit address space, with a definedness bit for each bit.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/resolved.h"

namespace ptxlab::simt {

// Allocations start at multiples of 256 and lie at least kGuard bytes apart, so that an index slightly off hits
// nothing.
inline constexpr uint64_t kGuard = uint64_t{64} << 10;

// The 64-bit address space. Buffers come first, a module's variables have a range of their own, and the windows through
// which generic addresses reach the spaces of a CTA or a thread lie above all of it.
inline constexpr uint64_t kBufferBase = uint64_t{0x10} << 32;
// Where a driver puts buffers on Linux: for runs that must not be told from a GPU's by their addresses. It ends below the windows.
inline constexpr uint64_t kDriverBase = uint64_t{0x7f12} << 32;
inline constexpr uint64_t kVariableBase = uint64_t{0x4000} << 32;
inline constexpr uint64_t kSharedWindow = uint64_t{0x7f40} << 32;
inline constexpr uint64_t kLocalWindow = uint64_t{0x7f50} << 32;
inline constexpr uint64_t kParamWindow = uint64_t{0x7f60} << 32;
inline constexpr uint64_t kCodeWindow = uint64_t{0x7f70} << 32;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;

// Zeroed bytes whose pages are made when they are first touched: a launch of a few CTAs over buffers of gigabytes costs what
// those CTAs touch. New elements are the zeros that calloc gives, so a vector of these only grows once, from empty.
template <class T>
struct ZeroedPages {
  using value_type = T;
  ZeroedPages() = default;
  template <class U>
  ZeroedPages(const ZeroedPages<U>&) {}
  T* allocate(size_t count) {
    void* pages = std::calloc(count, sizeof(T));
    if (!pages) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* pages, size_t) { std::free(pages); }
  template <class U>
  void construct(U*) {}
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const ZeroedPages&, const ZeroedPages&) { return true; }
};
using Bytes = std::vector<uint8_t, ZeroedPages<uint8_t>>;

struct Allocation {
  std::string name;  // the buffer's name in the task, for messages
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool writable = true;
  Bytes data;
  // A byte for each byte of data, a bit for each bit: 0xff wholly defined, 0 not at all; what lies between has
  // undefined bits. Empty: all defined.
  std::vector<uint8_t> defined;
};

class Memory {
 public:
  // `seed` shuffles addresses, so that nothing depends on them.
  explicit Memory(uint64_t seed = 0, uint64_t base = kBufferBase);
  // The index of the new allocation. poison: undefined bytes of a pattern drawn from the seed.
  size_t allocate(std::string name, uint64_t bytes, launch::ResolvedBuffer::Init init, bool writable = true);
  Allocation& allocation(size_t index) { return *allocations_[index]; }
  const Allocation& allocation(size_t index) const { return *allocations_[index]; }
  size_t count() const { return allocations_.size(); }
  // Bytes of all allocations together.
  uint64_t bytes() const { return bytes_; }
  // Index of the allocation that holds `address`, or nothing.
  std::optional<size_t> find(uint64_t address) const;
  // Nearest allocation below or above, for messages ("4 bytes past the end of 'y' (4096 bytes)").
  std::string describe(uint64_t address, uint32_t bytes) const;

 private:
  std::vector<std::unique_ptr<Allocation>> allocations_;  // by index; addresses ascend with it
  uint64_t seed_ = 0;
  uint64_t next_ = 0;
  uint64_t bytes_ = 0;
};

// Fills with a pattern drawn from the seed, so that a value which was never written looks like nothing in particular.
void fill_poison(std::span<uint8_t> bytes, uint64_t seed);

}  // namespace ptxlab::simt
