#include "judge/sass_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

using ptx::Instruction;
using toolchain::SassFacts;

bool has(const Instruction& instruction, std::string_view word) {
  return std::find(instruction.words.begin(), instruction.words.end(), word) != instruction.words.end();
}

// By the word as written: the table's opcodes may be several words ("wgmma.mma_async").
bool opens(const Instruction& instruction, std::string_view word) {
  return !instruction.words.empty() && instruction.words[0] == word;
}

// Bits that one thread moves: ".v4" and ".f32" are 128.
int width_of(const Instruction& instruction) {
  int vector = 1, bits = 0;
  for (const std::string& word : instruction.words) {
    if (word.size() < 3 || word[0] != '.' || std::isdigit(static_cast<unsigned char>(word[2])) == 0) continue;
    if (word[1] == 'v') vector = std::atoi(word.c_str() + 2);
    if (word[1] == 'b' || word[1] == 'u' || word[1] == 's' || word[1] == 'f') bits = std::atoi(word.c_str() + 2);
  }
  return vector * bits;
}

bool is_global(const Instruction& instruction, std::string_view opcode) {
  if (!opens(instruction, opcode)) return false;
  // The space stands in the instruction, and its sub-space behind ::.
  return std::any_of(instruction.words.begin(), instruction.words.end(),
                     [](const std::string& word) { return word.rfind(".global", 0) == 0; });
}
bool is_shared(const Instruction& instruction, std::string_view opcode) {
  return opens(instruction, opcode) &&
         std::any_of(instruction.words.begin(), instruction.words.end(),
                     [](const auto& word) { return word == ".shared" || word == ".shared::cta"; });
}
bool wide(const SassFacts::Widths& widths) { return !widths.empty() && widths.rbegin()->first >= 128; }

struct Claim {
  const char* what;  // "128-bit global loads"
  bool (*asked)(const Instruction&);
  bool (*there)(const SassFacts&);
  const char* hint;
};

constexpr const char* kUnused = "ptxas drops or narrows what nobody uses: is every part of the result read?";
constexpr const char* kDead = "ptxas dropped them: nothing that is stored depends on their results";

constexpr Claim kClaims[] = {
    {"128-bit global loads", [](const Instruction& i) { return is_global(i, "ld") && width_of(i) >= 128; },
     [](const SassFacts& f) { return wide(f.global_loads); }, kUnused},
    {"128-bit global stores", [](const Instruction& i) { return is_global(i, "st") && width_of(i) >= 128; },
     [](const SassFacts& f) { return wide(f.global_stores); }, "ptxas split or dropped them"},
    {"128-bit shared loads", [](const Instruction& i) { return is_shared(i, "ld") && width_of(i) >= 128; },
     [](const SassFacts& f) { return wide(f.shared_loads); }, kUnused},
    {"mma products", [](const Instruction& i) { return opens(i, "mma") || (opens(i, "wmma") && has(i, ".mma")); },
     [](const SassFacts& f) { return f.warp_products(); }, kDead},
    {"wgmma products", [](const Instruction& i) { return opens(i, "wgmma") && has(i, ".mma_async"); },
     [](const SassFacts& f) { return f.warpgroup_products(); }, kDead},
    {"tcgen05 products", [](const Instruction& i) { return opens(i, "tcgen05") && has(i, ".mma"); },
     [](const SassFacts& f) { return f.tensor_memory_products(); }, kDead},
    {"ldmatrix", [](const Instruction& i) { return opens(i, "ldmatrix"); },
     [](const SassFacts& f) { return f.matrix_loads > 0; }, kUnused},
    {"asynchronous copies",
     [](const Instruction& i) { return opens(i, "cp") && has(i, ".async") && (has(i, ".ca") || has(i, ".cg")); },
     [](const SassFacts& f) { return f.async_copies > 0; }, "ptxas made ordinary loads and stores of them"},
    {"bulk copies",
     [](const Instruction& i) {
       return opens(i, "cp") && has(i, ".bulk") && !has(i, ".tensor") && !has(i, ".prefetch") && i.words.size() > 3 &&
              !has(i, ".commit_group") && !has(i, ".wait_group");
     },
     [](const SassFacts& f) { return f.bulk_copies > 0; }, kDead},
    {"tensor copies (TMA)",
     [](const Instruction& i) { return opens(i, "cp") && has(i, ".tensor") && !has(i, ".prefetch"); },
     [](const SassFacts& f) { return f.tensor_copies > 0; }, kDead},
};

