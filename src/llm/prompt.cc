#include "llm/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "analysis/structure.h"
#include "base/file.h"
#include "llm/prompt_data.h"
#include "llm/tokens.h"

namespace ptxlab::llm {
namespace {

using kainjow::mustache::data;
using kainjow::mustache::mustache;

// Attempts shown with their PTX at most: more only dilute.
constexpr size_t kMostEarlier = 6;

std::string filled(const std::string& text, const data& values) {
  mustache view(text);
  view.set_custom_escape([](const std::string& plain) { return plain; });
  return view.render(values);
}

base::Result<std::string> read_part(const std::filesystem::path& file) {
  auto text = base::read_file(file, size_t{1} << 20);
  auto wrong = [&](std::string message) {
    return base::Finding{"LLM0004",
                         base::Severity::error,
                         {file.string()},
                         std::move(message),
                         "a prompt is a folder with "
                         "system.mustache and user.mustache; prompts/ of ptxlab has them",
                         {}};
  };
  if (!text) return wrong("the prompt's template cannot be read: " + text.findings().front().message);
  mustache view(*text);
  if (!view.is_valid()) return wrong("the prompt's template is no Mustache: " + view.error_message());
  return text;
}

}  // namespace

base::Result<Template> Template::read(const std::filesystem::path& folder) {
  auto system = read_part(folder / "system.mustache");
  if (!system) return system.findings();
  auto user = read_part(folder / "user.mustache");
  if (!user) return user.findings();
  Template made;
  made.system_ = *std::move(system);
  made.user_ = *std::move(user);
  return made;
}

base::Result<Question> Template::fill(const record::Brief& brief, int64_t tokens) const {
  auto values = prompt_data(brief);
  if (!values) return values.findings();
  auto order = most_telling(brief.earlier);
  Question question;
  int64_t needed = 0;
  for (size_t shown = std::min(order.size(), kMostEarlier);; --shown) {
    std::vector<size_t> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown));
    std::sort(some.begin(), some.end());
    add_earlier(*values, brief, some);
    question.system = filled(system_, *values);
    question.user = filled(user_, *values);
    needed = estimated_tokens(question.system) + estimated_tokens(question.user);
    if (needed <= tokens) return question;
    if (shown == 0) break;
  }
  return base::Finding{
      "LLM0005",
      base::Severity::error,
      {},
      fmt::format("the question about this kernel is about {} tokens long, {} are allowed", needed, tokens),
      "--model-settings context=N allows more, where the model takes as many",
      {}};
}

}  // namespace ptxlab::llm
