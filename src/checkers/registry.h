// The checkers by name: what `--check LIST` and the judge choose from.
#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "simt/observer.h"

namespace ptxlab::checkers {

struct Checker {
  std::string_view name;         // as in `--check races,conflicts`
  std::string_view description;  // one line, for help
  std::unique_ptr<simt::Observer> (*make)();
};

// Those that always watch.
std::span<const Checker> all_checkers();
// Those that watch only where they are named: they answer a question rather than find a fault.
std::span<const Checker> asked_checkers();
// Null where no checker has that name.
const Checker* checker_named(std::string_view name);

}  // namespace ptxlab::checkers
