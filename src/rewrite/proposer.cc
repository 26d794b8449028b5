#include "rewrite/proposer.h"

#include "rewrite/search.h"

namespace ptxlab::rewrite {
namespace {

class RulesProposer final : public record::Proposer {
 public:
  explicit RulesProposer(record::Evaluator* evaluator) : evaluator_(evaluator) {}
  std::string name() const override { return "rules"; }
  base::Result<Proposal> propose(const record::Brief& brief, int count) override {
    if (count <= 0) return Proposal{};
    return Search(brief, count, evaluator_).run();
  }

 private:
  record::Evaluator* evaluator_;
};

}  // namespace

std::unique_ptr<record::Proposer> make_rules_proposer(record::Evaluator* evaluator) {
  return std::make_unique<RulesProposer>(evaluator);
}

}  // namespace ptxlab::rewrite
