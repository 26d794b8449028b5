// A server for trying things by hand: model_server SCRIPT [TEXT.md ...]. SCRIPT holds one step a line as
// src/llm/fake_server.h has them; a text is called by its file's name without .md. Prints its address and serves until
// its input ends.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "llm/fake_server.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: model_server SCRIPT [TEXT.md ...]\n");
    return 2;
  }
  auto script = ptxlab::base::read_file(argv[1]);
  if (!script) {
    fmt::print(stderr, "{}", ptxlab::base::render(script.findings(), ""));
    return 2;
  }
  std::vector<std::string> steps;
  std::istringstream lines(*script);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) steps.push_back(line);
  }
  std::map<std::string, std::string> texts;
  for (int i = 2; i < argc; ++i) {
    auto text = ptxlab::base::read_file(argv[i]);
    if (!text) {
      fmt::print(stderr, "{}", ptxlab::base::render(text.findings(), ""));
      return 2;
    }
    texts[std::filesystem::path(argv[i]).stem().string()] = *text;
  }
  if (steps.empty()) steps.emplace_back("status 503");
  ptxlab::llm::FakeServer server(steps, texts);
  fmt::print("{}\n", server.url());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
