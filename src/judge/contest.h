// One contest from opening to decision, with the patience that a shared machine needs: what faults or hangs is tried once more in
// the fresh worker that it leaves behind; what does so twice is the candidate's.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/runner.h"
#include "record/record.h"
#include "stats/looks.h"

namespace ptxlab::judge {

// Why a contest came to no end.
struct ContestEnd {
  record::OutcomeName outcome = record::OutcomeName::infrastructure;
  std::string reason;
  bool does_not_fit = false;  // the buffers: nobody's fault, and nothing was measured
};

class ContestRun {
 public:
  ContestRun(gpu::Runner& runner, gpu::Contest contest) : runner_(runner), contest_(std::move(contest)) {}

  // Null: it is over, and end() says why. The outputs in `opened` are there after the first opening only.
  const gpu::Opened* open();
  // Further epochs, added to `epochs()` and the sample. False: it is over.
  bool measure(uint32_t epochs);

  const gpu::Opened& opened() const { return opened_; }
  void forget_outputs() { opened_.looks = {}; }
  void allow_apart(std::vector<double> apart) { apart_ = std::move(apart); }  // MeasureRequest's
  const std::vector<gpu::Epoch>& epochs() const { return epochs_; }
  const stats::Sample& sample() const { return sample_; }
  uint64_t checked() const { return checked_; }
  const std::vector<gpu::Mismatch>& mismatches() const { return mismatches_; }
  const ContestEnd& end() const { return end_; }
  // What happened once and not again.
  const std::string& happened_once() const { return happened_once_; }

 private:
  // What one try said of itself; empty: it worked.
  struct Trouble {
    bool candidates = false;  // perhaps the candidate's doing
    std::string message;
  };
  bool again(const Trouble& trouble, int attempt);
  bool reopen();
  template <class Answer>
  std::optional<Trouble> trouble_of(const base::Result<Answer>& answer);

  gpu::Runner& runner_;
  gpu::Contest contest_;
  gpu::Opened opened_;
  std::vector<gpu::Epoch> epochs_;
  stats::Sample sample_;
  std::vector<double> apart_;
  uint64_t checked_ = 0;
  std::vector<gpu::Mismatch> mismatches_;
  ContestEnd end_;
  std::string happened_once_;
};

}  // namespace ptxlab::judge
