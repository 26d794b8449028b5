// mma.sync: D = A x B + C by a whole warp. The manual leaves open in which order and width the hardware adds the products of
// the narrow types. Here the products, which are exact in double, are added to c in double along k, and the sum is rounded
// once to D's type: nearer to the true value than any hardware. f64 rounds at every step, as fma.rn does; integers are exact
// and wrap, or are clamped with .satfinite.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "isa/table.h"
#include "simt/fragment.h"
#include "simt/meeting.h"
#include "simt/numbers.h"
#include "simt/shadow.h"
#include "simt/step.h"

namespace ptxlab::simt {
namespace {

using isa::Type;

constexpr int kMaxDepth = 256;  // k, of single bits
enum MmaMode : uint8_t { kClamp = 1, kCountBoth = 2, kRowsA = 4, kRowsB = 8 };

struct Mma {
  MatrixShape shape;
  Fragment a, b, c, d;
};

Fragment fragment_of(Type type, int elements_a_lane) {
  Fragment f;
  f.type = type;
  f.bits = static_cast<uint8_t>(isa::bits_of(type));
  if (type == Type::tf32 || f.bits == 64) {
    f.elements = 1;
  } else {
    f.elements = static_cast<uint8_t>(32 / f.bits);
  }
  f.registers = static_cast<uint8_t>(elements_a_lane / f.elements);
  return f;
}
Mma mma_of(const Op& op) {
  auto packed = static_cast<uint64_t>(op.offset);
  Mma mma;
  mma.shape = {static_cast<uint16_t>(packed), static_cast<uint16_t>(packed >> 16), static_cast<uint16_t>(packed >> 32)};
  const auto& [m, n, k] = mma.shape;
  bool volta = m == 8 && k == 4 && op.modifiers->second == Type::f16;
  int lanes_a_product = volta ? 8 : kLanes;
  mma.d = fragment_of(op.modifiers->type, m * n / lanes_a_product);
  mma.a = fragment_of(op.modifiers->second, m * k / lanes_a_product);
  mma.b = fragment_of(op.modifiers->third, n * k / lanes_a_product);
  mma.c = fragment_of(static_cast<Type>(packed >> 48), m * n / lanes_a_product);
  return mma;
}

// --- elements ---

template <class T>
T element_value(uint64_t bits, Type type) {
  if constexpr (std::is_same_v<T, double>) {
    return element_number(bits, type);
  } else {
    return element_integer(bits, type);
  }
}

// The matrices, unpacked; b by rows of k, so that the loop over columns runs along memory.
template <class T>
struct Matrices {
  T a[kMaxRows][kMaxDepth];
  T b[kMaxDepth][kColumns];
  T c[kMaxRows][kColumns];
};
struct Undefined {
  uint32_t rows = 0, columns = 0;  // of A, of B
  bool c[kMaxRows][kColumns] = {};
};

// Calls `visit(lane, slot, register)` for a fragment's registers.
template <class Visit>
void each_register(const uint32_t* list, const Fragment& f, Visit visit) {
  for (int r = 0; r < f.registers; ++r)
    for (int lane = 0; lane < kLanes; ++lane) visit(lane, list[r], r);
}
uint64_t element_of(uint64_t word, const Fragment& f, int e) {
  return f.elements == 1 ? word : word >> (e * f.bits) & ((uint64_t{1} << f.bits) - 1);
}

template <class T>
void unpack(const Registers& r, const Mma& mma, const uint32_t* list, bool wide, Matrices<T>& to) {
  const uint32_t *a = list + mma.d.registers, *b = a + mma.a.registers, *c = b + mma.b.registers;
  each_register(a, mma.a, [&](int lane, uint32_t slot, int n) {
    uint64_t word = value_of(r, slot, wide, lane);
    for (int e = 0; e < mma.a.elements; ++e) {
      Element at = element_of_a(mma.shape, mma.a, lane, n, e);
      to.a[at.row][at.column] = element_value<T>(element_of(word, mma.a, e), mma.a.type);
    }
  });
  each_register(b, mma.b, [&](int lane, uint32_t slot, int n) {
    uint64_t word = value_of(r, slot, wide, lane);
    for (int e = 0; e < mma.b.elements; ++e) {
      Element at = element_of_b(mma.b, lane, n, e);
      to.b[at.row][at.column] = element_value<T>(element_of(word, mma.b, e), mma.b.type);
    }
  });
  each_register(c, mma.c, [&](int lane, uint32_t slot, int n) {
    uint64_t word = value_of(r, slot, wide, lane);
    for (int e = 0; e < mma.c.elements; ++e) {
      Element at = element_of_c(mma.c, lane, n, e);
      to.c[at.row][at.column] = element_value<T>(element_of(word, mma.c, e), mma.c.type);
    }
  });
}

// --- products ---

void multiply(const MatrixShape& shape, bool fused, Matrices<double>& x) {
  for (int i = 0; i < shape.m; ++i) {
    double sum[kColumns];
    std::copy(std::begin(x.c[i]), std::end(x.c[i]), sum);
    for (int k = 0; k < shape.k; ++k) {
      double a = x.a[i][k];
      if (fused) {
        for (int n = 0; n < kColumns; ++n) sum[n] = std::fma(a, x.b[k][n], sum[n]);
      } else {
        for (int n = 0; n < kColumns; ++n) sum[n] += a * x.b[k][n];
      }
    }
    std::copy(std::begin(sum), std::end(sum), x.c[i]);
  }
}
void multiply(const MatrixShape& shape, bool clamp, Matrices<int32_t>& x) {
  for (int i = 0; i < shape.m; ++i)
    for (int n = 0; n < kColumns; ++n) {
      int64_t sum = x.c[i][n];
      for (int k = 0; k < shape.k; ++k) sum += int64_t{x.a[i][k]} * x.b[k][n];
      if (clamp) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      x.c[i][n] = static_cast<int32_t>(sum);
    }
}
// Single bits: a word of a row against a word of a column.
void count_bits(const Registers& r, const Mma& mma, const uint32_t* list, bool both, Matrices<int32_t>& x) {
  const uint32_t *a = list + mma.d.registers, *b = a + mma.a.registers, *c = b + mma.b.registers;
  uint32_t rows[kMaxRows][kMaxDepth / 32] = {}, columns[kColumns][kMaxDepth / 32] = {};
  each_register(a, mma.a, [&](int lane, uint32_t slot, int n) {
    Element at = element_of_a(mma.shape, mma.a, lane, n, 0);
    rows[at.row][at.column / 32] = lanes<uint32_t>(r, slot)[lane];
  });
  each_register(b, mma.b, [&](int lane, uint32_t slot, int n) {
    Element at = element_of_b(mma.b, lane, n, 0);
    columns[at.column][at.row / 32] = lanes<uint32_t>(r, slot)[lane];
  });
  each_register(c, mma.c, [&](int lane, uint32_t slot, int n) {
    Element at = element_of_c(mma.c, lane, n, 0);
    uint32_t sum = lanes<uint32_t>(r, slot)[lane];
    for (int w = 0; w < mma.shape.k / 32; ++w) {
      uint32_t x0 = rows[at.row][w], y = columns[at.column][w];
      sum += static_cast<uint32_t>(std::popcount(both ? x0 & y : x0 ^ y));
    }
    x.c[at.row][at.column] = static_cast<int32_t>(sum);
  });
}

// --- results ---

uint64_t result_bits(double value, Type type) { return element_bits(value, type); }
uint64_t result_bits(int32_t value, Type) { return static_cast<uint32_t>(value); }

template <class T>
void pack(const Registers& r, const Mma& mma, const uint32_t* list, bool wide, const Matrices<T>& from) {
  each_register(list, mma.d, [&](int lane, uint32_t slot, int n) {
    uint64_t word = 0;
    for (int e = 0; e < mma.d.elements; ++e) {
      Element at = element_of_c(mma.d, lane, n, e);
      word |= result_bits(from.c[at.row][at.column], mma.d.type) << (e * (mma.d.bits % 64));
    }
    set_value(r, slot, wide, lane, word);
  });
}

// An element of D is undefined where anything of its row of A, of its column of B, or its element of C is.
Undefined undefined_of(const Registers& r, const Mma& mma, const uint32_t* list, bool wide) {
  const uint32_t *a = list + mma.d.registers, *b = a + mma.a.registers, *c = b + mma.b.registers;
  Undefined u;
  each_register(a, mma.a, [&](int lane, uint32_t slot, int n) {
    if (shadow_of(r, slot, wide, lane)) u.rows |= 1u << element_of_a(mma.shape, mma.a, lane, n, 0).row;
  });
  each_register(b, mma.b, [&](int lane, uint32_t slot, int n) {
    if (shadow_of(r, slot, wide, lane)) u.columns |= 1u << element_of_b(mma.b, lane, n, 0).column;
  });
  each_register(c, mma.c, [&](int lane, uint32_t slot, int n) {
    uint64_t shadow = shadow_of(r, slot, wide, lane);
    for (int e = 0; shadow && e < mma.c.elements; ++e) {
      Element at = element_of_c(mma.c, lane, n, e);
      u.c[at.row][at.column] = element_of(shadow, mma.c, e) != 0;
    }
  });
  return u;
}
void mark(const Registers& r, const Mma& mma, const uint32_t* list, bool wide, const Undefined& u, uint32_t origin) {
  each_register(list, mma.d, [&](int lane, uint32_t slot, int n) {
    uint64_t shadow = 0;
    for (int e = 0; e < mma.d.elements; ++e) {
      Element at = element_of_c(mma.d, lane, n, e);
      bool is = (u.rows >> at.row & 1) || (u.columns >> at.column & 1) || u.c[at.row][at.column];
      uint64_t ones = mma.d.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << mma.d.bits) - 1;
      if (is) shadow |= ones << (e * (mma.d.bits % 64));
    }
    set_shadow(r, slot, wide, lane, shadow);
    if (lane == 0) set_origin(r, slot, origin);
  });
}

// The four products of m8n8k4.
void multiply_volta(const Registers& r, const Mma& mma, const uint32_t* list, uint8_t mode, bool defined,
                    uint32_t origin) {
  const uint32_t *a = list + mma.d.registers, *b = a + mma.a.registers, *c = b + mma.b.registers;
  bool half_c = mma.c.type == Type::f16, half_d = mma.d.type == Type::f16;
  double left[4][8][4], right[4][4][8], sum[4][8][8];
  bool bad[4][8][8] = {}, bad_row[4][8] = {}, bad_column[4][8] = {};
  auto read = [&](const uint32_t* from, const Fragment& f, int lane, int i, bool& undefined) {
    uint32_t slot = from[i / f.elements];
    undefined = element_of(shadow_of(r, slot, false, lane), f, i % f.elements) != 0;
    return element_number(element_of(value_of(r, slot, false, lane), f, i % f.elements), f.type);
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    int p = product_of(lane);
    bool undefined = false;
    for (int i = 0; i < 4; ++i) {
      Element at = volta_a(mode & kRowsA, lane, i);
      left[p][at.row][at.column] = read(a, mma.a, lane, i, undefined);
      bad_row[p][at.row] |= undefined;
      at = volta_b(mode & kRowsB, lane, i);
      right[p][at.row][at.column] = read(b, mma.b, lane, i, undefined);
      bad_column[p][at.column] |= undefined;
    }
    for (int i = 0; i < 8; ++i) {
      Element at = volta_c(half_c, lane, i);
      sum[p][at.row][at.column] = read(c, mma.c, lane, i, undefined);
      bad[p][at.row][at.column] = undefined;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    int p = product_of(lane);
    for (int reg = 0; reg < mma.d.registers; ++reg) {
      uint64_t word = 0, shadow = 0;
      for (int e = 0; e < mma.d.elements; ++e) {
        Element at = volta_c(half_d, lane, reg * mma.d.elements + e);
        double total = sum[p][at.row][at.column];
        for (int k = 0; k < 4; ++k) total += left[p][at.row][k] * right[p][k][at.column];
        word |= element_bits(total, mma.d.type) << (e * mma.d.bits);
        if (bad[p][at.row][at.column] || bad_row[p][at.row] || bad_column[p][at.column])
          shadow |= ((uint64_t{1} << mma.d.bits) - 1) << (e * mma.d.bits);
      }
      set_value(r, list[reg], false, lane, word);
      if (defined) set_shadow(r, list[reg], false, lane, shadow);
      if (lane == 0 && origin) set_origin(r, list[reg], origin);
    }
  }
}

uint32_t first_origin(const Registers& r, const uint32_t* from, const uint32_t* end) {
  for (; from < end; ++from)
    if (r.taint[*from]) return r.origin[*from];
  return 0;
}

Flow mma(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  const Mma mma = mma_of(op);
  bool wide = op.b_wide;
  const uint32_t* sources = list + mma.d.registers;
  const uint32_t* end = sources + mma.a.registers + mma.b.registers + mma.c.registers;
  bool tainted = context.defined && std::any_of(sources, end, [&](uint32_t slot) { return r.taint[slot] != 0; });
  uint32_t origin = tainted ? first_origin(r, sources, end) : 0;
  if (mma.shape.m == 8 && mma.shape.k == 4 && mma.a.type == Type::f16) {
    multiply_volta(r, mma, list, op.mode, context.defined, origin);
    return Flow::next;
  }
  Undefined undefined;
  if (tainted) undefined = undefined_of(r, mma, list, wide);
  if (isa::is_float(mma.d.type)) {
    Matrices<double> x;
    unpack(r, mma, list, wide, x);
    multiply(mma.shape, wide, x);
    pack(r, mma, list, wide, x);
  } else {
    Matrices<int32_t> x;
    if (mma.a.type == Type::b1) {
      count_bits(r, mma, list, op.mode & kCountBoth, x);
    } else {
      unpack(r, mma, list, wide, x);
      multiply(mma.shape, (op.mode & kClamp) != 0, x);
    }
    pack(r, mma, list, wide, x);
  }
  if (tainted) {
    mark(r, mma, list, wide, undefined, origin);
  } else {
    for (const uint32_t* slot = list; slot < sources; ++slot) r.taint[*slot] = 0;
  }
  return Flow::next;
}

// ".m16n8k16"
bool read_shape(std::string_view token, MatrixShape& shape) {
  uint16_t* numbers[] = {&shape.m, &shape.n, &shape.k};
  const char* at = token.data() + 1;
  const char* end = token.data() + token.size();
  for (int i = 0; i < 3; ++i) {
    if (at >= end || *at != "mnk"[i]) return false;
    auto [next, error] = std::from_chars(at + 1, end, *numbers[i]);
    if (error != std::errc{}) return false;
    at = next;
  }
  return at == end;
}

Step select_mma(const isa::Form& form, const Modifiers& m, Op& op) {
  if (form.has(".kind::f8f6f4") || form.has(".sp") || form.has(".sp::ordered_metadata")) return nullptr;
  MatrixShape shape;
  bool found = false;
  for (size_t s = 0; s < form.row->slots.size() && !found; ++s)
    if (form.taken[s] >= 0)
      found = read_shape(form.row->slots[s].choices[static_cast<size_t>(form.taken[s])].token, shape);
  if (!found || m.third == Type::none || form.type(3) == Type::none) return nullptr;
  op.offset = static_cast<int64_t>(uint64_t{shape.m} | uint64_t{shape.n} << 16 | uint64_t{shape.k} << 32 |
                                   static_cast<uint64_t>(form.type(3)) << 48);
  op.mode =
      static_cast<uint8_t>((form.has(".satfinite") ? kClamp : 0) | (form.has(".and") ? kCountBoth : 0) |
                           (form.at("alayout") == ".row" ? kRowsA : 0) | (form.at("blayout") == ".row" ? kRowsB : 0));
  return mma;
}

}  // namespace

const StepBinding* mma_bindings() {
  static constexpr StepBinding kBindings[] = {{"mma", select_mma}, {nullptr, nullptr}};
  return kBindings;
}

}  // namespace ptxlab::simt
