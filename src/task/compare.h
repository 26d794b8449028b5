// Is an output right? The tolerance rule: (a) a bound for each element, (b) an error budget over the tensor.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/finding.h"
#include "task/oracle.h"

namespace ptxlab::task {

struct Comparison {
  bool right = false;
  uint64_t compared = 0;
  uint64_t wrong = 0;  // elements outside (a), or with NaN or Inf where none is expected
  double worst = 0;    // largest |e| / bound (a); > 1 fails
  uint64_t worst_index = 0;
  uint64_t first_wrong = 0;       // index of the first wrong element, where there is one
  double rms = 0, rms_bound = 0;  // (b): RMS(e / mag) and what it may be
  std::string summary;            // "3 of 4099 elements differ; first at [0, 4096]: got 0, expected 1.25 +- 1e-6"
};

// `output` names a view of an output (view.h), and `actual` holds all of its elements; expected[i] belongs to element indices[i], or to element i where indices is
// empty. `baseline_rms` is the baseline's own RMS(e / mag) in this case, 0 where unknown. `wrong_elements`, where given, takes the
// index of each element that is outside (a).
Comparison compare(const Task& task, const CaseData& data, std::string_view output, std::span<const uint8_t> actual,
                   std::span<const Expected> expected, std::span<const uint64_t> indices, double baseline_rms = 0,
                   std::vector<uint64_t>* wrong_elements = nullptr);

// The value of element `index` of a buffer of `type` as a double; integers exactly up to 2^53.
double element(std::span<const uint8_t> bytes, isa::Type type, uint64_t index);

}  // namespace ptxlab::task
