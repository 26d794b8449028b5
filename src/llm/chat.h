// A question to a model and what came back, whatever server was asked.
#pragma once
#include <optional>
#include <string>

#include "record/proposer.h"

namespace ptxlab::llm {

struct Question {
  std::string system, user;
  std::optional<double> temperature = {};  // where the user sets none
  std::string grammar = {};  // what the answer has to keep to, as the setting `grammar` wants it; empty: nothing
};

struct Reply {
  std::string text;
  bool cut = false;         // the server ended it at its limit of tokens
  bool ill_formed = false;  // it held bytes that are not UTF-8, which stand replaced in `text`
  std::string withheld;     // why the server keeps the answer back ("SAFETY"); else empty
  record::Usage usage{};    // of this answer alone; `requests` is 0
};

}  // namespace ptxlab::llm
