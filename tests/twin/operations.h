// What one thread's instruction computes: plain values in, plain values out, by the instruction's words. No memory, no
// control flow.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exact.h"
#include "isa/type.h"
#include "ptx/module.h"

namespace ptxlab::twin {

struct Operation {
  explicit Operation(const ptx::Instruction& instruction);
  bool has(std::string_view modifier) const;  // without its dot
  isa::Type type(size_t n = 0) const { return n < types.size() ? types[n] : isa::Type::none; }

  std::string name;                    // "add"
  std::vector<std::string> modifiers;  // without dots, as written
  std::vector<isa::Type> types;
};

struct Values {
  std::array<uint64_t, 5> in{};  // sources, masked to their width
  int sources = 0;
  bool carry_in = false;
  uint64_t out = 0;
  uint64_t second = 0;  // setp's q
  bool carry_out = false;
  std::string problem;  // the operation has no meaning for these values
};

// False where the operation is not of the family.
bool integer_operation(const Operation& op, Values& v);
bool float_operation(const Operation& op, Values& v);
bool comparison(const Operation& op, Values& v);  // setp, set, selp, slct
bool conversion(const Operation& op, Values& v);  // cvt

uint64_t mask(int bits);
int64_t sign_extended(uint64_t value, int bits);
Format format_of(isa::Type type);  // of one lane
Mode mode_of(const Operation& op);
Rounding rounding_of(const Operation& op);

}  // namespace ptxlab::twin
