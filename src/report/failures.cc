#include "report/failures.h"

#include <algorithm>
#include <array>

namespace ptxlab::report {
namespace {

using record::GateName;
using record::GateStatus;
using record::OutcomeName;
using record::Verdict;

constexpr FailureInfo kKinds[] = {
#define PTXLAB_FAILURE(kind, stage, words) {FailureKind::kind, #kind, stage, words},
#define PTXLAB_FAILURE_CODE(code, kind)
#include "report/failures.inc"
#undef PTXLAB_FAILURE
#undef PTXLAB_FAILURE_CODE
};

struct CodeKind {
  std::string_view code;
  FailureKind kind;
};
constexpr CodeKind kCodeKinds[] = {
#define PTXLAB_FAILURE(kind, stage, words)
#define PTXLAB_FAILURE_CODE(code, kind) {code, FailureKind::kind},
#include "report/failures.inc"
#undef PTXLAB_FAILURE
#undef PTXLAB_FAILURE_CODE
};

constexpr GateName kCheck[] = {GateName::check};
constexpr GateName kCheckAndAssemble[] = {GateName::check, GateName::assemble};
constexpr GateName kRun[] = {GateName::emulate, GateName::execute, GateName::time};

// The first error of these gates whose kind belongs to one of these stages.
Failure first_error(const Verdict& verdict, std::span<const GateName> gates,
                    std::initializer_list<std::string_view> stages) {
  for (GateName name : gates) {
    for (const auto& finding : verdict.gate(name).findings) {
      if (finding.severity != base::Severity::error) continue;
      FailureKind kind = failure_of_code(finding.code);
      if (kind == FailureKind::none) continue;
      if (std::find(stages.begin(), stages.end(), info_of(kind).stage) != stages.end()) return {kind, finding.code};
    }
  }
  return {};
}

// What a diagnosis names is no error of its own: its note says what the wrong values look like.
Failure or_diagnosed(Failure failure, const Verdict& verdict) {
  if (failure.kind != FailureKind::none) return failure;
  for (GateName name : kRun) {
    for (const auto& finding : verdict.gate(name).findings) {
      FailureKind kind =
          std::string_view(finding.code).starts_with("CMP02") ? failure_of_code(finding.code) : FailureKind::none;
      if (kind != FailureKind::none) return {kind, finding.code};
    }
  }
  return {};
}

Failure or_else(Failure failure, FailureKind kind) {
  return failure.kind == FailureKind::none ? Failure{kind, ""} : failure;
}

// Wrong values have no code of their own: which cases they are in tells a kernel that is wrong at its heart from one that is
// wrong at an edge.
FailureKind wrong_kind(const Verdict& verdict) {
  bool some = std::any_of(verdict.cases.begin(), verdict.cases.end(), [](const auto& c) { return c.right; });
  bool executed = verdict.gate(GateName::time).status == GateStatus::failed;
  if (executed) return FailureKind::wrong_when_timed;
  return some ? FailureKind::wrong_somewhere : FailureKind::wrong_everywhere;
}

bool was_executed(const Verdict& verdict) {
  return verdict.gate(GateName::emulate).status == GateStatus::passed ||
         verdict.gate(GateName::execute).status == GateStatus::passed;
}

}  // namespace

std::span<const FailureInfo> failure_kinds() { return kKinds; }

const FailureInfo& info_of(FailureKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string_view name_of(FailureKind kind) { return info_of(kind).name; }

namespace {

const CodeKind* row_of(std::string_view code) {
  const CodeKind* longest = nullptr;
  for (const auto& row : kCodeKinds) {
    if (code.substr(0, row.code.size()) == row.code && (!longest || row.code.size() > longest->code.size()))
      longest = &row;
  }
  return longest;
}

}  // namespace

FailureKind failure_of_code(std::string_view code) {
  const CodeKind* row = row_of(code);
  return row ? row->kind : FailureKind::none;
}

bool knows_code(std::string_view code) { return row_of(code) != nullptr; }

Failure failure_of(const Verdict& verdict) {
  switch (verdict.outcome) {
    case OutcomeName::malformed:
      return or_else(first_error(verdict, kCheck, {"answer", "compile", "check"}), FailureKind::malformed_other);
    case OutcomeName::rejected:
      return or_else(first_error(verdict, kCheckAndAssemble, {"policy", "assemble"}), FailureKind::rejected_other);
    case OutcomeName::faulted: return or_else(first_error(verdict, kRun, {"run"}), FailureKind::fault_other);
    case OutcomeName::wrong:
      return or_else(or_diagnosed(first_error(verdict, kRun, {"result"}), verdict), wrong_kind(verdict));
    case OutcomeName::unverified: return {was_executed(verdict) ? FailureKind::none : FailureKind::not_executed, ""};
    case OutcomeName::slower: return {FailureKind::slower, ""};
    case OutcomeName::same: return {FailureKind::no_effect, ""};
    case OutcomeName::faster: return {FailureKind::none, ""};
    case OutcomeName::unstable: return {FailureKind::unstable, ""};
    case OutcomeName::cheating: return {FailureKind::cheating, ""};
    case OutcomeName::infrastructure: return or_else(first_error(verdict, kCheck, {"machine"}), FailureKind::machine);
  }
  return {FailureKind::machine, ""};
}

}  // namespace ptxlab::report
