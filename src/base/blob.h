// Bytes that several may own and nobody changes: a copy of a Blob copies no bytes. Buffers of gigabytes travel as these.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ptxlab::base {

class Blob {
 public:
  Blob() = default;
  Blob(std::string bytes) {  // NOLINT: a text is one
    auto held = std::make_shared<const std::string>(std::move(bytes));
    bytes_ = *held;
    owner_ = std::move(held);
  }
  Blob(const char* text) : Blob(std::string(text)) {}  // NOLINT
  // `bytes` bytes, made by `fill`, which sees them uninitialised; nothing where it says no. Memory is taken in large pages, so
  // that gigabytes cost what their bytes cost and not a fault every 4 KiB.
  static std::optional<Blob> made(size_t bytes, const std::function<bool(std::span<char>)>& fill);
  // What lies within something else, which is kept for as long.
  Blob(std::shared_ptr<const void> owner, std::string_view bytes) : owner_(std::move(owner)), bytes_(bytes) {}

  operator std::string_view() const { return bytes_; }  // NOLINT: reads as what it holds
  std::string_view view() const { return bytes_; }
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  friend bool operator==(const Blob& a, const Blob& b) { return a.bytes_ == b.bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

}  // namespace ptxlab::base
