// Rule "cache": words that tell the caches how long data is wanted. They change no result, and nothing but the program
// knows them: ptxas adds none by itself.
//
//   once    what every CTA reads for itself, and in no second loop again, passes the L1 by (.L1::no_allocate): there it only
//           pushes out what is reused. (Rows that were read twice lost a quarter of their speed to it on an H200.)
//   stream  stores marked .cs: nobody reads them here, so that they are the first to leave
//   both    the two together
//   keep    L2 priorities (createpolicy, sm_80): what all CTAs read, or one reads again, is kept; the rest leaves first
//   line    loads fetch whole lines into L2 (.L2::128B, sm_75)
//
// Needs: plain weak accesses of global memory without such words yet, and a PTX version and target that have them. The
// judge has nothing to confirm but that the result assembles; whether it helps, only a timing can say.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"
#include "rewrite/editor.h"
#include "rewrite/finish.h"
#include "rewrite/rules.h"

namespace ptxlab::rewrite {
namespace {

using analysis::has_word;
using analysis::kNone;
using analysis::opcode_of;

enum Way : int64_t { kOnce, kStream, kBoth, kKeep, kLine };

// Weak, global, and free of cache words.
bool bare(const ptx::Instruction& instruction) {
  if (!plain_access(instruction) || !has_word(instruction, ".global")) return false;
  return std::none_of(instruction.words.begin(), instruction.words.end(), [](const auto& word) {
    return word == ".ca" || word == ".cg" || word == ".cs" || word == ".lu" || word == ".wb" || word == ".wt" ||
           word.starts_with(".L1::") || word.starts_with(".L2::");
  });
}

// What the kernel's accesses of global memory look like to the caches.
class Reuse {
 public:
  Reuse(const Flow& flow, const launch::Launch& launch) : flow_(flow), launch_(launch) {
    for (int dimension : {0, 1, 2})
      if (auto id = flow.values.special_atom("%ctaid", dimension)) ctas_.push_back(*id);
  }
  // Other CTAs read other data: neighbouring threads' addresses are apart and depend on every index of the CTA.
  bool own(const analysis::MemoryAccess& access) const {
    auto start = flow_.values.at_loop_start(access.address);
    bool by_cta =
        !ctas_.empty() && std::all_of(ctas_.begin(), ctas_.end(), [&](auto id) { return start.mentions(id); });
    return by_cta && access.thread_stride.value_or(0) != 0;
  }
  // Several CTAs read the same: rows of weights, a bias.
  bool common(const analysis::MemoryAccess& access) const {
    auto start = flow_.values.at_loop_start(access.address);
    for (const auto& term : start.terms)
      for (auto id : term.factors) {
        auto kind = flow_.values.atom(id).kind;
        if (kind != analysis::Atom::Kind::special && kind != analysis::Atom::Kind::parameter) return false;
      }
    return !own(access);
  }
  // The same buffer is read in a loop further down as well.
  bool read_again(const analysis::MemoryAccess& access) const {
    auto base = base_of(access, launch_);
    return std::any_of(flow_.accesses.begin(), flow_.accesses.end(), [&](const auto& other) {
      return other.reads && other.statement > access.statement && other.loop != access.loop && !base.empty() &&
             base_of(other, launch_) == base && other.loop != kNone && access.loop != kNone;
    });
  }

  // Two loops read the same buffer: the second finds in the L1 what the first has left there.
  bool read_twice(const analysis::MemoryAccess& access) const {
    auto base = base_of(access, launch_);
    return std::any_of(flow_.accesses.begin(), flow_.accesses.end(), [&](const auto& other) {
      return other.reads && other.loop != access.loop && other.loop != kNone && access.loop != kNone && !base.empty() &&
             base_of(other, launch_) == base;
    });
  }

 private:
  const Flow& flow_;
  const launch::Launch& launch_;
  std::vector<analysis::AtomId> ctas_;
};

// Behind the words that name the space and .nc.
void add_word(ptx::Instruction& instruction, const std::string& word) {
  auto& words = instruction.words;
  auto at = std::find(words.begin(), words.end(), ".nc");
  if (at == words.end()) at = std::find(words.begin(), words.end(), ".global");
  auto place = at - words.begin() + 1;
  words.insert(words.begin() + place, word);
  instruction.word_spans.insert(
      instruction.word_spans.begin() + std::min<std::ptrdiff_t>(place, std::ssize(instruction.word_spans)),
      base::Span{});
}

class Cache final : public Rule {
 public:
  std::string_view name() const override { return "cache"; }
  Family family() const override { return Family::memory; }
  std::string_view description() const override { return "tells the caches how long loads and stores are wanted"; }
  std::vector<Choice> choices(const Subject& subject) const override {
    std::vector<Choice> found{{"once", kOnce}, {"stream", kStream}, {"both", kBoth}};
    if (subject.module->version >= 74 && subject.module->target.sm >= 80) found.push_back({"keep", kKeep});
    found.push_back({"line", kLine});
    return found;
  }

