// What a pure integer instruction makes of the 32 lanes of its operands, by its words as Atom::words spells them: "and.b32",
// "shr.u32". Exact in the instruction's own width.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ptxlab::analysis {

// Nothing for instructions that it does not know, and divisions by zero.
std::optional<std::array<int64_t, 32>> lane_operation(std::string_view words,
                                                      const std::vector<std::array<int64_t, 32>>& operands);
bool lane_operation_known(std::string_view words);

}  // namespace ptxlab::analysis
