// Result<T>: a value, or the findings that say why there is none. The user's mistakes travel this way; our own bugs
// assert.
#pragma once
#include <cassert>
#include <optional>
#include <utility>

#include "base/finding.h"

namespace ptxlab::base {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Finding finding) { findings_.push_back(std::move(finding)); }
  Result(Findings findings) : findings_(std::move(findings)) { assert(has_error(findings_)); }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Findings& findings() const { return findings_; }

 private:
  std::optional<T> value_;
  Findings findings_;
};

}  // namespace ptxlab::base
