#include "ptx/mend.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptx/mend_header.h"
#include "ptx/mend_names.h"
#include "ptx/mend_operands.h"
#include "ptx/mend_words.h"
#include "ptx/patch.h"

namespace ptxlab::ptx {
namespace {

// Beyond the hundred that people are shown: one missing declaration may make thousands.
constexpr size_t kMostFindings = 20'000;
// How much text is checked for trial: by whoever asked for mends, and by whoever only asked what is wrong.
constexpr size_t kMendBytes = size_t{24} << 20, kCheckBytes = size_t{6} << 20;
constexpr int kMostRounds = 12;

// A mend and the findings that it answers, the first of which it is reported with.
struct Mend {
  std::vector<const base::Finding*> of;
  Edits edits;
};

bool sorted_apart(Edits& edits) {
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return std::pair(a.span.begin, a.span.end) < std::pair(b.span.begin, b.span.end);
  });
  return apart(edits);
}

// '}' at the very end that closes nothing, and a last '}' that is missing behind a finished body.
Edits mend_braces(const Site& site) {
  std::string_view source = site.module.source;
  if (site.is(Code::unbalanced_brace)) {
    bool last = source.find_first_not_of(" \t\r\n", site.span.end) == source.npos;
    return last ? Edits{{site.span, ""}} : Edits{};
  }
  if (!site.is(Code::unexpected_end) || !site.function || site.function->body.empty()) return {};
  const Instruction* last = site.function->body.back().instruction();
  size_t end = source.find_last_not_of(" \t\r\n");
  bool ends = last && (last->is("ret") || last->is("exit")) && source[end] == ';';
  auto at = static_cast<uint32_t>(end + 1);
  return ends ? Edits{{{at, at}, "\n}"}} : Edits{};
}

// Every certain mend of the errors in `findings`.
class Mender {
 public:
  Mender(const Module& module, const base::Findings& findings, size_t budget)
      : module_(module), findings_(findings), sites_(module), trials_(module, budget) {}

  // Those of the text and its heading come by themselves: what they hide or bring about looks different afterwards.
  std::vector<Mend> run() {
    std::vector<Mend> mends;
    for (const auto& finding : findings_)
      if (of_text(finding)) add(mends, finding);
    if (!mends.empty()) return mends;
    std::set<const base::Finding*> answered;
    for (NameMend& mend : mend_names(module_, sites_, findings_, trials_)) {
      answered.insert(mend.of.begin(), mend.of.end());
      if (sorted_apart(mend.edits)) mends.push_back({std::move(mend.of), std::move(mend.edits)});
    }
    std::vector<const base::Finding*> gates;
    for (const auto& finding : findings_) {
      if (finding.severity != base::Severity::error || of_text(finding) || answered.contains(&finding)) continue;
      if (finding.code == spelling(Code::gate)) gates.push_back(&finding);
      add(mends, finding);
    }
    if (!gates.empty())
      if (Edits edits = mend_gates(module_, sites_, gates); !edits.empty()) mends.push_back({gates, std::move(edits)});
    return mends;
  }

 private:
  static bool of_text(const base::Finding& finding) {
    return finding.severity == base::Severity::error && finding.code < spelling(Code::undeclared_register);
  }

  void add(std::vector<Mend>& mends, const base::Finding& finding) {
    Edits edits = finding.fix.empty() ? lone(finding) : finding.fix;
    if (!edits.empty() && sorted_apart(edits)) mends.push_back({{&finding}, std::move(edits)});
  }

  Edits lone(const base::Finding& finding) {
    Site site = sites_.at(finding);
    if (Edits edits = mend_header(site); !edits.empty()) return edits;
    if (Edits edits = mend_braces(site); !edits.empty()) return edits;
    if (site.is(Code::bad_number)) return mend_number(site);
    if (site.is(Code::unexpected_token)) return trailing_comma(site);
    if (!site.instruction) return {};
    if (Edits edits = mend_operand(site); !edits.empty()) return edits;
    auto [uses, added] = uses_.try_emplace(site.function, module_, *site.function);
    return mend_words(site, uses->second);
  }

  // add.s32 %r1, %r2, 1,; - if the operands before it are enough.
  Edits trailing_comma(const Site& site) {
    std::string_view source = module_.source;
    size_t comma = source.find_last_not_of(" \t", site.span.begin - 1);
    if (site.span.begin == 0 || source[site.span.begin] != ';' || comma == source.npos || source[comma] != ',')
      return {};
    auto at = static_cast<uint32_t>(comma);
    Edits edits{{{at, at + 1}, ""}};
    auto before = trials_.outcome(site.function, {}), after = trials_.outcome(site.function, edits);
    return before && after && after->errors < before->errors ? edits : Edits{};
  }

  const Module& module_;
  const base::Findings& findings_;
  Sites sites_;
  Trials trials_;
  std::map<const Function*, Uses> uses_;
};

