// For tests: one instruction over a column of operands.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "simt/run_kernel.h"

namespace ptxlab::simt::test {

using Column = std::vector<uint64_t>;

inline uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t f64(double x) { return std::bit_cast<uint64_t>(x); }

// Runs `text`, whose operands are %a, %b, %c, %e and whose result is %d, once a row: thread i takes row i. `types` names the
// registers' types, the result's first: {"b32", "b32", "b64"}. Types are as in ld and st.
inline Column apply(const std::string& text, const std::vector<std::string>& types,
                    const std::vector<Column>& operands) {
  const char* const names[] = {"%d", "%a", "%b", "%c", "%e"};
  std::string params, body;
  for (size_t i = 0; i < types.size(); ++i) {
    params += (i ? ", " : "") + std::string(".param .u64 p") + std::to_string(i);
    body += "  .reg ." + types[i] + " " + names[i] + ";\n";
    body += "  ld.param.u64 %r" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n  cvta.to.global.u64 %r" +
            std::to_string(i) + ", %r" + std::to_string(i) + ";\n  add.u64 %r" + std::to_string(i) + ", %r" +
            std::to_string(i) + ", %o;\n";
    if (i) body += "  ld.global." + types[i] + " " + names[i] + ", [%r" + std::to_string(i) + "];\n";
  }
  Kernel kernel(".visible .entry k(" + params +
                    ")\n{\n  .reg .b32 %t;\n  .reg .b64 %o, %r<5>;\n  .reg .pred %p, %q;\n"
                    "  mov.u32 %t, %tid.x;\n  mul.wide.u32 %o, %t, 8;\n" +
                    body + "  " + text + "\n  st.global." + types[0] + " [%r0], %d;\n  ret;\n}\n",
                ".version 8.8\n.target sm_90\n.address_size 64\n");
  size_t rows = operands[0].size();
  kernel.out(rows * 8, launch::ResolvedBuffer::Init::zero);
  for (const Column& column : operands) kernel.in(column);
  kernel.shape({1, 1, 1}, {static_cast<uint32_t>(rows), 1, 1});
  return kernel.result<uint64_t>(0);
}

}  // namespace ptxlab::simt::test
