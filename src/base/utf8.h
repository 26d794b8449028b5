// Whether bytes are UTF-8 as Unicode defines it: shortest forms only, no surrogates, nothing above U+10FFFF.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace ptxlab::base {

// The offset of the first byte that cannot stand where it stands; nothing where all of `text` is UTF-8.
std::optional<size_t> first_ill_formed(std::string_view text);
inline bool valid_utf8(std::string_view text) { return !first_ill_formed(text); }

}  // namespace ptxlab::base
