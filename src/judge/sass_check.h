// Where PTX and machine code part: the module asks for something that a kernel was written for (wide accesses, tensor products, bulk
// copies), and ptxas made none of it. And the other way round: local memory that nobody asked for. Notes, never a verdict.
#pragma once
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"
#include "toolchain/sass.h"

namespace ptxlab::judge {

// JDG0045 asked for and not there, JDG0046 local memory in loops. Of the entries in `facts`; places are of `file`.
base::Findings compare_with_sass(const ptx::Module& module, const std::vector<toolchain::SassFacts>& facts,
                                 const std::string& file);

// nvdisasm at work beside the gates that follow; its answer is waited for when it is asked for.
class SassReading {
 public:
  void start(const toolchain::Tool& nvdisasm, std::string cubin, std::vector<std::string> entries);
  struct Outcome {
    std::vector<toolchain::SassFacts> facts;  // in the order of `entries`
    std::string trouble;                      // why there are none
  };
  std::optional<Outcome> take();  // nothing: it was never started

 private:
  std::future<Outcome> at_work_;
};

}  // namespace ptxlab::judge
