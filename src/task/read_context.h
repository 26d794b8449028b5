// What the parts of a task's reader share: the file under way and the checks that all of them make.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/toml.h"
#include "task/task.h"

namespace ptxlab::task {

struct ReadContext {
  launch::TomlReader toml;
  Task task;

  bool is_param(std::string_view name) const;
  // A word out of a closed list, or a finding with the nearest.
  bool one_of(const std::string& word, const std::vector<std::string>& known, const toml::node& node,
              std::string_view what);
  // Names in an expression must be params.
  void only_params(const launch::Expression& expression, const toml::node& node, std::string_view what);
  std::optional<launch::Expression> expression(const toml::node& node, const std::string& what);
  // A number or a formula in quotes over the params; tried with ones, so that what is always wrong shows with its place.
  std::optional<Formula> formula(const toml::node& node, const std::string& what);
};

void read_arguments(ReadContext& context, const toml::table& root);
void read_tolerances(ReadContext& context, const toml::table& root);

}  // namespace ptxlab::task
