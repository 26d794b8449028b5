// How element_region.h's shapes are found: shared by the files that look for each of them.
#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewrite/element_checks.h"

namespace ptxlab::rewrite {

using analysis::Affine;
using analysis::AtomId;
using analysis::Group;
using analysis::kNone;

// "i < n" as a setp decides it: continue while `index` is below `bound`.
struct Compare {
  uint32_t statement = 0;  // the setp
  uint32_t branch = 0;
  ptx::Operand index, bound;
  bool is_signed = false;
  int bits = 32;
  bool taken_continues = false;  // the branch is taken while i < n
};

inline bool is_unused_label_or_pragma(const ptx::Statement& statement) {
  return std::holds_alternative<ptx::Directive>(statement.what);
}

// The polynomials that matter: thread and CTA indices and sizes.
struct Indices {
  explicit Indices(const analysis::Values& values)
      : tid(values.special_atom("%tid", 0)),
        ntid(values.special_atom("%ntid", 0)),
        ctaid(values.special_atom("%ctaid", 0)),
        nctaid(values.special_atom("%nctaid", 0)) {}
  std::optional<AtomId> tid, ntid, ctaid, nctaid;

  static Affine product(std::vector<AtomId> atoms, int64_t coefficient) {
    std::sort(atoms.begin(), atoms.end());
    return Affine{0, {{std::move(atoms), coefficient}}};
  }
  // By how much the index grows from one thread to the next, a power of two; 1 for what is no thread index.
  int64_t scale_of(const Affine& start) const {
    int64_t scale = tid ? start.coefficient(*tid) : 1;
    return scale > 1 && scale <= 64 && (scale & (scale - 1)) == 0 ? scale : 1;
  }
  // Everything divided by `scale`; as it is where that does not come out even.
  static Affine divided(Affine a, int64_t scale) {
    if (a.constant % scale != 0) return a;
    for (const auto& term : a.terms)
      if (term.coefficient % scale != 0) return a;
    a.constant /= scale;
    for (auto& term : a.terms) term.coefficient /= scale;
    return a;
  }
  bool is_tid(const Affine& a) const { return tid && a == product({*tid}, 1); }
  // ctaid * size + tid; the size is ntid (then 0) or a constant; nothing where it is neither.
  std::optional<uint32_t> is_global_thread(const Affine& a) const {
    if (!tid || !ctaid || a.coefficient(*tid) != 1) return std::nullopt;
    auto rest = add(a, product({*tid}, -1));
    if (!rest) return std::nullopt;
    if (ntid && *rest == product({*ctaid, *ntid}, 1)) return 0;
    int64_t size = rest->coefficient(*ctaid);
    if (size > 0 && size <= 1024 && *rest == product({*ctaid}, size)) return static_cast<uint32_t>(size);
    return std::nullopt;
  }
  std::optional<uint32_t> is_cta_size(const Affine& a) const {
    if (ntid && a == product({*ntid}, 1)) return 0;
    if (a.is_constant() && a.constant > 1 && a.constant <= 1024) return static_cast<uint32_t>(a.constant);
    return std::nullopt;
  }
  std::optional<uint32_t> is_grid_size(const Affine& a) const {
    if (!nctaid) return std::nullopt;
    if (ntid && a == product({*nctaid, *ntid}, 1)) return 0;
    int64_t size = a.coefficient(*nctaid);
    if (size > 1 && size <= 1024 && a == product({*nctaid}, size)) return static_cast<uint32_t>(size);
    return std::nullopt;
  }
};

class Recogniser {
 public:
  Recogniser(const Flow& flow, const launch::Launch& launch)
      : flow_(flow),
        launch_(launch),
        body_(flow.function.body),
        indices_(flow.values),
        row_(flow.function, flow.cfg, flow.values, Group::row),
        line_(flow.function, flow.cfg, flow.values, Group::line) {}

  Recognised run();

 private:
  const ptx::Instruction* at(uint32_t statement) const { return body_[statement].instruction(); }

  void reject(uint32_t statement, const std::string& what, const std::string& why);

  // Reads "setp; bra" at the end of a block, index and bound still unnamed as to which is which.
  std::optional<Compare> compare_at(uint32_t block, uint32_t continue_to) const;

