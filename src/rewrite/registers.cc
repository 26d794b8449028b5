// Rule "registers": tells ptxas how many CTAs an SM is to hold (.maxntid with .minnctapersm), or how many registers a thread
// may have (.maxnreg). The code computes the same; ptxas schedules it anew for fewer registers and more warps, or with the
// CTA's size known for more registers.
//
// Needs: the plan's block is a constant and the same in every launch of the entry, the entry carries no such directive yet,
// and ptxas is there: its own figures say which register counts let one CTA more onto an SM, and a variant that spills is
// refused. The judge confirms that the launch fits the new limits (PLAN0029) and that ptxas takes them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "rewrite/aliasing.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rewrite {
namespace {

constexpr int64_t kExactSize = 0;     // .maxntid alone
constexpr int64_t kRegisters = 1000;  // + N: .maxnreg N; else .minnctapersm
constexpr int kFewestRegisters = 24;  // below, every kernel spills

struct Known {
  const ptx::Function* entry = nullptr;
  int threads = 0;
  std::array<int64_t, 3> block{1, 1, 1};
  toolchain::Resources resources;
  std::string why;  // not: the first unmet precondition
};

toolchain::AssembleOptions options_for(const Subject& subject) {
  toolchain::AssembleOptions options;
  options.target = subject.target;
  return options;
}

Known look(const Subject& subject) {
  Known known;
  auto entries = launched_entries(subject);
  if (entries.size() != 1) {
    known.why = "a plan of several kernels is left alone";
    return known;
  }
  const auto& entry = *subject.module->function(entries[0]);
  for (const auto* directive : {".maxnreg", ".minnctapersm", ".maxntid", ".reqntid"})
    if (!entry.directive(directive).empty()) {
      known.why = fmt::format("{} carries {} already", entry.name, directive);
      return known;
    }
  bool first = true;
  for (const auto* launch : launches_of(*subject.module, *subject.plan, entry)) {
    std::array<int64_t, 3> block{1, 1, 1};
    for (size_t i = 0; i < launch->block.size() && i < 3; ++i) {
      auto value = launch->block[i].evaluate([](std::string_view) { return std::nullopt; });
      if (!value.ok()) {
        known.why = "the plan's block is not a constant";
        return known;
      }
      block[i] = *value;
    }
    if (!first && block != known.block) {
      known.why = "the plan launches it with blocks of different sizes";
      return known;
    }
    known.block = block;
    first = false;
  }
  known.threads = static_cast<int>(known.block[0] * known.block[1] * known.block[2]);
  if (known.threads < 32 || known.threads > 1024) {
    known.why = fmt::format("a CTA of {} threads leaves nothing to choose", known.threads);
    return known;
  }
  if (!toolchain::installed().ptxas) {
    known.why = "ptxas is not here to say how many registers the kernel takes";
    return known;
  }
  auto assembled = toolchain::assemble(subject.module->source, "candidate.ptx", options_for(subject));
  const auto* resources = assembled.ok() ? assembled->entry(entry.name) : nullptr;
  if (!resources) {
    known.why = "ptxas does not say how many registers the kernel takes";
    return known;
  }
  known.resources = *resources;
  known.entry = &entry;
  return known;
}

class Registers final : public Rule {
 public:
  std::string_view name() const override { return "registers"; }
  Family family() const override { return Family::launch; }
  std::string_view description() const override { return "has ptxas aim at more CTAs an SM, or fewer registers"; }

  std::vector<Choice> choices(const Subject& subject) const override {
    auto known = look(subject);
    if (!known.entry) return {{"size", kExactSize}};  // apply() then says why not
    auto now = resident(subject, known, known.resources.registers);
    std::vector<Choice> found;
    // One CTA more, and as many as fit when registers are half of what they are.
    std::set<int> wanted;
    int most = resident(subject, known, std::max(kFewestRegisters, known.resources.registers / 2));
    for (int ctas : {now + 1, most})
      if (ctas > now && ctas <= most && wanted.insert(ctas).second)
        found.push_back({fmt::format("ctas-{}", ctas), ctas});
    if (known.resources.spill_stores > 0 || found.empty()) found.push_back({"size", kExactSize});
    for (int registers : {64, 40, 32})
      if (registers < known.resources.registers && registers >= kFewestRegisters)
        found.push_back({fmt::format("max-{}", registers), kRegisters + registers});
    return found;
  }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    auto known = look(subject);
    if (!known.entry) return refusal("RW0110", known.why);
    ptx::Module module = *subject.module;
    Rewritten result;
    result.name = "registers-" + choice.name;
    for (auto& function : module.functions) {
      if (function.name != known.entry->name || !function.has_body) continue;
      if (choice.value > kRegisters) {
        function.directives.push_back(fmt::format(".maxnreg {}", choice.value - kRegisters));
        result.idea = fmt::format("at most {} registers a thread instead of {}", choice.value - kRegisters,
                                  known.resources.registers);
        continue;
      }
      function.directives.push_back(fmt::format(".maxntid {}, {}, {}", known.block[0], known.block[1], known.block[2]));
      result.idea = fmt::format("ptxas knows the CTA's {} threads", known.threads);
      if (choice.value == kExactSize) continue;
      function.directives.push_back(fmt::format(".minnctapersm {}", choice.value));
      result.idea += fmt::format(" and is to fit {} CTAs an SM", choice.value);
    }
    auto name = known.entry->name;
    auto finished = finish(std::move(module), nullptr, std::move(result));
    if (!finished.ok()) return finished;
    auto assembled = toolchain::assemble(finished->ptx, "candidate.ptx", options_for(subject));
    const auto* after = assembled.ok() ? assembled->entry(name) : nullptr;
    if (!after) return refusal("RW0111", "ptxas does not take " + choice.name);
    if (after->spill_stores > known.resources.spill_stores || after->stack > known.resources.stack)
      return refusal("RW0112", fmt::format("{} registers are too few: {} bytes would spill", after->registers,
                                           std::max(after->spill_stores, after->stack)));
    if (after->registers == known.resources.registers && after->code_bytes == known.resources.code_bytes)
      return refusal(
          "RW0113",
          fmt::format("ptxas makes the same code: {} registers let {} CTAs of {} threads onto an SM",
                      known.resources.registers, resident(subject, known, known.resources.registers), known.threads));
    return finished;
  }

 private:
  static int resident(const Subject& subject, const Known& known, int registers) {
    int shared = known.resources.shared;
    auto dynamic = subject.plan->launches[0].shared.evaluate([](std::string_view) { return std::nullopt; });
    if (dynamic.ok()) shared += static_cast<int>(*dynamic);
    return toolchain::occupancy(subject.target, known.threads, registers, shared).ctas;
  }
};

}  // namespace

const Rule* registers_rule() {
  static const Registers rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
