// Real input: what nvcc makes of the kernels in tests/corpus, and kernels rebuilt from public bug reports. What ptxas takes
// has to pass here too, and a reprinted module has to become the same machine code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "base/thread_pool.h"
#include "ptx/difference.h"
#include "ptx/machine_code.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

namespace fs = std::filesystem;
const fs::path kCorpus = fs::path(PTXLAB_SOURCE_DIR) / "tests" / "corpus";

std::vector<fs::path> files_in(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// What nvcc and Triton wrote.
std::vector<fs::path> kept() {
  auto files = files_in(kCorpus, ".ptx"), triton = files_in(kCorpus / "triton", ".ptx");
  files.insert(files.end(), triton.begin(), triton.end());
  return files;
}

std::string read(const fs::path& path) {
  auto text = base::read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

void expect_round_trip(const Module& module, const std::string& name) {
  std::string printed = print(module);
  Parsed again = parse(printed, name);
  EXPECT_TRUE(again.ok()) << base::render(again.findings, printed);
  EXPECT_EQ(difference(module, again.module), "") << name;
  EXPECT_EQ(print(again.module), printed) << name;
}

// Whether the table describes the instruction's opcode at all: tensor cores and asynchronous copies may be missing.
bool known_opcode(const Instruction& instruction) {
  std::vector<std::string_view> words(instruction.words.begin(), instruction.words.end());
  return isa::match(words).opcode_known;
}

TEST(Corpus, AcceptedAndReadBack) {
  auto files = kept();
  ASSERT_GE(files.size(), 22u);
  for (const auto& path : files) {
    std::string text = read(path);
    Checked checked = check(text, path.filename().string());
    EXPECT_TRUE(checked.ok()) << base::render(checked.findings, text);
    for (const auto& finding : checked.findings)  // a compiler's scratch pointers are not the author's mistake
      EXPECT_FALSE(path.parent_path().filename() == "triton" && finding.code == "PTX0701")
          << base::render(finding, text);
    for (const auto& function : checked.module.functions)
      for (const auto& statement : function.body)
        if (auto* instruction = statement.instruction();
            instruction && !instruction->form.row && known_opcode(*instruction))
          ADD_FAILURE() << path.filename() << ":" << instruction->line << ": no form for "
                        << print(*instruction, function);
    expect_round_trip(parse(text, path.filename().string()).module, path.filename().string());
  }
}

TEST(Corpus, ReprintedModulesBecomeTheSameCode) {
  std::string ptxas = tool("ptxas");
  if (ptxas.empty()) GTEST_SKIP() << "no ptxas on this machine";
  auto files = kept();
  base::parallel_for(files.size(), 0, [&](size_t i) {
    std::string text = read(files[i]);
    Module module = parse(text, "a.ptx").module;
    if (module.version > 90) return;  // Triton 3.9 for sm_90: newer than ptxas 13.0 takes
    bool debug = files[i].filename().string().find(".g.") != std::string::npos;
    Assembled before = assemble(ptxas, text, module.target.name(), debug);
    Assembled after = assemble(ptxas, print(module), module.target.name(), debug);
    ASSERT_TRUE(before.ok) << files[i] << before.errors;
    ASSERT_TRUE(after.ok) << files[i] << after.errors;
    EXPECT_GT(before.sections.size(), 3u);
    EXPECT_TRUE(before.sections == after.sections) << files[i];
  });
}

// All kernels at once through nvcc, in the ways that people compile. nvcc takes seconds, so that its output is kept beside
// the system's temporary files under the hash of everything that it depends on.
TEST(Corpus, WhatNvccMakesHere) {
  std::string nvcc = tool("nvcc");
  if (nvcc.empty()) GTEST_SKIP() << "no nvcc on this machine";
  std::string source, all;
  for (const auto& path : files_in(kCorpus, ".cu")) {
    source += "#include \"" + path.string() + "\"\n";
    all += read(path);
  }
  const std::vector<std::vector<std::string>> ways = {
      {"-O3", "-arch=sm_80"}, {"-O3", "-arch=sm_90"}, {"-G", "-arch=sm_90"}, {"-O3", "-lineinfo", "-arch=sm_80"}};
  std::vector<std::string> texts(ways.size());
  base::parallel_for(ways.size(), 0, [&](size_t i) {
    std::string key = all + nvcc + std::to_string(fs::file_size(nvcc));
    for (const auto& flag : ways[i]) key += flag;
    fs::path kept = fs::temp_directory_path() / ("ptxlab-corpus-" + base::sha256(key).substr(0, 16) + ".ptx");
    if (!fs::exists(kept)) {
      base::TemporaryFolder folder("ptx-test");
      auto input = folder.path() / "all.cu", output = folder.path() / "all.ptx";
      EXPECT_TRUE(base::write_file(input, source).empty());
      base::Command command{{nvcc, "-std=c++17", "-ptx", input.string(), "-o", output.string()}, "", {}, {}, {}};
      command.argv.insert(command.argv.end(), ways[i].begin(), ways[i].end());
      auto outcome = base::run(command);
      ASSERT_TRUE(outcome.ok()) << base::describe(outcome) << outcome.errors;
      EXPECT_TRUE(base::write_file(kept, read(output)).empty());
    }
    texts[i] = read(kept);
  });
  for (size_t i = 0; i < ways.size(); ++i) {
    Checked checked = check(texts[i], "all.ptx");
    EXPECT_TRUE(checked.ok()) << ways[i][1] << base::render(checked.findings, texts[i]);
    EXPECT_GE(checked.module.functions.size(), 27u);
    expect_round_trip(parse(texts[i], "all.ptx").module, "all.ptx");
  }
}

struct Reported {
  std::string_view file;
  enum Expect { accept, warn, reject } expect;
  std::vector<uint32_t> lines;  // of the errors, in order; or of the first warning
  std::string_view code;
};

TEST(Corpus, ReportedCases) {
  const std::vector<Reported> cases = {
      {"01-mov-b8", Reported::reject, {20}, "PTX0202"},
      {"01-mov-b8.ok", Reported::accept, {}, ""},
      {"03-atom-or-u32", Reported::reject, {15}, "PTX0202"},
      {"03-atom-or-u32.ok", Reported::accept, {}, ""},
      {"05-modifier-order", Reported::accept, {}, ""},
      {"05-modifier-order.bad", Reported::reject, {13}, "PTX0202"},
      {"07-arch-suffix", Reported::reject, {18, 21}, "PTX0600"},
      {"07-arch-suffix.ok", Reported::accept, {}, ""},
      {"07-arch-suffix.bad-fp4", Reported::reject, {15}, "PTX0600"},
      {"07-arch-suffix.ok-fp4", Reported::accept, {}, ""},
      {"09-unresolved-extern", Reported::reject, {25}, "PTX0501"},
      {"09-unresolved-extern.ok", Reported::accept, {}, ""},
      {"11-minmax-nan-zero", Reported::accept, {}, ""},
      {"13-fp8-satfinite", Reported::accept, {}, ""},
      {"15-fma-contract", Reported::accept, {}, ""},
      {"17-bfe-selp-cvt", Reported::accept, {}, ""},
      {"19-mma-a-order", Reported::accept, {}, ""},
      {"19-mma-a-order.ok", Reported::accept, {}, ""},
      {"21-misaligned-v4", Reported::accept, {}, ""},
      {"21-misaligned-v4.static", Reported::warn, {18}, "PTX0403"},
      {"23-offset-32bit", Reported::warn, {17}, "PTX0700"},
      {"25-mbarrier-phase", Reported::accept, {}, ""},
      {"25-mbarrier-phase.inval", Reported::accept, {}, ""},
      {"25-mbarrier-phase.noinval", Reported::accept, {}, ""},
      {"27-subwarp-shfl", Reported::accept, {}, ""},
      {"27-subwarp-shfl.ok", Reported::accept, {}, ""},
      {"27-subwarp-shfl.self", Reported::accept, {}, ""},
      {"29-uninit-smem", Reported::accept, {}, ""},
      {"29-uninit-smem.ok", Reported::accept, {}, ""},
      {"31-zeros-pass", Reported::warn, {6}, "PTX0701"},
      {"33-stateful-skip", Reported::warn, {6}, "PTX0702"},
      {"35-int-div-zero", Reported::accept, {}, ""},
  };
  EXPECT_EQ(files_in(kCorpus / "reported", ".ptx").size(), cases.size());
  for (const auto& each : cases) {
    std::string text = read(kCorpus / "reported" / (std::string(each.file) + ".ptx"));
    Checked checked = check(text, std::string(each.file));
    std::string shown = std::string(each.file) + "\n" + base::render(checked.findings, text);
    EXPECT_EQ(checked.ok(), each.expect != Reported::reject) << shown;
    std::vector<uint32_t> lines;
    for (const auto& finding : checked.findings) {
      auto wanted = each.expect == Reported::reject ? base::Severity::error : base::Severity::warning;
      if (finding.severity == wanted && finding.code == each.code) lines.push_back(finding.place.line);
    }
    if (!each.lines.empty()) {
      EXPECT_EQ(lines, each.lines) << shown;
    }
    if (checked.ok()) expect_round_trip(parse(text, "a.ptx").module, std::string(each.file));
  }
}

}  // namespace
}  // namespace ptxlab::ptx
