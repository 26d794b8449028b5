// Texts of strangers for a terminal: what would move its cursor, change its colours or hide and reorder what is read stands as
// its code instead ("\x1b", "\u{202e}").
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::report {

std::string visible(std::string_view text);

}  // namespace ptxlab::report
