#include "llm/extract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace ptxlab::llm {
namespace {

using base::Severity;

base::Finding finding(const char* code, Severity severity, uint32_t line, std::string message, std::string hint) {
  base::Place place;
  place.file = kAnswerFile;
  place.line = line;
  return {code, severity, place, std::move(message), std::move(hint), {}};
}
base::Finding error(const char* code, uint32_t line, std::string message, std::string hint = "") {
  return finding(code, Severity::error, line, std::move(message), std::move(hint));
}

using record::Language;

constexpr const char* kWantedPtx =
    "an answer holds the whole module in one ```ptx block, and a changed plan in one ```toml block";
constexpr const char* kWantedCuda =
    "an answer holds all device code in one ```cuda block, and a changed plan in one ```toml block";

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// PTX without its comments, in which what a block is shows best.
std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

bool opens_a_module(std::string_view text) {
  std::string code = without_comments(text);
  size_t first = code.find_first_not_of(" \t\r\n");
  return first != code.npos && code.compare(first, 8, ".version") == 0;
}

// A word that only code for the host has.
std::optional<std::string_view> host_word(const std::string& code, Language wanted) {
  constexpr std::array<std::string_view, 10> kHost = {
      "cudaMalloc",   "cudaMemcpy",        "cudaLaunch", "cudaDeviceSynchronize", "<<<", "int main(",
      "import torch", "torch/extension.h", "PYBIND11",   "cuLaunchKernel"};
  constexpr std::array<std::string_view, 3> kNoPtx = {"__global__", "#include", "asm volatile"};
  if (wanted == Language::ptx) {
    for (auto word : kNoPtx) {
      if (code.find(word) != code.npos) return word;
    }
  }
  for (auto word : kHost) {
    if (code.find(word) != code.npos) return word;
  }
  return std::nullopt;
}

bool is_marked(std::string_view language, Language wanted) {
  if (wanted == Language::ptx) return language == "ptx";
  return language == "cuda" || language == "cu" || language == "cuda-c" || language == "cuda-c++" ||
         language == "cuda-cpp";
}
// A block without the right mark may be one all the same, by what is in it.
bool may_be(std::string_view language, Language wanted);

constexpr bool unmarked(std::string_view language) {
  for (std::string_view known : {"", "asm", "assembly", "nasm", "text", "txt", "plaintext", "nvptx", "llvm"}) {
    if (language == known) return true;
  }
  return false;
}

bool may_be(std::string_view language, Language wanted) {
  return unmarked(language) ||
         (wanted == Language::cuda && (language == "cpp" || language == "c++" || language == "c" || language == "cxx"));
}

std::string name_of(const Block& block) {
  size_t most = std::min<size_t>(block.language.size(), 40);
  while (most > 0 && most < block.language.size() && (static_cast<unsigned char>(block.language[most]) & 0xc0) == 0x80)
    --most;
  return block.language.empty() ? "an unmarked block" : fmt::format("a block of {}", block.language.substr(0, most));
}

// How models mark their thinking, where their server leaves it in the answer.
constexpr std::pair<std::string_view, std::string_view> kThinking[] = {
    {"<think>", "</think>"},         {"<thinking>", "</thinking>"}, {"<thought>", "</thought>"},
    {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
};

// How much of the text is thinking at its beginning.
size_t thinking_in(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  for (auto [open, close] : kThinking) {
    if (!text.substr(begin).starts_with(open)) continue;
    size_t end = text.find(close);
    return end == text.npos ? text.size() : end + close.size();
  }
  return 0;
}

// Chat templates often open the thinking in the question, so that the answer has its end alone, on a line of its own.
size_t thinking_opened_before(std::string_view text) {
  for (auto [open, close] : kThinking) {
    for (size_t at = text.find(close); at != text.npos; at = text.find(close, at + 1)) {
      size_t before = text.substr(0, at).find_last_not_of(" \t\r");
      if (before == text.npos || text[before] == '\n') return at + close.size();
    }
  }
  return 0;
}

// Some models write their thinking into the answer, drafts included; what counts comes behind it. An open one is an answer
// that was cut while thinking: nothing of it counts. Thinking keeps its line ends, so that places stay true.
std::string without_thinking(std::string_view text) {
  std::string lines;
  size_t length = thinking_in(text);
  if (length == 0) length = thinking_opened_before(text);
  for (; length > 0; length = thinking_in(text)) {
    for (char c : text.substr(0, length)) {
      if (c == '\n') lines.push_back(c);
    }
    text.remove_prefix(length);
  }
  return lines + std::string(text);
}

// The question, where the answer begins with it, is no part of the answer.
std::string without_echo(std::string_view text, const Question& question, bool& echoed) {
  size_t at = question.user.empty() ? text.npos : text.find(question.user);
  echoed = at != text.npos;
  if (!echoed) return std::string(text);
  std::string lines;
  for (char c : text.substr(0, at + question.user.size())) {
    if (c == '\n') lines.push_back(c);
  }
  return lines + std::string(text.substr(at + question.user.size()));
}

std::string first_prose(std::string_view text) {
  constexpr size_t kMost = 160;
  bool fenced = false;
  while (!text.empty()) {
    size_t end = text.find('\n');
    auto line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t#*>-"), line.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '*')) line.remove_suffix(1);
    if (line.starts_with("```") || line.starts_with("~~~")) {
      fenced = !fenced;
      continue;
    }
    if (fenced || line.empty()) continue;
    std::string idea;
    for (char c : line) idea.push_back(static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c);
    if (idea.size() <= kMost) return idea;
    size_t cut = kMost;
    while (cut > 0 && (static_cast<unsigned char>(idea[cut]) & 0xc0) == 0x80) --cut;
    return idea.substr(0, cut) + " ...";
  }
  return "";
}

class Extraction {
 public:
  Extraction(const Reply& reply, const Question& question, Language wanted)
      : reply_(reply), wanted_(wanted), hint_(wanted == Language::ptx ? kWantedPtx : kWantedCuda) {
    text_ = without_thinking(without_echo(reply.text, question, echoed_));
    blocks_ = fenced_blocks(text_);
    out_.idea = first_prose(text_);
  }

  Extracted run() {
    if (reply_.ill_formed) {
      say(error("LLM0025", 0, "the answer holds bytes that are not UTF-8, so its code cannot be trusted", ""));
    } else if (!reply_.withheld.empty() && blank(reply_.text)) {
      say(error("LLM0030", 0, fmt::format("the model's server keeps its answer back: {}", reply_.withheld),
                "ask again, or another model"));
    } else if (blank(reply_.text) && reply_.cut) {
      say(cut(0));
    } else if (blank(reply_.text)) {
      say(error("LLM0022", 0, "the answer is empty", hint_));
    } else if (const Block* code = choose()) {
      take(*code);
      plan();
      leftovers(code);
    }
    if (base::has_error(out_.findings)) {
      out_.ptx.clear();
      out_.cuda.clear();
      out_.plan.reset();
    }
    return std::move(out_);
  }

 private:
  void say(base::Finding finding) { out_.findings.push_back(std::move(finding)); }

  // The one block that is the candidate; else says why there is none.
  const Block* choose() {
    std::vector<const Block*> marked, modules;
    for (const auto& block : blocks_) {
      if (is_marked(block.language, wanted_)) marked.push_back(&block);
      bool fits =
          wanted_ == Language::ptx ? opens_a_module(block.text) : block.text.find("__global__") != block.text.npos;
      if (may_be(block.language, wanted_) && fits) modules.push_back(&block);
    }
    auto& chosen = marked.empty() ? modules : marked;
    if (chosen.empty()) {
      none();
      return nullptr;
    }
    for (const Block* other : chosen) {
      if (other->text == chosen.front()->text) continue;
      say(error(
          "LLM0021", other->line,
          fmt::format("{} blocks of {} that differ: which one is meant is not for us to choose", chosen.size(), what()),
          hint_));
      return nullptr;
    }
    if (marked.empty()) {
      say(finding("LLM0028", Severity::warning, chosen.front()->line,
                  wanted_ == Language::ptx
                      ? fmt::format("{} that holds a PTX module was taken as one", name_of(*chosen.front()))
                      : fmt::format("{} that holds a kernel was taken as CUDA C", name_of(*chosen.front())),
                  wanted_ == Language::ptx ? "mark it ```ptx" : "mark it ```cuda"));
    }
    return chosen.front();
  }

  void none() {
    for (const auto& block : blocks_) {
      if (block.language == "toml") continue;
      if (auto word = host_word(block.text, wanted_)) {
        return say(error("LLM0023", block.line,
                         fmt::format("{} holds host code ('{}') and no {}", name_of(block), *word, what()), kNoHost));
      }
      if (!unmarked(block.language)) {
        return say(error("LLM0026", block.line, fmt::format("{} where {} is wanted", name_of(block), what()), hint_));
      }
    }
    if (reply_.cut) return say(cut(0));
    if (echoed_)
      return say(
          error("LLM0027", 1, fmt::format("the question came back, and no block of {} behind it", what()), hint_));
    say(error("LLM0020", 0, fmt::format("the answer holds no block of {}", what()), hint_));
  }

  base::Finding cut(uint32_t line) const {
    return error("LLM0024", line,
                 reply_.cut ? "the answer was cut at the limit of its tokens"
                            : fmt::format("the block of {} does not end", what()),
                 "--model-settings answer_tokens=N allows longer answers");
  }

  void take(const Block& block) {
    std::string code = without_comments(block.text);
    if (!block.closed) {
      // Models forget the last fence; a module whose braces all close was not cut.
      if (reply_.cut || !whole(code)) return say(cut(block.line));
      auto forgotten = cut(block.line);
      forgotten.severity = Severity::warning;
      forgotten.message += ", but its module does";
      forgotten.hint = "end it with ```";
      say(std::move(forgotten));
    }
    if (blank(code)) return say(error("LLM0022", block.line, fmt::format("the block of {} is empty", what()), hint_));
    if (auto word = host_word(code, wanted_)) {
      return say(
          error("LLM0023", block.line, fmt::format("the block of {} holds host code: '{}'", what(), *word), kNoHost));
    }
    (wanted_ == Language::ptx ? out_.ptx : out_.cuda) = block.text;
  }

  static bool whole(const std::string& code) {
    auto opened = std::count(code.begin(), code.end(), '{');
    return opened > 0 && opened == std::count(code.begin(), code.end(), '}');
  }

  void plan() {
    const Block* found = nullptr;
    for (const auto& block : blocks_) {
      if (block.language != "toml") continue;
      if (found && found->text != block.text)
        return say(error("LLM0021", block.line,
                         "two blocks of toml that differ: which plan is meant is not for us to choose", hint_));
      found = &block;
    }
    if (!found) return;
    if (!found->closed) return say(cut(found->line));
    if (blank(found->text))
      return say(error("LLM0022", found->line, "the block of toml is empty", "leave it out to keep the plan"));
    out_.plan = found->text;
  }

  // One finding, however many there are: an answer may hold a million.
  void leftovers(const Block* code) {
    const Block* first = nullptr;
    size_t more = 0;
    for (const auto& block : blocks_) {
      if (is_marked(block.language, wanted_) || block.language == "toml" || &block == code || unmarked(block.language))
        continue;
      more += first ? 1 : 0;
      if (!first) first = &block;
    }
    if (!first) return;
    say(finding("LLM0029", Severity::warning, first->line,
                more ? fmt::format("{} and {} more were left aside", name_of(*first), more)
                     : fmt::format("{} was left aside", name_of(*first)),
                fmt::format("a candidate is {} and a launch plan alone", what())));
  }

  const char* what() const { return wanted_ == Language::ptx ? "PTX" : "CUDA C"; }

  static constexpr const char* kNoHost = "a candidate is a kernel and a launch plan; who launches it is not its affair";
  const Reply& reply_;
  const Language wanted_;
  const char* hint_;
  std::string text_;
  bool echoed_ = false;
  std::vector<Block> blocks_;
  Extracted out_;
};

struct Fence {
  char mark = 0;
  size_t length = 0, indent = 0;
  std::string_view info;
};

// How many characters of a line are the mark of a list's item: "2. ", "- ". The answer's form is a list of steps, so models begin the
// block in the line of its number.
size_t item_mark(std::string_view line) {
  size_t at = std::min(line.find_first_not_of(" \t"), line.size()), begin = at;
  while (at < line.size() && line[at] >= '0' && line[at] <= '9') ++at;
  bool numbered = at > begin && at < line.size() && (line[at] == '.' || line[at] == ')');
  bool dotted = at == begin && at < line.size() && (line[at] == '-' || line[at] == '*' || line[at] == '+');
  if (!numbered && !dotted) return 0;
  size_t end = std::min(line.find_first_not_of(" \t", at + 1), line.size());
  return end > at + 1 ? end : 0;
}

std::optional<Fence> fence_in(std::string_view line) {
  Fence fence;
  fence.indent = std::min(line.find_first_not_of(" \t"), line.size());
  auto rest = line.substr(fence.indent);
  if (rest.empty() || (rest[0] != '`' && rest[0] != '~')) return std::nullopt;
  fence.mark = rest[0];
  fence.length = std::min(rest.find_first_not_of(fence.mark), rest.size());
  if (fence.length < 3) return std::nullopt;
  fence.info = rest.substr(fence.length);
  // ```code``` in one line is no fence.
  if (fence.mark == '`' && fence.info.find('`') != fence.info.npos) return std::nullopt;
  return fence;
}

std::string language_of(std::string_view info) {
  size_t begin = std::min(info.find_first_not_of(" \t{."), info.size());
  size_t end = std::min(info.find_first_of(" \t\r,}:=", begin), info.size());
  std::string language(info.substr(begin, end - begin));
  for (char& c : language) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return language;
}

bool is_markdown(std::string_view language) { return language == "markdown" || language == "md"; }

}  // namespace

std::vector<Block> fenced_blocks(std::string_view markdown) {
  std::vector<Block> blocks;
  std::optional<Fence> open;
  for (uint32_t number = 1; !markdown.empty(); ++number) {
    size_t end = markdown.find('\n');
    auto line = markdown.substr(0, end);
    markdown = end == markdown.npos ? std::string_view() : markdown.substr(end + 1);
    auto fence = fence_in(line);
    // A whole answer put into a block of Markdown: the blocks in it are those that are meant.
    bool unpacked = open && fence && !blank(fence->info) && is_markdown(blocks.back().language);
    if (unpacked) {
      blocks.pop_back();
      open.reset();
    }
    if (!open) {
      if (!fence) fence = fence_in(line.substr(item_mark(line)));
      if (!fence) continue;
      open = fence;
      blocks.push_back({language_of(fence->info), "", number, false});
    } else if (fence && fence->mark == open->mark && fence->length >= open->length && blank(fence->info)) {
      blocks.back().closed = true;
      open.reset();
    } else {
      // Lines of an indented block lose its indentation, as far as they have it.
      size_t indent = std::min(open->indent, std::min(line.find_first_not_of(" \t"), line.size()));
      blocks.back().text.append(line.substr(indent)).push_back('\n');
    }
  }
  return blocks;
}

Extracted extract(const Reply& reply, const Question& question, Language wanted) {
  return Extraction(reply, question, wanted).run();
}

}  // namespace ptxlab::llm
