// The sections that a question is made of: what each tells, which may be left out, and in which order they go where the question
// would be too long.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::llm {

struct Section {
  std::string_view name;
  std::string_view tells;    // one line, for help
  bool switches_off = true;  // by --without, for ablation
};

// In the order in which a question has them. Their texts lie in prompts/sections/NAME.mustache.
std::span<const Section> sections();
const Section* section_named(std::string_view name);

// What goes where a question is too long, first to last, after all earlier attempts but the most telling one. What does not stand
// here stays: without it there is no question.
std::span<const std::string_view> cut_order();

}  // namespace ptxlab::llm
