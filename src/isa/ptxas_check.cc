#include "isa/ptxas_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/subprocess.h"

namespace ptxlab::isa {
namespace {

// ptxas 13 makes code from sm_75 on, older targets' PTX included.
std::string architecture(const Target& target) {
  if (target.sm < 75) return "compute_75";
  if (target.sm == 101) return fmt::format("compute_110{}", target.suffix ? std::string(1, target.suffix) : "");
  return "compute_" + target.name().substr(3);
}

// "ptxas FILE, line 42; error   : Unknown modifier" gives 42 and the text.
bool read_message(std::string_view line, uint32_t& number, std::string& message) {
  size_t at = line.find(", line ");
  if (at == std::string_view::npos) return false;
  // Warnings and advice name lines too.
  if (line.find("; error", at) == std::string_view::npos && line.find("; fatal", at) == std::string_view::npos)
    return false;
  number = static_cast<uint32_t>(std::strtoul(std::string(line.substr(at + 7, 12)).c_str(), nullptr, 10));
  size_t colon = line.find(" : ", at);
  message = colon == std::string_view::npos ? std::string(line) : std::string(line.substr(colon + 3));
  return true;
}

struct Checker {
  const std::string& ptxas;
  const std::vector<std::string>& lines;
  const Setting& setting;
  std::filesystem::path file;
  std::map<size_t, std::string> refused;
  std::string trouble;

  void check(std::vector<size_t> left) {
    while (!left.empty()) {
      std::vector<std::string> body;
      for (size_t index : left) body.push_back(lines[index]);
      uint32_t first = 0;
      std::ofstream(file) << frame(body, setting.version, setting.target, first);
      base::Command command;
      command.argv = {ptxas, "-arch=" + architecture(setting.target), file.string(), "-o", "/dev/null"};
      base::Outcome outcome = base::run(command);
      if (outcome.ok()) return;
      if (!read_refusals(outcome.errors + outcome.output, first, left)) return divide(left, outcome);
      std::erase_if(left, [&](size_t index) { return refused.contains(index); });
    }
  }

 private:
  bool read_refusals(const std::string& text, uint32_t first, const std::vector<size_t>& left) {
    bool any = false;
    for (size_t from = 0; from < text.size();) {
      size_t end = std::min(text.find('\n', from), text.size());
      uint32_t number = 0;
      std::string message;
      if (read_message(std::string_view(text).substr(from, end - from), number, message) && number >= first &&
          number - first < left.size()) {
        refused.try_emplace(left[number - first], message);
        any = true;
      }
      from = end + 1;
    }
    return any;
  }

  // A crash, or a message without a line: the halves on their own, down to the line that does it.
  void divide(const std::vector<size_t>& left, const base::Outcome& outcome) {
    if (left.size() == 1) {
      std::string why = base::describe(outcome) + ": " + outcome.errors.substr(0, 200);
      if (outcome.end == base::Outcome::End::signalled) {
        refused.try_emplace(left[0], std::string(kCrash) + why);
      } else {
        trouble += lines[left[0]] + ": " + why + "\n";
      }
      return;
    }
    auto middle = left.begin() + static_cast<std::ptrdiff_t>(left.size() / 2);
    check({left.begin(), middle});
    check({middle, left.end()});
  }
};

}  // namespace

std::optional<std::string> find_ptxas() {
  if (const char* path = std::getenv("PTXLAB_PTXAS"); path && *path) return path;
  base::Command command;
  command.argv = {"ptxas", "--version"};
  if (!base::run(command).ok()) return std::nullopt;
  return "ptxas";
}

std::map<size_t, std::string> refused_by_ptxas(const std::string& ptxas, const std::vector<std::string>& lines,
                                               const Setting& setting, std::string& trouble) {
  base::TemporaryFolder folder("ptxlab-isa-");
  Checker checker{ptxas, lines, setting, folder.path() / "forms.ptx", {}, {}};
  std::vector<size_t> all(lines.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  checker.check(all);
  trouble = checker.trouble;
  return checker.refused;
}

}  // namespace ptxlab::isa
