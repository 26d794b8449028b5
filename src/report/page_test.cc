// The page as a file: what stands in it, and what cannot. How it looks and behaves is tested in a browser (tests/browser/).
#include "report/page.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/base64.h"
#include "base/file.h"
#include "report/deflate.h"
#include "report/made_run.h"
#include "report/page_block.h"
#include "report/page_file.h"

namespace ptxlab::report {
namespace {

using nlohmann::json;

std::string inflated(const std::string& base64) {
  auto packed = base::from_base64(base64);
  EXPECT_TRUE(packed);
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, -15), Z_OK);
  std::string out(size_t{64} << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(packed->data());
  stream.avail_in = static_cast<uInt>(packed->size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

json block_of(const std::string& page, const std::string& id) {
  const std::string open = "<script type=\"application/octet-stream\" id=\"" + id + "\">";
  size_t begin = page.find(open);
  EXPECT_NE(begin, std::string::npos) << id;
  begin += open.size();
  return json::parse(inflated(page.substr(begin, page.find("</script>", begin) - begin)));
}

struct PageTest : ::testing::Test {
  static std::filesystem::path tasks() { return std::filesystem::path(PTXLAB_SOURCE_DIR) / "tasks"; }
  static std::string page_of(const MadeRun& made) {
    const RunMetrics metrics = compute(made.run, {.draws = 200});
    auto page =
        make_page({.run = made.run, .metrics = metrics, .attempt = [&](int64_t id) { return made.attempt(id); }});
    EXPECT_TRUE(page);
    return page ? *page : "";
  }
};

std::string joined(const json& block, int text) {
  std::string out;
  const auto runs = block["texts"][static_cast<size_t>(text)].get<std::vector<size_t>>();
  for (size_t i = 0; i < runs.size(); i += 2)
    for (size_t line = runs[i]; line < runs[i] + runs[i + 1]; ++line)
      out += block["lines"][line].get<std::string>() + "\n";
  return out;
}

TEST_F(PageTest, HoldsEveryAttemptWithItsTexts) {
  const MadeRun made(600, tasks());
  const std::string page = page_of(made);
  const json summary = block_of(page, "summary");
  EXPECT_EQ(summary["schema"], "ptxlab.page/1");
  ASSERT_EQ(summary["rows"]["id"].size(), 600u);
  std::set<int64_t> ids;
  for (size_t row : {size_t{0}, size_t{49}, size_t{150}, size_t{599}}) {
    const auto id = summary["rows"]["id"][row].get<int64_t>();
    const auto attempt = made.attempt(id);
    const json block = block_of(page, "block-" + std::to_string(summary["rows"]["block"][row].get<int>()));
    const json& one = block["attempts"][summary["rows"]["slot"][row].get<size_t>()];
    EXPECT_EQ(one["verdict"]["outcome"], record::name_of(attempt.verdict.outcome));
    if (attempt.candidate.ptx.find('\xff') == std::string::npos) {
      EXPECT_EQ(joined(block, one["ptx"]), attempt.candidate.ptx);
    }
    EXPECT_FALSE(one["brief"].is_null());
    EXPECT_FALSE(one["brief"]["task"].contains("file")) << "where a task lies is nobody's business";
  }
  for (const auto& id : summary["rows"]["id"]) ids.insert(id.get<int64_t>());
  EXPECT_EQ(ids.size(), 600u) << "each once";
}

TEST_F(PageTest, NothingOfTheRunIsMarkupAndNothingIsAskedOfTheNetwork) {
  const MadeRun made(600, tasks());
  const std::string page = page_of(made);
  EXPECT_EQ(page.find("owned"), std::string::npos) << "texts of the run stand in the page as they are";
  EXPECT_EQ(page.find("<b>of many"), std::string::npos);
  EXPECT_NE(page.find("&#60;b&#62;of many"), std::string::npos) << "the title is escaped";
  EXPECT_EQ(page.find("{{"), page.rfind("{{")) << "no mark is left but the one that dom-free code may have";
  for (const char* outside : {"http://", "https://", "src=\"", "@import", "url("}) {
    size_t at = page.find(outside);
    if (std::string_view(outside) == "http://" && at != std::string::npos) {
      EXPECT_EQ(page.substr(at, 26), "http://www.w3.org/2000/svg") << "SVG's name is no address";
      at = page.find(outside, at + 1);
    }
    EXPECT_EQ(at, std::string::npos) << outside;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find("innerHTML"), std::string::npos);
}

TEST_F(PageTest, WithoutScriptsTheTablesOfATerminalStandThere) {
  MadeRun made(60, tasks());
  made.run.arms[0].name = "</pre></noscript><script>owned()</script> {{title}}";
  made.run.name = "{{details}}\xe2\x80\xae";
  const std::string page = page_of(made);
  const size_t begin = page.find("<noscript>"), end = page.find("</noscript>");
  ASSERT_NE(end, std::string::npos);
  const std::string plain = page.substr(begin, end - begin);
  EXPECT_NE(plain.find("cost a success"), std::string::npos);
  EXPECT_NE(plain.find("norm/rmsnorm_bf16"), std::string::npos);
  EXPECT_NE(plain.find("&#60;/pre&#62;&#60;/noscript&#62;&#60;script&#62;owned()"), std::string::npos);
  EXPECT_EQ(page.find("{{"), std::string::npos) << "no mark is left, and none is written by a name";
  EXPECT_NE(page.find("<title>&#123;&#123;details}}\\u&#123;202e}"), std::string::npos);
}

TEST_F(PageTest, OfNoSampleThereIsNoFigure) {
  MadeRun made(60, tasks());
  for (auto& sample : made.run.samples)
    if (sample.arm == 1) sample.turns.clear(), sample.unanswered = "not asked yet";
  const json summary = block_of(page_of(made), "summary");
  EXPECT_TRUE(summary["metrics"]["arms"][0]["right"][0]["value"].is_number());
  const json& none = summary["metrics"]["arms"][1]["right"][0];
  EXPECT_EQ(none["tasks"], 0);
  for (const char* key : {"value", "low", "high"}) EXPECT_TRUE(none[key].is_null()) << key;
}

TEST_F(PageTest, AnAttemptThatCannotBeReadIsAFinding) {
  const MadeRun made(20, tasks());
  const RunMetrics metrics = compute(made.run, {.draws = 50});
  auto page = make_page({.run = made.run, .metrics = metrics, .attempt = [](int64_t) -> base::Result<record::Attempt> {
                           return base::Finding{"ARC0004", base::Severity::error, {}, "unreadable", "", {}};
                         }});
  ASSERT_FALSE(page);
  EXPECT_EQ(page.findings().front().code, "ARC0004");
}

TEST(TextPool, KeepsLinesOnceAndCutsWhatIsEndless) {
  TextPool pool;
  EXPECT_EQ(pool.add(""), -1);
  EXPECT_EQ(pool.add("a\nb\na\n"), 0);
  EXPECT_EQ(pool.add("b\nc"), 1);
  EXPECT_EQ(pool.add("a\nb\na\n"), 0);
  EXPECT_EQ(pool.lines(), (json{"a", "b", "c"}));
  EXPECT_EQ(pool.texts(), "[[0,2,0,1],[1,2]]");
  std::string endless(TextPool::kLongest - 1, 'x');
  endless += "\xc3\xa9 and more";
  const int cut = pool.add(endless);
  const auto lines = json::parse(pool.texts())[static_cast<size_t>(cut)];
  ASSERT_EQ(lines, (json{3, 2}));
  EXPECT_EQ(pool.lines()[3].get<std::string>().size(), TextPool::kLongest - 1) << "not within a character";
  EXPECT_NE(pool.lines()[4].get<std::string>().find("11 more bytes"), std::string::npos);
}

TEST(Deflate, ComesBack) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i % 777);
  EXPECT_EQ(inflated(deflated(text)), text);
  EXPECT_EQ(inflated(deflated("")), "");
}

// The page that the browser's test opens: ten thousand attempts, written where it says.
TEST_F(PageTest, TenThousandAttempts) {
  const char* file = std::getenv("PTXLAB_MADE_PAGE");
  if (!file) GTEST_SKIP() << "made for tests/browser/page_test.py";
  const MadeRun made(10000, tasks());
  EXPECT_TRUE(base::write_file(file, page_of(made)).empty());
}

}  // namespace
}  // namespace ptxlab::report
