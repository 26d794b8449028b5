// Bytes out and in, for the messages of protocol.h and contest.h: little-endian numbers, texts with their length before them.
// Buffers of hundreds of megabytes go from their owner's memory into the pipe and from it into the new owner's, with no copy between.
// A reader believes nothing: what does not fit makes it fail, and it allocates no more than was sent.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/blob.h"
#include "gpu/contest.h"
#include "gpu/protocol.h"
#include "launch/resolved.h"

namespace ptxlab::gpu {

// A stretch of a message as it goes out: its own bytes, then those of a large text that is named and not copied.
struct Piece {
  std::string own;
  std::string_view named;
};
inline constexpr size_t kNamed = 1 << 16;  // texts from this size on

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // x86-64 is little-endian
    pieces_.back().own.append(bytes, sizeof value);
  }
  // A large one must outlive the pieces.
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    if (text.size() < kNamed) {
      pieces_.back().own.append(text);
      return;
    }
    pieces_.back().named = text;
    pieces_.emplace_back();
  }
  std::vector<Piece> take() && { return std::move(pieces_); }

 private:
  std::vector<Piece> pieces_{1};
};

std::string joined(const std::vector<Piece>& pieces);

// Where a message comes from, where it does not lie there already.
class Source {
 public:
  virtual ~Source() = default;
  virtual size_t read(char* into, size_t most) = 0;  // at least one byte; 0: there is no more
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  Reader(Source& source, uint64_t bytes) : source_(&source), left_(bytes) {}
  template <class T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!at_hand(sizeof value)) return value;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string text();
  base::Blob blob();
  // How many elements follow, each of at least `least` bytes: no count makes us allocate more than was sent.
  size_t count(size_t least) {
    auto count = number<uint64_t>();
    if (count > (rest_.size() + left_) / least) return fail(), 0;
    return count;
  }
  bool complete() const { return ok_ && rest_.empty() && left_ == 0; }
  void fail() {
    ok_ = false;
    rest_ = {};
    left_ = 0;
  }

 private:
  // So many bytes lie in `rest_`.
  bool at_hand(size_t bytes) {
    if (rest_.size() < bytes) fetch(bytes);
    return rest_.size() >= bytes || (fail(), false);
  }
  void fetch(size_t bytes);
  bool take(std::span<char> into);  // exactly so many, from `rest_` and then from the source

  std::string_view rest_;  // what is at hand
  Source* source_ = nullptr;
  uint64_t left_ = 0;  // bytes that the source still has
  std::string held_;   // what of them lies in `rest_`
  bool ok_ = true;
};

void write(Writer& out, const launch::ResolvedPlan& plan);
launch::ResolvedPlan read_plan(Reader& in);
void write(Writer& out, const std::vector<std::string>& texts);
std::vector<std::string> read_texts(Reader& in);
void write(Writer& out, const std::vector<Overrun>& overruns);
std::vector<Overrun> read_overruns(Reader& in);
void write(Writer& out, const std::vector<base::Blob>& blobs);
std::vector<base::Blob> read_blobs(Reader& in);
Done::End read_end(Reader& in);

// Each message, there and back; false: the bytes are not exactly one.
void write(Writer& out, const Hello& hello);
void write(Writer& out, const Job& job);
void write(Writer& out, const Done& done);
void write(Writer& out, const Contest& contest);
void write(Writer& out, const Opened& opened);
void write(Writer& out, const MeasureRequest& request);
void write(Writer& out, const Measured& measured);
bool read(Reader& in, Hello& hello);
bool read(Reader& in, Job& job);
bool read(Reader& in, Done& done);
bool read(Reader& in, Contest& contest);
bool read(Reader& in, Opened& opened);
bool read(Reader& in, MeasureRequest& request);
bool read(Reader& in, Measured& measured);

// A frame around a message, which must outlive it.
template <class Message>
std::vector<Piece> framed(Kind kind, const Message& message) {
  Writer out;
  write(out, message);
  std::vector<Piece> pieces = std::move(out).take();
  uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.own.size() + piece.named.size();
  pieces.front().own.insert(0, frame_header(kind, bytes));
  return pieces;
}
template <class Message>
std::string encode(const Message& message) {
  Writer out;
  write(out, message);
  return joined(std::move(out).take());
}
template <class Message>
std::optional<Message> decode(std::string_view bytes) {
  Reader in(bytes);
  Message message;
  if (!read(in, message)) return std::nullopt;
  return message;
}

}  // namespace ptxlab::gpu
