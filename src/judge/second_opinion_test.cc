// Who is to blame where GPU and engine disagree: assemblers that are played, and the folder for their makers.
#include "judge/second_opinion.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "judge/fake_gpu.h"

namespace ptxlab::judge {
namespace {

Assembly played(const std::string& name, std::optional<std::string> cubin) {
  return {name, [cubin]() -> base::Result<std::string> {
            if (!cubin) return base::Finding{};
            return *cubin;
          }};
}

std::optional<bool> by_content(const std::string& cubin) {
  if (cubin == "hangs") return std::nullopt;
  return cubin == "right";
}

TEST(SecondOpinion, OneThatIsRightMakesASuspect) {
  auto opinion = ask_others({played("O0", "right"), played("13.5", "wrong"), played("12.8", "right")}, by_content);
  EXPECT_TRUE(opinion.suspect());
  EXPECT_EQ(opinion.right, (std::vector<std::string>{"O0", "12.8"}));
  EXPECT_EQ(opinion.wrong, std::vector<std::string>{"13.5"});
  EXPECT_EQ(opinion.cubin, "right");
}

TEST(SecondOpinion, NobodyRightLeavesItToTheCandidate) {
  EXPECT_FALSE(
      ask_others({played("O0", "wrong"), played("13.5", std::nullopt), played("x", "hangs")}, by_content).suspect());
  EXPECT_FALSE(ask_others({}, by_content).suspect());
}

TEST(SecondOpinion, TheFolderHoldsWhatIsNeededToSeeItAgain) {
  base::TemporaryFolder folder("ptxlab-suspect-test");
  Suspect suspect;
  suspect.ptx = ".version 8.0";
  suspect.wrong_name = "ptxas 13.0.88 -O3";
  suspect.wrong_cubin = "bad";
  suspect.opinion = {{"ptxas 13.0.88 -O0"}, {}, "good"};
  suspect.story = "Case n=3 comes out wrong.";
  suspect.plan.buffers = {{"x", 4, launch::ResolvedBuffer::Role::in, launch::ResolvedBuffer::Init::data},
                          {"y", 4, launch::ResolvedBuffer::Role::out, launch::ResolvedBuffer::Init::poison}};
  suspect.plan.launches.resize(1);
  suspect.plan.launches[0].entry = "k";
  suspect.inputs = {"1234", ""};
  suspect.outputs = {"1234", "5678"};
  auto place = write_suspect(suspect, folder.path() / "suspects");
  ASSERT_TRUE(place) << base::render(place.findings(), "");
  auto content = [&](const char* name) {
    auto text = base::read_file(*place / name);
    return text ? *text : std::string("(absent)");
  };
  EXPECT_EQ(content("kernel.ptx"), suspect.ptx);
  EXPECT_EQ(content("wrong.cubin"), "bad");
  EXPECT_EQ(content("right.cubin"), "good");
  EXPECT_EQ(content("x.before"), "1234");
  EXPECT_EQ(content("y.after"), "5678");
  EXPECT_EQ(content("y.before"), "(absent)");
  EXPECT_NE(content("launch.json").find("\"entry\": \"k\""), std::string::npos);
  EXPECT_NE(content("README.md").find("ptxas 13.0.88 -O0"), std::string::npos);
}

}  // namespace
}  // namespace ptxlab::judge
