#include "llm/price.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "launch/toml.h"

namespace ptxlab::llm {
namespace {

constexpr std::string_view kSchema = "ptxlab.prices/1";
constexpr launch::TomlCodes kCodes = {"LLM0007", "LLM0007", "LLM0007", "LLM0007", "LLM0007"};

std::optional<double> dollars(launch::TomlReader& reader, const toml::table& row, std::string_view key,
                              std::string_view where, bool required) {
  auto value = reader.number(row, key, where, required);
  if (value && !(*value >= 0 && *value < 1e6)) reader.wrong(*row.get(key), fmt::format("{} is no price", key));
  return value;
}

Price::Tier tier_of(launch::TomlReader& reader, const toml::table& row, const std::string& where) {
  Price::Tier tier;
  tier.asked = dollars(reader, row, "asked", where, true).value_or(0);
  tier.answered = dollars(reader, row, "answered", where, true).value_or(0);
  tier.cached = dollars(reader, row, "cached", where, false);
  tier.cache_written = dollars(reader, row, "cache_written", where, false);
  return tier;
}

Price price_in(launch::TomlReader& reader, const toml::table& row, const std::string& where) {
  reader.keys(row, where,
              {"host", "model", "date", "source", "until", "asked", "answered", "cached", "cache_written", "tier"});
  auto word = [&](std::string_view key) { return reader.string(row, key, where, true).value_or(""); };
  Price price{word("host"), word("model"), word("date"), word("source"), {}, {}};
  price.until = reader.string(row, "until", where, false);
  for (const auto& date : {price.date, price.until.value_or(price.date)}) {
    if (date.size() != 10) reader.wrong(row, fmt::format("{}: '{}' is no date such as \"2026-11-30\"", where, date));
  }
  price.tiers.push_back(tier_of(reader, row, where));
  const auto* tiers = row.contains("tier") ? reader.array(row, "tier", where, false) : nullptr;
  for (size_t i = 0; tiers && i < tiers->size(); ++i) {
    const auto* one = (*tiers)[i].as_table();
    if (!one) continue;
    reader.keys(*one, where, {"over", "asked", "answered", "cached", "cache_written"});
    auto tier = tier_of(reader, *one, where);
    tier.over = reader.integer(*one, "over", where, true).value_or(0);
    if (tier.over <= price.tiers.back().over) reader.wrong(*one, fmt::format("{}: its tiers rise by 'over'", where));
    price.tiers.push_back(tier);
  }
  return price;
}

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

double cost_of(const Price& price, const record::Usage& usage) {
  const auto* tier = &price.tiers.front();
  for (const auto& other : price.tiers) {
    if (usage.asked > other.over) tier = &other;
  }
  auto times = [](int64_t tokens, double dollars) { return static_cast<double>(tokens) * dollars / 1e6; };
  return times(usage.asked - usage.cached - usage.cache_written, tier->asked) +
         times(usage.cached, tier->cached.value_or(tier->asked)) +
         times(usage.cache_written, tier->cache_written.value_or(tier->asked)) + times(usage.answered, tier->answered);
}

base::Result<Prices> Prices::read(const std::filesystem::path& file) {
  auto content = base::read_file(file, size_t{4} << 20);
  if (!content) return base::error_in(file.string(), "LLM0007", "the table of prices cannot be read", "docs/models.md");
  std::string name = file.string();
  launch::TomlReader reader(name, kCodes);
  auto table = reader.parse(*content);
  if (!table) return reader.findings;
  reader.keys(*table, "the table", {"schema", "price"});
  if (reader.string(*table, "schema", "the table", true).value_or("") != kSchema)
    reader.wrong(*table, fmt::format("this is no {} file", kSchema));
  Prices prices;
  const auto* rows = reader.array(*table, "price", "the table", true);
  for (size_t i = 0; rows && i < rows->size(); ++i) {
    const auto* row = (*rows)[i].as_table();
    if (row) prices.rows_.push_back(price_in(reader, *row, fmt::format("price {}", i + 1)));
  }
  if (base::has_error(reader.findings)) return reader.findings;
  return prices;
}

std::optional<Price> Prices::find(const Model& model, std::string_view today) const {
  const Price* best = nullptr;
  for (const auto& row : rows_) {
    if (row.host != model.url.host || !fits(row.model, model.name)) continue;
    if (row.until && *row.until < today) continue;
    if (!best || row.model.size() > best->model.size()) best = &row;
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::optional<Price> price_of(const Model& model, const Settings& settings, const Prices& prices) {
  auto today = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  if (!settings.price_asked || !settings.price_answered) return prices.find(model, today);
  Price price{model.url.host, model.name, today, "--model-settings", {}, {}};
  price.tiers.push_back({0, *settings.price_asked, *settings.price_answered, {}, {}});
  return price;
}

}  // namespace ptxlab::llm
