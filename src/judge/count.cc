#include "judge/count.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "judge/judge_finding.h"
#include "launch/plan.h"
#include "task/case.h"

namespace ptxlab::judge {
namespace {

constexpr uint64_t kEnough = uint64_t{512} << 20;
constexpr size_t kStallsShown = 4;

uint64_t bytes_of(const task::CaseData& data) {
  uint64_t sum = 0;
  for (const auto& buffer : data.binding.buffers) sum += buffer.bytes;
  return sum;
}

base::Result<task::CaseData> chosen_case(const task::Task& task, uint64_t seed) {
  std::optional<std::pair<uint64_t, task::Sizes>> best;
  for (const auto& timed : task.time) {
    auto bound = task::bind_case(task, task::case_of(timed.sizes, seed));
    if (!bound) return bound.findings();
    uint64_t bytes = bytes_of(*bound);
    if (!best || bytes < best->first) best.emplace(bytes, timed.sizes);
    if (bytes <= kEnough) {
      best.emplace(bytes, timed.sizes);
      break;
    }
  }
  if (!best) return judge_finding("JDG0048", base::Severity::note, "no counters: the task has no timed size");
  return task::make_case(task, task::case_of(best->second, seed));
}

base::Result<std::map<std::string, double>> count_side(const CountInput& input, const task::CaseData& data,
                                                       std::string_view ptx, const ptx::Module& module,
                                                       const launch::Plan& plan) {
  gpu::Job job;
  job.code = std::string(ptx);
  if (const toolchain::Tool* ptxas = input.assemblers.taking(module.version)) {
    toolchain::AssembleOptions how;
    how.target = target_on_gpu(module.target, input.sm, input.target);
    auto assembled = toolchain::assemble(*ptxas, ptx, module.file, how);
    if (!assembled) return assembled.findings();
    job.code = std::move(assembled->cubin);
  }
  auto resolved = launch::resolve(plan, module, data.binding);
  if (!resolved) return resolved.findings();
  job.plan = std::move(*resolved);
  job.contents.resize(job.plan.buffers.size());
  for (size_t b = 0; b < data.inputs.size(); ++b) job.contents[b].assign(data.inputs[b].begin(), data.inputs[b].end());
  auto launches = input.count(job);
  if (!launches) return launches.findings();
  return gpu::joined(*launches);
}

std::string sizes_text(const task::Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

// "long_scoreboard" out of ncu's name; empty: it is no stall.
std::string stall_of(const std::string& name) {
  if (name.size() < gpu::kStallPrefix.size() + gpu::kStallSuffix.size() || name.rfind(gpu::kStallPrefix, 0) != 0)
    return "";
  return name.substr(gpu::kStallPrefix.size(), name.size() - gpu::kStallPrefix.size() - gpu::kStallSuffix.size());
}

void add_stalls(record::Counters& counters, const std::map<std::string, double>& own,
                const std::map<std::string, double>& theirs) {
  std::vector<std::pair<double, std::string>> stalls;
  for (const auto& [name, value] : own) {
    if (!stall_of(name).empty() && value > 0) stalls.emplace_back(value, name);
  }
  std::sort(stalls.rbegin(), stalls.rend());
  for (size_t i = 0; i < std::min(stalls.size(), kStallsShown); ++i) {
    auto other = theirs.find(stalls[i].second);
    counters.list.push_back({"stalled: " + stall_of(stalls[i].second), "warps an instruction", stalls[i].first,
                             other == theirs.end() ? std::nullopt : std::optional<double>(other->second)});
  }
}

}  // namespace

CountResult count_both(const CountInput& input) {
  CountResult result;
  auto none = [&](base::Findings findings) {
    for (auto& finding : findings) {
      finding.severity = base::Severity::note;
      result.findings.push_back(std::move(finding));
    }
    return result;
  };
  auto data = chosen_case(input.task, input.seed);
  if (!data) return none(data.findings());
  auto own = count_side(input, *data, input.ptx, input.module, input.plan);
  if (!own) return none(own.findings());
  std::map<std::string, double> theirs;
  auto baseline = count_side(input, *data, input.baseline.ptx, input.baseline.module, input.baseline.plan);
  if (baseline) {
    theirs = std::move(*baseline);
  } else {
    none(baseline.findings());
  }
  record::Counters counters;
  counters.size = sizes_text(data->what.sizes);
  for (const auto& metric : gpu::counted_metrics()) {
    auto mine = own->find(metric.name);
    if (mine == own->end()) continue;
    auto other = theirs.find(metric.name);
    counters.list.push_back({metric.shown, metric.unit, mine->second,
                             other == theirs.end() ? std::nullopt : std::optional<double>(other->second)});
  }
  add_stalls(counters, *own, theirs);
  result.counters = std::move(counters);
  return result;
}

}  // namespace ptxlab::judge
