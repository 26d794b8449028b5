#include "checkers/registry.h"

#include "checkers/global_conflicts.h"
#include "checkers/redundant_barriers.h"
#include "checkers/remark.h"
#include "checkers/shared_races.h"

namespace ptxlab::checkers {
namespace {

constexpr Checker kCheckers[] = {
    {"races", "accesses of one CTA's threads to shared memory that no barrier orders", make_shared_races},
    {"conflicts", "plain accesses to global memory, between CTAs or inside one, that nothing orders",
     make_global_conflicts},
};

constexpr Checker kAsked[] = {
    {"redundant-barriers", "barriers without which nothing races, one by one", make_redundant_barriers},
};

constexpr Remark kRemarks[] = {
    {"banks", "bank conflicts of shared memory, by line", bank_conflicts},
    {"coalescing", "sectors of global memory that requests touch in vain, by line", uncoalesced},
};

}  // namespace

std::span<const Remark> all_remarks() { return kRemarks; }

const Remark* remark_named(std::string_view name) {
  for (const Remark& remark : kRemarks)
    if (remark.name == name) return &remark;
  return nullptr;
}

std::span<const Checker> all_checkers() { return kCheckers; }
std::span<const Checker> asked_checkers() { return kAsked; }

const Checker* checker_named(std::string_view name) {
  for (std::span<const Checker> list : {all_checkers(), asked_checkers()})
    for (const Checker& checker : list)
      if (checker.name == name) return &checker;
  return nullptr;
}

}  // namespace ptxlab::checkers
