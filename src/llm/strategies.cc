#include "llm/strategies.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "launch/toml.h"

namespace ptxlab::llm {
namespace {

constexpr const char* kSchema = "ptxlab.strategies/1";
constexpr launch::TomlCodes kCodes{"LLM0019", "LLM0019", "LLM0019", "LLM0019", "LLM0019"};

}  // namespace

base::Result<std::vector<Strategy>> read_strategies(const std::filesystem::path& file) {
  auto text = base::read_file(file, size_t{1} << 20);
  if (!text)
    return base::error_in(file.string(), "LLM0019", "the list of strategies cannot be read", "prompts/README.md");
  const std::string name = file.string();
  launch::TomlReader reader(name, kCodes);
  auto table = reader.parse(*text);
  if (!table) return reader.findings;
  reader.keys(*table, "the table", {"schema", "strategy"});
  if (reader.string(*table, "schema", "the table", true).value_or("") != kSchema)
    reader.wrong(*table, fmt::format("this is no {} file", kSchema));
  std::vector<Strategy> all;
  const auto* rows = reader.array(*table, "strategy", "the table", true);
  for (size_t i = 0; rows && i < rows->size(); ++i) {
    const auto* row = (*rows)[i].as_table();
    const auto where = fmt::format("strategy {}", i + 1);
    if (!row) {
      reader.wrong((*rows)[i], where + " is no table");
      continue;
    }
    reader.keys(*row, where, {"name", "advice"});
    auto called = reader.string(*row, "name", where, true), advice = reader.string(*row, "advice", where, true);
    if (called && advice) all.push_back({*called, *advice});
  }
  if (base::has_error(reader.findings)) return reader.findings;
  return all;
}

}  // namespace ptxlab::llm
