#include "rewrite/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "toolchain/toolchain.h"

namespace ptxlab::rewrite {
namespace {

constexpr size_t kBeam = 6;          // nodes of a level that are rewritten further
constexpr size_t kLongestChain = 4;  // rules upon each other
// Nodes looked at for each candidate that was asked for, and beyond.
constexpr size_t kNodesEach = 4, kNodesMore = 8;
constexpr size_t kNodesBlind = 2;  // without an evaluator
// An estimate knows nothing finer than this: what differs by less is a tie.
constexpr double kFinest = 1.002;

// The rules of a chain, whatever their order and choices.
std::string kind_of(const Search::Node& node) {
  auto names = node.applied;
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& name : names) text += name + " ";
  return text;
}

std::set<Family> families_of(const Search::Node& node) {
  std::set<Family> found;
  for (const auto& name : node.applied)
    if (const auto* rule = rule_named(name)) found.insert(rule->family());
  return found;
}

}  // namespace

bool Search::better(const Node& a, const Node& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.applied.size() != b.applied.size()) return a.applied.size() < b.applied.size();
  return a.order < b.order;
}

Search::Search(const record::Brief& brief, int count, record::Evaluator* evaluator)
    : brief_(brief),
      count_(static_cast<size_t>(count)),
      budget_(evaluator ? count_ * kNodesEach + kNodesMore : count_ * kNodesBlind),
      evaluator_(evaluator),
      random_(base::derive_seed(brief.seed, "rules")) {}

base::Result<record::Proposer::Proposal> Search::run() {
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
  std::vector<Node> level{std::move(root)};
  for (size_t depth = 1; depth <= kLongestChain && !level.empty() && found_.size() < budget_; ++depth) {
    std::vector<Node> children;
    for (size_t i = 0; i < level.size(); ++i) {
      // What is left is shared among the level's nodes.
      size_t share = (budget_ - found_.size() + level.size() - i - 1) / (level.size() - i);
      expand(level[i], found_.size() + share, children);
    }
    level = beam(std::move(children));
  }
  return proposal();
}

std::vector<Search::Node> Search::beam(std::vector<Node> children) const {
  std::stable_sort(children.begin(), children.end(), better);
  std::vector<Node> kept;
  std::vector<Node> rest;
  std::set<Family> shown;
  // The best, then the best of each family: some rules pay only through what they let others do.
  for (auto& child : children) {
    auto families = families_of(child);
    bool fresh = std::any_of(families.begin(), families.end(), [&](auto family) { return !shown.count(family); });
    if (kept.size() < kBeam && (kept.empty() || fresh)) {
      shown.insert(families.begin(), families.end());
      kept.push_back(std::move(child));
    } else {
      rest.push_back(std::move(child));
    }
  }
  std::map<std::string, int> of_kind;
  for (const auto& node : kept) ++of_kind[kind_of(node)];
  for (auto& child : rest)
    if (kept.size() < kBeam && of_kind[kind_of(child)]++ < 2) kept.push_back(std::move(child));
  return kept;
}

void Search::expand(const Node& node, size_t enough, std::vector<Node>& children) {
  auto checked = ptx::check(node.ptx, "candidate.ptx");
  auto plan = launch::read_plan(node.plan, "candidate.plan.toml");
  if (!checked.ok() || !plan.ok()) return;
  Subject subject{&checked.module, &*plan, &brief_.task, brief_.target, brief_.constraints};
  struct Step {
    const Rule* rule;
    Choice choice;
    size_t turn;    // of the rule's choices
    uint64_t draw;  // the seed says which rules come first where not all can
  };
  std::vector<Step> steps;
  for (const Rule* rule : all_rules()) {
    if (std::find(node.applied.begin(), node.applied.end(), rule->name()) != node.applied.end()) continue;
    uint64_t draw = node.applied.empty() ? 0 : random_.next();
    size_t turn = 0;
    for (auto& choice : rule->choices(subject)) steps.push_back({rule, std::move(choice), turn++, draw});
  }
  // Each rule's best choice first, then the second ones.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return std::pair(a.turn, a.draw) < std::pair(b.turn, b.draw); });
  for (const auto& step : steps) {
    if (found_.size() >= enough) return;
    auto rewritten = step.rule->apply(subject, step.choice);
    if (!rewritten.ok())
      refused(node, *step.rule, step.choice, rewritten.findings());
    else
      accept(node, *step.rule, *std::move(rewritten), children);
  }
}

