// Walks every instruction: finds its form in the table, then judges its operands. Modifiers repeat all over a program, so
// what the table says of each spelling is asked once.
#include "ptx/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ptx/arguments.h"
#include "ptx/form_choice.h"
#include "ptx/hints.h"
#include "ptx/linkage_check.h"
#include "ptx/memory_check.h"
#include "ptx/operand_check.h"
#include "ptx/parser.h"
#include "ptx/report.h"

namespace ptxlab::ptx {
namespace {

// Instructions that PTX has and that the table may lack. Asked only when the table does not know an opcode: what ptxas may
// take is a warning, what no PTX has is an error.
constexpr std::string_view kElsewhere[] = {
    "activemask", "applypriority", "atom",       "cp",         "createpolicy",   "discard",
    "elect",      "fabric",        "fence",      "getctarank", "griddepcontrol", "istypep",
    "ldmatrix",   "ldu",           "mapa",       "match",      "mbarrier",       "membar",
    "mma",        "movmatrix",     "multimem",   "pmevent",    "prefetch",       "prefetchu",
    "red",        "redux",         "setmaxnreg", "spcompress", "spdecompress",   "st",
    "stmatrix",   "suld",          "suq",        "sured",      "sust",           "tcgen05",
    "tensormap",  "tex",           "tld4",       "txq",        "vabsdiff",       "vabsdiff2",
    "vabsdiff4",  "vadd",          "vadd2",      "vadd4",      "vavrg2",         "vavrg4",
    "vmad",       "vmax",          "vmax2",      "vmax4",      "vmin",           "vmin2",
    "vmin4",      "vset",          "vset2",      "vset4",      "vshl",           "vshr",
    "vsub",       "vsub2",         "vsub4",      "vote",       "wgmma",          "wmma",
    "clmad",      "brkpt",         "alloca",     "stacksave",  "stackrestore",   "nanosleep"};

// Of those, the ones that most targets lack.
isa::Gate gate_elsewhere(std::string_view opcode) {
  isa::Gate gate;
  if (opcode == "wgmma") {
    gate.ptx_since = 80;
    gate.only_on = isa::admitted_by({90, 'a'});
  } else if (opcode == "tcgen05") {
    gate.ptx_since = 86;
    gate.only_on = isa::admitted_by({100, 'f'}) | isa::admitted_by({110, 'f'});
  }
  return gate;
}

// The newest PTX version that the table describes; what newer ones add is not called an error.
constexpr isa::PtxVersion kTableVersion = 90;

struct Known {
  isa::Match match;
  std::vector<std::string> refusals;  // by form: why the module's version or target does not admit it
};

class Verifier {
 public:
  Verifier(Module& module, size_t limit) : module_(module), report_(module.source, module.file, limit) {}

  base::Findings run() {
    for (Function& function : module_.functions) {
      OperandCheck operands(module_, function);
      for (size_t i = 0; i < function.body.size() && !report_.full(); ++i)
        if (function.body[i].instruction()) verify(function, operands, i);
    }
    check_linkage(module_, report_);
    add_hints(module_, report_);
    return report_.take();
  }

 private:
  // The module says for which version and target it is: without, nothing is gated.
  bool headed() const { return module_.version != 0 && module_.target.sm != 0; }
  const Known& known(const Instruction& instruction);
  void verify(Function& function, const OperandCheck& operands, size_t statement);
  void refuse(const Instruction& instruction, std::string_view what, std::string_view refusal);
  void no_form(const Instruction& instruction, const isa::Match& match);
  void report(const Problem& problem);
  void count_problem(const Instruction& instruction, const isa::Match& match);

