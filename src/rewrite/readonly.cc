// Rule "readonly": loads from buffers that the kernel never writes become ld.global.nc. They may then be served by the
// read-only path, and ptxas may move them over stores. A compiler does it only where the source says __restrict__; here the
// plan says which buffers are different ones.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::opcode_of;

// ld.global with nothing but its vector and type.
bool plain_load(const ptx::Instruction& instruction) {
  if (opcode_of(instruction) != "ld") return false;
  bool global = false;
  for (size_t i = 1; i < instruction.words.size(); ++i) {
    const auto& word = instruction.words[i];
    if (word == ".global")
      global = true;
    else if (!isa::type_named(word) && word != ".v2" && word != ".v4")
      return false;
  }
  return global;
}

class Readonly final : public Rule {
 public:
  std::string_view name() const override { return "readonly"; }
  Family family() const override { return Family::memory; }
  std::string_view description() const override {
    return "loads what the kernel never writes through the read-only path";
  }
  std::vector<Choice> choices(const Subject&) const override { return {{"nc", 0}}; }

  base::Result<Rewritten> apply(const Subject& subject, const Choice&) const override {
    ptx::Module module = *subject.module;
    size_t count = 0;
    std::set<std::string> buffers;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      auto loads = find(subject, entry, buffers);
      if (!loads) return refusal("RW0020", entry_name + ": where it writes is not known");
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body)
          for (uint32_t s : *loads) make_readonly(*function.body[s].instruction());
      count += loads->size();
    }
    if (count == 0) return refusal("RW0021", "no plain load from a buffer that the kernel never writes");
    std::string names;
    for (const auto& buffer : buffers)
      names.append(names.empty() ? "" : ", ").append(buffer.substr(buffer.find(' ') + 1));
    Rewritten result;
    result.name = "readonly";
    result.idea = fmt::format("{} load{} of {} through the read-only path", count, count > 1 ? "s" : "", names);
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  // Statements whose loads may change, for every launch of the entry.
  static std::optional<std::set<uint32_t>> find(const Subject& subject, const ptx::Function& entry,
                                                std::set<std::string>& buffers) {
    Flow flow(entry);
    if (!flow.complete()) return std::nullopt;
    std::set<uint32_t> found;
    bool first = true;
    for (const auto& launch : subject.plan->launches) {
      if (subject.module->entry(launch.entry) != &entry) continue;
      auto stores = Aliasing(flow, {&launch}).written(launch);
      if (!stores) return std::nullopt;
      std::set<uint32_t> here;
      for (const auto& access : flow.accesses) {
        const auto& instruction = *entry.body[access.statement].instruction();
        if (!plain_load(instruction)) continue;
        auto base = base_of(access, launch);
        if (base.empty() || !access.parameter || stores->count(base)) continue;
        here.insert(access.statement);
        buffers.insert(base);
      }
      if (first)
        found = std::move(here);
      else
        std::erase_if(found, [&](uint32_t s) { return !here.count(s); });
      first = false;
    }
    return found;
  }

  static void make_readonly(ptx::Instruction& instruction) {
    auto global = std::find(instruction.words.begin(), instruction.words.end(), ".global");
    auto at = global - instruction.words.begin();
    instruction.words.insert(global + 1, ".nc");
    if (static_cast<size_t>(at) < instruction.word_spans.size())
      instruction.word_spans.insert(instruction.word_spans.begin() + at + 1, instruction.word_spans[at]);
  }
};

}  // namespace

const Rule* readonly_rule() {
  static const Readonly rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
