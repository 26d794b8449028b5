#include "ptx/trials.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ptx/arguments.h"
#include "ptx/codes.h"
#include "ptx/patch.h"
#include "ptx/verifier.h"

namespace ptxlab::ptx {
namespace {

using Kind = Operand::Kind;

constexpr uint32_t kNever = UINT32_MAX;

// Where a function first reads and writes its registers, in the order of the text. What is not understood counts as both.
class LooseEnds {
 public:
  explicit LooseEnds(const Function& function)
      : function_(function),
        read_(function.registers.size(), kNever),
        written_(function.registers.size(), kNever),
        reached_(function.labels.size()) {
    for (const auto* list : {&function.parameters, &function.results})
      for (const Variable& variable : *list)
        if (variable.space == isa::Space::reg) by_name(variable.name);
    for (const Statement& statement : function.body) {
      ++now_;
      if (const auto* directive = std::get_if<Directive>(&statement.what))
        for (const Operand& target : directive->targets) look(target, true, true);
      if (const Instruction* instruction = statement.instruction()) look_at(*instruction);
    }
  }

  void count(Outcome& outcome) const {
    for (size_t i = 0; i < read_.size(); ++i) {
      outcome.orphans += read_[i] != kNever && written_[i] >= read_[i];
      outcome.idle += written_[i] != kNever && read_[i] == kNever;
    }
    for (size_t i = 0; i < reached_.size(); ++i) outcome.orphans += function_.labels[i].statement >= 0 && !reached_[i];
  }

 private:
  void by_name(const std::string& name) {
    for (size_t i = 0; i < function_.registers.size(); ++i)
      if (function_.registers[i].name == name) read_[i] = 1, written_[i] = 0;
  }

  void look(const Operand& operand, bool reads, bool writes) {
    if (operand.kind == Kind::reg) {
      if (reads) read_[operand.id] = std::min(read_[operand.id], now_);
      // What is both and not told apart is not to be found wanting.
      if (writes) written_[operand.id] = std::min(written_[operand.id], reads ? now_ - 1 : now_);
    } else if (operand.kind == Kind::label && operand.id < reached_.size()) {
      reached_[operand.id] = true;
    }
    bool address = operand.kind == Kind::address;
    for (const Operand& element : operand.elements) look(element, reads || address, writes && !address);
  }

  void look_at(const Instruction& instruction) {
    if (instruction.guard) read_[instruction.guard->reg] = std::min(read_[instruction.guard->reg], now_);
    const isa::Form& form = instruction.form;
    Arguments arguments;
    if (form.row) arguments = arguments_of(instruction, form);
    if (form.row && form.row->effects.call) {  // (results), callee, (arguments)
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        bool results = i == 0 && instruction.operands[i].kind == Kind::list;
        look(instruction.operands[i], !results, results);
      }
      return;
    }
    if (!form.row || !arguments.fits) {
      for (const Operand& operand : instruction.operands) look(operand, true, true);
      return;
    }
    for (size_t i = 0; i < form.row->operands.size(); ++i) {
      const isa::OperandSpec& spec = form.row->operands[i];
      bool second = i > 0 && form.row->operands[i - 1].pair && form.row->operands[i - 1].destination;
      bool writes = spec.destination || second;
      if (arguments.at[i]) look(*arguments.at[i], !writes || spec.reads_too, writes);
    }
  }

  const Function& function_;
  uint32_t now_ = 0;                      // the statement at hand, from 1
  std::vector<uint32_t> read_, written_;  // the first statement that does
  std::vector<bool> reached_;             // labels
};

}  // namespace

const std::string& Trials::reduced(const Function* function) {
  if (!reduced_.empty() && of_ == function) return reduced_;
  of_ = function;
  reduced_ = module_.source;
  for (const Function& other : module_.functions) {
    if (!function || &other == function || other.body.empty()) continue;
    for (uint32_t i = other.body.front().span.begin; i < other.body.back().span.end && i < reduced_.size(); ++i)
      if (reduced_[i] != '\n') reduced_[i] = ' ';
  }
  return reduced_;
}

std::optional<Outcome> Trials::outcome(const Function* function, const std::vector<base::Edit>& edits) {
  constexpr size_t kMostFindings = 20'000;
  size_t size = module_.source.size() + 1;
  if (size > budget_) return std::nullopt;
  budget_ -= size;
  Checked checked = check(edited(reduced(function), edits), module_.file, kMostFindings);
  Outcome outcome;
  for (const auto& finding : checked.findings) {
    outcome.errors += finding.severity == base::Severity::error;
    outcome.idle += finding.code == spelling(Code::unused_parameter);
  }
  for (const Function& each : checked.module.functions)
    if (each.has_body) LooseEnds(each).count(outcome);
  return outcome;
}

}  // namespace ptxlab::ptx
