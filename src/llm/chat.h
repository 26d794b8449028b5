// The chat-completions form that OpenAI-compatible servers speak: a question as their JSON, and what came back as a
// reply or as the finding that says why there is none.
#pragma once
#include <string>

#include "llm/budget.h"
#include "llm/model.h"

namespace ptxlab::llm {

struct Question {
  std::string system, user;
};

struct Reply {
  std::string text;
  bool cut = false;         // the server ended it at its limit of tokens
  bool ill_formed = false;  // it held bytes that are not UTF-8, which stand replaced in `text`
  Usage usage;              // of this answer alone; `requests` is 0
};

// The request's body.
std::string chat_request(const Model& model, const Question& question, const Settings& settings);

// Errors: LLM0010 no whole answer, LLM0011 the server refuses (its own words are quoted), LLM0012 a redirect, LLM0013
// no chat completion in what came.
base::Result<Reply> read_reply(const Model& model, const Question& question, const HttpOutcome& outcome);

}  // namespace ptxlab::llm