void Search::accept(const Node& from, const Rule& rule, Rewritten rewritten, std::vector<Node>& children) {
  Node next;
  next.ptx = std::move(rewritten.ptx);
  next.plan = rewritten.plan.empty() ? from.plan : std::move(rewritten.plan);
  next.applied = from.applied;
  next.applied.emplace_back(rule.name());
  next.name = from.name.empty() ? rewritten.name : from.name + "+" + rewritten.name;
  next.idea = from.idea.empty() ? rewritten.idea : from.idea + "; " + rewritten.idea;
  next.order = order_++;
  auto checked = ptx::check(next.ptx, next.name + ".ptx");
  auto plan = launch::read_plan(next.plan, next.name + ".plan.toml");
  if (!checked.ok() || !plan.ok()) {
    note_once(fmt::format("{} made what cannot be read again", next.name));
    return;
  }
  if (!remember(next, checked.module, *plan)) return;
  if (evaluator_) {
    auto estimate = evaluator_->estimate({next.ptx, next.plan, "rules", next.idea, next.name});
    if (estimate.ok()) {
      next.rank = std::llround(std::log(std::max(1e-3, estimate->nanoseconds)) / std::log(kFinest));
    } else {
      next.rank = INT64_MAX;  // behind all that could be estimated
      findings_.insert(findings_.end(), estimate.findings().begin(), estimate.findings().end());
    }
  }
  children.push_back(next);
  found_.push_back(std::move(next));
}

// False where code and plan were seen before.
bool Search::remember(const Node& node, const ptx::Module& module, const launch::Plan& plan) {
  bool fresh = remember_text(node.ptx, node.plan);
  auto digest = digest_of(node.ptx, module, plan);
  if (digest.empty()) return fresh;
  fresh = seen_.insert(digest + launch::print(plan)).second && fresh;
  if (!fresh) ++same_code_;
  return fresh;
}

bool Search::remember_text(const std::string& ptx, const std::string& plan) {
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
std::string Search::digest_of(const std::string& text, const ptx::Module& module, const launch::Plan& plan) const {
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

void Search::refused(const Node& node, const Rule& rule, const Choice& choice, const base::Findings& findings) {
  // A fault of a rule is told as it is; that a rule has nothing to do is told once, for the baseline.
  bool fault = findings.front().code == "RW0099";
  if (fault) findings_.insert(findings_.end(), findings.begin(), findings.end());
  if (!fault && !node.applied.empty()) return;
  const auto& why = findings.front().message;
  // Choices of one rule refused for one reason are one note.
  if (std::none_of(notes_.begin(), notes_.end(), [&](const auto& note) {
        return note.starts_with(std::string(rule.name()) + "-") && note.ends_with(": " + why);
      }))
    note_once(fmt::format("{}-{}: {}", rule.name(), choice.name, why));
}

void Search::note_once(std::string text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
}

std::vector<const Search::Node*> Search::pick() const {
  std::vector<const Node*> ordered, chosen;
  for (const auto& node : found_) ordered.push_back(&node);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return better(*a, *b); });
  std::set<Family> shown;
  std::map<std::string, size_t> of_kind;
  auto take = [&](const Node* node) {
    chosen.push_back(node);
    ++of_kind[kind_of(*node)];
    for (auto family : families_of(*node)) shown.insert(family);
  };
  auto taken = [&](const Node* node) { return std::find(chosen.begin(), chosen.end(), node) != chosen.end(); };
  // The best; then, for half of the places, the best that shows a family not shown yet; then no more than two of a kind;
  // then whatever is left.
  for (const auto* node : ordered) {
    auto families = families_of(*node);
    bool fresh = std::any_of(families.begin(), families.end(), [&](auto family) { return !shown.count(family); });
    if (chosen.empty() || (fresh && chosen.size() < (count_ + 1) / 2 + 1 && chosen.size() < count_)) take(node);
  }
  // A chain that gains nothing over a shorter one of its own is the last to be handed in.
  auto pointless = [&](const Node* node) {
    return std::any_of(chosen.begin(), chosen.end(), [&](const Node* other) {
      return other->rank <= node->rank && other->applied.size() < node->applied.size() &&
             std::all_of(other->applied.begin(), other->applied.end(), [&](const auto& name) {
               return std::find(node->applied.begin(), node->applied.end(), name) != node->applied.end();
             });
    });
  };
  for (bool gains : {true, false})
    for (size_t most : {size_t{2}, found_.size()})
      for (const auto* node : ordered)
        if (chosen.size() < count_ && !taken(node) && of_kind[kind_of(*node)] < most && !(gains && pointless(node)))
          take(node);
  std::stable_sort(chosen.begin(), chosen.end(), [](const auto* a, const auto* b) { return better(*a, *b); });
  return chosen;
}

record::Proposer::Proposal Search::proposal() const {
  record::Proposer::Proposal made;
  for (const auto* node : pick()) {
    record::Candidate candidate;
    candidate.ptx = node->ptx;
    if (node->plan != brief_.baseline_plan) candidate.plan = node->plan;
    candidate.proposer = "rules";
    candidate.idea = node->idea;
    candidate.name = node->name;
    candidate.steps = static_cast<int>(node->applied.size());
    made.candidates.push_back(std::move(candidate));
  }
  made.findings = findings_;
  if (made.candidates.size() < count_) {
    made.note = fmt::format("{} of {} candidates: the rules know no more", made.candidates.size(), count_);
    if (same_code_) made.note += fmt::format("; {} came out as code already there and were dropped", same_code_);
  }
  for (const auto& note : notes_) made.note += (made.note.empty() ? "" : "; ") + note;
  return made;
}

}  // namespace ptxlab::rewrite
