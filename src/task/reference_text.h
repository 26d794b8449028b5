// The text of reference.h, which lives in the library, so that a reference compiles where there is no source tree.
#pragma once
#include <string_view>

namespace ptxlab::task {

std::string_view reference_header();

}  // namespace ptxlab::task
