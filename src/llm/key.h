// The key of a model's server. It lives in the environment and in the request's header and nowhere else: it is taken out
// of the environment when read, so that no compiler or oracle started later inherits it, it cannot be printed, and what a
// server sends back is searched for it before anybody sees it.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace ptxlab::llm {

class Key {
 public:
  Key() = default;
  explicit Key(std::string text) : text_(std::move(text)) {}
  bool empty() const { return text_.empty(); }
  // The header's value; for the request alone.
  std::string authorization() const { return "Bearer " + text_; }
  // Replaces every occurrence by "[key]", also one written with JSON's escapes. A word of under 8 characters is a
  // stand-in for servers that want none, not a secret, and is left.
  std::string hide(std::string_view text) const;

 private:
  std::string text_;
};

// PTXLAB_API_KEY, else OPENAI_API_KEY, without blanks around it; empty where neither is set: many servers want none.
// Both variables are gone from the environment afterwards; a second call returns the same key. To be called before the
// process has threads. Error: LLM0002, it holds what no header may (the finding does not show it).
base::Result<Key> take_key();

}  // namespace ptxlab::llm
