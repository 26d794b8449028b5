#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "base/base64.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "base/visible.h"
#include "report/compare_text.h"
#include "report/deflate.h"
#include "report/page_block.h"
#include "report/page_file.h"
#include "report/page_summary.h"
#include "report/run_text.h"

namespace ptxlab::report {
namespace {

constexpr size_t kBlock = 48;  // attempts of one task in one block

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // Braces too: no text can write a mark of the shell.
    if (c == '&' || c == '<' || c == '>' || c == '"' || c == '{' || (byte < 0x20 && c != '\n')) {
      out += fmt::format("&#{};", byte < 0x20 ? 0xfffd : byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string title_of(const std::string& name) { return escaped(base::visible(name) + " · ptxlab report"); }

// "sha256-..." of a content security policy.
std::string policy_hash(std::string_view content) {
  const std::string hex = base::sha256(content);
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return fmt::format("'sha256-{}'", base::to_base64(bytes));
}

// The page's parts, each put where page.html names its file, and the policy that lets these run and nothing else.
class Shell {
 public:
  Shell() : text_(page_file("page.html")) {
    inline_all("<link rel=\"stylesheet\" href=\"", "\">", "style", styles_);
    inline_all("<script src=\"", "\"></script>", "script", scripts_);
    put("{{policy}}", fmt::format("default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; "
                                  "form-action 'none'",
                                  fmt::join(scripts_, " "), fmt::join(styles_, " ")));
  }
  void put(std::string_view mark, std::string_view text) {
    size_t at = text_.find(mark);
    assert(at != std::string::npos);
    text_.replace(at, mark.size(), text);
  }
  std::string take() && { return std::move(text_); }

 private:
  void inline_all(std::string_view before, std::string_view after, std::string_view tag,
                  std::vector<std::string>& hashes) {
    for (size_t at; (at = text_.find(before)) != std::string::npos;) {
      const size_t begin = at + before.size(), end = text_.find(after, begin);
      const auto content = page_file(text_.substr(begin, end - begin));
      assert(!content.empty() && content.find(fmt::format("</{}", tag)) == std::string_view::npos);
      hashes.push_back(policy_hash(content));
      text_.replace(at, end + after.size() - at, fmt::format("<{0}>{1}</{0}>", tag, content));
    }
  }

  std::string text_;
  std::vector<std::string> scripts_, styles_;
};

// Data, not a script: nothing runs it, and base64 holds nothing that could end it.
std::string data_block(std::string_view id, std::string_view content) {
  return fmt::format("<script type=\"application/octet-stream\" id=\"{}\">{}</script>\n", id, deflated(content));
}

class Page {
 public:
  explicit Page(const PageInput& input) : input_(input), run_(input.run), rows_(page_rows(input.run)) {
    for (const auto& arm : input.metrics.arms)
      for (const auto& speed : arm.speed)
        for (const auto& best : speed.best)
          if (best.sample) best_[static_cast<size_t>(speed.source)].insert(*best.sample);
  }

  base::Result<std::string> make() {
    Shell shell;
    for (size_t row = 0; row < rows_.size(); ++row) {
      auto findings = add(row);
      if (!findings.empty()) return findings;
    }
    end_block();
    std::vector<Ceiling> ceilings;
    for (const auto& one : ceilings_)
      if (std::any_of(points_.begin(), points_.end(), [&](const auto& point) { return point.device == one.device; }))
        ceilings.push_back(one);
    const auto summary = page_summary({input_, rows_, places_, points_, ceilings});
    shell.put("{{details}}", details_);
    shell.put("{{summary}}", data_block("summary", base::print_json(summary, -1)));
    shell.put("{{plain}}", escaped(run_text(run_, input_.metrics, 0)));
    shell.put("{{title}}", title_of(run_.name.empty() ? run_.id : run_.name));
    return std::move(shell).take();
  }

 private:
  base::Findings add(size_t row) {
    const Sample& sample = run_.samples[rows_[row].sample];
    const Turn& turn = sample.turns[rows_[row].turn];
    if (block_.size() == kBlock || (row > 0 && sample.task != run_.samples[rows_[row - 1].sample].task)) end_block();
    places_.push_back({blocks_, block_.size()});
    if (!turn.attempt) {
      const TurnTexts texts = input_.texts_of ? input_.texts_of(sample, turn) : TurnTexts{};
      block_.add_without_attempt(texts.prompt, texts.answer);
      return {};
    }
    auto attempt = input_.attempt(*turn.attempt);
    if (!attempt) return attempt.findings();
    block_.add(turn, *attempt);
    add_points(row, sample, turn, attempt->verdict);
    return {};
  }

  void end_block() {
    if (block_.size() == 0) return;
    details_ += data_block(fmt::format("block-{}", blocks_++), block_.text());
    block_ = {};
  }

  // --- roofline ------------------------------------------------------------------------------------------------------------
  void know(const Ceiling& ceiling) {
    if (!(ceiling.gbs > 0 && ceiling.gflops > 0)) return;
    auto known = std::find_if(ceilings_.begin(), ceilings_.end(),
                              [&](const Ceiling& one) { return one.device == ceiling.device; });
    if (known == ceilings_.end()) ceilings_.push_back(ceiling);
  }
  bool is_best(SpeedSource source, size_t row, const Sample& sample, const Turn& turn) const {
    return best_[static_cast<size_t>(source)].count(rows_[row].sample) && sample.best() == &turn;
  }

  void add_points(size_t row, const Sample& sample, const Turn& turn, const record::Verdict& verdict) {
    if (ceilings_.empty())
      for (const auto& one : input_.ceilings) know(one);  // what was measured on the device itself comes first
    if (verdict.timing && is_best(SpeedSource::measured, row, sample, turn)) {
      for (const auto& size : verdict.timing->sizes) {
        if (!(size.bytes > 0 && size.candidate_us > 0)) continue;
        know({verdict.timing->device, size.roofline_gbs, size.roofline_gflops, false});
        points_.push_back({row,
                           SpeedSource::measured,
                           size.size,
                           verdict.timing->device,
                           {size.bytes, size.flops},
                           size.candidate_us,
                           size.baseline_us});
      }
    }
    const auto& estimate = verdict.estimate;
    if (estimate && input_.work && is_best(SpeedSource::estimated, row, sample, turn)) {
      auto work = input_.work(run_.tasks[sample.task], estimate->size);
      const double ns = estimate->size_ns > 0 ? estimate->size_ns : estimate->nanoseconds;
      if (!work || !(work->bytes > 0 && ns > 0)) return;
      double baseline = 0;
      if (const auto& theirs = verdict.baseline_estimate; theirs && theirs->size == estimate->size)
        baseline = theirs->size_ns > 0 ? theirs->size_ns : theirs->nanoseconds;
      points_.push_back(
          {row, SpeedSource::estimated, estimate->size, estimate->device, *work, ns / 1e3, baseline / 1e3});
    }
  }

  const PageInput& input_;
  const RunData& run_;
  std::vector<PageRow> rows_;
  std::vector<PagePlace> places_;
  PageBlock block_;
  size_t blocks_ = 0;
  std::string details_;
  std::array<std::set<size_t>, 2> best_;  // samples, by source
  std::vector<Ceiling> ceilings_;
  std::vector<RoofPoint> points_;
};

}  // namespace

base::Result<std::string> make_page(const PageInput& input) { return Page(input).make(); }

std::string make_compare_page(std::span<const Comparison> comparisons, const std::string& program,
                              std::chrono::system_clock::time_point made) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& one : comparisons) list.push_back(to_json(one));
  const nlohmann::json summary = {
      {"schema", "ptxlab.page/1"},
      {"compare", std::move(list)},
      {"program", program},
      {"made", std::chrono::duration_cast<std::chrono::milliseconds>(made.time_since_epoch()).count()}};
  Shell shell;
  shell.put("{{details}}", "");
  shell.put("{{summary}}", data_block("summary", base::print_json(summary, -1)));
  std::string plain;
  for (const auto& one : comparisons) plain += compare_text(one, 0) + "\n";
  shell.put("{{plain}}", escaped(plain));
  shell.put("{{title}}", title_of("Comparison"));
  return std::move(shell).take();
}

}  // namespace ptxlab::report
