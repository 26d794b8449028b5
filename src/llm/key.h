// The keys of models' servers. It lives in the environment and in the request's header and nowhere else: it is taken out
// of the environment when read, so that no compiler or oracle started later inherits it, it cannot be printed, and what a
// server sends back is searched for it before anybody sees it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ptxlab::llm {

class Key {
 public:
  Key() = default;
  explicit Key(std::string text) : text_(std::move(text)) {}
  bool empty() const { return text_.empty(); }
  // The key itself; for the request alone.
  const std::string& text() const { return text_; }
  // Replaces every occurrence by "[key]", also one written with JSON's escapes, and one that the
  // text's end cuts off. A word of under 8 characters is a
  // stand-in for servers that want none, not a secret, and is left.
  std::string hide(std::string_view text) const;

 private:
  std::string text_;
};

// Takes every key that any dialect knows out of the environment, and out of what the system shows of it; called again it takes what
// has been set since. To be called before the process has threads, and before it starts any program.
void take_keys();

// Which server a key is for.
enum class KeyFor : uint8_t {
  vendor,  // the vendor's own host: its variables come first, so that PTXLAB_API_KEY can be for another server beside it
  another,  // PTXLAB_API_KEY, else the vendor's
  in_open,  // another machine over plain http: PTXLAB_API_KEY alone, which is for such a server; nobody meant the vendor's for it
};

// The key for a server: the first that was set of PTXLAB_API_KEY and `variables`. Without blanks around it; empty where none is set: many servers want
// none. Error: LLM0002, it holds what no header may (the finding does not show it).
base::Result<Key> key_for(std::span<const char* const> variables, KeyFor server);

// What take_keys has taken, to give it back to a program that is the user's own: names and values.
std::vector<std::pair<std::string, std::string>> taken_keys();
}  // namespace ptxlab::llm
