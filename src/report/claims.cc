#include "report/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "analysis/structure.h"
#include "ptx/verifier.h"

namespace ptxlab::report {
namespace {

// The text with comments blanked out, and the comments themselves, in lower case.
struct Divided {
  std::string code;
  std::vector<std::string> comments;
};

Divided divide(std::string_view text) {
  Divided out;
  const auto comment = [&](std::string_view words) {
    std::string lower;
    for (char c : words) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c == '\n' || c == '\t' ? ' ' : c);
    out.comments.push_back(std::move(lower));
  };
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      size_t end = std::min(text.find('\n', i), text.size());
      comment(text.substr(i + 2, end - i - 2));
      i = end;
    } else if (text.substr(i, 2) == "/*") {
      size_t end = std::min(text.find("*/", i + 2), text.size());
      comment(text.substr(i + 2, end - i - 2));
      i = std::min(end + 2, text.size());
    } else {
      out.code += text[i++];
    }
  }
  return out;
}

// What the code does, read off its words: "ld.global.v4.f32" is "ld", "global", "v4", "f32".
struct Code {
  std::vector<std::vector<std::string_view>> statements;  // each one's opcode and modifiers
  std::optional<analysis::Structure> structure;  // of the entry with the most accesses, where the module parses

  bool any(std::initializer_list<std::string_view> opcodes) const {
    return std::any_of(statements.begin(), statements.end(), [&](const auto& words) {
      return std::find(opcodes.begin(), opcodes.end(), words[0]) != opcodes.end();
    });
  }
  bool any_with(std::string_view opcode, std::string_view modifier) const {
    return std::any_of(statements.begin(), statements.end(), [&](const auto& words) {
      return words[0] == opcode && std::find(words.begin() + 1, words.end(), modifier) != words.end();
    });
  }
};

std::vector<std::string_view> words_of(std::string_view statement) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '{' || c == '}'; };
  const auto trim = [&] {
    while (!statement.empty() && blank(statement.front())) statement.remove_prefix(1);
  };
  trim();
  // Labels and the guard.
  for (size_t colon = statement.find(':'); colon != statement.npos; colon = statement.find(':')) {
    if (statement.substr(0, colon).find_first_of(" \t\n.[,") != statement.npos) break;
    statement.remove_prefix(colon + 1);
    trim();
  }
  if (statement.starts_with("@")) {
    statement.remove_prefix(std::min(statement.find_first_of(" \t\n"), statement.size()));
    trim();
  }
  std::string_view word = statement.substr(0, statement.find_first_of(" \t\n\r;"));
  std::vector<std::string_view> parts;
  while (!word.empty()) {
    size_t dot = word.find('.', 1);
    std::string_view part = word.substr(0, dot);
    if (part.starts_with(".")) part.remove_prefix(1);
    parts.push_back(part);
    word = dot == word.npos ? "" : word.substr(dot);
  }
  return parts;
}

Code code_of(const std::string& code, std::string_view ptx) {
  Code out;
  std::string_view rest = code;
  while (!rest.empty()) {
    size_t end = rest.find_first_of(";{}");
    if (auto words = words_of(rest.substr(0, end)); !words.empty()) out.statements.push_back(std::move(words));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  auto checked = ptx::check(ptx, "candidate.ptx");
  if (!checked.ok()) return out;
  for (const auto& function : checked.module.functions) {
    if (!function.has_body || !function.entry) continue;
    auto structure = analysis::structure_of(function);
    if (!out.structure || structure.accesses.size() > out.structure->accesses.size())
      out.structure = std::move(structure);
  }
  return out;
}

int width_of(std::string_view word) {
  size_t digits = word.find_first_of("0123456789");
  int bits = 0;
  if (digits == word.npos) return 0;
  std::from_chars(word.data() + digits, word.data() + word.size(), bits);
  return bits / 8;
}

// The widest load or store of a thread.
int widest_access(const Code& code) {
  int widest = 0;
  for (const auto& words : code.statements) {
    if (words[0] != "ld" && words[0] != "st" && words[0] != "ldu") continue;
    int elements = 1;
    for (auto word : words) {
      if (word == "v2") elements = 2;
      if (word == "v4") elements = 4;
      if (word == "v8") elements = 8;
    }
    widest = std::max(widest, elements * width_of(words.back()));
  }
  // Bulk copies move more at once than any register holds.
  if (code.any_with("cp", "async")) widest = std::max(widest, 16);
  return widest;
}

// How often the commonest instruction that does work stands between two labels or branches: what an unrolled body shows.
int most_alike(const std::string& text) {
  std::map<std::string, int> counts;
  int most = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t end = rest.find_first_of(";{}");
    auto statement = rest.substr(0, end);
    rest = end == rest.npos ? "" : rest.substr(end + 1);
    if (statement.find(':') != statement.npos) counts.clear();
    auto words = words_of(statement);
    if (words.empty()) continue;
    if (words[0] == "bra" || words[0] == "ret") {
      counts.clear();
      continue;
    }
    bool works = words[0] == "ld" || words[0] == "st" || words[0] == "fma" || words[0] == "mad" || words[0] == "add" ||
                 words[0] == "mul" || words[0] == "max" || words[0] == "min" || words[0] == "mma" ||
                 words[0] == "wgmma" || words[0] == "cp" || words[0] == "ex2";
    if (!works) continue;
    std::string key;
    for (auto word : words) key.append(word).append(".");
    most = std::max(most, ++counts[key]);
  }
  return most;
}

