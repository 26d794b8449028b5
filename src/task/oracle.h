// An oracle says the right answer, and how much a floating-point result may differ from it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "task/case.h"

namespace ptxlab::task {

struct Expected {
  double value = 0;      // floats; integers as bits in `integer`
  double magnitude = 0;  // sum of |dr/dt| |t| over the inexact intermediate values t (DESIGN: Right answers)
  int64_t integer = 0;
  // Where randomly rounded runs of the kernel itself are the oracle: the standard deviation of their values, and how far
  // integers went. Negative: a reference.
  double spread = -1;
  int64_t lowest = 0, highest = 0;
  bool loose = false;  // the runs disagree on NaN or infinity: nothing is asked
};

class Oracle {
 public:
  virtual ~Oracle() = default;
  virtual std::string describe() const = 0;  // "reference.cc in double precision", "the baseline itself, on the engine"
  // Expected values of the output buffer's elements `indices` (empty: all, in order).
  virtual base::Result<std::vector<Expected>> expected(const CaseData& data, std::string_view output,
                                                       std::span<const uint64_t> indices) = 0;
};

// The task's reference.cc as a program (reference_program.h), run as a subprocess under limits. Errors: ORA0001 no
// compiler, ORA0002 does not compile, ORA0003 failed or printed the wrong number of values.
base::Result<std::unique_ptr<Oracle>> make_reference_oracle(const Task& task);

}  // namespace ptxlab::task
