#include "judge/contest.h"

#include <fmt/format.h>

#include "judge/epochs.h"

namespace ptxlab::judge {

using record::OutcomeName;

template <class Answer>
std::optional<ContestRun::Trouble> ContestRun::trouble_of(const base::Result<Answer>& answer) {
  if (!answer) {
    const auto& finding = answer.findings().front();
    return Trouble{finding.code == "GPU0004" || finding.code == "GPU0005", finding.message};
  }
  switch (answer->end) {
    case gpu::Done::End::executed: return std::nullopt;
    case gpu::Done::End::faulted:
    case gpu::Done::End::unlaunched: return Trouble{answer->arm == gpu::Arm::b, answer->message};
    case gpu::Done::End::out_of_memory: end_.does_not_fit = true; break;
    case gpu::Done::End::refused:
    case gpu::Done::End::lost:
    case gpu::Done::End::trouble: break;
  }
  std::string whose = answer->end == gpu::Done::End::refused
                          ? fmt::format("the driver does not load the {}'s code: ",
                                        answer->arm == gpu::Arm::a ? "baseline" : "candidate")
                          : "";
  return Trouble{false, whose + answer->message};
}

// Whether to try once more.
bool ContestRun::again(const Trouble& trouble, int attempt) {
  if (attempt == 0 && !end_.does_not_fit) {
    happened_once_ = trouble.message;
    return true;
  }
  end_.outcome = trouble.candidates ? OutcomeName::faulted : OutcomeName::infrastructure;
  end_.reason = trouble.message;
  happened_once_.clear();
  return false;
}

const gpu::Opened* ContestRun::open() {
  for (int attempt = 0;; ++attempt) {
    auto opened = runner_.open(contest_, open_limit(contest_));
    auto trouble = trouble_of(opened);
    if (!trouble) {
      opened_ = std::move(*opened);
      for (size_t v = 0; v < gpu::kVariants; ++v) {
        auto& looks = opened_.looks;
        if (looks[1][v].as_a) looks[1][v].contents = looks[0][v].contents;
      }
      contest_.outputs = false;  // not again
      return &opened_;
    }
    if (!again(*trouble, attempt)) return nullptr;
  }
}

bool ContestRun::reopen() {
  auto opened = runner_.open(contest_, open_limit(contest_));
  auto trouble = trouble_of(opened);
  if (trouble) again(*trouble, 1);
  return !trouble;
}

bool ContestRun::measure(uint32_t epochs) {
  for (int attempt = 0;; ++attempt) {
    auto measured = runner_.measure({epochs, apart_}, measure_limit(opened_, epochs));
    auto trouble = trouble_of(measured);
    // What was compared before the fault counts all the same: outputs that differ are no accident of the machine.
    if (measured) {
      checked_ += measured->checked;
      mismatches_.insert(mismatches_.end(), measured->mismatches.begin(), measured->mismatches.end());
    }
    if (!trouble) {
      add(sample_, *measured);
      epochs_.insert(epochs_.end(), measured->epochs.begin(), measured->epochs.end());
      return true;
    }
    if (!again(*trouble, attempt) || !reopen()) return false;
  }
}

}  // namespace ptxlab::judge
