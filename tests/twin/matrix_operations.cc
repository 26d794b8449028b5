// mma, ldmatrix, stmatrix, movmatrix, element by element: the manual's formulas for the fragments of each type, written out
// one by one, and sums in exact arithmetic rounded to double after every product.
#include <cstdio>
#include <cstring>

#include "cta.h"
#include "exact.h"

namespace ptxlab::twin {

using isa::Type;
using ptx::Operand;

namespace {

struct Spot {
  int row, column;
};
struct Shape {
  int m = 0, n = 0, k = 0;
};

Shape shape_of(const Operation& op) {
  Shape s;
  for (const std::string& m : op.modifiers)
    if (std::sscanf(m.c_str(), "m%dn%dk%d", &s.m, &s.n, &s.k) == 3) return s;
  return {};
}

int width_of(Type type) { return type == Type::tf32 ? 32 : isa::bits_of(type); }

bool quad_pairs(const Operation& op) {
  const Shape s = shape_of(op);
  return s.m == 8 && s.k == 4 && op.type(1) == Type::f16;
}

// Element i of a lane's fragment of A.
Spot place_in_a(const Operation& op, int lane, int i) {
  const Shape s = shape_of(op);
  const int g = lane >> 2, t = lane % 4;
  if (quad_pairs(op)) {
    const bool rows = op.has("row") && !op.modifiers.empty() && op.modifiers[3] == "row";
    const int upper = lane < 16 ? 0 : 4;
    return rows ? Spot{lane % 4 + upper, i} : Spot{i % 4 + upper, lane % 4};
  }
  switch (width_of(op.type(1))) {
    case 64:
      if (s.m == 8) return {g, t};
      if (s.k == 4) return {i == 0 ? g : g + 8, t};
      if (s.k == 8) return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
      return {i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t};
    case 32:
      if (s.k == 4) return {i == 0 ? g : g + 8, t};
      return {i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
    case 16:
      if (s.k == 8) return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
      return {i < 2 || (i >= 4 && i < 6) ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case 8:
      if (s.m == 8) return {g, t * 4 + i};
      if (s.k == 16) return {i < 4 ? g : g + 8, t * 4 + (i & 3)};
      return {i < 4 || (i >= 8 && i < 12) ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    case 4:
      if (s.m == 8) return {g, t * 8 + i};
      if (s.k == 32) return {i < 8 ? g : g + 8, t * 8 + (i & 7)};
      return {i < 8 || (i >= 16 && i < 24) ? g : g + 8, t * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    default:
      if (s.m == 8) return {g, t * 32 + i};
      if (s.k == 128) return {i < 32 ? g : g + 8, t * 32 + (i & 31)};
      return {i < 32 || (i >= 64 && i < 96) ? g : g + 8, t * 32 + (i & 31) + (i >= 64 ? 128 : 0)};
  }
}

Spot place_in_b(const Operation& op, int lane, int i) {
  const Shape s = shape_of(op);
  const int g = lane >> 2, t = lane % 4;
  if (quad_pairs(op)) {
    const bool rows = op.modifiers[4] == "row";
    const int upper = lane < 16 ? 0 : 4;
    return rows ? Spot{lane % 4, i + upper} : Spot{i, lane % 4 + upper};
  }
  switch (width_of(op.type(2))) {
    case 64: return {s.k == 16 ? i * 4 + t : s.k == 8 ? (i == 0 ? t : t + 4) : t, g};
    case 32: return {s.k == 8 && i == 1 ? t + 4 : t, g};
    case 16: return {t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
    case 8: return {t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
    case 4: return {t * 8 + (i & 7) + (i >= 8 ? 32 : 0), g};
    default: return {t * 32 + (i & 31) + (i >= 32 ? 128 : 0), g};
  }
}

Spot place_in_c(const Operation& op, int lane, int i, Type type) {
  const int g = lane >> 2, t = lane % 4;
  if (quad_pairs(op)) {
    const int upper = lane < 16 ? 0 : 4;
    if (type == Type::f16) return {lane % 4 + upper, i};
    return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  }
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

// How many elements of a type a register holds; a register of f64 has one.
int elements_of(Type type) { return type == Type::f64 ? 1 : 32 / width_of(type); }

}  // namespace

uint64_t Cta::fragment_element(Thread& thread, const Operand& operand, Type type, int i) {
  const int each = elements_of(type);
  const Operand& element = operand.elements[static_cast<size_t>(i / each)];
  const uint64_t word = value(thread, element, type == Type::f64 ? Type::b64 : Type::b32);
  return word >> (i % each * width_of(type)) & mask(width_of(type));
}

namespace {

// D's element from its row of A and column of B, in exact arithmetic.
uint64_t float_sum(const Operation& op, const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) {
  const Type c_type = op.type(3), d_type = op.type(0);
  auto number = [](uint64_t bits, Type type) {
    if (type == Type::tf32) return convert(bits & ~uint64_t{0x1fff}, base::kF32, kF64, {});
    return type == Type::f64 ? bits : convert(bits, format_of(type), kF64, {});
  };
  uint64_t sum = number(c, c_type);
  for (size_t k = 0; k < a.size(); ++k)
    sum = fused_multiply_add(number(a[k], op.type(1)), number(b[k], op.type(2)), sum, kF64, {});
  return d_type == Type::f64 ? sum : convert(sum, kF64, format_of(d_type), {});
}
uint64_t integer_sum(const Operation& op, const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) {
  auto number = [](uint64_t bits, Type type) {
    return isa::is_signed(type) ? sign_extended(bits, isa::bits_of(type)) : static_cast<int64_t>(bits);
  };
  int64_t sum = sign_extended(c, 32);
  for (size_t k = 0; k < a.size(); ++k) {
    if (op.type(1) == Type::b1)
      sum += static_cast<int64_t>(op.has("and") ? a[k] & b[k] : a[k] ^ b[k]);
    else
      sum += number(a[k], op.type(1)) * number(b[k], op.type(2));
  }
  if (op.has("satfinite")) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
  return static_cast<uint64_t>(sum) & mask(32);
}

}  // namespace

void Cta::multiply_matrices(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction,
                            const Operation& op) {
  const Shape s = shape_of(op);
  if (s.m == 0 || op.types.size() != 4 || op.has("sp")) return problem(*lanes[0], "mma of this kind");
  const int products = quad_pairs(op) ? 4 : 1, lanes_each = 32 / products;
  const size_t m = static_cast<size_t>(s.m), n = static_cast<size_t>(s.n), k = static_cast<size_t>(s.k);
  auto product = [&](size_t lane) { return products == 1 ? 0 : lane % 16 / 4; };
  using Matrix = std::vector<std::vector<uint64_t>>;
  std::vector<Matrix> a(4, Matrix(m, std::vector<uint64_t>(k))), b(4, Matrix(n, std::vector<uint64_t>(k))),
      c(4, Matrix(m, std::vector<uint64_t>(n)));
  for (size_t lane = 0; lane < 32; ++lane) {
    const int l = static_cast<int>(lane);
    auto each = [&](size_t operand, Type type, int count, auto visit) {
      for (int i = 0; i < count; ++i) visit(i, fragment_element(*lanes[lane], instruction.operands[operand], type, i));
    };
    each(1, op.type(1), s.m * s.k / lanes_each, [&](int i, uint64_t bits) {
      const Spot at = place_in_a(op, l, i);
      a[product(lane)][static_cast<size_t>(at.row)][static_cast<size_t>(at.column)] = bits;
    });
    each(2, op.type(2), s.n * s.k / lanes_each, [&](int i, uint64_t bits) {
      const Spot at = place_in_b(op, l, i);
      b[product(lane)][static_cast<size_t>(at.column)][static_cast<size_t>(at.row)] = bits;
    });
    each(3, op.type(3), s.m * s.n / lanes_each, [&](int i, uint64_t bits) {
      const Spot at = place_in_c(op, l, i, op.type(3));
      c[product(lane)][static_cast<size_t>(at.row)][static_cast<size_t>(at.column)] = bits;
    });
  }
  const Type type = op.type(0);
  const int each = elements_of(type);
  for (size_t lane = 0; lane < 32; ++lane) {
    const Operand& to = instruction.operands[0];
    for (size_t r = 0; r < to.elements.size(); ++r) {
      uint64_t word = 0;
      for (int e = 0; e < each; ++e) {
        const Spot at = place_in_c(op, static_cast<int>(lane), static_cast<int>(r) * each + e, type);
        const auto& row = a[product(lane)][static_cast<size_t>(at.row)];
        const auto& column = b[product(lane)][static_cast<size_t>(at.column)];
        const uint64_t old = c[product(lane)][static_cast<size_t>(at.row)][static_cast<size_t>(at.column)];
        word |= (isa::is_float(type) ? float_sum(op, row, column, old) : integer_sum(op, row, column, old))
                << (e * width_of(type) % 64);
      }
      assign(*lanes[lane], to.elements[r], word);
    }
  }
}

// Element (row, column) of matrix number m lies at row address of lane 8 m + row, plus 2 column; lane l holds elements
// (l / 4, 2 (l % 4)) and the one behind it, transposed the other way round.
void Cta::move_matrices(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op) {
  const bool transposed = op.has("trans");
  if (!op.has("m8n8")) return problem(*lanes[0], "matrices of this shape");
  if (op.name == "movmatrix") {
    uint64_t elements[8][8], results[32];
    for (size_t l = 0; l < 32; ++l) {
      const uint64_t word = value(*lanes[l], instruction.operands[1], Type::b32);
      elements[l / 4][l % 4 * 2] = word & 0xffff, elements[l / 4][l % 4 * 2 + 1] = word >> 16;
    }
    for (size_t l = 0; l < 32; ++l) results[l] = elements[l % 4 * 2][l / 4] | elements[l % 4 * 2 + 1][l / 4] << 16;
    for (size_t l = 0; l < 32; ++l) assign(*lanes[l], instruction.operands[0], results[l]);
    return;
  }
  const bool loads = op.name == "ldmatrix";
  const Operand& place_operand = instruction.operands[loads ? 1 : 0];
  const Operand& registers = instruction.operands[loads ? 0 : 1];
  const size_t count = registers.kind == Operand::Kind::vector ? registers.elements.size() : 1;
  uint8_t* rows[32] = {};
  for (size_t l = 0; l < 8 * count; ++l) {
    rows[l] = place(*lanes[l], place_operand, op, 16, !loads).data;
    if (!rows[l]) return;
  }
  std::vector<std::vector<uint64_t>> words(count, std::vector<uint64_t>(32));
  for (size_t m = 0; m < count; ++m) {
    const Operand& reg = registers.kind == Operand::Kind::vector ? registers.elements[m] : registers;
    for (size_t l = 0; l < 32; ++l) {
      uint64_t word = loads ? 0 : value(*lanes[l], reg, Type::b32);
      for (size_t e = 0; e < 2; ++e) {
        const size_t row = transposed ? l % 4 * 2 + e : l / 4, column = transposed ? l / 4 : l % 4 * 2 + e;
        uint8_t* at = rows[8 * m + row] + 2 * column;
        uint16_t half = static_cast<uint16_t>(word >> (16 * e));
        loads ? std::memcpy(&half, at, 2) : std::memcpy(at, &half, 2);
        words[m][l] |= static_cast<uint64_t>(half) << (16 * e);
      }
    }
  }
  for (size_t m = 0; loads && m < count; ++m)
    for (size_t l = 0; l < 32; ++l)
      assign(*lanes[l], registers.kind == Operand::Kind::vector ? registers.elements[m] : registers, words[m][l]);
}

}  // namespace ptxlab::twin
