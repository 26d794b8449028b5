# Writes the files of FOLDER as string literals into OUTPUT, a C++ source that defines ptxlab::report::page_file(name):
#   cmake -D FOLDER=... -D OUTPUT=... -P embed.cmake
file(GLOB names RELATIVE ${FOLDER} ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js)
list(SORT names)
set(rows "")
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" content)
  string(APPEND rows "    {\"${name}\", R\"embedded(${content})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed.cmake.
#include \"report/page_file.h\"

#include <utility>

namespace ptxlab::report {
namespace {

constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
${rows}};

}  // namespace

std::string_view page_file(std::string_view name) {
  for (const auto& [known, content] : kFiles) {
    if (known == name) return content;
  }
  return {};
}

}  // namespace ptxlab::report
")
