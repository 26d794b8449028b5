// wmma in every shape and type: two matrices through fragments to their product, against the product computed here.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/narrow_float.h"
#include "base/random.h"
#include "isa/enumerate.h"
#include "simt/run_kernel.h"

namespace ptxlab::simt::test {
namespace {

using isa::Type;

struct Matrix {
  int rows = 0, columns = 0;
  Type type = Type::none;
  bool by_columns = false;
  std::vector<int> values;  // by rows; small, so that every product is exact
  int at(int r, int c) const { return values[static_cast<size_t>(r * columns + c)]; }
};

Matrix some_matrix(base::Random& random, int rows, int columns, Type type, bool by_columns) {
  Matrix m{rows, columns, type, by_columns, {}};
  for (int i = 0; i < rows * columns; ++i) {
    auto x = static_cast<int>(random.below(16));
    m.values.push_back(type == Type::b1 ? x & 1 : type == Type::u4 || type == Type::u8 ? x : x - 8);
  }
  return m;
}

uint64_t bits_of(int value, Type type) {
  switch (type) {
    case Type::f16: return base::double_to_f16(value);
    case Type::bf16: return base::double_to_bf16(value);
    case Type::f64: return std::bit_cast<uint64_t>(static_cast<double>(value));
    case Type::f32:
    case Type::tf32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    default: return static_cast<uint32_t>(value);
  }
}

std::vector<uint8_t> bytes_of(const Matrix& m) {
  int bits = m.type == Type::tf32 ? 32 : isa::bits_of(m.type);
  std::vector<uint8_t> out(static_cast<size_t>(m.rows * m.columns * bits / 8));
  for (int r = 0; r < m.rows; ++r)
    for (int c = 0; c < m.columns; ++c) {
      int place = (m.by_columns ? c * m.rows + r : r * m.columns + c) * bits;
      uint64_t word = bits_of(m.at(r, c), m.type);
      for (int b = 0; b < bits; ++b)
        out[static_cast<size_t>((place + b) / 8)] |= static_cast<uint8_t>((word >> b & 1) << ((place + b) % 8));
    }
  return out;
}

std::string registers(char letter, int first, int count) {
  std::string out = "{";
  for (int i = 0; i < count; ++i) out += (i ? ", %" : "%") + std::string(1, letter) + std::to_string(first + i);
  return out + "}";
}
int count_in(const std::string& text, size_t group) {
  size_t open = 0;
  for (size_t g = 0; g <= group; ++g) open = text.find('{', open) + 1;
  return 1 + static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(open),
                                         text.begin() + static_cast<std::ptrdiff_t>(text.find('}', open)), ','));
}

void try_form(const isa::Form& form, base::Random& random) {
  const std::string text = isa::instruction_text(form);
  int m = 0, n = 0, k = 0;
  size_t at = text.find(".m");
  while (at != std::string::npos && std::sscanf(text.c_str() + at, ".m%dn%dk%d", &m, &n, &k) != 3)
    at = text.find(".m", at + 1);
  ASSERT_GT(k, 0) << text;
  const Type d_type = form.type(0);
  const bool halves = form.type(2) == Type::none;
  const Type ab = halves ? Type::f16 : form.type(1), c_type = halves ? form.type(1) : form.type(3);
  const bool a_columns = text.find(".aligned.col") != std::string::npos;
  const bool b_columns = text.find(".row.col.") != std::string::npos || text.find(".col.col.") != std::string::npos;
  Matrix a = some_matrix(random, m, k, ab, a_columns), b = some_matrix(random, k, n, ab, b_columns);
  Matrix c = some_matrix(random, m, n, c_type, false);
  const std::string shape = ".m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
  const std::string name(isa::name_of(ab)), c_name(isa::name_of(c_type)), d_name(isa::name_of(d_type));
  const char letter = d_type == Type::f64 ? 'd' : 'r';
  auto load = [&](const std::string& which, bool columns, const std::string& type, int first, int count) {
    return "wmma.load." + which + ".sync.aligned." + (columns ? "col" : "row") + shape + ".global." + type + " " +
           registers(letter, first, count) + ", [%p" + which + "];\n";
  };
  std::string words = text.substr(0, text.find(' '));
  int nd = count_in(text, 0), na = count_in(text, 1), nb = count_in(text, 2), nc = count_in(text, 3);
  std::string body = load("a", a_columns, name, 10, na) + load("b", b_columns, name, 20, nb) +
                     load("c", false, c_name, 30, nc) + words + " " + registers(letter, 40, nd) + ", " +
                     registers(letter, 10, na) + ", " + registers(letter, 20, nb) + ", " + registers(letter, 30, nc) +
                     ";\n" + "wmma.store.d.sync.aligned.col" + shape + ".global." + d_name + " [%pd], " +
                     registers(letter, 40, nd) + ";\n";
  const bool old = words.find(".satfinite") != std::string::npos && halves;  // removed after 6.5
  Kernel kernel(
      ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n.reg .b32 %r<64>; "
      ".reg .b64 %pa, %pb, %pc, %pd; .reg .f64 %d<64>;\nld.param.u64 %pa, [a];\nld.param.u64 %pb, [b];\n"
      "ld.param.u64 %pc, [c];\nld.param.u64 %pd, [d];\n" +
          body + "ret;\n}\n",
      old ? ".version 6.4\n.target sm_70\n.address_size 64\n" : ".version 8.0\n.target sm_90\n.address_size 64\n");
  const int d_bits = isa::bits_of(d_type);
  kernel.in(bytes_of(a))
      .in(bytes_of(b))
      .in(bytes_of(c))
      .out(static_cast<uint64_t>(m * n * d_bits / 8))
      .shape({1, 1, 1}, {32, 1, 1});
  auto got = kernel.result<uint8_t>();
  Matrix d{m, n, d_type, true, {}};
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = c.at(i, j);
      for (int x = 0; x < k; ++x) {
        int p = a.at(i, x), q = b.at(x, j);
        sum += ab != Type::b1 ? p * q : words.find(".and.") != std::string::npos ? p & q : p ^ q;
      }
      d.values.push_back(sum);
    }
  EXPECT_EQ(got, bytes_of(d)) << text;
}

