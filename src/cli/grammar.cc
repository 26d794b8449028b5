// ptxlab grammar: the grammar of PTX for one target, for servers that hold a model to one.
#include "ptx/grammar.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/target_option.h"

namespace ptxlab::cli {

namespace {

// "8.8" or "9": a number, and one digit behind the point.
std::optional<isa::PtxVersion> version_named(std::string_view name) {
  unsigned major = 0, minor = 0;
  auto [point, error] = std::from_chars(name.data(), name.data() + name.size(), major);
  auto rest = name.substr(static_cast<size_t>(point - name.data()));
  if (error != std::errc() || major < 1 || major > 99) return std::nullopt;
  if (!rest.empty()) {
    if (rest.size() != 2 || rest[0] != '.' || rest[1] < '0' || rest[1] > '9') return std::nullopt;
    minor = static_cast<unsigned>(rest[1] - '0');
  }
  return static_cast<isa::PtxVersion>(10 * major + minor);
}

}  // namespace

int grammar(Words words) {
  std::string target_name = "sm_90a", format = "gbnf", root = "module", version_name, out;
  Options options(
      "grammar",
      "Writes a grammar of PTX for one target, made from the instruction table, for servers that hold a model to one.",
      "ptxlab grammar --target sm_90a --format gbnf --out ptx.gbnf\n"
      "ptxlab grammar --target sm_80 --format lark --root answer");
  options.value("--target", "SM", target_name, "the target whose instructions it has (sm_90a)");
  options.value("--ptx", "VERSION", version_name,
                "the PTX version whose instructions it has (the target's and all newer)");
  options.value("--format", "gbnf|lark", format,
                "for llama.cpp and vLLM, or for OpenAI's custom tools and llguidance (gbnf)");
  options.value("--root", "module|answer", root, "a module alone, or an answer as prompts ask for (module)");
  options.value("--out", "FILE", out, "write it there instead of stdout");
  if (auto code = options.parse(words)) return *code;
  auto target = parse_target(target_name);
  if (!target) return refuse(target.findings());
  if (format != "gbnf" && format != "lark")
    return refuse("CLI0070", fmt::format("--format {}: there is no such format", format), "gbnf or lark");
  if (root != "module" && root != "answer")
    return refuse("CLI0070", fmt::format("--root {}: there is no such root", root), "module or answer");
  isa::PtxVersion version = 999;
  if (!version_name.empty()) {
    auto named = version_named(version_name);
    if (!named) return refuse("CLI0070", fmt::format("--ptx {}: that is no version", version_name), "such as 8.8");
    version = *named;
    if (auto first = isa::first_version(*target); version < first)
      return refuse("CLI0070", fmt::format("PTX {} has no {}", version_name, target->name()),
                    fmt::format("it begins with PTX {}.{}", first / 10, first % 10));
  }
  auto made =
      ptx::grammar_for(*target, version, root == "answer" ? ptx::GrammarRoot::answer : ptx::GrammarRoot::module);
  auto text = fmt::format("{} PTX for {}{}, made by ptxlab from its instruction table\n", format == "gbnf" ? "#" : "//",
                          target->name(), version_name.empty() ? "" : ", PTX ISA " + version_name);
  text += format == "gbnf" ? ptx::gbnf(made) : ptx::lark(made);
  if (out.empty()) return print(text), kExitDone;
  if (auto failed = base::write_file(out, text); !failed.empty()) return refuse(failed);
  return kExitDone;
}

}  // namespace ptxlab::cli