  // The comparison behind predicate `reg` as `statement` reads it; the branch at `branch` is taken where it holds
  // (`negated`: where not), and goes on where `continues`.
  std::optional<Compare> compare_of(uint32_t statement, uint32_t reg, uint32_t branch, bool leaves, bool negated) const;

  bool written_in_loop(const analysis::Loop& loop, uint32_t reg) const;

  bool constant_in_loop(const analysis::Loop& loop, const ptx::Operand& operand) const;

  // The branch above `header` behind which index < bound is known, for these values.
  struct Entry {
    uint32_t above, below;  // the block that ends in the branch, and the one it enters
    Compare compare;
  };
  std::optional<Entry> guarded_entry(uint32_t header, analysis::ValueId index, const Affine& bound) const;

  std::optional<analysis::ValueId> value_of(uint32_t statement, const ptx::Operand& operand) const;

  // The single statement of the loop that writes an induction's register.
  std::optional<uint32_t> update_of(const analysis::Loop& loop, uint32_t reg) const;

  // The operand of "add i, i, step" that is the step, seen through one mov.
  std::optional<ptx::Operand> step_operand(uint32_t update, uint32_t reg) const;

  void try_loop(uint32_t l);

  std::string match_loop(uint32_t l, ElementRegion& region);

  // nvcc's unrolling by U: a prologue that works out the number of rounds, this loop for rounds % U, one for U at a time.
  std::string match_unrolled(uint32_t l, const analysis::Induction& index, ElementRegion& region);
  std::optional<Affine> bound_of_rounds(uint32_t l, const analysis::Induction& index, uint32_t& unrolled,
                                        uint32_t& counter, std::set<uint32_t>& skipped) const;
  std::string check_main_loop(const ElementRegion& region, uint32_t first, uint32_t exit, uint32_t l,
                              const Affine& bound, int64_t step, uint32_t unrolled) const;
  std::string collect_setup(uint32_t l, uint32_t first, uint32_t counter, ElementRegion& region) const;
  std::string check_left_behind(const ElementRegion& region, uint32_t exit) const;

  const analysis::Induction* find_index(uint32_t l, const Compare& compare, bool top) const;

  std::string match_mapping(const analysis::Loop& loop, const analysis::Induction& index, ElementRegion& region);

  bool only_feeds(uint32_t statement, uint32_t user) const;

  // Registers that move along with the index become pointers; every induction's update is skipped.
  std::string match_inductions(uint32_t l, const analysis::Induction& index, ElementRegion& region,
                               std::set<uint32_t>& skipped, uint32_t counter = kNone);

  void collect_body(uint32_t begin, uint32_t end, const std::set<uint32_t>& skipped, ElementRegion& region);

  // Blocks that every pass from `first` to `last` goes through.
  std::vector<uint32_t> top_blocks(uint32_t first, uint32_t last) const;

  std::string check_loop(uint32_t l, const analysis::Induction& index, ElementRegion& region);

  // The index and the pointers are read before they move on; a copy of the body sets them anew.
  std::string check_reads_of_index(const analysis::Loop& loop, const ElementRegion& region) const;

  std::string check_common(ElementRegion& region, const RegionContext& context, const std::vector<uint32_t>& carried);

  void try_guarded();

  std::optional<Compare> guard_at(uint32_t block, ElementRegion& region, std::string& why) const;

  std::string match_guarded(uint32_t guard, uint32_t exit, const Compare& compare, ElementRegion& region);

  // Statements in front of the guard that compute from the index belong to the element.
  std::string collect_dependents(const Compare& compare, ElementRegion& region);

  std::string check_guarded(uint32_t guard, uint32_t exit, ElementRegion& region);

  // The setp in front of the branch reads the index; its statement knows the value.
  uint32_t last_read_of_index(const ElementRegion& region) const;

  const Flow& flow_;
  const launch::Launch& launch_;
  const std::vector<ptx::Statement>& body_;
  Indices indices_;
  analysis::Uniform row_, line_;
  Recognised found_;
  std::vector<uint32_t> taken_;
};

}  // namespace ptxlab::rewrite
