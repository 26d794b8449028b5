#include "task/read_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "task/formula.h"

namespace ptxlab::task {
namespace {

template <class T>
std::string words(const T& list) {
  std::string text;
  for (const auto& word : list) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

}  // namespace

bool ReadContext::is_param(std::string_view name) const {
  return std::find(task.params.begin(), task.params.end(), name) != task.params.end();
}

bool ReadContext::one_of(const std::string& word, const std::vector<std::string>& known, const toml::node& node,
                         std::string_view what) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return true;
  const std::string near = base::nearest(word, known);
  toml.wrong(node, fmt::format("{}: `{}` is not known", what, word),
             near.empty() ? "one of: " + words(known) : fmt::format("did you mean `{}`?", near));
  return false;
}

void ReadContext::only_params(const launch::Expression& expression, const toml::node& node, std::string_view what) {
  for (const std::string& name : expression.names()) {
    if (is_param(name)) continue;
    const std::string near = base::nearest(name, task.params);
    toml.wrong(node, fmt::format("{}: `{}` is no param of the task", what, name),
               near.empty() ? "params: " + words(task.params) : fmt::format("did you mean `{}`?", near));
  }
}

std::optional<launch::Expression> ReadContext::expression(const toml::node& node, const std::string& what) {
  auto value = toml.expression(node, what);
  if (value) only_params(*value, node, what);
  return value;
}

std::optional<Formula> ReadContext::formula(const toml::node& node, const std::string& what) {
  Formula result;
  result.place = toml.place(node.source());
  if (const auto* text = node.as_string()) {
    result.text = text->get();
    result.place.column += 1;
  } else if (node.is_integer()) {
    result.text = fmt::format("{}", node.as_integer()->get());
  } else if (node.is_floating_point()) {
    result.text = fmt::format("{}", node.as_floating_point()->get());
  } else {
    toml.wrong(node, what + ": neither a number nor a formula in quotes");
    return std::nullopt;
  }
  auto value = evaluate_formula(
      result.text, [this](std::string_view name) { return is_param(name) ? std::optional<double>(1) : std::nullopt; },
      result.place);
  if (value) return result;
  for (base::Finding finding : value.findings()) {
    finding.message = fmt::format("{}: {}", what, finding.message);
    toml.findings.push_back(std::move(finding));
  }
  return std::nullopt;
}

}  // namespace ptxlab::task