// A claim of one entry: how many instructions of it ask, and where the first stands.
void check(const Claim& claim, const ptx::Function& entry, const SassFacts& facts, const std::string& file,
           base::Findings& findings) {
  size_t asked = 0;
  uint32_t line = 0;
  std::string text;
  for (const auto& statement : entry.body) {
    const Instruction* instruction = statement.instruction();
    if (!instruction || !claim.asked(*instruction)) continue;
    if (asked++ == 0) {
      line = instruction->line;
      for (const auto& word : instruction->words) text += word;
    }
  }
  if (asked == 0 || claim.there(facts)) return;
  base::Place place;
  place.file = file;
  place.line = line;
  findings.push_back(judge_finding(
      "JDG0045", base::Severity::note,
      fmt::format("the PTX of '{}' has {} {} ('{}'), its machine code none", entry.name, asked, claim.what, text),
      claim.hint, std::move(place)));
}

void check_local(const ptx::Module& module, const ptx::Function& entry, const SassFacts& facts, const std::string& file,
                 base::Findings& findings) {
  if (facts.local_in_loops == 0) return;
  auto local = [](const ptx::Variable& variable) { return variable.space == isa::Space::local; };
  // Local memory that was asked for is no spill, though it costs the same.
  bool asked = std::any_of(entry.variables.begin(), entry.variables.end(), local) ||
               std::any_of(module.variables.begin(), module.variables.end(), local);
  base::Place place;
  place.file = file;
  findings.push_back(judge_finding(
      "JDG0046", base::Severity::note,
      fmt::format(
          "the machine code of '{}' loads and stores local memory {} times inside loops ({} loads, {} stores in all)",
          entry.name, facts.local_in_loops, facts.local_loads, facts.local_stores),
      asked ? "an array of the PTX lies there; registers hold it only where every index is known"
            : "registers are spilled: fewer values alive at once, or more registers a thread (.maxnreg, .minnctapersm)",
      std::move(place)));
}

}  // namespace

base::Findings compare_with_sass(const ptx::Module& module, const std::vector<SassFacts>& facts,
                                 const std::string& file) {
  base::Findings findings;
  for (const auto& one : facts) {
    const ptx::Function* entry = module.function(one.entry);
    if (!entry) continue;
    for (const Claim& claim : kClaims) check(claim, *entry, one, file, findings);
    check_local(module, *entry, one, file, findings);
  }
  return findings;
}

void SassReading::start(const toolchain::Tool& nvdisasm, std::string cubin, std::vector<std::string> entries) {
  at_work_ = std::async(std::launch::async, [nvdisasm, cubin = std::move(cubin), entries = std::move(entries)] {
    Outcome outcome;
    try {
      auto facts = toolchain::sass_facts(nvdisasm, cubin);
      if (!facts) {
        outcome.trouble = facts.findings().front().message;
        return outcome;
      }
      for (const auto& entry : entries) {
        auto at = std::find_if(facts->begin(), facts->end(), [&](const SassFacts& f) { return f.entry == entry; });
        if (at != facts->end()) outcome.facts.push_back(*at);
      }
    } catch (const std::exception& error) {
      outcome.trouble = error.what();
    }
    return outcome;
  });
}

std::optional<SassReading::Outcome> SassReading::take() {
  if (!at_work_.valid()) return std::nullopt;
  return at_work_.get();
}

}  // namespace ptxlab::judge