// Faults of the text hide what is behind them: fewer of those is better, whatever comes to light.
std::pair<size_t, size_t> trouble(const base::Findings& findings) {
  std::pair<size_t, size_t> count{0, 0};
  for (const auto& finding : findings) {
    if (finding.severity != base::Severity::error) continue;
    ++(finding.code < spelling(Code::missing_version) ? count.first : count.second);
  }
  return count;
}

bool overlap(const Edits& a, const Edits& b) {
  Edits all = a;
  all.insert(all.end(), b.begin(), b.end());
  if (!sorted_apart(all)) return true;
  // Two insertions at one place have no order.
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].span == all[i - 1].span) return true;
  return false;
}

class Repair {
 public:
  Repair(std::string_view source, std::string_view file) : file_(file), patch_(source) {
    now_ = check(source, file, kMostFindings);
  }

  Mended run() {
    for (int round = 0; round < kMostRounds && !now_.ok(); ++round)
      if (!one_round()) break;
    std::stable_sort(mended_.begin(), mended_.end(), [](const base::Finding& a, const base::Finding& b) {
      return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    Mended mended{patch_.text(), std::move(mended_), patch_.edits(), {}};
    mended.left = check(patch_.text(), file_).findings;
    return mended;
  }

 private:
  bool one_round() {
    std::vector<Mend> mends = Mender(now_.module, now_.findings, kMendBytes).run();
    Edits together;
    std::vector<const Mend*> taken;
    size_t answered = 0;
    for (const Mend& mend : mends) {
      if (overlap(together, mend.edits)) continue;
      together.insert(together.end(), mend.edits.begin(), mend.edits.end());
      sorted_apart(together);
      taken.push_back(&mend);
      answered += mend.of.size();
    }
    if (taken.empty()) return false;
    auto before = trouble(now_.findings);
    Checked after = check(edited(patch_.text(), together), file_, kMostFindings);
    auto then = trouble(after.findings);
    bool hidden = then.first < before.first;  // the text was unreadable here and there
    bool better = hidden || then.first + then.second + answered <= before.first + before.second;
    if (better) {
      for (const Mend* mend : taken) remember(*mend);
      accept(together, std::move(after));
      return true;
    }
    return one_by_one(taken);
  }

  // Some of the mends did harm: each by itself, as far as patience goes. The rest sees the next round.
  bool one_by_one(const std::vector<const Mend*>& taken) {
    constexpr size_t kPatience = 40;
    auto before = trouble(now_.findings);
    for (size_t i = 0; i < std::min(taken.size(), kPatience); ++i) {
      if (refused_.contains(key(*taken[i]))) continue;
      Checked after = check(edited(patch_.text(), taken[i]->edits), file_, kMostFindings);
      if (trouble(after.findings) < before) {
        remember(*taken[i]);
        accept(taken[i]->edits, std::move(after));
        return true;
      }
      refused_.insert(key(*taken[i]));
    }
    return false;
  }

  std::string key(const Mend& mend) const {
    const base::Finding& first = *mend.of.front();
    return first.code + first.message + mend.edits.front().text;
  }

  void remember(const Mend& mend) {
    base::Finding finding = *mend.of.front();
    finding.severity = base::Severity::note;  // it is one no longer
    finding.fix = mend.edits;
    for (auto& edit : finding.fix) edit.span = {patch_.origin(edit.span.begin), patch_.origin(edit.span.end)};
    uint32_t length = finding.place.length;
    Sites sites(now_.module);
    uint32_t at = patch_.origin(sites.offset(finding.place));
    finding.place = base::place_of(original(), {at, at + length}, file_);
    mended_.push_back(std::move(finding));
  }

  void accept(const Edits& edits, Checked after) {
    patch_.apply(edits);
    now_ = std::move(after);
  }

  std::string_view original() const { return patch_.original(); }

  std::string file_;
  Patch patch_;
  Checked now_;
  base::Findings mended_;
  std::set<std::string> refused_;
};

}  // namespace

Checked check_with_fixes(std::string_view source, std::string_view file) {
  Checked checked = check(source, file);
  if (checked.ok()) return checked;
  // Looked for with every finding at hand, shown for those that are listed.
  Checked whole = check(source, file, kMostFindings);
  for (const Mend& mend : Mender(whole.module, whole.findings, kCheckBytes).run()) {
    for (const base::Finding* of : mend.of) {
      auto listed = std::find_if(checked.findings.begin(), checked.findings.end(), [&](const base::Finding& finding) {
        return finding.code == of->code && finding.place == of->place && finding.message == of->message;
      });
      if (listed != checked.findings.end()) listed->fix = mend.edits;
    }
  }
  return checked;
}

Mended mend(std::string_view source, std::string_view file) { return Repair(source, file).run(); }

}  // namespace ptxlab::ptx
