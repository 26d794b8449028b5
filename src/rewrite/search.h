// Chains of rules, looked for level by level: every rule alone, then rules upon the best of those, and so on. A beam of few
// nodes goes on; the evaluator says which are the best, a tie goes to the shorter chain, and the seed says which rules are
// tried where the budget does not do for all. What is handed in shows different families of rules (Family), not eight
// relatives of one candidate.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "record/proposer.h"
#include "rewrite/rule.h"

namespace ptxlab::rewrite {

class Search {
 public:
  // A candidate on the way: what was applied, and how good it looks.
  struct Node {
    std::string ptx, plan;
    std::vector<std::string> applied;  // names of rules
    std::string name, idea;
    int64_t rank = 0;    // of the estimate, in steps that it can tell apart; smaller is better
    uint64_t order = 0;  // when it was found
  };
  Search(const record::Brief& brief, int count, record::Evaluator* evaluator);
  base::Result<record::Proposer::Proposal> run();

 private:
  static bool better(const Node& a, const Node& b);
  void expand(const Node& node, size_t enough, std::vector<Node>& children);
  std::vector<Node> beam(std::vector<Node> children) const;
  void accept(const Node& from, const Rule& rule, Rewritten rewritten, std::vector<Node>& children);
  bool remember(const Node& node, const ptx::Module& module, const launch::Plan& plan);
  bool remember_text(const std::string& ptx, const std::string& plan);
  std::string digest_of(const std::string& text, const ptx::Module& module, const launch::Plan& plan) const;
  void refused(const Node& node, const Rule& rule, const Choice& choice, const base::Findings& findings);
  void note_once(std::string text);
  std::vector<const Node*> pick() const;
  record::Proposer::Proposal proposal() const;

  const record::Brief& brief_;
  size_t count_, budget_;
  record::Evaluator* evaluator_;
  base::Random random_;
  uint64_t order_ = 0;
  std::vector<Node> found_;
  std::set<std::string> seen_;
  std::vector<std::string> notes_;
  base::Findings findings_;
  int same_code_ = 0;
};

}  // namespace ptxlab::rewrite
