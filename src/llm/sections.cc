#include "llm/sections.h"

#include <algorithm>

namespace ptxlab::llm {
namespace {

constexpr Section kSections[] = {
    {"answer", "the form of an answer", false},
    {"task", "what is computed: arguments, sizes, tolerance"},
    {"constraints", "target, what is allowed, what the user demands"},
    {"cuda", "the CUDA source, where there is one"},
    {"interface", "the entries' parameters and the launch plan, where no PTX is shown", false},
    {"ptx", "the kernel as it is, and its launch plan"},
    {"structure", "blocks, loops, live registers, memory accesses, barriers"},
    {"registers", "what ptxas makes of it, and the machine code's make-up"},
    {"time", "its measured times; where there are none, what they are estimated to be"},
    {"hot", "the lines that cost most, with bank conflicts and sectors"},
    {"focus", "the attempt to mend or to go on from, with its findings", false},
    {"hardware", "what an SM holds and what the device can do"},
    {"rules", "the rules of PTX that are broken most"},
    {"attempts", "earlier attempts with their findings"},
    {"strategy", "what to try this time"},
};

// What a model can work out from the text, or may do without, goes first; rules and the strategy are short and go last.
constexpr std::string_view kCuts[] = {"hot",  "structure", "hardware", "registers", "cuda",
                                      "time", "attempts",  "rules",    "strategy"};

}  // namespace

std::span<const Section> sections() { return kSections; }

const Section* section_named(std::string_view name) {
  auto found =
      std::find_if(std::begin(kSections), std::end(kSections), [&](const Section& s) { return s.name == name; });
  return found == std::end(kSections) ? nullptr : found;
}

std::span<const std::string_view> cut_order() { return kCuts; }

}  // namespace ptxlab::llm
