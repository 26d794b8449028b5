// SHA-256 of content, in hexadecimal: the key of caches and of the archive's texts.
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::base {

std::string sha256(std::string_view content);

}  // namespace ptxlab::base
