// ld, ldu, st, atom and red: every kind of form of the table, on memory of its space, against the twin. Each of 32 threads has
// 64 bytes of its own; what an instruction returns and what it leaves in memory must agree. And what the lanes of a warp do
// together, on values that often are the same.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "engine_run.h"
#include "harness.h"
#include "isa/enumerate.h"

namespace ptxlab::twin {
namespace {

constexpr size_t kEach = 64;     // bytes of a thread
constexpr size_t kResults = 16;  // words of eight bytes that a thread writes

// Where the memory of a space is, as the lines that point %d40, %d41, %r40 and %r41 there.
std::string place_of(isa::Space space) {
  switch (space) {
    case isa::Space::shared:
    case isa::Space::shared_cluster:
      return "mov.u32 %r40, tile;\nmad.lo.u32 %r40, %t, 64, %r40;\nmov.u32 %r41, %r40;\ncvt.u64.u32 %d40, %r40;\n"
             "cvta.shared.u64 %d40, %d40;\n";
    case isa::Space::local: return "mov.u64 %d40, own;\nmov.u64 %d41, %d40;\ncvta.local.u64 %at, %d40;\n";
    default: return "mov.u64 %d40, %i;\nmov.u64 %d41, %i;\n";
  }
}

std::string module_of(const isa::Setting& setting, const std::string& line, isa::Space space) {
  const bool local = space == isa::Space::local,
             shared = space == isa::Space::shared || space == isa::Space::shared_cluster;
  std::string text =
      ".version 9.0\n.target " + setting.target.name() +
      "\n.address_size 64\n.const .align 128 .b8 cmem[128] = {1, 2, 3, 4, 250, 251, 252, 253, 128, 127, 129, 200, 60, "
      "61, 62, 63};\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b8 %c<64>; .reg .b16 %h<64>; .reg .b32 %r<64>, %t; "
      ".reg .b64 %d<64>, %i, %o, %at, %w;\n.shared .align 128 .b8 tile[2048];\n.local .align 64 .b8 own[64];\n"
      "ld.param.u64 %i, [in];\nld.param.u64 %o, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 64;\n"
      "add.s64 %i, %i, %at;\nmul.wide.u32 %at, %t, 128;\nadd.s64 %o, %o, %at;\n" +
      place_of(space);
  if (!local) text += "mov.u64 %at, %d40;\n";
  for (int k = 0; k < 8 && (local || shared); ++k)
    text += "ld.global.b64 %w, [%i+" + std::to_string(8 * k) + "];\nst.b64 [%at+" + std::to_string(8 * k) + "], %w;\n";
  // Operands come from the thread's last bytes.
  std::set<std::string> registers;
  for (size_t p = line.find('%'); p != std::string::npos; p = line.find('%', p + 1)) {
    const std::string reg = line.substr(p, line.find_first_of(",}];| ", p) - p);
    if (reg != "%d40" && reg != "%d41" && reg != "%r40" && reg != "%r41") registers.insert(reg);
  }
  int k = 0;
  for (const std::string& reg : registers) {
    const char* type = reg[1] == 'c' ? "b8" : reg[1] == 'h' ? "b16" : reg[1] == 'r' ? "b32" : "b64";
    text += "ld.global." + std::string(type) + " " + reg + ", [%i+" + std::to_string(56 - 8 * (k++ % 4)) + "];\n";
  }
  text += line + "\n";
  k = 0;
  for (const std::string& reg : registers) {
    const std::string to = "[%o+" + std::to_string(8 * k++) + "]";
    if (reg[1] == 'd') text += "st.global.b64 " + to + ", " + reg + ";\n";
    if (reg[1] == 'r') text += "st.global.b32 " + to + ", " + reg + ";\n";
    if (reg[1] == 'h') text += "st.global.b16 " + to + ", " + reg + ";\n";
    if (reg[1] == 'c') text += "st.global.b8 " + to + ", " + reg + ";\n";
    if (k == 8) break;
  }
  for (int w = 0; w < 8; ++w)
    text +=
        "ld.b64 %w, [%at+" + std::to_string(8 * w) + "];\nst.global.b64 [%o+" + std::to_string(64 + 8 * w) + "], %w;\n";
  return text + "ret;\n}\n";
}

TEST(MemoryForms, EveryKindAgrees) {
  base::Random random(21);
  size_t compared = 0;
  for (const char* opcode : {"ld", "ldu", "st", "atom", "red"})
    for (const isa::Row* row : isa::rows_of(opcode))
      for (const isa::Form& form : isa::forms_of(*row, 90)) {
        const std::string line = isa::instruction_text(form);
        if (line.find(".b128") != std::string::npos || line.find("param") != std::string::npos ||
            line.find("[p") != std::string::npos)
          continue;
        std::vector<uint64_t> in(32 * kEach / 8);
        // Words that are no denormal floats: f32 atomics in global memory flush those, which the twin does not.
        for (uint64_t& word : in) word = (random.next() & 0x87ff87ff87ff87ff) | 0x3800380038003800;
        const std::string text = module_of(isa::setting_for(form.gate(), 90, 90), line, form.space());
        std::vector<Argument> twin{buffer(in), zeros(32 * kResults * 8)}, engine = twin;
        ASSERT_EQ(run_twin(text, {1, 1, 1}, {32, 1, 1}, twin), "") << line;
        const EngineRun run = run_engine(text, {1, 1, 1}, {32, 1, 1}, engine);
        ASSERT_EQ(run.problem, "") << line;
        EXPECT_EQ(twin[0].bytes, engine[0].bytes) << line;
        EXPECT_EQ(twin[1].bytes, engine[1].bytes) << line;
        ++compared;
      }
  EXPECT_GT(compared, 800u);
}

// The line with predicates set from values, and the member mask (the last register) full.
std::string warp_module(const isa::Setting& setting, const std::string& line) {
  std::string text =
      ".version 9.0\n.target " + setting.target.name() +
      "\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %r<64>, %t, %v; "
      ".reg .b64 %d<64>, %i, %o, %at; .reg .pred %p<64>;\nld.param.u64 %i, [in];\nld.param.u64 %o, [out];\n"
      "mov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 64;\nadd.s64 %i, %i, %at;\nmul.wide.u32 %at, %t, 128;\n"
      "add.s64 %o, %o, %at;\n";
  std::vector<std::string> registers;
  for (size_t p = line.find('%'); p != std::string::npos; p = line.find('%', p + 1))
    registers.push_back(line.substr(p, line.find_first_of(",;| ", p) - p));
  for (size_t k = 0; k < registers.size(); ++k) {
    const std::string& reg = registers[k];
    const std::string from = "[%i+" + std::to_string(8 * k) + "];\n";
    if (reg[1] == 'p')
      text += "ld.global.b32 %v, " + from + "setp.gt.u32 " + reg + ", %v, 3;\n";
    else
      text += std::string("ld.global.") + (reg[1] == 'd' ? "b64 " : "b32 ") + reg + ", " + from;
  }
  text += "mov.b32 " + registers.back() + ", 0xffffffff;\n" + line + "\n";
  for (size_t k = 0; k < registers.size(); ++k) {
    const std::string to = "[%o+" + std::to_string(8 * k) + "], ";
    if (registers[k][1] == 'p')
      text += "selp.b32 %v, 1, 0, " + registers[k] + ";\nst.global.b32 " + to + "%v;\n";
    else
      text += std::string("st.global.") + (registers[k][1] == 'd' ? "b64 " : "b32 ") + to + registers[k] + ";\n";
  }
  return text + "ret;\n}\n";
}

TEST(MemoryForms, WhatLanesDoTogetherAgrees) {
  base::Random random(22);
  size_t compared = 0;
  for (const char* opcode : {"shfl", "vote", "match", "redux", "elect"})
    for (const isa::Row* row : isa::rows_of(opcode))
      for (const isa::Form& form : isa::forms_of(*row, 90))
        for (int round = 0; round < 6; ++round) {
          const std::string line = isa::instruction_text(form, {.negate = round % 2 == 1});
          if (line.find(".sync") == std::string::npos) continue;
          // Small values that meet often, or any; segments of shuffles are drawn with them.
          std::vector<uint64_t> in(32 * 8);
          for (uint64_t& word : in) word = round < 3 ? random.below(8) : random.next() & 0x3fff1f1f3fff1f1f;
          for (size_t lane = 1; round % 3 && lane < 32; ++lane)
            for (size_t k = 2; k < 8; ++k) in[8 * lane + k] = in[k];
          const std::string text = warp_module(isa::setting_for(form.gate(), 90, 90), line);
          std::vector<Argument> twin{buffer(in), zeros(32 * kResults * 8)}, engine = twin;
          ASSERT_EQ(run_twin(text, {1, 1, 1}, {32, 1, 1}, twin), "") << line;
          const EngineRun run = run_engine(text, {1, 1, 1}, {32, 1, 1}, engine);
          ASSERT_EQ(run.problem, "") << line;
          ASSERT_EQ(twin[1].bytes, engine[1].bytes) << line;
          ++compared;
        }
  EXPECT_GT(compared, 150u);
}

}  // namespace
}  // namespace ptxlab::twin
