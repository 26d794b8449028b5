// Bytes out and in, for the messages of protocol.h and contest.h: little-endian numbers, texts with their length before them.
// A reader believes nothing: what does not fit makes it fail, and it allocates no more than was sent.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/protocol.h"
#include "launch/resolved.h"

namespace ptxlab::gpu {

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // x86-64 is little-endian
    out_.append(bytes, sizeof value);
  }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    out_.append(text);
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (rest_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    auto size = number<uint64_t>();
    if (size > rest_.size()) return fail(), std::string();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  // How many elements follow, each of at least `least` bytes: no count makes us allocate more than was sent.
  size_t count(size_t least) {
    auto count = number<uint64_t>();
    if (count > rest_.size() / least) return fail(), 0;
    return count;
  }
  bool complete() const { return ok_ && rest_.empty(); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void write(Writer& out, const launch::ResolvedPlan& plan);
launch::ResolvedPlan read_plan(Reader& in);
void write(Writer& out, const std::vector<std::string>& texts);
std::vector<std::string> read_texts(Reader& in);
void write(Writer& out, const std::vector<Overrun>& overruns);
std::vector<Overrun> read_overruns(Reader& in);
Done::End read_end(Reader& in);

}  // namespace ptxlab::gpu
