#include "record/record.h"

#include <cassert>
#include <set>

namespace ptxlab::record {

std::string_view name_of(GateName gate) {
  switch (gate) {
    case GateName::check: return "check";
    case GateName::assemble: return "assemble";
    case GateName::emulate: return "emulate";
    case GateName::execute: return "execute";
    case GateName::time: return "time";
  }
  return "";
}

std::string_view name_of(GateStatus status) {
  switch (status) {
    case GateStatus::not_run: return "not_run";
    case GateStatus::passed: return "passed";
    case GateStatus::failed: return "failed";
    case GateStatus::skipped: return "skipped";
  }
  return "";
}

std::string_view name_of(OutcomeName outcome) {
  switch (outcome) {
    case OutcomeName::malformed: return "malformed";
    case OutcomeName::rejected: return "rejected";
    case OutcomeName::faulted: return "faulted";
    case OutcomeName::wrong: return "wrong";
    case OutcomeName::unverified: return "unverified";
    case OutcomeName::slower: return "slower";
    case OutcomeName::same: return "same";
    case OutcomeName::faster: return "faster";
    case OutcomeName::unstable: return "unstable";
    case OutcomeName::cheating: return "cheating";
    case OutcomeName::infrastructure: return "infrastructure";
  }
  return "";
}

std::string_view name_of(Language language) {
  switch (language) {
    case Language::ptx: return "ptx";
    case Language::cuda: return "cuda";
  }
  return "";
}

std::string_view name_of(Job job) {
  switch (job) {
    case Job::optimize: return "optimize";
    case Job::write: return "write";
    case Job::repair: return "repair";
    case Job::reflect: return "reflect";
  }
  return "";
}

std::optional<Job> job_named(std::string_view name) {
  for (Job job : {Job::optimize, Job::write, Job::repair, Job::reflect})
    if (name == name_of(job)) return job;
  return std::nullopt;
}

Ask ask_of(const Brief& brief, size_t index) {
  return brief.asks.empty() ? Ask{} : brief.asks[index % brief.asks.size()];
}

std::span<const OutcomeName> all_outcomes() {
  static constexpr OutcomeName kAll[] = {OutcomeName::malformed, OutcomeName::rejected,      OutcomeName::faulted,
                                         OutcomeName::wrong,     OutcomeName::unverified,    OutcomeName::slower,
                                         OutcomeName::same,      OutcomeName::faster,        OutcomeName::unstable,
                                         OutcomeName::cheating,  OutcomeName::infrastructure};
  return kAll;
}

bool is_right(OutcomeName outcome) {
  switch (outcome) {
    case OutcomeName::unverified:
    case OutcomeName::slower:
    case OutcomeName::same:
    case OutcomeName::faster:
    case OutcomeName::unstable: return true;
    case OutcomeName::malformed:
    case OutcomeName::rejected:
    case OutcomeName::faulted:
    case OutcomeName::wrong:
    case OutcomeName::cheating:
    case OutcomeName::infrastructure: return false;
  }
  return false;
}

std::string Timing::against() const {
  std::set<std::string> names;
  for (const auto& one : sizes) names.insert(one.baseline);
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : " or ") + name;
  return all;
}

std::vector<Gate> all_gates() {
  std::vector<Gate> gates;
  for (GateName name : {GateName::check, GateName::assemble, GateName::emulate, GateName::execute, GateName::time}) {
    Gate gate;
    gate.name = name;
    gates.push_back(std::move(gate));
  }
  return gates;
}

const Gate& Verdict::gate(GateName name) const {
  auto index = static_cast<size_t>(name);
  assert(index < gates.size() && gates[index].name == name);
  return gates[index];
}

Gate& Verdict::gate(GateName name) { return const_cast<Gate&>(std::as_const(*this).gate(name)); }

}  // namespace ptxlab::record
