#include "cli/proposers.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ptxlab::cli {
namespace {

std::vector<std::string> names_of(const std::string& list) {
  setenv("PTXLAB_ROOT", PTXLAB_SOURCE_DIR, 1);
  auto made = make_proposers(list, {});
  if (!made) return {made.findings().front().code};
  std::vector<std::string> names;
  for (const auto& proposer : *made) names.push_back(proposer->name());
  return names;
}

TEST(Proposers, AreAListInWhichAnAgentsCommandMayHoldCommas) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of("rules"), Names{"rules"});
  EXPECT_EQ(names_of("agent:./ask --sizes=1,2,3"), Names{"agent:./ask"});
  EXPECT_EQ(names_of("agent:./ask a,b,rules,agent:python3 x.py,y"), (Names{"agent:./ask", "rules", "agent:python3"}));
  EXPECT_EQ(names_of("rules,agent:sh -c 'echo {1,2}'"), (Names{"rules", "agent:sh"}));
  EXPECT_EQ(names_of("agent:./ask,openai:m@http://localhost:1/v1"), (Names{"agent:./ask", "openai:m"}));
  EXPECT_EQ(names_of("rules,nobody"), Names{"CLI0050"});
  EXPECT_EQ(names_of("agent:"), Names{"CLI0051"});
  EXPECT_EQ(names_of("agent:K_TOKEN=abc,def ./ask"), Names{"LLM0043"});
}

}  // namespace
}  // namespace ptxlab::cli
