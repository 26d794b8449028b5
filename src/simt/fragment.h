// How the matrices of mma.sync lie in the registers of a warp: which element of A, B or C a lane's register holds (manual,
// "Warp-level matrix fragments"). With group = lane / 4 and member = lane % 4 one rule covers every shape but m8n8k4 of f16:
// along k a lane holds as many neighbours as fit into a register, the four members of a group lie side by side, and such
// chunks follow one another; A's rows alternate between group and group + 8 first.
#pragma once
#include <cstdint>

#include "isa/type.h"
#include "simt/modifiers.h"

namespace ptxlab::simt {

inline constexpr int kMaxRows = 16, kColumns = 8;

struct MatrixShape {
  uint16_t m = 0, n = 0, k = 0;
};

// One matrix of an mma: its type and how many registers of a lane it takes.
struct Fragment {
  isa::Type type = isa::Type::none;
  uint8_t bits = 0;       // of an element
  uint8_t elements = 0;   // of a register (of 64 bits for f64)
  uint8_t registers = 0;  // of a lane
};

struct Element {
  int row, column;
};

// Element `e` of register `r` of A (row, k), B (k, column: `row` is k) and C or D (row, column).
inline Element element_of_a(const MatrixShape& shape, const Fragment& f, int lane, int r, int e) {
  bool tall = shape.m == 16;
  int group = lane / 4, member = lane % 4, chunk = tall ? r / 2 : r;
  return {group + (tall ? 8 * (r % 2) : 0), (4 * chunk + member) * f.elements + e};
}
inline Element element_of_b(const Fragment& f, int lane, int r, int e) {
  return {(4 * r + lane % 4) * f.elements + e, lane / 4};
}
inline Element element_of_c(const Fragment& f, int lane, int r, int e) {
  int i = r * f.elements + e;  // c0, c1 side by side; c2, c3 eight rows below
  return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2};
}

// m8n8k4 of f16: four products at once, each by a quad of the lower half of the warp and the same one of the upper half.
inline int product_of(int lane) { return lane % 16 / 4; }
inline Element volta_a(bool by_rows, int lane, int i) {
  int upper = lane < 16 ? 0 : 4;
  return by_rows ? Element{lane % 4 + upper, i} : Element{i + upper, lane % 4};
}
inline Element volta_b(bool by_rows, int lane, int i) {
  int upper = lane < 16 ? 0 : 4;
  return by_rows ? Element{lane % 4, i + upper} : Element{i, lane % 4 + upper};
}
inline Element volta_c(bool halves, int lane, int i) {
  int upper = lane < 16 ? 0 : 4;
  if (halves) return {lane % 4 + upper, i};
  return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
}

}  // namespace ptxlab::simt
