#include "task/cuda_scan.h"

#include <algorithm>
#include <set>

#include "task/cuda_tokens.h"

namespace ptxlab::task {
namespace {

using Tokens = std::vector<CudaToken>;

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kReach = 400;  // tokens between a mark and what belongs to it
constexpr size_t kMaxLaunches = 50, kMaxAllocations = 1000;

bool any_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool integer_type(std::string_view word) {
  return any_of(word, {"int", "unsigned", "long", "short", "size_t", "int64_t", "uint64_t", "int32_t", "uint32_t",
                       "auto", "uint", "ptrdiff_t"});
}

std::string joined(const Tokens& tokens, size_t from, size_t to) {
  std::string text;
  for (size_t i = from; i < to; ++i) {
    // Blanks where two words would run together, and around binary marks for reading.
    const bool tight = text.empty() || any_of(tokens[i].spelling, {")", "]", ",", ".", "(", "[", "->", "::"}) ||
                       any_of(tokens[i - 1].spelling, {"(", "[", ".", "->", "::", "~", "!"});
    if (!tight ||
        (tokens[i].is("(") && i > from && !tokens[i - 1].word() && !any_of(tokens[i - 1].spelling, {"(", "[", "!"})))
      text += ' ';
    text += tokens[i].spelling;
  }
  return text;
}

class Scanner {
 public:
  explicit Scanner(std::string_view source) {
    CudaTokens all = tokenize_cuda(source);
    tokens_ = std::move(all.tokens);
    for (const CudaDefine& define : all.defines)
      if (!define.value.empty()) scan_.constants.emplace(define.name, define.value);
  }