  Module& module_;
  Report report_;
  std::unordered_map<std::string, Known> known_;
  std::string key_;
};

const Known& Verifier::known(const Instruction& instruction) {
  key_.clear();
  for (const auto& word : instruction.words) key_ += word;
  auto [found, added] = known_.try_emplace(key_);
  Known& entry = found->second;
  if (!added) return entry;
  std::vector<std::string_view> words(instruction.words.begin(), instruction.words.end());
  entry.match = isa::match(words);
  for (const auto& form : entry.match.forms) {
    entry.refusals.push_back(headed() ? isa::refusal(form.gate(), module_.version, module_.target) : "");
  }
  return entry;
}

void Verifier::report(const Problem& problem) {
  report_.add(problem.code, problem.warning ? base::Severity::warning : base::Severity::error, problem.span,
              problem.message, problem.hint);
}

// The module's version or target does not admit the instruction.
void Verifier::refuse(const Instruction& instruction, std::string_view what, std::string_view refusal) {
  report_.error(Code::gate, {instruction.word_spans.front().begin, instruction.word_spans.back().end},
                fmt::format("{} {}", what, refusal),
                fmt::format("the module says .version {}.{} and .target {}", module_.version / 10, module_.version % 10,
                            module_.target.name()));
}

// The table has no such form.
void Verifier::no_form(const Instruction& instruction, const isa::Match& match) {
  size_t word = std::clamp<int>(match.word, 0, static_cast<int>(instruction.words.size()) - 1);
  Span span = instruction.word_spans[word];
  std::string hint = match.suggestion.empty() ? "" : "did you mean " + match.suggestion + "?";
  bool newer = module_.version > kTableVersion;
  if (!match.opcode_known) {
    isa::Gate gate = gate_elsewhere(instruction.words[0]);
    std::string refusal = headed() ? isa::refusal(gate, module_.version, module_.target) : "";
    if (!refusal.empty()) return refuse(instruction, instruction.words[0], refusal);
    bool elsewhere =
        std::find(std::begin(kElsewhere), std::end(kElsewhere), instruction.words[0]) != std::end(kElsewhere);
    if (elsewhere || newer) {
      report_.warning(Code::opcode_not_in_table, span,
                      "the table does not describe " + quoted(instruction.words[0]) + " yet",
                      "nothing is said about this instruction here; ptxas decides");
    } else {
      report_.error(Code::unknown_opcode, span, match.problem, hint);
    }
    return;
  }
  if (newer)
    return report_.warning(Code::opcode_not_in_table, span, match.problem + "; the table ends at PTX 9.0", hint);
  bool vector_move = instruction.is("mov") && (instruction.words[word] == ".v2" || instruction.words[word] == ".v4");
  if (vector_move) {  // old, and in no manual of today; ptxas still takes it
    report_.warning(Code::opcode_not_in_table, span, "the table does not describe moves of whole vectors",
                    "move each element by itself");
    return;
  }
  if (match.lax) {
    report_.error(Code::lax_form, span, match.problem, "PTX has no such form; ptxas takes it and ignores a word");
    return;
  }
  bool missing = match.problem.starts_with("a type is missing");
  report_.error(missing ? Code::missing_type : Code::bad_modifier, span, match.problem, hint);
}

void Verifier::count_problem(const Instruction& instruction, const isa::Match& match) {
  int least = 99, most = 0;
  for (const auto& form : match.forms) {
    OperandCount count = operand_count(form);
    least = std::min(least, count.least);
    most = std::max(most, count.most);
  }
  auto written = static_cast<int>(instruction.operands.size());
  Span span = instruction.word_spans[0];
  if (written > most)
    span = {instruction.operands[static_cast<size_t>(most)].span.begin, instruction.operands.back().span.end};
  std::string_view syntax = match.forms[0].row->syntax;
  report_.error(
      Code::operand_count, span,
      least == most
          ? fmt::format("{} takes {} operand{}, not {}", instruction.words[0], least, least == 1 ? "" : "s", written)
          : fmt::format("{} takes {} to {} operands, not {}", instruction.words[0], least, most, written),
      syntax.empty() ? "" : "its form: " + std::string(syntax));
}

void Verifier::verify(Function& function, const OperandCheck& operands, size_t statement) {
  Instruction& instruction = *function.body[statement].instruction();
  if (instruction.guard && function.registers[instruction.guard->reg].type != isa::Type::pred) {
    const Register& guard = function.registers[instruction.guard->reg];
    report_.error(Code::guard_not_predicate, instruction.guard->span,
                  fmt::format("a guard is a predicate, {} is .{}", quoted(guard.name), isa::name_of(guard.type)),
                  "compare it first: setp.ne.b32 %p, %r, 0");
  }
  const Known& entry = known(instruction);
  if (entry.match.forms.empty()) return no_form(instruction, entry.match);

  FormChoice choice = choose_form(operands, instruction, entry.match.forms, entry.refusals);
  if (choice.index < 0) return count_problem(instruction, entry.match);
  auto best = static_cast<size_t>(choice.index);
  instruction.form = entry.match.forms[best];
  if (choice.problem) {
    report(*choice.problem);
    if (!choice.problem->warning) return;
  }
  if (const std::string& refusal = entry.refusals[best]; !refusal.empty())
    refuse(instruction, std::string(instruction.form.row->opcode) + isa::spelling(instruction.form), refusal);
  check_memory(operands, instruction, choice.arguments, report_);
  check_call(module_, function, statement, report_);
}

}  // namespace

base::Findings verify(Module& module, size_t limit) { return Verifier(module, limit).run(); }

Checked check(std::string_view source, std::string_view file, size_t limit) {
  Parsed parsed = parse(source, file, limit);
  base::Findings more = verify(parsed.module, limit);
  return {std::move(parsed.module), merged(std::move(parsed.findings), std::move(more), limit)};
}

}  // namespace ptxlab::ptx
