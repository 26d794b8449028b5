#include "llm/extract.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/utf8.h"

namespace ptxlab::llm {
namespace {

const std::string kModule = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n\tret;\n}\n";
const Question kQuestion{"You write PTX.", "# Task\nMake this faster:\n```\n" + kModule + "```\nEnd of the question."};

std::string ptx(const std::string& text, const std::string& fence = "```") {
  return fence + "ptx\n" + text + fence + "\n";
}

Extracted from(const std::string& text, bool cut = false) {
  Reply reply;
  reply.text = text;
  reply.cut = cut;
  return extract(reply, kQuestion);
}
std::string codes(const Extracted& extracted) {
  std::string all;
  for (const auto& finding : extracted.findings) all += (all.empty() ? "" : " ") + finding.code;
  return all;
}

TEST(Extract, TakesTheModuleThePlanAndTheIdea) {
  auto e = from("## Wider loads: 4 elements a thread\n\n" + ptx(kModule) +
                "and\n```toml\nschema = \"ptxlab.plan/1\"\n```\n");
  EXPECT_EQ(codes(e), "");
  EXPECT_EQ(e.ptx, kModule);
  EXPECT_EQ(e.plan, "schema = \"ptxlab.plan/1\"\n");
  EXPECT_EQ(e.idea, "Wider loads: 4 elements a thread");
  auto without = from(ptx(kModule));
  EXPECT_EQ(without.ptx, kModule);
  EXPECT_FALSE(without.plan);
  EXPECT_EQ(without.idea, "");
}

TEST(Extract, CudaWhereThatWasAskedFor) {
  const std::string kernel = "#include <cuda_fp16.h>\n__global__ void k(float* x) { x[0] = 1; }\n";
  const auto cuda = [](const std::string& text) {
    Reply reply;
    reply.text = text;
    return extract(reply, kQuestion, record::Language::cuda);
  };
  auto marked = cuda("Faster.\n```cuda\n" + kernel + "```\n```toml\nschema = 1\n```\n");
  EXPECT_EQ(codes(marked), "");
  EXPECT_EQ(marked.cuda, kernel);
  EXPECT_EQ(marked.ptx, "");
  EXPECT_EQ(marked.plan, "schema = 1\n");
  EXPECT_EQ(codes(cuda("```cpp\n" + kernel + "```\n")), "LLM0028");
  EXPECT_EQ(cuda("```cpp\n" + kernel + "```\n").cuda, kernel);
  EXPECT_EQ(codes(cuda("```cuda\n" + kernel + "```\n```cuda\nx\n```\n")), "LLM0021");
  EXPECT_EQ(codes(cuda("```cuda\n" + kernel + "int main() { k<<<1, 1>>>(0); }\n```\n")), "LLM0023");
  EXPECT_EQ(codes(cuda(ptx(kModule))), "LLM0026");
  EXPECT_EQ(codes(cuda("Sorry.")), "LLM0020");
  EXPECT_EQ(codes(cuda("```cuda\n```\n")), "LLM0022");
  EXPECT_NE(cuda("Sorry.").findings[0].message.find("CUDA C"), std::string::npos);
  // Where PTX was asked for it is host code, as ever.
  EXPECT_EQ(codes(from("```cuda\n" + kernel + "```\n")), "LLM0023");
}

TEST(Extract, WhateverTheFenceLooksLike) {
  for (const std::string& text : std::vector<std::string>{
           ptx(kModule, "~~~"), ptx(kModule, "`````"), "1. first\n   ```ptx\n   .version 8.0\n   ret;\n   ```\n",
           "```PTX title=\"kernel\"\n" + kModule + "```\n", "```{.ptx}\n" + kModule + "```",
           "```ptx\r\n" + kModule + "```\r\n", "```ptx:kernel.ptx\n" + kModule + "```\n",
           "1. Wider.\n2. ```ptx\n" + kModule + "```\n3. ```toml\nschema = 1\n```\n",
           "- ```ptx\n" + kModule + "  ```\n",
           "```markdown\nWider.\n```ptx\n" + kModule + "```\n```toml\nschema = 1\n```\n```\n",
           "~~~md\n" + ptx(kModule) + "~~~\n", "Use `x` and ```y``` inline.\n" + ptx(kModule)}) {
    auto e = from(text);
    EXPECT_EQ(codes(e), "") << text;
    EXPECT_TRUE(e.ptx.starts_with(".version 8.0")) << text;
    EXPECT_EQ(e.ptx.find("```"), std::string::npos);
  }
  // A shorter fence inside a longer one is text.
  EXPECT_EQ(from("````ptx\n// ```\n" + kModule + "````\n").ptx, "// ```\n" + kModule);
}

TEST(Extract, EveryFailureHasItsCodeAndNoCandidate) {
  struct Case {
    std::string text, codes;
    bool cut = false;
  };
  std::string host = "#include <cstdio>\nint main() { k<<<1, 1>>>(); }\n";
  std::string half = kModule.substr(0, kModule.find("}"));
  for (const auto& c : {
           Case{"It cannot be made faster.", "LLM0020"},
           Case{kModule, "LLM0020"},
           Case{"```ptx inline```", "LLM0020"},
           Case{"```\nadd.f32 %f1, %f2, %f3;\n```", "LLM0020"},
           Case{"```toml\nschema = 1\n```", "LLM0020"},
           Case{ptx(kModule) + ptx(kModule + "// other\n"), "LLM0021"},
           Case{ptx(kModule) + "```toml\na = 1\n```\n```toml\na = 2\n```", "LLM0021"},
           Case{"", "LLM0022"},
           Case{" \n\n", "LLM0022"},
           Case{ptx(""), "LLM0022"},
           Case{ptx("// to be written\n/* later */\n"), "LLM0022"},
           Case{ptx(kModule) + "```toml\n```", "LLM0022"},
           Case{ptx(host), "LLM0023"},
           Case{ptx("__global__ void k() {}\n"), "LLM0023"},
           Case{"```cuda\n__global__ void k() {}\n```", "LLM0023"},
           Case{"```cpp\n" + host + "```", "LLM0023"},
           Case{"```\n" + host + "```", "LLM0023"},
           Case{"```ptx\n" + half, "LLM0024"},
           Case{"```ptx\n" + kModule, "LLM0024", true},
           Case{"Let me think about", "LLM0024", true},
           Case{"<think>The kernel is " + ptx(kModule), "LLM0024", true},
           Case{ptx(kModule) + "```toml\nschema", "LLM0024", true},
           Case{"```python\nprint(1)\n```", "LLM0026"},
           Case{"```sass\nFADD R0, R1, R2;\n```", "LLM0026"},
           Case{"```triton\nx = tl.load(p)\n```", "LLM0026"},
           Case{kQuestion.user, "LLM0027"},
           Case{"You asked: " + kQuestion.user + "\nand so on", "LLM0027"},
       }) {
    auto e = from(c.text, c.cut);
    EXPECT_EQ(codes(e), c.codes) << c.text;
    EXPECT_TRUE(base::has_error(e.findings)) << c.text;
    EXPECT_EQ(e.ptx, "");
    EXPECT_FALSE(e.plan);
    for (const auto& f : e.findings) EXPECT_EQ(f.place.file, "answer.md");
  }
  Reply ill;
  ill.text = ptx(kModule);
  ill.ill_formed = true;
  EXPECT_EQ(codes(extract(ill, kQuestion)), "LLM0025");
}

TEST(Extract, WhatIsCertainIsTakenWithAWarning) {
  using Pair = std::pair<std::string, const char*>;
  for (const auto& [text, code] : {Pair{"```asm\n" + kModule + "```\n", "LLM0028"},
                                   {"```\n// comment\n" + kModule + "```\n", "LLM0028"},
                                   {ptx(kModule) + "```cpp\ncuLaunchKernel(f);\n```\n", "LLM0029"},
                                   {"```ptx\n" + kModule, "LLM0024"}}) {
    auto e = from(text);
    EXPECT_EQ(codes(e), code) << text;
    EXPECT_FALSE(base::has_error(e.findings)) << text;
    EXPECT_NE(e.ptx.find(kModule), std::string::npos) << text;
  }
  // The same module twice is one.
  EXPECT_EQ(codes(from(ptx(kModule) + "again:\n" + ptx(kModule))), "");
}

TEST(Extract, ThinkingAndEchoAreNoPartOfTheAnswer) {
  std::string draft = ptx(kModule + "// a draft\n");
  EXPECT_EQ(from("<think>\n" + draft + "</think>\nDone.\n" + ptx(kModule)).ptx, kModule);
  EXPECT_EQ(from(draft + "</think>\n" + ptx(kModule)).ptx, kModule);
  EXPECT_EQ(from("<think>" + draft + "</think>\n<think>\n" + draft + "</think>" + ptx(kModule)).ptx, kModule);
  for (auto [open, close] :
       {std::pair{"<thinking>", "</thinking>"}, {"[THINK]", "[/THINK]"}, {"<reasoning>", "</reasoning>"}}) {
    EXPECT_EQ(from(open + draft + close + ptx(kModule)).ptx, kModule) << open;
    EXPECT_EQ(codes(from(open + draft, true)), "LLM0024") << open;
  }
  // A tag in the code is a comment, not the end of thinking.
  EXPECT_EQ(codes(from("Done.\n" + ptx("// <think> no </thinking>\n" + kModule))), "");
  auto echoed = from(kQuestion.user + "\nFaster:\n" + ptx(kModule));
  EXPECT_EQ(codes(echoed), "");
  EXPECT_EQ(echoed.ptx, kModule);
  EXPECT_EQ(echoed.idea, "Faster:");
}

TEST(Extract, PlacesAreLinesOfTheWholeAnswer) {
  auto e = from("<think>\nlong\n</think>\n\n```python\nprint(1)\n```\n");
  ASSERT_EQ(codes(e), "LLM0026");
  EXPECT_EQ(e.findings.front().place.line, 5u);
}

TEST(Extract, AnIdeaIsOneShortLineOfPlainText) {
  auto e = from("- **Vector loads** \x1b[31m and " + std::string(300, 'x') + "\xc3\xa4\n" + ptx(kModule));
  EXPECT_LT(e.idea.size(), 200u);
  EXPECT_EQ(e.idea.find('\x1b'), std::string::npos);
  EXPECT_TRUE(e.idea.starts_with("Vector loads"));
}

TEST(Extract, AnswersAsLargeAsTheyComeAreDoneSoonAndSayLittle) {
  constexpr size_t kMost = size_t{4} << 20;
  auto filled = [](const std::string& piece) {
    std::string text;
    while (text.size() + piece.size() <= kMost) text += piece;
    return text;
  };
  const std::string asked = kQuestion.user.substr(0, kQuestion.user.size() - 1);
  for (const auto& piece :
       {std::string("```c\nx\n```\n"), std::string("```\n"), std::string("</think> "), std::string("<think>"),
        std::string("```markdown\n"), std::string("2. "),
        std::string("```"
                    "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac"
                    "\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\n```\n"),
        std::string("```toml\n```\n"), asked, ptx(""), std::string("````"), std::string("/* "),
        "```" + std::string(100'000, 'y') + "\n```\n"}) {
    auto start = std::chrono::steady_clock::now();
    for (const auto& text : {ptx(kModule) + filled(piece), filled(piece) + "\n" + ptx(kModule)}) {
      auto e = from(text);
      EXPECT_LE(e.findings.size(), 2u) << piece.substr(0, 20);
      EXPECT_LT(base::render(e.findings, "").size(), 2000u) << piece.substr(0, 20);
      EXPECT_TRUE(base::valid_utf8(base::render(e.findings, ""))) << piece.substr(0, 20);
      EXPECT_LT(e.idea.size(), 200u);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << piece.substr(0, 20);
  }
}

TEST(FencedBlocks, LineNumbersAndOpenEnds) {
  auto blocks = fenced_blocks("a\n```ptx\nx\n```\n~~~ toml\ny\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].line, 2u);
  EXPECT_TRUE(blocks[0].closed);
  EXPECT_EQ(blocks[1].language, "toml");
  EXPECT_EQ(blocks[1].text, "y\n");
  EXPECT_FALSE(blocks[1].closed);
}

}  // namespace
}  // namespace ptxlab::llm
