// Bytes as text (RFC 4648), for what has to stand in JSON and is not UTF-8.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace ptxlab::base {

std::string to_base64(std::string_view bytes);
// Nothing where the text is not base64 with its padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace ptxlab::base
