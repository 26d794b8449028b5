// Why a turn failed, as one of a closed list of kinds: what a table of failures counts. The kind follows from the outcome and
// from the codes of the findings, by one table (failures.inc); every verdict has exactly one.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record/record.h"

namespace ptxlab::report {

enum class FailureKind : uint8_t {
#define PTXLAB_FAILURE(kind, stage, words) kind,
#define PTXLAB_FAILURE_CODE(code, kind)
#include "report/failures.inc"
#undef PTXLAB_FAILURE
#undef PTXLAB_FAILURE_CODE
};

struct FailureInfo {
  FailureKind kind;
  std::string_view name;   // "no_block"
  std::string_view stage;  // where it ends: answer, check, policy, compile, assemble, run, result, speed, machine
  std::string_view words;  // "the answer holds no PTX block"
};

// All kinds, in the order of the gates; `none` (right, and not slower) first.
std::span<const FailureInfo> failure_kinds();
const FailureInfo& info_of(FailureKind kind);
std::string_view name_of(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::none;
  std::string code;  // the finding that decided; "" where the outcome alone did
};
Failure failure_of(const record::Verdict& verdict);
// The kind that a code by itself stands for; `none` where it stands for none (notes, remarks).
FailureKind failure_of_code(std::string_view code);
// Whether the table says anything of it, `none` included.
bool knows_code(std::string_view code);

}  // namespace ptxlab::report
