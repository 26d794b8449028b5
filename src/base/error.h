// The commonest finding: an error without a fix.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/finding.h"

namespace ptxlab::base {

inline Finding error(std::string_view code, std::string message, std::string hint = "", Place place = {}) {
  Finding made;
  made.code = code;
  made.place = std::move(place);
  made.message = std::move(message);
  made.hint = std::move(hint);
  return made;
}

// In a file as a whole.
inline Finding error_in(std::string file, std::string_view code, std::string message, std::string hint = "") {
  Place place;
  place.file = std::move(file);
  return error(code, std::move(message), std::move(hint), std::move(place));
}

}  // namespace ptxlab::base
