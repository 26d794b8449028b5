#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/finding_json.h"

namespace ptxlab::cli {
namespace {

// NO_COLOR: https://no-color.org, a word that many programs honour.
bool colour_on(int fd) {
  const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
  return isatty(fd) && !(no && *no) && !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace

bool colour_on_stdout() { return colour_on(STDOUT_FILENO); }

size_t terminal_width() {
  winsize size{};
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void print(std::string_view text) {
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout) != 0) {
    // Nobody reads on, or the disk that stdout goes to is full: an answer cut short must not look like success.
    if (errno != EPIPE) perror("ptxlab: cannot print");
    _exit(kExitInfrastructure);
  }
}

void print_json(const nlohmann::json& value) { print(base::print_json(value) + "\n"); }

void print_findings(const base::Findings& findings, std::string_view source) {
  print(base::render(findings, source, colour_on_stdout()));
}

int refuse(std::string_view code, std::string_view message, std::string_view hint) {
  return refuse({base::error(code, std::string(message), std::string(hint))}, kExitWrongUse);
}

int refuse(const base::Findings& findings, int code) {
  auto text = base::render(findings, "", colour_on(STDERR_FILENO));
  fwrite(text.data(), 1, text.size(), stderr);
  return code;
}

}  // namespace ptxlab::cli
