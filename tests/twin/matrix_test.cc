// mma, ldmatrix, stmatrix and movmatrix: every form of the table that the engine executes, on random fragments, against the
// twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "engine_run.h"
#include "harness.h"
#include "isa/enumerate.h"

namespace ptxlab::twin {
namespace {

// Random patterns that are numbers of the type, mostly of moderate size: with all exponents a sum is its largest term.
uint64_t some_register(base::Random& random, isa::Type type) {
  auto half = [&]() -> uint64_t {
    return random.below(16) ? (random.next() & 0x83ff) | 0x3800 : random.next() & 0xffff;
  };
  auto brain = [&]() -> uint64_t {
    return random.below(16) ? (random.next() & 0x81ff) | 0x3e00 : random.next() & 0xffff;
  };
  switch (type) {
    case isa::Type::f16: return half() | half() << 16;
    case isa::Type::bf16: return brain() | brain() << 16;
    case isa::Type::tf32:
    case isa::Type::f32:
      return random.below(16) ? (random.next() & 0x81ffffff) | 0x3e000000 : random.next() & 0xffffffff;
    case isa::Type::f64: return (random.next() & 0x803fffffffffffff) | 0x3fc0000000000000;
    default: return random.next() & 0xffffffff;
  }
}

struct Line {
  std::string text;
  isa::Form form;
  isa::Setting setting;
};
std::vector<Line> lines_of(std::string_view opcode) {
  std::vector<Line> out;
  for (const isa::Row* row : isa::rows_of(opcode))
    for (const isa::Form& form : isa::forms_of(*row, 400))
      out.push_back({isa::instruction_text(form), form, isa::setting_for(form.gate(), 90, 90)});
  return out;
}

std::string module_of(const isa::Setting& setting, const std::string& body) {
  return ".version 9.0\n.target " + setting.target.name() +
         "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<64>, %t;\n"
         ".reg .b64 %d<64>, %i, %o, %at;\n.shared .align 128 .b8 tile[1024];\n"
         "ld.param.u64 %i, [in];\nld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 8;\n"
         "add.s64 %i, %i, %at;\nadd.s64 %o, %o, %at;\n" +
         body + "ret;\n}\n";
}

// Registers named in an operand of the line, in order: "%r9".
std::vector<std::string> registers_in(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    out.push_back(text.substr(at, text.find_first_of(",}];| ", at) - at));
  return out;
}

void compare(const Line& line, const std::string& text, const std::vector<uint64_t>& in, size_t results) {
  std::vector<Argument> twin{buffer(in), zeros(results * 32 * 8)}, engine = twin;
  ASSERT_EQ(run_twin(text, {1, 1, 1}, {32, 1, 1}, twin), "") << line.text;
  const EngineRun run = run_engine(text, {1, 1, 1}, {32, 1, 1}, engine);
  ASSERT_EQ(run.problem, "") << line.text;
  const std::vector<uint64_t> want = values_of<uint64_t>(twin[1]), got = values_of<uint64_t>(engine[1]);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(got[i], want[i]) << line.text << " result " << i / 32 << " lane " << i % 32;
}

std::string load(const std::string& reg, size_t slot) {
  return "ld.global." + std::string(reg[1] == 'd' ? "b64 " : "b32 ") + reg + ", [%i+" + std::to_string(slot * 256) +
         "];\n";
}
std::string save(const std::string& reg, size_t slot) {
  return "st.global." + std::string(reg[1] == 'd' ? "b64 " : "b32 ") + "[%o+" + std::to_string(slot * 256) + "], " +
         reg + ";\n";
}

TEST(Matrix, EveryProductAgrees) {
  base::Random random(11);
  size_t compared = 0;
  for (const Line& line : lines_of("mma")) {
    if (line.text.find(".sp") != std::string::npos || line.text.find("kind::f8f6f4") != std::string::npos) continue;
    const size_t first = line.text.find('}') + 1;  // behind D
    const std::vector<std::string> d = registers_in(line.text.substr(0, first)),
                                   sources = registers_in(line.text.substr(first));
    std::vector<uint64_t> in;
    std::string body;
    for (size_t s = 0; s < sources.size(); ++s) {
      // The operand that it belongs to, by its place in the text.
      const size_t at = line.text.find(sources[s], first);
      const int operand = 1 + static_cast<int>(std::count(line.text.begin() + static_cast<std::ptrdiff_t>(first),
                                                          line.text.begin() + static_cast<std::ptrdiff_t>(at), '}'));
      for (int lane = 0; lane < 32; ++lane) in.push_back(some_register(random, line.form.type(operand)));
      body += load(sources[s], s);
    }
    body += line.text + "\n";
    for (size_t r = 0; r < d.size(); ++r) body += save(d[r], r);
    compare(line, module_of(line.setting, body), in, d.size());
    ++compared;
  }
  EXPECT_GT(compared, 90u);
}

TEST(Matrix, EveryLoadAndStoreOfMatricesAgrees) {
  base::Random random(12);
  size_t compared = 0;
  std::vector<uint64_t> in;
  for (int i = 0; i < 32 * 8; ++i) in.push_back(random.next());
  for (const char* opcode : {"ldmatrix", "stmatrix", "movmatrix"})
    for (const Line& line : lines_of(opcode)) {
      if (line.text.find(".b8 ") != std::string::npos) continue;
      const std::string name = line.text.substr(0, line.text.find(' '));
      const bool shared = name.find(".shared") != std::string::npos, moves = name.starts_with("mov");
      const size_t count = name.find(".x4") != std::string::npos ? 4 : name.find(".x2") != std::string::npos ? 2 : 1;
      std::string registers = "{%r1, %r2, %r3, %r4}";
      registers = count == 1 ? "%r1" : registers.substr(0, 1 + 3 * count + 2 * (count - 1)) + "}";
      if (count == 1 && !moves) registers = "{%r1}";
      // Rows in reverse order, so that each lane's address counts.
      std::string body =
          "mov.u32 %r20, tile;\nmul.lo.u32 %r21, %t, 16;\nsub.u32 %r21, 496, %r21;\nadd.u32 %r22, %r20, %r21;\n"
          "ld.global.b64 %d1, [%i];\nld.global.b64 %d2, [%i+256];\nst.shared.v2.b64 [%r22], {%d1, %d2};\n"
          "bar.sync 0;\ncvt.u64.u32 %d3, %r22;\ncvta.shared.u64 %d3, %d3;\n";
      for (size_t r = 1; r <= 4; ++r) body += load("%r" + std::to_string(r), 2 + r);
      const std::string at = shared ? "[%r22]" : "[%d3]";
      if (moves)
        body += name + " %r1, %r2;\n";
      else if (name.starts_with("ld"))
        body += name + " " + registers + ", " + at + ";\n";
      else
        body += name + " " + at + ", " + registers + ";\n";
      body += "bar.sync 0;\nld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r22];\n";
      for (size_t r = 1; r <= 8; ++r) body += save("%r" + std::to_string(r), r - 1);
      compare(line, module_of(line.setting, body), in, 8);
      ++compared;
    }
  EXPECT_GT(compared, 30u);
}

}  // namespace
}  // namespace ptxlab::twin
