#include "task/host_expression.h"

#include <algorithm>
#include <set>
#include <vector>

#include "launch/expression.h"
#include "task/cuda_tokens.h"

namespace ptxlab::task {
namespace {

constexpr int kMaxDepth = 8;  // constants that lean on constants

bool type_word(std::string_view word) {
  static const std::set<std::string_view> words{"int",     "unsigned", "signed",  "long",     "short", "char", "size_t",
                                                "int64_t", "uint64_t", "int32_t", "uint32_t", "uint",  "std",  "::"};
  return words.count(word) > 0;
}

std::string without_suffix(std::string_view number) {
  std::string digits;
  for (char c : number)
    if (c != '\'') digits += c;
  while (!digits.empty() && std::string_view("uUlLzZ").find(digits.back()) != std::string_view::npos) digits.pop_back();
  return digits;
}

class Translator {
 public:
  Translator(const HostNames& names, int depth) : names_(names), depth_(depth) {}

  std::optional<std::vector<std::string>> words(std::string_view host) {
    tokens_ = tokenize_cuda(host).tokens;
    for (size_t i = 0; i < tokens_.size();) {
      if (!step(i)) return std::nullopt;
    }
    return out_;
  }

 private:
  bool at(size_t i, std::string_view what) const { return i < tokens_.size() && tokens_[i].is(what); }

  bool step(size_t& i) {
    const CudaToken& token = tokens_[i];
    if (token.is("(") && cast(i)) return true;
    if (token.is("static_cast") && at(i + 1, "<")) {
      while (i < tokens_.size() && !at(i, ">")) ++i;
      ++i;
      return true;
    }
    if (token.kind == CudaToken::Kind::number) {
      out_.push_back(without_suffix(token.spelling));
      ++i;
      return out_.back().find_first_of(".eE") == std::string::npos || out_.back().substr(0, 2) == "0x";
    }
    if (token.word()) return name(i);
    if (token.kind == CudaToken::Kind::text) return false;
    static const std::set<std::string_view> marks{"(",  ")",  "+",  "-", "*", "/", "%", "<", ">",  "<=", ">=", "==",
                                                  "!=", "&&", "||", "?", ":", "&", "|", "^", "<<", ",",  "~",  "!"};
    if (!marks.count(token.spelling)) return false;
    out_.emplace_back(token.spelling);
    if (token.is(">") && at(i + 1, ">")) out_.back() = ">>", ++i;
    ++i;
    return true;
  }

  // (unsigned int) in front of an operand.
  bool cast(size_t& i) const {
    size_t end = i + 1;
    while (end < tokens_.size() && type_word(tokens_[end].spelling)) ++end;
    if (end == i + 1 || !at(end, ")")) return false;
    i = end + 1;
    return true;
  }

  bool name(size_t& i) {
    if (at(i, "std") && at(i + 1, "::")) i += 2;
    if (i >= tokens_.size()) return false;
    std::string word(tokens_[i].spelling);
    if (at(i + 1, "(")) {
      std::string lower = word;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
      const bool rounds_up = lower.find("div") != std::string::npos &&
                             (lower.find("ceil") != std::string::npos || lower.find("up") != std::string::npos ||
                              lower.substr(0, 4) == "cdiv");
      if (rounds_up) word = "ceildiv";
      if (word != "min" && word != "max" && word != "ceildiv") return false;
      out_.push_back(word);
      ++i;
      return true;
    }
    ++i;
    const auto meaning = names_(word);
    if (!meaning) return false;
    if (*meaning == word || depth_ >= kMaxDepth) {
      out_.push_back(*meaning);
      return depth_ < kMaxDepth;
    }
    auto inner = Translator(names_, depth_ + 1).words(*meaning);
    if (!inner) return false;
    if (inner->size() == 1) {
      out_.push_back(inner->front());
      return true;
    }
    out_.emplace_back("(");
    out_.insert(out_.end(), inner->begin(), inner->end());
    out_.emplace_back(")");
    return true;
  }

