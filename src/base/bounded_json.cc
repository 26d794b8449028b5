#include "base/bounded_json.h"

namespace ptxlab::base {

using nlohmann::json;

json parse_bounded(std::string_view text) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return json(json::value_t::discarded);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return json::parse(text, nullptr, false);
}

}  // namespace ptxlab::base
