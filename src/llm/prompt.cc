#include "llm/prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "llm/prompt_data.h"
#include "llm/sections.h"
#include "llm/tokens.h"
#include "record/json.h"

namespace ptxlab::llm {
namespace {

namespace fs = std::filesystem;
using kainjow::mustache::data;
using kainjow::mustache::mustache;
using Off = std::set<std::string, std::less<>>;

// Attempts shown with their PTX at most: more only dilute.
constexpr size_t kMostEarlier = 6;
constexpr record::Job kJobs[] = {record::Job::optimize, record::Job::write, record::Job::repair, record::Job::reflect};

std::string filled(const std::string& text, const data& values) {
  mustache view(text);
  view.set_custom_escape([](const std::string& plain) { return plain; });
  return view.render(values);
}

base::Result<std::string> read_part(const fs::path& file) {
  auto text = base::read_file(file, size_t{1} << 20);
  auto wrong = [&](std::string message) {
    return base::error_in(file.string(), "LLM0004", std::move(message),
                          "a prompt is a folder with a folder for each job, or with system.mustache and user.mustache; "
                          "prompts/ of ptxlab has them");
  };
  if (!text) return wrong("the prompt's template cannot be read: " + text.findings().front().message);
  mustache view(*text);
  if (!view.is_valid()) return wrong("the prompt's template is no Mustache: " + view.error_message());
  return text;
}

// "{{> name}}" on a line of its own, from `at` on: where it begins and ends, and its name.
struct Inclusion {
  size_t begin = std::string::npos, end = 0;
  std::string name;
};
Inclusion next_inclusion(const std::string& text, size_t at) {
  Inclusion found;
  found.begin = text.find("{{>", at);
  if (found.begin == std::string::npos) return found;
  const size_t close = text.find("}}", found.begin);
  if (close == std::string::npos) return {};
  found.name = text.substr(found.begin + 3, close - found.begin - 3);
  std::erase(found.name, ' ');
  found.end = close + 2;
  if (found.end < text.size() && text[found.end] == '\n') ++found.end;
  return found;
}

std::vector<std::string> included(const std::string& text) {
  std::vector<std::string> names;
  for (auto one = next_inclusion(text, 0); one.begin != std::string::npos; one = next_inclusion(text, one.end))
    names.push_back(one.name);
  return names;
}

}  // namespace

base::Result<Template> Template::read(const fs::path& folder) {
  Template made;
  std::error_code error;
  const bool single = fs::exists(folder / "system.mustache", error) || fs::exists(folder / "user.mustache", error);
  for (record::Job job : kJobs) {
    const auto from = single ? folder : folder / record::name_of(job);
    if (!single && job != record::Job::optimize && !fs::exists(from, error)) continue;
    auto system = read_part(from / "system.mustache"), user = read_part(from / "user.mustache");
    if (!system) return system.findings();
    if (!user) return user.findings();
    made.jobs_[job] = {*std::move(system), *std::move(user)};
  }
  const auto beside = fs::exists(folder / "sections", error) ? folder / "sections" : folder.parent_path() / "sections";
  for (const auto& [job, pair] : made.jobs_) {
    for (const auto& name : included(pair.system + pair.user)) {
      if (made.sections_.contains(name)) continue;
      auto text = read_part(beside / (name + ".mustache"));
      if (!text) return text.findings();
      made.sections_[name] = *std::move(text);
    }
  }
  return made;
}

base::Findings Template::leave_out(const std::vector<std::string>& names) {
  base::Findings findings;
  std::vector<std::string> known;
  for (const auto& section : sections())
    if (section.switches_off) known.emplace_back(section.name);
  for (const auto& name : names) {
    const auto* section = section_named(name);
    if (section && section->switches_off) {
      off_.insert(name);
      continue;
    }
    auto near = base::nearest(name, known);
    findings.push_back(base::error(
        "LLM0018",
        section ? fmt::format("the section '{}' cannot be left out", name)
                : fmt::format("a question has no section '{}'", name),
        near.empty() ? fmt::format("there are: {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near)));
  }
  return findings;
}

std::string Template::expanded(const std::string& text, const Off& off) const {
  std::string out;
  size_t at = 0;
  for (auto one = next_inclusion(text, at); one.begin != std::string::npos; one = next_inclusion(text, at)) {
    out += text.substr(at, one.begin - at);
    auto section = sections_.find(one.name);
    if (section != sections_.end() && !off.contains(one.name)) out += section->second;
    at = one.end;
  }
  return out + text.substr(at);
}

const Template::Pair& Template::pair_of(record::Job job) const {
  auto own = jobs_.find(job);
  return own != jobs_.end() ? own->second : jobs_.at(record::Job::optimize);
}

base::Result<Filled> Template::fill(const record::Brief& brief, const record::Ask& ask, int64_t tokens) const {
  auto values = prompt_data(brief, ask);
  if (!values) return values.findings();
  const auto& pair = pair_of(ask.job);
  auto order = most_telling(brief.earlier);
  if (ask.about) std::erase(order, *ask.about);
  const auto used = included(pair.user);
  // Whether a section of this question has anything to tell.
  const auto says = [&](std::string_view name) {
    auto section = sections_.find(name);
    return section != sections_.end() && std::find(used.begin(), used.end(), name) != used.end() &&
           filled(section->second, *values).find_first_not_of(" \n") != std::string::npos;
  };
  Filled result;
  Off off = off_;
  size_t shown = off.contains("attempts") ? 0 : std::min(order.size(), kMostEarlier);
  for (auto cut = cut_order().begin();;) {
    std::vector<size_t> some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown));
    std::sort(some.begin(), some.end());
    add_earlier(*values, brief, ask, some);
    result.question.system = filled(expanded(pair.system, off), *values);
    result.question.user = filled(expanded(pair.user, off), *values);
    result.question.temperature = ask.temperature;
    result.attempts = shown;
    result.tokens = estimated_tokens(result.question.system) + estimated_tokens(result.question.user);
    if (result.tokens <= tokens) break;
    if (shown > 1) {
      --shown;
      continue;
    }
    while (cut != cut_order().end() && (off.contains(*cut) || !says(*cut))) ++cut;
    if (cut == cut_order().end()) {
      return base::error(
          "LLM0005",
          fmt::format("the question about this kernel is about {} tokens long, {} are allowed", result.tokens, tokens),
          "--model-settings context=N allows more, where the model takes as many");
    }
    off.insert(std::string(*cut));
    result.left_out.emplace_back(*cut);
    if (*cut == "attempts") shown = 0;
  }
  for (const auto& name : used) {
    if (!off.contains(name) && says(name)) result.sections.push_back(name);
  }
  return result;
}

base::Result<Question> Template::fill(const record::Brief& brief, int64_t tokens) const {
  auto made = fill(brief, record::ask_of(brief, 0), tokens);
  if (!made) return made.findings();
  return std::move(made->question);
}

base::Result<std::vector<Question>> questions_of(const Template& prompt, const record::Brief& brief, int64_t tokens,
                                                 int count) {
  std::vector<Question> questions;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(i);
    const size_t period = std::max<size_t>(1, brief.asks.size());
    if (index >= period) {
      questions.push_back(questions[index % period]);
      continue;
    }
    auto made = prompt.fill(brief, record::ask_of(brief, index), tokens);
    if (!made) return made.findings();
    questions.push_back(std::move(made->question));
  }
  return questions;
}

nlohmann::json ask_json(const record::Brief& brief, const std::vector<Question>& questions, int turn, int count) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& question : questions) list.push_back({{"system", question.system}, {"user", question.user}});
  return {{"schema", "ptxlab.ask/1"},
          {"turn", turn},
          {"count", count},
          {"brief", record::to_json(brief)},
          {"question", list.empty() ? nlohmann::json() : list.front()},
          {"questions", std::move(list)}};
}

}  // namespace ptxlab::llm
