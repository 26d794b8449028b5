#include "planted.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "judge/diagnosis.h"
#include "ptx/printer.h"
#include "rewrite/rule.h"
#include "toolchain/toolchain.h"

namespace ptxlab::planted {
namespace {

namespace fs = std::filesystem;

base::Finding trouble(std::string message) {
  base::Finding finding;
  finding.code = "STUDY0001";
  finding.severity = base::Severity::error;
  finding.message = std::move(message);
  return finding;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

Edits edits_of(const toml::table& table, const char* key) {
  Edits edits;
  const auto* list = table[key].as_array();
  if (!list) return edits;
  for (const auto& one : *list) {
    const auto* pair = one.as_array();
    if (!pair || pair->size() < 2) throw std::runtime_error(fmt::format("`{}` is a list of [from, to]", key));
    Edit edit{pair->get(0)->value_or(std::string()), pair->get(1)->value_or(std::string()), 1};
    if (pair->size() > 2) edit.occurrence = pair->get(2)->value_or(1);
    edits.push_back(std::move(edit));
  }
  return edits;
}

std::vector<std::string> strings_of(const toml::table& table, const char* key) {
  std::vector<std::string> all;
  if (const auto* list = table[key].as_array())
    for (const auto& one : *list) all.push_back(one.value_or(std::string()));
  return all;
}

// "$k" of each fault stands for each of `k = [...]` by turns.
std::vector<Fault> variants_of(const toml::table& table, const Fault& fault) {
  const auto* values = table["k"].as_array();
  if (!values) return {fault};
  std::vector<Fault> all;
  for (const auto& value : *values) {
    std::string word;
    if (value.is_integer())
      word = std::to_string(value.value_or(int64_t{0}));
    else if (value.is_floating_point())
      word = fmt::format("{:#}", value.value_or(0.0));
    else
      word = value.value_or(std::string());
    Fault one = fault;
    auto fill = [&](Edits& edits) {
      for (auto& edit : edits) replace_all(edit.from, "$k", word), replace_all(edit.to, "$k", word);
    };
    fill(one.cuda), fill(one.ptx), fill(one.plan);
    for (auto& flag : one.flags) replace_all(flag, "$k", word);
    replace_all(one.what, "$k", word);
    all.push_back(std::move(one));
  }
  return all;
}

void read_file_of_faults(const fs::path& file, std::vector<Fault>& faults) {
  const auto root = toml::parse_file(file.string());
  const auto task = root["task"].value_or(std::string());
  const auto* list = root["fault"].as_array();
  if (task.empty() || !list) throw std::runtime_error("`task` and [[fault]] are missing");
  for (const auto& node : *list) {
    const auto& table = *node.as_table();
    for (const auto& [key, value] : table) {
      static const std::vector<std::string_view> kKeys{"is",   "what", "k",    "twice", "slow",
                                                       "cuda", "ptx",  "plan", "flags"};
      if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end())
        throw std::runtime_error(fmt::format("`{}` is no key", key.str()));
    }
    Fault fault;
    fault.task = task;
    fault.what = table["what"].value_or(std::string());
    fault.is = strings_of(table, "is");
    fault.twice = table["twice"].value_or(false);
    fault.slow = table["slow"].value_or(false);
    fault.cuda = edits_of(table, "cuda"), fault.ptx = edits_of(table, "ptx"), fault.plan = edits_of(table, "plan");
    fault.flags = strings_of(table, "flags");
    fault.host = !fault.cuda.empty() || !fault.flags.empty() ? "cuda" : !fault.ptx.empty() ? "ptx" : "plan";
    for (auto& one : variants_of(table, fault)) faults.push_back(std::move(one));
  }
}

}  // namespace

base::Result<std::vector<Fault>> read_faults(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Fault> faults;
  for (const auto& file : files) {
    try {
      read_file_of_faults(file, faults);
    } catch (const std::exception& error) {
      return trouble(fmt::format("{}: {}", file.string(), error.what()));
    }
  }
  return faults;
}

base::Result<std::string> edited(std::string text, const Edits& edits) {
  for (const auto& edit : edits) {
    size_t at = text.find(edit.from);
    for (int i = 1; i < edit.occurrence && at != std::string::npos; ++i)
      at = text.find(edit.from, at + edit.from.size());
    if (at == std::string::npos || edit.from.empty()) return trouble(fmt::format("not there: `{}`", edit.from));
    if (edit.occurrence == 0)
      replace_all(text, edit.from, edit.to);
    else
      text.replace(at, edit.from.size(), edit.to);
  }
  return text;
}

base::Result<record::Candidate> make(const Fault& fault, const judge::Baseline& baseline, const fs::path& source) {
  record::Candidate candidate;
  candidate.name = fault.what;
  candidate.ptx = fault.text.empty() ? ptx::print(baseline.module) : fault.text;
  auto plan = edited(fault.plan_text.empty() ? baseline.plan_text : fault.plan_text, fault.plan);
  if (!plan) return plan.findings();
  candidate.plan = *plan;
  if (!fault.cuda.empty() || !fault.flags.empty()) {
    auto text = base::read_file(source);
    if (!text) return text.findings();
    auto cuda = edited(*text, fault.cuda);
    if (!cuda) return cuda.findings();
    base::TemporaryFolder folder("ptxlab-study");
    const auto file = folder.path() / "kernel.cu";
    std::ofstream(file) << *cuda;
    toolchain::CompileOptions how;
    how.target = baseline.target;
    how.flags = fault.flags;
    how.line_info = false;
    auto made = toolchain::compile_to_ptx(file, how);
    if (!made) return made.findings();
    candidate.ptx = *made;
  }
  auto ptx = edited(std::move(candidate.ptx), fault.ptx);
  if (!ptx) return ptx.findings();
  candidate.ptx = *ptx;
  return candidate;
}

std::pair<std::string, std::string> name_given(const record::Verdict& verdict) {
  for (const auto& finding : verdict.gate(record::GateName::emulate).findings) {
    for (int p = 0; p < static_cast<int>(judge::Pattern::kEnd); ++p) {
      const auto pattern = static_cast<judge::Pattern>(p);
      if (finding.code == judge::code_of(pattern)) return {std::string(name_of(pattern)), finding.message};
    }
  }
  return {};
}

std::vector<Host> rule_outputs(const task::Task& task, const judge::Baseline& baseline) {
  std::vector<Host> hosts;
  rewrite::Subject subject{&baseline.module, &baseline.plan, &task, baseline.target, {}};
  for (const rewrite::Rule* rule : rewrite::all_rules()) {
    for (const auto& choice : rule->choices(subject)) {
      auto made = rule->apply(subject, choice);
      if (!made.ok() || made->ptx.empty()) continue;
      hosts.push_back(
          {fmt::format("rule {}", rule->name()), made->ptx, made->plan.empty() ? baseline.plan_text : made->plan});
      break;
    }
  }
  return hosts;
}

}  // namespace ptxlab::planted