// --- what comments claim ---------------------------------------------------------------------------------------------------

bool word_at(std::string_view text, size_t at, size_t length) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return (at == 0 || !letter(text[at - 1])) && (at + length >= text.size() || !letter(text[at + length]));
}

size_t find_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (word_at(text, at, word.size())) return at;
  }
  return text.npos;
}

// "no shared memory", "without a barrier", "instead of unrolling": the opposite of a claim, or none.
bool denied(std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at);
  if (size_t stop = before.find_last_of(".;:,("); stop != before.npos) before.remove_prefix(stop + 1);
  for (std::string_view word :
       {"no",      "not",      "without", "avoid",    "avoids", "avoiding", "instead of", "remove", "removed",
        "removes", "never",    "cannot",  "drop",     "drops",  "dropped",  "skip",       "todo",   "could",
        "would",   "replaces", "replace", "replaced", "n't",    "unlike",   "less",       "fewer"}) {
    if (find_word(before, word) != before.npos) return true;
  }
  return before.find("n't ") != before.npos;
}

// A whole number that stands right before or behind a place, across one blank, '-' or 'x'.
std::optional<int> number_before(std::string_view text, size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '-')) --at;
  size_t begin = at;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int value = 0;
  if (begin == at || std::from_chars(text.data() + begin, text.data() + at, value).ec != std::errc())
    return std::nullopt;
  return value;
}
std::optional<int> number_within(std::string_view text, size_t at, size_t reach) {
  for (size_t i = at; i < std::min(text.size(), at + reach); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    int value = 0;
    if (std::from_chars(text.data() + i, text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

class Checker {
 public:
  explicit Checker(std::string_view ptx) : ptx_(ptx), divided_(divide(ptx)) {}

  std::vector<Claimed> run() {
    for (const auto& comment : divided_.comments) {
      width(comment);
      unrolled(comment);
      simple(comment);
      patterns(comment);
    }
    return std::move(claims_);
  }

 private:
  const Code& code() {
    if (!code_) code_ = code_of(divided_.code, ptx_);
    return *code_;
  }

  void claim(std::string what, bool holds, const std::string& comment) {
    for (const auto& known : claims_) {
      if (known.what == what) return;
    }
    constexpr size_t kMost = 120;
    size_t first = std::min(comment.find_first_not_of(' '), comment.size());
    claims_.push_back({std::move(what), holds, comment.substr(first, kMost)});
  }

  // "128-bit loads", "16-byte vector stores", "float4", "ld.v4": so many bytes at once.
  void width(const std::string& comment) {
    const auto bytes = [&](int wanted) {
      if (wanted == 8 || wanted == 16 || wanted == 32)
        claim(fmt::format("accesses of {} bytes", wanted), widest_access(code()) >= wanted, comment);
    };
    for (std::string_view unit : {"bit", "bits", "byte", "bytes"}) {
      size_t at = find_word(comment, unit);
      if (at == comment.npos || denied(comment, at)) continue;
      auto number = number_before(comment, at);
      bool of_access = false;
      for (std::string_view word : {"load", "store", "access", "vector", "transaction", "ld.", "st.", "read", "write"})
        of_access |= comment.find(word) != comment.npos;
      if (number && of_access && comment.find("align") == comment.npos)
        bytes(unit.starts_with("bit") ? *number / 8 : *number);
    }
    for (std::string_view type : {"float4", "uint4", "int4"}) {
      size_t at = find_word(comment, type);
      if (at != comment.npos && !denied(comment, at)) bytes(16);
    }
    for (std::string_view type : {"float2", "uint2", "int2"}) {
      size_t at = find_word(comment, type);
      if (at != comment.npos && !denied(comment, at)) bytes(8);
    }
    size_t at = comment.find("vectori");
    if (at != comment.npos && !denied(comment, at)) claim("vector accesses", has_vector(), comment);
  }

  bool has_vector() {
    return std::any_of(code().statements.begin(), code().statements.end(), [](const auto& words) {
      if (words[0] != "ld" && words[0] != "st") return false;
      return std::any_of(words.begin(), words.end(),
                         [](auto word) { return word == "v2" || word == "v4" || word == "v8" || word == "b128"; });
    });
  }

  void unrolled(const std::string& comment) {
    size_t at = comment.find("unroll");
    if (at == comment.npos || denied(comment, at)) return;
    auto times = number_before(comment, at);
    if (!times) times = number_within(comment, at, 24);
    int wanted = times && *times > 1 && *times <= 256 ? *times : 2;
    claim(wanted == 2 && !times ? "unrolled" : fmt::format("unrolled by {}", wanted),
          most_alike(divided_.code) >= wanted, comment);
  }

  // Claims that a word makes and that an instruction keeps.
  void simple(const std::string& comment) {
    struct Row {
      const char* what;
      std::vector<std::string_view> words;
      bool (*holds)(const Code&);
    };
    static const std::vector<Row> rows = {
        {"shared memory",
         {"shared memory", "shared mem", "smem", "in shared", "to shared", "from shared", "into shared"},
         [](const Code& c) {
           for (std::string_view opcode : {"ld", "st", "cp", "atom", "red", "ldmatrix", "stmatrix"}) {
             if (c.any_with(opcode, "shared") || c.any_with(opcode, "shared::cta") ||
                 c.any_with(opcode, "shared::cluster"))
               return true;
           }
           return c.any({"ldmatrix", "stmatrix"});
         }},
        {"barrier",
         {"barrier", "barriers", "__syncthreads", "syncthreads", "synchronize", "synchronise", "bar.sync"},
         [](const Code& c) {
           return c.any({"bar", "barrier", "mbarrier"});
         }},
        {"tensor cores",
         {"tensor core", "tensor cores", "mma", "wmma", "wgmma", "hmma"},
         [](const Code& c) {
           return c.any({"mma", "wmma", "wgmma", "tcgen05"});
         }},
        {"asynchronous copies",
         {"cp.async", "asynchronous copy", "async copy", "async copies", "asynchronous copies", "tma"},
         [](const Code& c) { return c.any_with("cp", "async"); }},
        {"warp shuffles",
         {"shfl", "shuffle", "shuffles", "shuffled", "butterfly"},
         [](const Code& c) {
           return c.any({"shfl", "redux"});
         }},
        {"fused multiply-add",
         {"fma", "fused multiply-add", "fused multiply add"},
         [](const Code& c) {
           return c.any({"fma", "mad"});
         }},
        {"read-only cache",
         {"read-only cache", "read only cache", "non-coherent", "__ldg", "ld.global.nc"},
         [](const Code& c) { return c.any_with("ld", "nc"); }},
        {"atomics",
         {"atomic", "atomics", "atomically"},
         [](const Code& c) {
           return c.any({"atom", "red"});
         }},
    };
    for (const auto& row : rows) {
      for (auto word : row.words) {
        size_t at = find_word(comment, word);
        if (at == comment.npos || denied(comment, at)) continue;
        claim(row.what, row.holds(code()), comment);
        break;
      }
    }
  }

  // "coalesced" and "no bank conflicts" are about addresses: held against what a warp's lanes touch, where that is known.
  void patterns(const std::string& comment) {
    size_t at = comment.find("coalesc");
    if (at != comment.npos && !denied(comment, at)) judge_lanes("coalesced accesses", isa::Space::global, comment);
    bool free_of =
        comment.find("conflict-free") != comment.npos || comment.find("conflict free") != comment.npos ||
        comment.find("no bank conflict") != comment.npos || comment.find("avoid bank conflict") != comment.npos ||
        comment.find("avoids bank conflict") != comment.npos || comment.find("without bank conflict") != comment.npos;
    if (free_of) judge_lanes("no bank conflicts", isa::Space::shared, comment);
  }

  void judge_lanes(const char* what, isa::Space space, const std::string& comment) {
    if (!code().structure) return;
    bool seen = false, spread = false;
    for (const auto& access : code().structure->accesses) {
      if (access.space != space || access.lanes.stride == analysis::StrideClass::irregular) continue;
      seen = true;
      const auto& lanes = access.lanes;
      // Off by one sector is a matter of alignment, which is not known here.
      spread |= space == isa::Space::global ? lanes.sectors > 2 * lanes.ideal_sectors + 1
                                            : lanes.wavefronts > lanes.ideal_wavefronts;
    }
    if (seen) claim(what, !spread, comment);
  }

  std::string_view ptx_;
  Divided divided_;
  std::optional<Code> code_;
  std::vector<Claimed> claims_;
};

}  // namespace

std::vector<Claimed> claims_of(std::string_view ptx) { return Checker(ptx).run(); }

}  // namespace ptxlab::report
