// Raw deflate (RFC 1951) in base64: what a browser's DecompressionStream unpacks without any library, and what no markup can
// be hidden in.
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::report {

std::string deflated(std::string_view bytes);

}  // namespace ptxlab::report
