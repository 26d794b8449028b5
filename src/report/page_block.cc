#include "report/page_block.h"

#include <fmt/format.h>

#include "base/finding_json.h"
#include "record/json.h"

namespace ptxlab::report {
namespace {

using nlohmann::json;

// Of {"base64": ...} the page shows nothing that it could not show as text.
std::string text_or_nothing(const json& object, const char* key) {
  auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// As JSON text: numbers alone, and so many that values of json would take longer than all else. Most lines touch no memory: they have
// three numbers, the others all.
std::string profile_text(const record::LineProfile& profile) {
  std::string lines;
  for (const auto& one : profile.lines) {
    lines += fmt::format("{}[{},{},{}", lines.empty() ? "" : ",", one.line, one.warps, one.threads);
    if (one.requests > 0)
      lines +=
          fmt::format(",{},{},{},{},{}", one.requests, one.sectors, one.ideal_sectors, one.passes, one.ideal_passes);
    lines += ']';
  }
  return fmt::format(R"({{"of":{},"lines":[{}]}})", base::print_json(profile.of, -1), lines);
}

// A brief's own words but for its texts, and for where the task's file lies on whose machine.
json brief_facts(const json& brief) {
  json earlier = json::array();
  for (const auto& one : brief.value("earlier", json::array())) {
    earlier.push_back({{"name", one.at("candidate").value("name", "")},
                       {"outcome", one.at("verdict").value("outcome", "")},
                       {"reason", one.at("verdict").value("reason", "")}});
  }
  const json& task = brief.at("task");
  return {{"task", {{"name", task.value("name", "")}, {"version", task.value("version", 1)}}},
          {"target", brief.value("target", "")},
          {"seed", brief.value("seed", uint64_t{0})},
          {"constraints", brief.value("constraints", json::object())},
          {"baseline_resources", brief.value("baseline_resources", json::array())},
          {"earlier", std::move(earlier)}};
}

}  // namespace

std::string TextPool::texts() const {
  std::vector<std::string> all;
  for (const auto& runs : texts_) all.push_back(fmt::format("[{}]", fmt::join(runs, ",")));
  return fmt::format("[{}]", fmt::join(all, ","));
}

int TextPool::line(std::string_view text) {
  auto [at, fresh] = line_numbers_.emplace(text, static_cast<int>(lines_.size()));
  if (fresh) lines_.emplace_back(text);
  return at->second;
}

int TextPool::add(std::string_view text) {
  if (text.empty()) return -1;
  auto [at, fresh] = text_numbers_.emplace(text, static_cast<int>(texts_.size()));
  if (!fresh) return at->second;
  size_t size = text.size();
  if (size > kLongest) {
    size = kLongest;
    while (size > 0 && (text[size] & 0xc0) == 0x80) --size;  // never within a character
  }
  std::vector<int> runs;
  auto put = [&](int number) {
    if (!runs.empty() && runs[runs.size() - 2] + runs.back() == number) {
      ++runs.back();
    } else {
      runs.insert(runs.end(), {number, 1});
    }
  };
  std::string_view rest = text.substr(0, size);
  while (true) {
    size_t end = rest.find('\n');
    put(line(rest.substr(0, end)));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
    if (rest.empty()) break;  // a last line that ends is no further line
  }
  if (size < text.size()) put(line(fmt::format("... cut here: {} more bytes are in the archive", text.size() - size)));
  texts_.push_back(std::move(runs));
  return at->second;
}

const PageBlock::Told& PageBlock::told(const std::string& brief_json) {
  auto [at, fresh] = briefs_.emplace(brief_json, Told{});
  if (!fresh) return at->second;
  Told& told = at->second;
  json brief = json::parse(brief_json, nullptr, false);
  if (!brief.is_object() || !brief.contains("task")) return told;
  try {
    told.facts = brief_facts(brief);
  } catch (const json::exception&) {
    told.facts = nullptr;  // of an earlier version
  }
  told.ptx = pool_.add(text_or_nothing(brief, "baseline_ptx"));
  told.plan = pool_.add(text_or_nothing(brief, "baseline_plan"));
  told.source = pool_.add(text_or_nothing(brief, "source"));
  return told;
}

// The baseline's is the same for all attempts of a task.
int PageBlock::profile(const std::optional<record::LineProfile>& profile) {
  if (!profile) return -1;
  for (size_t i = 0; i < profiles_.size(); ++i)
    if (profiles_[i] == *profile) return static_cast<int>(i);
  profiles_.push_back(*profile);
  return static_cast<int>(profiles_.size()) - 1;
}

void PageBlock::add(const Turn& turn, const record::Attempt& attempt) {
  const auto& candidate = attempt.candidate;
  const Told& brief = told(attempt.brief_json);
  record::Verdict bare = attempt.verdict;  // profiles stand apart
  bare.profile.reset();
  bare.baseline_profile.reset();
  json verdict = record::to_json(bare);
  json claims = json::array();
  for (const auto& claim : turn.claims)
    claims.push_back({{"what", claim.what}, {"holds", claim.holds}, {"line", claim.line}});
  attempts_.push_back({{"verdict", std::move(verdict)},
                       {"ptx", pool_.add(candidate.ptx)},
                       {"cuda", pool_.add(candidate.cuda)},
                       {"plan", candidate.plan ? pool_.add(*candidate.plan) : -1},
                       {"prompt", pool_.add(candidate.prompt)},
                       {"answer", pool_.add(candidate.answer)},
                       {"base_ptx", brief.ptx},
                       {"base_plan", brief.plan},
                       {"source", brief.source},
                       {"brief", brief.facts},
                       {"profile", profile(attempt.verdict.profile)},
                       {"baseline_profile", profile(attempt.verdict.baseline_profile)},
                       {"claims", std::move(claims)}});
}

void PageBlock::add_without_attempt(const std::string& prompt, const std::string& answer) {
  attempts_.push_back({{"verdict", nullptr}, {"prompt", pool_.add(prompt)}, {"answer", pool_.add(answer)}});
}

std::string PageBlock::text() const {
  std::vector<std::string> profiles;
  for (const auto& one : profiles_) profiles.push_back(profile_text(one));
  return fmt::format(R"({{"lines":{},"texts":{},"profiles":[{}],"attempts":{}}})", base::print_json(pool_.lines(), -1),
                     pool_.texts(), fmt::join(profiles, ","), base::print_json(attempts_, -1));
}

}  // namespace ptxlab::report