TEST(Wmma, EveryProductOfTheTable) {
  base::Random random(3);
  size_t tried = 0;
  for (const isa::Row* row : isa::rows_of("wmma.mma"))
    for (const isa::Form& form : isa::forms_of(*row, 400)) {
      try_form(form, random);
      ++tried;
    }
  EXPECT_GT(tried, 100u);
}

TEST(Wmma, AddressesAreTheWarps) {
  const std::string body =
      ".visible .entry k(.param .u64 a, .param .u64 d)\n{\n.reg .b32 %r<16>, %t; .reg .b64 %a, %d, %o;\nld.param.u64 "
      "%a, [a];\n"
      "ld.param.u64 %d, [d];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 2;\n";
  const std::string load = "wmma.load.c.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3}, [%a], 24;\n";
  const std::string store = "wmma.store.d.sync.aligned.row.m16n16k16.global.f16 [%d], {%r0, %r1, %r2, %r3};\nret;\n}\n";
  std::vector<uint16_t> in(16 * 24);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint16_t>(i);
  Kernel strided(body + load + store);
  strided.in(in).out(512).shape({1, 1, 1}, {32, 1, 1});
  auto out = strided.result<uint16_t>();
  for (size_t e = 0; e < 256; ++e) EXPECT_EQ(out[e], e / 16 * 24 + e % 16);
  Kernel differs(body + "add.s64 %a, %a, %o;\n" + load + store);
  differs.in(in).out(512).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(differs.finding().code, "RUN0023");
  Kernel beyond(body + load + store);
  beyond.in(std::vector<uint16_t>(15 * 24)).out(512).shape({1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(beyond.finding().code, "RUN0003");
}

// Rows 8 to 15 of A are never written: the same rows of D are undefined, the others are not.
TEST(Wmma, UndefinedRowsStayRows) {
  Kernel kernel(
      ".visible .entry k(.param .u64 a, .param .u64 d)\n{\n.reg .b32 %r<64>, %t; .reg .b64 %a, %d; .reg .f32 %f<8>;\n"
      ".shared .align 32 .b8 tile[512];\n.shared .align 32 .b8 sums[1024];\nld.param.u64 %a, [a];\nld.param.u64 %d, "
      "[d];\nmov.u32 %t, %tid.x;\nshl.b32 %r0, %t, 3;\n"
      "mov.u32 %r1, tile;\nadd.u32 %r0, %r0, %r1;\nst.shared.v2.b32 [%r0], {%t, %t};\nbar.warp.sync -1;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r10, %r11, %r12, %r13, %r14, %r15, %r16, %r17}, [%r1];\n"
      "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, [%a];\n"
      "mov.f32 %f0, 0f00000000;\n"
      "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37}, {%r10, %r11, "
      "%r12, "
      "%r13, %r14, %r15, %r16, %r17}, {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27}, {%f0, %f0, %f0, %f0, %f0, %f0, "
      "%f0, "
      "%f0};\n"
      "mov.u32 %r1, sums;\n"
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1], {%r30, %r31, %r32, %r33, %r34, %r35, %r36, %r37};\n"
      "bar.warp.sync -1;\nld.shared.b32 %r2, [%r1];\nst.global.b32 [%d], %r2;\nld.shared.b32 %r2, [%r1+512];\n"
      "st.global.b32 [%d+4], %r2;\nret;\n}\n");
  kernel.in(std::vector<uint16_t>(256)).out(8).shape({1, 1, 1}, {32, 1, 1});
  base::Findings findings = kernel.run().findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "RUN0021");
}

}  // namespace
}  // namespace ptxlab::simt::test