  const HostNames& names_;
  int depth_;
  std::vector<CudaToken> tokens_;  // views into the expression
  std::vector<std::string> out_;
};

bool is_number(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

size_t opening(const std::vector<std::string>& words, size_t close) {
  int depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    if (words[i] == ")") ++depth;
    if (words[i] == "(" && --depth == 0) return i;
  }
  return words.size();
}

// ( A + B - 1 ) / B and ( A + 255 ) / 256 are ceildiv(A, B); A without + or - of its own at this level.
void fold_ceildiv(std::vector<std::string>& words) {
  for (size_t slash = 1; slash + 1 < words.size(); ++slash) {
    if (words[slash] != "/" || words[slash - 1] != ")") continue;
    const size_t open = opening(words, slash - 1), close = slash - 1;
    if (open >= words.size()) continue;
    // A divisor of one word, or one in parentheses of the same words.
    std::vector<std::string> divisor{words[slash + 1]};
    size_t plus = words.size();
    int depth = 0;
    for (size_t i = open + 1; i < close && plus == words.size(); ++i) {
      depth += words[i] == "(" ? 1 : words[i] == ")" ? -1 : 0;
      if (depth == 0 && words[i] == "+") plus = i;
    }
    if (plus == words.size()) continue;
    const bool named =
        close - plus == 4 && words[plus + 1] == divisor[0] && words[plus + 2] == "-" && words[plus + 3] == "1";
    const bool numbers = close - plus == 2 && is_number(words[plus + 1]) && is_number(divisor[0]) &&
                         words[plus + 1].size() < 10 && divisor[0].size() < 10 &&
                         std::stol(words[plus + 1]) + 1 == std::stol(divisor[0]);
    const bool both = close - plus == 4 && is_number(words[plus + 1]) && words[plus + 1] == divisor[0] &&
                      words[plus + 2] == "-" && words[plus + 3] == "1";
    if (!named && !numbers && !both) continue;
    std::vector<std::string> folded(words.begin(), words.begin() + static_cast<ptrdiff_t>(open));
    folded.insert(folded.end(), {"ceildiv", "("});
    folded.insert(folded.end(), words.begin() + static_cast<ptrdiff_t>(open) + 1,
                  words.begin() + static_cast<ptrdiff_t>(plus));
    folded.insert(folded.end(), {",", divisor[0], ")"});
    folded.insert(folded.end(), words.begin() + static_cast<ptrdiff_t>(slash) + 2, words.end());
    words = std::move(folded);
    slash = 0;
  }
}

bool function_word(const std::string& word) { return word == "ceildiv" || word == "min" || word == "max"; }

// Parentheses around a call alone say nothing: ( ceildiv ( n , 256 ) ).
void drop_parentheses(std::vector<std::string>& words) {
  for (size_t close = words.size(); close-- > 1;) {
    if (close >= words.size() || words[close] != ")" || words[close - 1] != ")") continue;
    const size_t open = opening(words, close), inner = opening(words, close - 1);
    if (open >= words.size() || inner != open + 2 || !function_word(words[open + 1]) ||
        (open > 0 && function_word(words[open - 1])))
      continue;
    words.erase(words.begin() + static_cast<ptrdiff_t>(close));
    words.erase(words.begin() + static_cast<ptrdiff_t>(open));
  }
}

std::string spelled(std::vector<std::string> words) {
  drop_parentheses(words);
  // One pair of parentheses around everything says nothing.
  while (words.size() > 2 && words.front() == "(" && words.back() == ")" && opening(words, words.size() - 1) == 0) {
    words.erase(words.begin());
    words.pop_back();
  }
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool call =
        words[i] == "(" && i > 0 && (words[i - 1] == "ceildiv" || words[i - 1] == "min" || words[i - 1] == "max");
    const bool tight = text.empty() || words[i] == ")" || words[i] == "," || call || words[i - 1] == "(" ||
                       words[i - 1] == "~" || words[i - 1] == "!";
    text += (tight ? "" : " ") + words[i];
  }
  return text;
}

}  // namespace

std::optional<std::string> plan_expression(std::string_view host, const HostNames& names) {
  auto words = Translator(names, 0).words(host);
  if (!words || words->empty()) return std::nullopt;
  fold_ceildiv(*words);
  std::string text = spelled(std::move(*words));
  if (!launch::Expression::parse(text)) return std::nullopt;
  return text;
}

std::optional<long long> host_value(std::string_view host, const HostNames& names) {
  const auto text = plan_expression(host, names);
  if (!text) return std::nullopt;
  auto parsed = launch::Expression::parse(*text);
  if (!parsed) return std::nullopt;
  auto value = parsed->evaluate([](std::string_view) -> std::optional<int64_t> { return std::nullopt; });
  if (!value) return std::nullopt;
  return *value;
}

}  // namespace ptxlab::task
