// What a model's tokens cost, read from models/prices.toml: dated, with the source of each figure. What stands in no table has
// no price, which is not the price 0.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "llm/model.h"
#include "record/proposer.h"

namespace ptxlab::llm {

struct Price {
  // Dollars for a million tokens, where the question has more than `over` tokens.
  struct Tier {
    int64_t over = 0;
    double asked = 0, answered = 0;
    std::optional<double> cached, cache_written;  // absent: as `asked`
  };
  std::string host, model;           // "api.anthropic.com", "claude-opus-4-1*": a star stands for the rest
  std::string date, source;          // when it was read, and where
  std::optional<std::string> until;  // a date after which it is known not to hold
  std::vector<Tier> tiers;           // by `over`, the first 0
};

double cost_of(const Price& price, const record::Usage& usage);

class Prices {
 public:
  // Error: LLM0007, the file is missing or not as docs/models.md says.
  static base::Result<Prices> read(const std::filesystem::path& file);
  // The row with the longest name that fits; one that has run out by `today` ("2026-11-30") is none.
  std::optional<Price> find(const Model& model, std::string_view today) const;

 private:
  std::vector<Price> rows_;
};

// What --model-settings says, else the table.
std::optional<Price> price_of(const Model& model, const Settings& settings, const Prices& prices);

}  // namespace ptxlab::llm