  CudaScan run() {
    match_brackets();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is("namespace")) name_space(i);
      if (tokens_[i].is("__global__")) kernel(i);
      if (tokens_[i].is("using") || tokens_[i].is("typedef")) alias(i);
      if (tokens_[i].word()) declaration(i);
    }
    size_t calls = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (any_of(tokens_[i].spelling, {"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"}) &&
          calls++ < kMaxAllocations)
        allocation(i);
      if (tokens_[i].is("<<<") && scan_.launches.size() < kMaxLaunches) launch(i);
      if (any_of(tokens_[i].spelling, {"cudaLaunchCooperativeKernel", "cudaLaunchKernel"}) && at(i + 1, "(") &&
          scan_.launches.size() < kMaxLaunches)
        launch_by_call(i);
    }
    return std::move(scan_);
  }

 private:
  bool at(size_t i, std::string_view what) const { return i < tokens_.size() && tokens_[i].is(what); }

  // The index of the bracket that closes the one at `open`, or kNone.
  size_t closing(size_t open) const { return closing_[open]; }
  // One pass for all brackets: hostile files cost no more than honest ones.
  void match_brackets() {
    closing_.assign(tokens_.size(), kNone);
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (any_of(tokens_[i].spelling, {"(", "[", "{"})) open.push_back(i);
      if (!any_of(tokens_[i].spelling, {")", "]", "}"}) || open.empty()) continue;
      closing_[open.back()] = i;
      open.pop_back();
    }
  }
  // The end of a template list that opens at `open`, one behind the last >.
  size_t template_end(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size() && i < open + kReach; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) {
        i = closing(i);
        if (i == kNone) return kNone;
        continue;
      }
      if (tokens_[i].is("<")) ++depth;
      if (tokens_[i].is(">")) --depth;
      if (tokens_[i].is(">>>")) depth -= 3;
      if (depth <= 0) return i + 1;
      if (any_of(tokens_[i].spelling, {";", "{", "}"})) return kNone;
    }
    return kNone;
  }
  // The first of the marks from `from` on, or where looking for it ends.
  size_t find(size_t from, std::initializer_list<std::string_view> marks) const {
    size_t i = from;
    while (i < std::min(tokens_.size(), from + kReach) && !any_of(tokens_[i].spelling, marks)) ++i;
    return i;
  }
  // Splits [from, to) at commas outside of brackets and template lists.
  std::vector<std::pair<size_t, size_t>> split(size_t from, size_t to) const {
    std::vector<std::pair<size_t, size_t>> parts;
    size_t start = from;
    for (size_t i = from; i < to; ++i) {
      if (any_of(tokens_[i].spelling, {"(", "[", "{"})) {
        i = closing(i);
        if (i == kNone || i >= to) break;
      } else if (tokens_[i].is("<") && i > from && tokens_[i - 1].word()) {
        const size_t end = template_end(i);
        if (end != kNone && end <= to && end > i + 1) i = end - 1;
      } else if (tokens_[i].is(",")) {
        parts.emplace_back(start, i);
        start = i + 1;
      }
    }
    if (start < to || !parts.empty()) parts.emplace_back(start, to);
    return parts;
  }

  // Whether what stands before index i, back to the last ; or }, holds `word`.
  bool before(size_t i, std::string_view word) const {
    for (size_t steps = 0; i-- > 0 && steps < kReach; ++steps) {
      if (any_of(tokens_[i].spelling, {";", "}", "{"})) return false;
      if (tokens_[i].is(word)) return true;
    }
    return false;
  }

  void kernel(size_t mark) {
    CudaKernel kernel;
    kernel.line = tokens_[mark].line;
    size_t i = mark + 1;
    // To the name: the last word before a ( that is not an attribute's.
    size_t open = kNone;
    for (; i < std::min(tokens_.size(), mark + kReach) && open == kNone; ++i) {
      if (any_of(tokens_[i].spelling, {";", "{", "}"})) return;
      if (tokens_[i].is("static")) kernel.is_static = true;
      if (!tokens_[i].is("(")) continue;
      if (any_of(tokens_[i - 1].spelling, {"__launch_bounds__", "__cluster_dims__", "__attribute__", "alignas",
                                           "__maxnreg__", "__block_size__"})) {
        i = closing(i);
        if (i == kNone) return;
        continue;
      }
      open = i;
    }
    if (open == kNone || !tokens_[open - 1].word()) return;
    const size_t close = closing(open);
    if (close == kNone || !at(close + 1, "{")) return;  // a declaration: the definition follows elsewhere
    kernel.name = tokens_[open - 1].spelling;
    for (const NameSpace& one : name_spaces_)
      if (one.open < mark && mark < one.close) kernel.scope += one.name + "::";
    kernel.is_template = before(mark, "template");
    if (kernel.is_template) template_parameters(mark, kernel);
    kernel.is_static = kernel.is_static || before(mark, "static");
    for (auto [from, to] : split(open + 1, close)) parameter(from, to, kernel);
    const size_t end = closing(close + 1);
    uses(close + 2, end == kNone ? tokens_.size() : end, kernel);
    scan_.kernels.push_back(std::move(kernel));
  }

  // namespace a::b { ... }; an anonymous one names nothing.
  void name_space(size_t i) {
    std::string name;
    size_t open = i + 1;
    while (open < tokens_.size() && (tokens_[open].word() || tokens_[open].is("::"))) name += tokens_[open++].spelling;
    if (!at(open, "{") || name.empty() || closing(open) == kNone || name_spaces_.size() >= 1000) return;
    name_spaces_.push_back({open, closing(open), name});
  }

  // template <typename T, int N = 4> in front of the kernel.
  void template_parameters(size_t mark, CudaKernel& kernel) const {
    size_t i = mark;
    while (i > 0 && !tokens_[i].is("template")) --i;
    if (!at(i + 1, "<")) return;
    const size_t end = template_end(i + 1);
    if (end == kNone) return;
    for (auto [from, to] : split(i + 2, end - 1)) {
      size_t last = from;
      while (last < to && !tokens_[last].is("=")) ++last;
      if (last == from || !tokens_[last - 1].word()) continue;
      kernel.template_parameters.emplace_back(tokens_[last - 1].spelling);
      kernel.template_types.push_back(any_of(tokens_[from].spelling, {"typename", "class"}));
    }
  }

  void parameter(size_t from, size_t to, CudaKernel& kernel) {
    for (size_t i = from; i < to; ++i)
      if (tokens_[i].is("=")) to = i;  // a default value
    if (from >= to || (to == from + 1 && tokens_[from].is("void"))) return;
    CudaParameter parameter;
    std::vector<size_t> type;
    for (size_t i = from; i < to; ++i) {
      const std::string_view word = tokens_[i].spelling;
      if (word == "*") {
        ++parameter.pointers;
      } else if (word == "[") {
        ++parameter.pointers;
        i = closing(i);
        if (i == kNone) break;
      } else if (word == "const") {
        if (parameter.pointers == 0) parameter.constant = true;
      } else if (!any_of(word, {"__restrict__", "__restrict", "restrict", "volatile", "__grid_constant__", "struct",
                                "&", "register"})) {
        type.push_back(i);
      }
    }
    // The last word is the name, unless it is all there is of the type.
    static const std::set<std::string_view> base_words{"int",  "unsigned", "signed", "long", "short",
                                                       "char", "float",    "double", "bool", "half"};
    if (type.size() > 1 && tokens_[type.back()].word() && !base_words.count(tokens_[type.back()].spelling) &&
        !tokens_[type[type.size() - 2]].is("::")) {
      parameter.name = tokens_[type.back()].spelling;
      type.pop_back();
    }
    for (size_t i : type) {
      if (!parameter.type.empty() && tokens_[i].word() && i > 0 && tokens_[i - 1].word()) parameter.type += ' ';
      parameter.type += tokens_[i].spelling;
    }
    kernel.parameters.push_back(std::move(parameter));
  }

  // How the body uses its pointers, through local pointers made of them too: T* out = y + ...; out[i] = ...
  void uses(size_t from, size_t to, CudaKernel& kernel) {
    std::map<std::string_view, size_t> meant;
    for (size_t p = 0; p < kernel.parameters.size(); ++p)
      if (kernel.parameters[p].pointers > 0 && !kernel.parameters[p].name.empty())
        meant.emplace(kernel.parameters[p].name, p);
    for (size_t i = from; i < to && !tokens_[i].is("__global__"); ++i) {
      if (!tokens_[i].word() || at(i - 1, ".") || at(i - 1, "->")) continue;
      const auto found = meant.find(tokens_[i].spelling);
      if (found == meant.end()) continue;
      const bool whole = !at(i + 1, "[") || at(i - 1, "&");
      const std::string_view local = whole ? pointer_made_of(i, from) : std::string_view();
      if (!local.empty()) {
        meant.emplace(local, found->second);
      } else if (!(at(i + 1, "=") && whole && at(i - 1, "*"))) {  // the declaration of a local pointer is no use
        use(i, kernel.parameters[found->second]);
      }
    }
  }
  // The local pointer whose initial value holds the pointer at i: the word in front of = in the same statement.
  std::string_view pointer_made_of(size_t i, size_t from) const {
    for (size_t k = i; k > from + 1 && i - k < 40; --k) {
      if (any_of(tokens_[k].spelling, {";", "{", "}"})) break;
      if (tokens_[k].is("=") && tokens_[k - 1].word() &&
          any_of(tokens_[k - 2].spelling, {"*", "auto", "__restrict__", "const"}))
        return tokens_[k - 1].spelling;
    }
    return {};
  }
  void use(size_t i, CudaParameter& parameter) {
    size_t next = i + 1;
    const bool indexed = at(next, "[");
    const bool starred = at(i - 1, "*") && i >= 2 && !tokens_[i - 2].word() && !at(i - 2, ")") && !at(i - 2, "]") &&
                         tokens_[i - 2].kind != CudaToken::Kind::number;
    if (indexed) {
      next = closing(next);
      if (next == kNone) return;
      ++next;
    } else if (!starred) {
      parameter.passed_on = true;
      return;
    }
    while (at(next, ".")) next += 2;  // a component of a vector type
    if (at(next, "=")) {
      parameter.written = true;
    } else if (any_of(next < tokens_.size() ? tokens_[next].spelling : "",
                      {"+=", "-=", "*=", "/=", "%=", "++", "--", "<<=", ">>="}) ||
               at(i - 1, "++") || at(i - 1, "--")) {
      parameter.read = parameter.written = true;
    } else if (at(i - 1, "&")) {
      parameter.passed_on = true;  // atomicAdd(&y[i], ...), or a pointer made of it
      if (i >= 3 && at(i - 2, "(") && tokens_[i - 3].spelling.substr(0, 6) == "atomic")
        parameter.read = parameter.written = true;
    } else {
      parameter.read = true;
    }
  }

  void alias(size_t i) {
    if (tokens_[i].is("using")) {
      if (!at(i + 2, "=")) return;
      const size_t end = find(i + 3, {";"});
      scan_.aliases.emplace(tokens_[i + 1].spelling, joined(tokens_, i + 3, end));
      return;
    }
    const size_t end = find(i + 1, {";", "{"});
    if (end >= tokens_.size() || tokens_[end].is("{") || end < i + 3 || !tokens_[end - 1].word()) return;
    scan_.aliases.emplace(tokens_[end - 1].spelling, joined(tokens_, i + 1, end - 1));
  }

  // int n = EXPR;  dim3 grid(a, b);  std::vector<float> x(m * n);  and several names after one type.
  void declaration(size_t i) {
    const CudaToken& token = tokens_[i];
    if (token.is("dim3") && i + 2 < tokens_.size() && tokens_[i + 1].word()) return dim3(i + 1);
    if (token.is("vector") && at(i + 1, "<")) {
      const size_t end = template_end(i + 1);
      if (end != kNone && end < tokens_.size() && tokens_[end].word()) vectors(end);
      return;
    }
    if (!integer_type(token.spelling) || i + 2 >= tokens_.size() || !tokens_[i + 1].word()) return;
    for (size_t name = i + 1; name + 1 < tokens_.size() && tokens_[name].word() && at(name + 1, "=");) {
      size_t end = name + 2;
      while (end < std::min(tokens_.size(), name + kReach) && !any_of(tokens_[end].spelling, {",", ";", ")", "{"})) {
        if (tokens_[end].is("(")) end = std::min(closing(end), tokens_.size() - 1);
        ++end;
      }
      scan_.constants.emplace(tokens_[name].spelling, joined(tokens_, name + 2, std::min(end, tokens_.size())));
      if (!at(end, ",")) break;
      name = end + 1;
    }
  }
  void dim3(size_t name) {
    size_t open = name + 1;
    if (at(open, "=")) {  // dim3 grid = dim3(a, b), or = a
      ++open;
      if (at(open, "dim3")) ++open;
    }
    std::vector<std::string> parts;
    if (at(open, "(") || at(open, "{")) {
      const size_t close = closing(open);
      if (close == kNone) return;
      for (auto [from, to] : split(open + 1, close)) parts.push_back(joined(tokens_, from, to));
      // dim3 block(16, 16), grid(a, b);
      const bool more = at(close + 1, ",") && close + 3 < tokens_.size() && tokens_[close + 2].word() &&
                        any_of(tokens_[close + 3].spelling, {"(", "{", "="});
      if (more) dim3(close + 2);
    } else {
      const size_t end = find(open, {";"});
      parts.push_back(joined(tokens_, open, end));
    }
    dims_.emplace(tokens_[name].spelling, std::move(parts));
  }
  void vectors(size_t name) {
    while (name + 1 < tokens_.size() && tokens_[name].word() && at(name + 1, "(")) {
      const size_t close = closing(name + 1);
      if (close == kNone) return;
      const auto parts = split(name + 2, close);
      if (!parts.empty()) sizes_.emplace(tokens_[name].spelling, joined(tokens_, parts[0].first, parts[0].second));
      if (!at(close + 1, ",")) return;
      name = close + 2;
    }
  }

  // cudaMalloc(&p, EXPR * sizeof(T)): the elements are what is left without the size.
  void allocation(size_t i) {
    if (!at(i + 1, "(")) return;
    const size_t close = closing(i + 1);
    if (close == kNone) return;
    const auto parts = split(i + 2, close);
    if (parts.size() < 2) return;
    std::string pointer;
    for (size_t k = parts[0].first; k < parts[0].second; ++k)
      if (tokens_[k].word()) pointer = tokens_[k].spelling;
    auto [from, to] = parts[1];
    std::string elements;
    bool sized = false;
    for (size_t k = from; k < to; ++k) {
      if (tokens_[k].is("sizeof") && at(k + 1, "(")) {
        sized = true;
        k = closing(k + 1);
        if (k == kNone || k >= to) return;
        if (at(k + 1, "*")) ++k;  // sizeof(T) * n
        while (!elements.empty() && any_of(elements.substr(elements.size() - 1), {"*", " "})) elements.pop_back();
        if (at(k, "*") && !elements.empty()) elements += " *";
        continue;
      }
      if (tokens_[k].word() && at(k + 1, ".") && at(k + 2, "size") && sizes_.count(std::string(tokens_[k].spelling))) {
        const std::string& size = sizes_[std::string(tokens_[k].spelling)];
        const bool alone = size.find_first_of("+-/% ") == std::string::npos ||
                           (from == k && size.find_first_of("+-/%") == std::string::npos);
        elements += (elements.empty() ? "" : " ") + (alone ? size : "(" + size + ")");
        k += 4;  // .size()
        continue;
      }
      elements += (elements.empty() ? "" : " ") + std::string(tokens_[k].spelling);
    }
    if (sized && !pointer.empty() && !elements.empty()) {
      scan_.allocations.emplace(pointer, elements);
      return;
    }
    // cudaMalloc(&p, bytes) with size_t bytes = n * sizeof(float)
    const auto constant = scan_.constants.find(joined(tokens_, from, to));
    if (constant == scan_.constants.end() || pointer.empty()) return;
    std::string text = constant->second;
    const size_t size = text.find("sizeof");
    if (size == std::string::npos) return;
    const size_t end = text.find(')', size);
    text.erase(size, end == std::string::npos ? end : end + 1 - size);
    while (!text.empty() && (text.front() == ' ' || text.front() == '*')) text.erase(0, 1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '*')) text.pop_back();
    if (!text.empty()) scan_.allocations.emplace(pointer, text);
  }

  // kernel<args><<<grid, block, shared, stream>>>(arguments)
  void launch(size_t mark) {
    CudaLaunch launch;
    launch.line = tokens_[mark].line;
    launch.token = mark;
    size_t name = mark;
    if (name > 0 && tokens_[name - 1].is(">")) {  // back over the template's arguments
      int depth = 0;
      for (--name; name > 0; --name) {
        if (tokens_[name].is(">")) ++depth;
        if (tokens_[name].is("<") && --depth == 0) break;
      }
    }
    if (name == 0 || !tokens_[name - 1].word()) return;
    if (name != mark)
      for (auto [from, to] : split(name + 1, mark - 1)) launch.template_arguments.push_back(joined(tokens_, from, to));
    launch.kernel = tokens_[name - 1].spelling;
    size_t end = mark + 1;
    for (int depth = 0; end < tokens_.size(); ++end) {
      if (any_of(tokens_[end].spelling, {"(", "[", "{"})) ++depth;
      if (any_of(tokens_[end].spelling, {")", "]", "}"})) --depth;
      if (depth <= 0 && tokens_[end].is(">>>")) break;
    }
    if (end >= tokens_.size()) return;
    const auto configuration = split(mark + 1, end);
    if (configuration.size() < 2) return;
    launch.grid = dims(configuration[0].first, configuration[0].second);
    launch.block = dims(configuration[1].first, configuration[1].second);
    if (configuration.size() > 2) launch.shared = joined(tokens_, configuration[2].first, configuration[2].second);
    if (launch.shared == "0") launch.shared.clear();
    if (at(end + 1, "(")) {
      const size_t close = closing(end + 1);
      if (close != kNone)
        for (auto [from, to] : split(end + 2, close)) launch.arguments.push_back(joined(tokens_, from, to));
    }
    launch.in_loop = in_loop(mark);
    scan_.launches.push_back(std::move(launch));
  }

  // cudaLaunchCooperativeKernel((void*)kernel, grid, block, args, shared, stream)
  void launch_by_call(size_t i) {
    const size_t close = closing(i + 1);
    if (close == kNone) return;
    const auto parts = split(i + 2, close);
    if (parts.size() < 4) return;
    CudaLaunch launch;
    launch.line = tokens_[i].line;
    launch.token = i;
    launch.cooperative = tokens_[i].is("cudaLaunchCooperativeKernel");
    size_t name = parts[0].first;  // behind casts and &
    for (size_t k = name; k < parts[0].second; ++k)
      if (tokens_[k].word() && !any_of(tokens_[k].spelling, {"void", "const"})) {
        name = k;
        if (at(k + 1, "<") || k + 1 == parts[0].second) break;
      }
    launch.kernel = tokens_[name].spelling;
    if (at(name + 1, "<") && parts[0].second > name + 2)
      for (auto [from, to] : split(name + 2, parts[0].second - 1))
        launch.template_arguments.push_back(joined(tokens_, from, to));
    launch.grid = dims(parts[1].first, parts[1].second);
    launch.block = dims(parts[2].first, parts[2].second);
    if (parts.size() > 4) launch.shared = joined(tokens_, parts[4].first, parts[4].second);
    if (launch.shared == "0") launch.shared.clear();
    // void* args[] = {&a, &b};
    for (size_t k = 0; k + 5 < i; ++k) {
      if (tokens_[k].spelling != tokens_[parts[3].first].spelling || !at(k + 1, "[") || !at(k + 2, "]") ||
          !at(k + 3, "=") || !at(k + 4, "{") || closing(k + 4) == kNone)
        continue;
      launch.arguments.clear();
      for (auto [from, to] : split(k + 5, closing(k + 4))) {
        while (from < to && any_of(tokens_[from].spelling, {"&", "(", ")", "void", "*"})) ++from;
        launch.arguments.push_back(joined(tokens_, from, to));
      }
    }
    launch.in_loop = in_loop(i);
    scan_.launches.push_back(std::move(launch));
  }

  std::vector<std::string> dims(size_t from, size_t to) const {
    if (to == from + 1) {
      const auto found = dims_.find(std::string(tokens_[from].spelling));
      if (found != dims_.end()) return found->second;
    }
    if (at(from, "dim3") && (at(from + 1, "(") || at(from + 1, "{")) && closing(from + 1) == to - 1) {
      std::vector<std::string> parts;
      for (auto [first, last] : split(from + 2, to - 1)) parts.push_back(joined(tokens_, first, last));
      return parts;
    }
    return {joined(tokens_, from, to)};
  }

  // A for or while whose braces, or whose one statement, hold the index.
  bool in_loop(size_t index) const {
    for (size_t i = 0; i < index; ++i) {
      if (!any_of(tokens_[i].spelling, {"for", "while"}) || !at(i + 1, "(")) continue;
      const size_t close = closing(i + 1);
      if (close == kNone || close > index) continue;
      size_t end = close + 1;
      if (at(end, "{")) {
        end = closing(end);
      } else {
        while (end < tokens_.size() && !tokens_[end].is(";")) ++end;
      }
      if (end != kNone && index < end) return true;
    }
    return false;
  }

  struct NameSpace {
    size_t open, close;
    std::string name;
  };

  Tokens tokens_;
  std::vector<size_t> closing_;
  std::vector<NameSpace> name_spaces_;  // in order of their opening
  CudaScan scan_;
  std::map<std::string, std::vector<std::string>> dims_;
  std::map<std::string, std::string> sizes_;  // std::vector: its elements
};

}  // namespace

CudaScan scan_cuda(std::string_view source) { return Scanner(source).run(); }

}  // namespace ptxlab::task
