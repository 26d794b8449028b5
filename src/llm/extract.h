// Takes the candidate out of a model's answer: one ```ptx block (or ```cuda, where CUDA C was asked for), and optionally one
// ```toml block with the launch plan. What cannot be taken is a finding with its place in the answer, never a guess.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "llm/chat.h"
#include "record/record.h"

namespace ptxlab::llm {

// The name that findings give an answer.
inline constexpr const char* kAnswerFile = "answer.md";

struct Extracted {
  std::string ptx;   // or
  std::string cuda;  // where that was asked for
  std::optional<std::string> plan;
  std::string idea;  // the first line of prose in one line, or ""
  // Errors: LLM0020 no block, LLM0021 several that differ, LLM0022 an empty one or an empty answer, LLM0023 host code, LLM0024
  // cut short, LLM0030 kept back by the server, LLM0025 not UTF-8, LLM0026 code in another language, LLM0027 the question came back. Warnings: LLM0028 an
  // unmarked block that is PTX was taken, LLM0029 a block of another language was left aside.
  base::Findings findings;
};

Extracted extract(const Reply& reply, const Question& question, record::Language wanted = record::Language::ptx);

// A fenced block of Markdown, as CommonMark has it; exposed for its tests.
struct Block {
  std::string language;  // the first word behind the fence, in lower case
  std::string text;
  uint32_t line = 0;  // of the opening fence, from 1
  bool closed = false;
};
std::vector<Block> fenced_blocks(std::string_view markdown);

}  // namespace ptxlab::llm