  base::Result<Rewritten> apply(const Subject& subject, const Choice& choice) const override {
    if (choice.value != kStream && (subject.module->version < 74 || subject.module->target.sm < 75))
      return refusal("RW0100", "these words need PTX ISA 7.4 and sm_75 in the module's own header");
    if (choice.value == kKeep && subject.module->target.sm < 80)
      return refusal("RW0100", "L2 priorities need sm_80 in the module's own header");
    ptx::Module module = *subject.module;
    Counts counts;
    std::string nearest;
    for (const auto& entry_name : launched_entries(subject)) {
      const auto& entry = *subject.module->function(entry_name);
      Flow flow(entry);
      if (!flow.complete()) return refusal("RW0101", entry_name + ": its control flow is irreducible or too large");
      for (auto& function : module.functions)
        if (function.name == entry_name && function.has_body)
          mark(flow, *launches_of(*subject.module, *subject.plan, entry).front(), choice.value, function, counts,
               nearest);
    }
    if (auto why = missing(choice.value, counts); !why.empty())
      return refusal("RW0101", nearest.empty() ? why : why + ": " + nearest);
    Rewritten result;
    result.name = "cache-" + choice.name;
    result.idea = idea(choice.value, counts);
    return finish(std::move(module), nullptr, std::move(result));
  }

 private:
  struct Counts {
    size_t loads = 0, stores = 0, kept = 0;
  };

  // What the choice is about and the kernel does not have.
  static std::string missing(int64_t way, const Counts& counts) {
    if (way == kStream) return counts.stores ? "" : "no plain store to global memory";
    if (way == kKeep)
      return counts.kept ? "" : "no load of global memory that several CTAs do alike, or one does again";
    if (counts.loads == 0) return "no plain load from global memory that is a CTA's own";
    return way == kBoth && counts.stores == 0 ? "no plain store to global memory" : "";
  }

  static std::string idea(int64_t way, const Counts& counts) {
    auto loads = fmt::format("{} load{}", counts.loads, counts.loads == 1 ? "" : "s");
    auto stores = fmt::format("{} store{}", counts.stores, counts.stores == 1 ? "" : "s");
    const char* by = counts.loads == 1 ? "passes the L1 by" : "pass the L1 by";
    switch (way) {
      case kOnce: return fmt::format("{} of a CTA's own data {}", loads, by);
      case kStream: return stores + " marked as streaming";
      case kBoth: return fmt::format("{} of a CTA's own data {}, {} marked as streaming", loads, by, stores);
      case kKeep:
        return fmt::format("L2 priorities for {} and {}: {} kept, the rest leaves first", loads, stores, counts.kept);
      default: return loads + (counts.loads == 1 ? " fetches" : " fetch") + " whole 128-byte lines into L2";
    }
  }

  static void mark(const Flow& flow, const launch::Launch& launch, int64_t way, ptx::Function& function, Counts& counts,
                   std::string& nearest) {
    Reuse reuse(flow, launch);
    Editor editor(function, "cache");
    uint32_t policies[2] = {kNone, kNone};  // first, last
    auto policy = [&](bool keep) {
      auto& reg = policies[keep ? 1 : 0];
      if (reg == kNone) {
        reg = editor.fresh(isa::Type::b64);
        editor.emit(fmt::format("createpolicy.fractional.L2::evict_{}.b64", keep ? "last" : "first"),
                    {editor.name(reg), "1.0"});
      }
      ptx::Operand operand;
      operand.kind = ptx::Operand::Kind::reg;
      operand.id = reg;
      return operand;
    };
    for (const auto& access : flow.accesses) {
      auto& instruction = *function.body[access.statement].instruction();
      if (access.space != isa::Space::global || access.atomic) continue;
      bool load = access.reads;
      if (!bare(instruction)) {
        nearest = place(flow.function, access.statement) + " already says how it is to be cached, or is ordered";
        continue;
      }
      bool own = reuse.own(access);
      if (load && way == kOnce && !own)
        nearest = place(flow.function, access.statement) + " may be read by other CTAs, or by this one again";
      if (way == kKeep) {
        bool keep = load && (reuse.common(access) || reuse.read_again(access));
        if (!keep && !own) continue;
        add_word(instruction, ".L2::cache_hint");
        instruction.operands.push_back(policy(keep));
        counts.kept += keep ? 1 : 0;
        ++(load ? counts.loads : counts.stores);
      } else if (load && own && way != kLine && way != kStream && reuse.read_twice(access)) {
        nearest = place(flow.function, access.statement) + " reads what another loop reads too";
      } else if (load && own && way != kStream) {
        add_word(instruction, way == kLine ? ".L2::128B" : ".L1::no_allocate");
        ++counts.loads;
      } else if (!load && (way == kStream || way == kBoth)) {
        add_word(instruction, ".cs");
        ++counts.stores;
      }
    }
    auto made = editor.take();
    function.body.insert(function.body.begin() + static_cast<std::ptrdiff_t>(first_step(function)), made.begin(),
                         made.end());
    editor.declare();
  }
};

}  // namespace

const Rule* cache_rule() {
  static const Cache rule;
  return &rule;
}

}  // namespace ptxlab::rewrite
