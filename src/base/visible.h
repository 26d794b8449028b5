// Texts of strangers for a terminal: what would move its cursor, change its colours or hide and reorder what is read stands as
// its code instead ("\x1b", "\u{202e}").
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::base {

// In one line: ends of lines and tabs become blanks.
std::string visible(std::string_view text);
// With its lines and tabs.
std::string visible_lines(std::string_view text);

}  // namespace ptxlab::base
