// A grammar of PTX modules for one target, made from the instruction table: what a model's server can be given so that a model
// writes only words that exist, in forms that are legal together, with operands of the right shape. A context-free grammar cannot know
// what was declared, nor widths of registers: `check` does. As GBNF (llama.cpp, vLLM) or Lark (OpenAI's custom tools, llguidance).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/target.h"

namespace ptxlab::ptx {

// What stands on the right side of a rule.
struct Grammatical {
  enum class Kind : uint8_t {
    text,      // `text` itself
    chars,     // one character of the class `text`, such as "a-z_" or "^\n"
    rule,      // the rule called `text`
    sequence,  // all parts
    choice,    // one of the parts
    optional,  // the part or nothing
    many,      // the part any number of times; of characters as many as there are
    repeat,    // the part `count` times
  };
  Kind kind = Kind::sequence;
  std::string text;
  std::vector<Grammatical> parts;
  int count = 0;
};

struct Grammar {
  std::string root;
  std::map<std::string, Grammatical> rules;  // names of letters, digits and _
};

enum class GrammarRoot : uint8_t {
  module,  // a module alone
  answer,  // a line of prose, the module in a ```ptx block, perhaps a plan in a ```toml block: what prompts ask for
};

// Instructions, modifiers and special registers that `target` has in PTX of `version`.
Grammar grammar_for(const isa::Target& target, isa::PtxVersion version, GrammarRoot root = GrammarRoot::module);

std::string gbnf(const Grammar& grammar);
std::string lark(const Grammar& grammar);

}  // namespace ptxlab::ptx
