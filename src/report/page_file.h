// The sources of the HTML page (src/report/page/), as they stand in the program.
#pragma once
#include <string_view>

namespace ptxlab::report {

// "page.html", "page.css" ...; empty: there is no such file.
std::string_view page_file(std::string_view name);

}  // namespace ptxlab::report
