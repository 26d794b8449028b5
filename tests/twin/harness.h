// Runs a kernel's text on the twin over a few buffers, for tests.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "machine.h"
#include "ptx/parser.h"

namespace ptxlab::twin {

// A launch's arguments in order: buffers (pointers to their beginning) and plain numbers.
struct Argument {
  enum class Kind : uint8_t { buffer, scalar } kind = Kind::scalar;
  std::vector<uint8_t> bytes;  // a buffer's contents before and after
  uint64_t bits = 0;           // a scalar
  bool writable = true;
};

template <class T>
Argument buffer(const std::vector<T>& values) {
  Argument out{Argument::Kind::buffer, std::vector<uint8_t>(values.size() * sizeof(T)), 0, true};
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}
inline Argument zeros(size_t bytes) { return {Argument::Kind::buffer, std::vector<uint8_t>(bytes), 0, true}; }
template <class T>
Argument scalar(T value) {
  Argument out;
  std::memcpy(&out.bits, &value, sizeof(T));
  return out;
}
template <class T>
std::vector<T> values_of(const Argument& argument) {
  std::vector<T> out(argument.bytes.size() / sizeof(T));
  std::memcpy(out.data(), argument.bytes.data(), out.size() * sizeof(T));
  return out;
}

// The launch of `entry` with these arguments; buffer n of the plan is the n-th buffer argument.
launch::ResolvedLaunch make_launch(const ptx::Function& entry, launch::Dim3 grid, launch::Dim3 block,
                                   const std::vector<Argument>& arguments, uint32_t shared_bytes = 0);
// Puts the buffers into `memory` and returns their allocations; and brings them back.
std::vector<size_t> place_buffers(const std::vector<Argument>& arguments, simt::Memory& memory);
void fetch_buffers(const simt::Memory& memory, const std::vector<size_t>& buffers, std::vector<Argument>& arguments);

// Parses and runs; the arguments' buffers hold the result. The problem, or "".
std::string run_twin(std::string_view text, launch::Dim3 grid, launch::Dim3 block, std::vector<Argument>& arguments,
                     uint32_t shared_bytes = 0);

}  // namespace ptxlab::twin
