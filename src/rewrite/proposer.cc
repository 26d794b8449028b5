#include "rewrite/proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "rewrite/rule.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rewrite {
namespace {

// A candidate on the way: what was applied, and how good it looks.
struct Node {
  std::string ptx, plan;
  std::vector<std::string> applied;  // names of rules
  std::string name, idea;
  double nanoseconds = 0;
  uint64_t draw = 0;  // breaks ties, from the seed
};

// How many nodes are looked at for each candidate that was asked for.
constexpr int kNodesEach = 3;

class Search {
 public:
  Search(const record::Brief& brief, int count, record::Evaluator* evaluator)
      : brief_(brief), count_(count), evaluator_(evaluator), random_(base::derive_seed(brief.seed, "rules")) {}

  base::Result<record::Proposer::Proposal> run() {
    Node root;
    root.ptx = brief_.baseline_ptx;
    root.plan = brief_.baseline_plan;
    auto checked = ptx::check(root.ptx, "baseline.ptx");
    if (!checked.ok()) return checked.findings;
    auto plan = launch::read_plan(root.plan, "baseline.plan.toml");
    if (!plan.ok()) return plan.findings();
    remember(root, checked.module, *plan);
    for (const auto& earlier : brief_.earlier)
      remember_text(earlier.candidate.ptx, earlier.candidate.plan.value_or(root.plan));
    open_.push_back(std::move(root));
    const size_t enough = static_cast<size_t>(count_) * (evaluator_ ? kNodesEach : 1);
    while (!open_.empty() && found_.size() < enough) {
      auto best = evaluator_ ? std::min_element(open_.begin(), open_.end(), better) : open_.begin();
      Node node = std::move(*best);
      open_.erase(best);
      expand(node, enough);
    }
    if (evaluator_) std::stable_sort(found_.begin(), found_.end(), better);
    return proposal();
  }

 private:
  static bool better(const Node& a, const Node& b) {
    if (a.nanoseconds != b.nanoseconds) return a.nanoseconds < b.nanoseconds;
    return a.draw < b.draw;
  }

  void expand(const Node& node, size_t enough) {
    auto checked = ptx::check(node.ptx, "candidate.ptx");
    auto plan = launch::read_plan(node.plan, "candidate.plan.toml");
    if (!checked.ok() || !plan.ok()) return;
    Subject subject{&checked.module, &*plan, &brief_.task, brief_.target, brief_.constraints};
    for (const Rule* rule : all_rules()) {
      if (std::find(node.applied.begin(), node.applied.end(), rule->name()) != node.applied.end()) continue;
      auto choices = rule->choices(subject);
      for (const auto& choice : choices) {
        if (found_.size() >= enough) return;
        auto rewritten = rule->apply(subject, choice);
        if (!rewritten.ok()) {
          refused(node, *rule, choice, rewritten.findings());
          continue;
        }
        accept(node, *rule, *std::move(rewritten));
      }
    }
  }

  void accept(const Node& from, const Rule& rule, Rewritten rewritten) {
    Node next;
    next.ptx = std::move(rewritten.ptx);
    next.plan = rewritten.plan.empty() ? from.plan : std::move(rewritten.plan);
    next.applied = from.applied;
    next.applied.emplace_back(rule.name());
    next.name = from.name.empty() ? rewritten.name : from.name + "+" + rewritten.name;
    next.idea = from.idea.empty() ? rewritten.idea : from.idea + "; " + rewritten.idea;
    next.draw = random_.next();
    auto checked = ptx::check(next.ptx, next.name + ".ptx");
    auto plan = launch::read_plan(next.plan, next.name + ".plan.toml");
    if (!checked.ok() || !plan.ok()) {
      note_once(fmt::format("{} made what cannot be read again", next.name));
      return;
    }
    if (!remember(next, checked.module, *plan)) return;
    if (evaluator_) {
      auto estimate = evaluator_->estimate({next.ptx, next.plan, "rules", next.idea, next.name});
      if (estimate.ok())
        next.nanoseconds = estimate->nanoseconds;
      else {
        next.nanoseconds = 1e300;  // behind all that could be estimated
        findings_.insert(findings_.end(), estimate.findings().begin(), estimate.findings().end());
      }
    }
    open_.push_back(next);
    found_.push_back(std::move(next));
  }

  // False where code and plan were seen before.
  bool remember(const Node& node, const ptx::Module& module, const launch::Plan& plan) {
    bool fresh = remember_text(node.ptx, node.plan);
    auto digest = digest_of(node.ptx, module, plan);
    if (digest.empty()) return fresh;
    fresh = seen_.insert(digest + launch::print(plan)).second && fresh;
    if (!fresh) ++same_code_;
    return fresh;
  }

  bool remember_text(const std::string& ptx, const std::string& plan) {
    // Comments are not code: print a module without them.
    auto parsed = ptx::check(ptx, "");
    parsed.module.header = {};
    parsed.module.end_trivia = {};
    for (auto& item : parsed.module.items) item.trivia = {};
    for (auto& function : parsed.module.functions) {
      function.trivia = function.end_trivia = {};
      for (auto& statement : function.body) statement.trivia = {};
    }
    return seen_.insert(base::sha256(ptx::print(parsed.module) + plan)).second;
  }

  // What ptxas makes of the launched entries; empty where there is no ptxas, or it refuses.
  std::string digest_of(const std::string& text, const ptx::Module& module, const launch::Plan& plan) {
    if (!toolchain::installed().ptxas) return "";
    toolchain::AssembleOptions options;
    options.target = brief_.target;
    auto assembled = toolchain::assemble(text, "candidate.ptx", options);
    if (!assembled.ok()) return "";
    std::string all;
    for (const auto& launch : plan.launches) {
      const auto* entry = module.entry(launch.entry);
      if (!entry) return "";
      auto digest = toolchain::code_digest(assembled->cubin, entry->name);
      if (!digest.ok()) return "";
      all += *digest;
    }
    return all;
  }

  void refused(const Node& node, const Rule& rule, const Choice& choice, const base::Findings& findings) {
    // A fault of a rule is told as it is; that a rule has nothing to do is told once, for the baseline.
    bool fault = findings.front().code == "RW0099";
    if (fault) findings_.insert(findings_.end(), findings.begin(), findings.end());
    if (!fault && !node.applied.empty()) return;
    note_once(fmt::format("{}-{}: {}", rule.name(), choice.name, findings.front().message));
  }

  void note_once(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }

  record::Proposer::Proposal proposal() const {
    record::Proposer::Proposal made;
    for (const auto& node : found_) {
      if (made.candidates.size() == static_cast<size_t>(count_)) break;
      record::Candidate candidate;
      candidate.ptx = node.ptx;
      if (node.plan != brief_.baseline_plan) candidate.plan = node.plan;
      candidate.proposer = "rules";
      candidate.idea = node.idea;
      candidate.name = node.name;
      made.candidates.push_back(std::move(candidate));
    }
    made.findings = findings_;
    if (made.candidates.size() < static_cast<size_t>(count_)) {
      made.note = fmt::format("{} of {} candidates: the rules know no more", made.candidates.size(), count_);
      if (same_code_) made.note += fmt::format("; {} came out as code already there and were dropped", same_code_);
    }
    for (const auto& note : notes_) made.note += (made.note.empty() ? "" : "; ") + note;
    return made;
  }

  const record::Brief& brief_;
  int count_;
  record::Evaluator* evaluator_;
  base::Random random_;
  std::vector<Node> open_, found_;
  std::set<std::string> seen_;
  std::vector<std::string> notes_;
  base::Findings findings_;
  int same_code_ = 0;
};

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
