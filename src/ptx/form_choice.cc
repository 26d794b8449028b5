#include "ptx/form_choice.h"

#include <utility>

namespace ptxlab::ptx {
namespace {

// `right`: how many operands were found right before the problem.
std::optional<Problem> operand_problem(const OperandCheck& operands, const isa::Form& form, const Arguments& arguments,
                                       int& right) {
  right = 0;
  std::optional<Problem> warning;
  auto count = static_cast<int>(form.row->operands.size());
  for (int i = 0; i < count; ++i) {
    const Operand* operand = arguments.at[static_cast<size_t>(i)];
    if (!operand) continue;
    if (operand->kind == Operand::Kind::pair)
      return Problem{Code::operand_kind, operand->span, "a pair of results cannot stand here", "", false};
    if (auto problem = operands.check(form, i, *operand)) {
      if (!problem->warning) return problem;
      warning = problem;
    }
    ++right;
  }
  return warning;
}

}  // namespace

FormChoice choose_form(const OperandCheck& operands, const Instruction& instruction, std::span<const isa::Form> forms,
                       std::span<const std::string> refusals) {
  FormChoice choice;
  int best_rank = -1;
  for (size_t i = 0; i < forms.size(); ++i) {
    Arguments arguments = arguments_of(instruction, forms[i]);
    if (!arguments.fits) continue;
    int right = 0;
    auto problem = operand_problem(operands, forms[i], arguments, right);
    bool error = problem && !problem->warning;
    int rank = (error ? right : 1000) + (refusals[i].empty() && !error ? 1000 : 0);
    if (rank <= best_rank) continue;
    choice = {static_cast<int>(i), std::move(problem), arguments};
    best_rank = rank;
    if (rank == 2000) break;
  }
  return choice;
}

}  // namespace ptxlab::ptx
