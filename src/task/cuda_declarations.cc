#include "task/cuda_declarations.h"

#include <algorithm>

#include "task/cuda_tokens.h"

namespace ptxlab::task {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kMaxLoops = 16, kMaxStructs = 500;

bool any_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) : tokens_(tokenize_cuda(source).tokens) {
    closing_.assign(tokens_.size(), kNone);
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (any_of(tokens_[i].spelling, {"(", "[", "{"})) open.push_back(i);
      if (!any_of(tokens_[i].spelling, {")", "]", "}"}) || open.empty()) continue;
      closing_[open.back()] = i;
      open.pop_back();
    }
  }

  CudaDeclarations run() {
    struct Open {
      HostLoop loop;
      size_t end;
    };
    std::vector<Open> around;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      while (!around.empty() && i >= around.back().end) around.pop_back();
      if (at(i, "struct")) structure(i);
      if (at(i, "__constant__") || at(i, "__device__")) variable(i);
      if (any_of(tokens_[i].spelling, {"cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"})) copy(i);
      if (any_of(tokens_[i].spelling, {"for", "while", "do"}) && around.size() < kMaxLoops) {
        size_t end = kNone;
        HostLoop loop = loop_at(i, end);
        if (end != kNone) around.push_back({std::move(loop), end});
      }
      if (at(i, "<<<"))
        for (const Open& one : around) found_.loops[i].push_back(one.loop);
    }
    return std::move(found_);
  }

 private:
  bool at(size_t i, std::string_view what) const { return i < tokens_.size() && tokens_[i].is(what); }
  bool word(size_t i) const { return i < tokens_.size() && tokens_[i].word(); }

  std::string text(size_t from, size_t to) const {
    std::string out;
    for (size_t i = from; i < std::min(to, tokens_.size()); ++i) {
      const bool tight = out.empty() || any_of(tokens_[i].spelling, {")", "]", "::", "->", ".", "(", "["}) ||
                         any_of(tokens_[i - 1].spelling, {"(", "[", "::", "->", ".", "&", "!"});
      out += (tight ? "" : " ") + std::string(tokens_[i].spelling);
    }
    return out;
  }

  // Declarators in [from, to): TYPE *a, b[4], c; each goes to `to_fields`. False where it is no plain declaration.
  bool fields(size_t from, size_t to, std::vector<CudaField>& to_fields) const {
    std::string type;
    size_t i = from;
    bool constant = false;
    // The type is all words up to the last one before *, [, a comma or the end.
    while (i < to) {
      if (any_of(tokens_[i].spelling, {"const", "volatile", "struct", "mutable", "static", "extern", "__restrict__"})) {
        constant |= tokens_[i].is("const");
        ++i;
      } else if (any_of(tokens_[i].spelling, {"alignas", "__align__"}) && at(i + 1, "(") && closing_[i + 1] != kNone) {
        i = closing_[i + 1] + 1;
      } else if (at(i, "::")) {
        type += "::";
        ++i;
      } else if (word(i) && i + 1 < to && (word(i + 1) || at(i + 1, "*") || at(i + 1, "::") || at(i + 1, "<"))) {
        if (!type.empty() && type.back() != ':') type += ' ';
        type += tokens_[i].spelling;
        ++i;
        if (at(i, "*")) break;
        if (at(i, "<")) return false;
      } else {
        break;
      }
    }
    if (type.empty()) return false;
    while (i < to) {
      CudaField field;
      field.type = type;
      field.constant = constant;
      while (i < to && any_of(tokens_[i].spelling, {"*", "const", "__restrict__", "__restrict"})) {
        field.pointers += tokens_[i].is("*");
        ++i;
      }
      if (!word(i) || i >= to) return false;
      field.name = tokens_[i++].spelling;
      while (at(i, "[") && closing_[i] != kNone && closing_[i] < to) {
        field.dims.push_back(text(i + 1, closing_[i]));
        i = closing_[i] + 1;
      }
      if (at(i, "=")) {  // an initial value
        while (i < to && !at(i, ",")) {
          if (any_of(tokens_[i].spelling, {"(", "{", "["}) && closing_[i] != kNone) i = closing_[i];
          ++i;
        }
      }
      to_fields.push_back(std::move(field));
      if (i < to && !at(i, ",")) return false;
      ++i;
    }
    return true;
  }

  // struct NAME { ... };  typedef struct { ... } NAME;
  void structure(size_t i) {
    if (found_.structs.size() >= kMaxStructs) return;
    size_t open = i + 1;
    std::string name;
    while (open < tokens_.size() && !any_of(tokens_[open].spelling, {"{", ";", "(", ")", ",", "*", "=", ">"})) {
      if (word(open) && !any_of(tokens_[open].spelling, {"alignas", "__align__", "final"}))
        name = tokens_[open].spelling;
      ++open;
      if (at(open, "(") && any_of(tokens_[open - 1].spelling, {"alignas", "__align__"}) && closing_[open] != kNone)
        open = closing_[open] + 1;
    }
    if (!at(open, "{") || closing_[open] == kNone) return;
    const size_t close = closing_[open];
    if (i > 0 && at(i - 1, "typedef") && word(close + 1)) name = tokens_[close + 1].spelling;
    if (name.empty()) return;
    std::vector<CudaField> members;
    for (size_t from = open + 1; from < close;) {
      size_t to = from;
      bool plain = true;
      while (to < close && !at(to, ";")) {
        if (any_of(tokens_[to].spelling, {"(", "{"})) {  // a function, or what this does not read
          plain = any_of(tokens_[to - 1].spelling, {"alignas", "__align__"}) && plain;
          if (closing_[to] == kNone) return;
          to = closing_[to];
          if (at(to, "}") && !at(to + 1, ";")) break;  // a function's body ends without ;
        }
        ++to;
      }
      if (plain) fields(from, to, members);
      from = to + 1;
    }
    if (!members.empty()) found_.structs.emplace(name, std::move(members));
  }

  // __constant__ float c_taps[9];
  void variable(size_t i) {
    size_t from = i + 1, to = from;
    while (any_of(from < tokens_.size() ? tokens_[from].spelling : "", {"__constant__", "__device__", "static"}))
      ++from;
    to = from;
    while (to < tokens_.size() && !any_of(tokens_[to].spelling, {";", "(", "{", "="})) ++to;
    if (!at(to, ";") && !at(to, "=")) return;
    std::vector<CudaField> declared;
    if (!fields(from, to, declared)) return;
    for (CudaField& field : declared) {
      CudaVariable made{std::move(field), at(i, "__constant__")};
      found_.variables.emplace(made.declared.name, made);
    }
  }

  void copy(size_t i) {
    if (!at(i + 1, "(") || closing_[i + 1] == kNone) return;
    const size_t close = closing_[i + 1];
    std::vector<std::pair<size_t, size_t>> parts;
    size_t start = i + 2;
    for (size_t k = start; k <= close; ++k) {
      if (any_of(tokens_[k].spelling, {"(", "[", "{"}) && closing_[k] != kNone && closing_[k] < close) {
        k = closing_[k];
      } else if (at(k, ",") || k == close) {
        parts.emplace_back(start, k);
        start = k + 1;
      }
    }
    if (parts.size() < 2) return;
    SymbolCopy made;
    for (size_t k = parts[0].first; k < parts[0].second; ++k)
      if (word(k)) made.variable = tokens_[k].spelling;  // without its namespace and &
    made.source = text(parts[1].first, parts[1].second);
    made.line = tokens_[i].line;
    if (!made.variable.empty()) found_.copies.push_back(std::move(made));
  }

  // The loop at `i` and one behind its body's end.
  HostLoop loop_at(size_t i, size_t& end) const {
    HostLoop loop;
    loop.line = tokens_[i].line;
    size_t body = i + 1;
    if (!at(i, "do")) {
      if (!at(i + 1, "(") || closing_[i + 1] == kNone) return loop;
      body = closing_[i + 1] + 1;
      if (at(i, "while") && at(body, ";")) return loop;  // of a do
      if (at(i, "for")) header(i + 2, closing_[i + 1], loop);
    }
    if (at(body, "{")) {
      end = closing_[body];
    } else {
      end = body;
      while (end < tokens_.size() && !at(end, ";")) {
        if (any_of(tokens_[end].spelling, {"(", "{", "["}) && closing_[end] != kNone) end = closing_[end];
        ++end;
      }
      ++end;
    }
    if (end != kNone) swaps(body, std::min(end, tokens_.size()), loop);
    return loop;
  }

  // int t = 0; t < steps; ++t
  void header(size_t from, size_t close, HostLoop& loop) const {
    size_t first = from, second;
    while (first < close && !at(first, ";")) ++first;
    second = first + 1;
    while (second < close && !at(second, ";")) ++second;
    if (second >= close || first < from + 3) return;
    if (!word(first - 3) || !at(first - 2, "=") || !at(first - 1, "0")) return;
    const std::string_view name = tokens_[first - 3].spelling;
    if (!at(first + 1, name) || second < first + 4) return;
    const bool below = at(first + 2, "<") || at(first + 2, "!="), up_to = at(first + 2, "<=");
    if (!below && !up_to) return;
    const size_t step = second + 1;
    const bool by_one = (at(step, "++") && at(step + 1, name)) || (at(step, name) && at(step + 1, "++")) ||
                        (at(step, name) && at(step + 1, "+=") && at(step + 2, "1"));
    if (!by_one) return;
    loop.variable = name;
    loop.count = text(first + 3, second) + (up_to ? " + 1" : "");
  }

  // std::swap(a, b), or T* t = a; a = b; b = t;
  void swaps(size_t from, size_t to, HostLoop& loop) const {
    for (size_t i = from; i + 5 < to; ++i) {
      if (at(i, "swap") && at(i + 1, "(") && word(i + 2) && at(i + 3, ",") && word(i + 4) && at(i + 5, ")"))
        loop.swaps.emplace_back(tokens_[i + 2].spelling, tokens_[i + 4].spelling);
      if (i + 11 < to && word(i) && at(i + 1, "=") && word(i + 2) && at(i + 3, ";") &&
          at(i + 4, tokens_[i + 2].spelling) && at(i + 5, "=") && word(i + 6) && at(i + 7, ";") &&
          at(i + 8, tokens_[i + 6].spelling) && at(i + 9, "=") && at(i + 10, tokens_[i].spelling))
        loop.swaps.emplace_back(tokens_[i + 2].spelling, tokens_[i + 6].spelling);
    }
  }

  std::vector<CudaToken> tokens_;
  std::vector<size_t> closing_;
  CudaDeclarations found_;
};

}  // namespace

CudaDeclarations scan_declarations(std::string_view source) { return Scanner(source).run(); }

}  // namespace ptxlab::task
