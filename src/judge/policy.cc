#include "judge/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "isa/special_register.h"
#include "judge/approximations.h"
#include "judge/judge_finding.h"

namespace ptxlab::judge {
namespace {

using base::Severity;
using ptx::Function;
using ptx::Instruction;
using ptx::Module;
using ptx::Operand;
using ptx::Statement;

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

constexpr size_t kMaxFindings = 20;  // of accesses that are too wide

// The runtime's functions that honest kernels call: they print and stop, and keep no address.
bool harmless_external(std::string_view name) { return name == "vprintf" || name == "__assertfail"; }

class Rules {
 public:
  Rules(const Module& module, const task::Task& task) : module_(module) {
    allowed_.insert(task.allow.begin(), task.allow.end());
  }

  void instruction(const Function& function, const Statement& statement, const Instruction& instruction) {
    std::string_view opcode = instruction.words.empty() ? std::string_view{} : std::string_view(instruction.words[0]);
    if (!allows("clock") && reads_time(instruction)) {
      add("POL0002", statement, "reads a clock or waits for a time", "clock",
          "a result may not depend on when it is computed");
    }
    if (!allows("griddepcontrol") && opcode == "griddepcontrol") {
      add("POL0003", statement, "orders itself among the stream's kernels", "griddepcontrol",
          "launch order belongs to the plan");
    }
    if (!allows("approx") && is_approximate(instruction)) {
      add("POL0004", statement, "is an approximate instruction", "approx", "use the rounded form (.rn)");
    }
    if (keeps_lines(instruction)) kept_lines(statement, "keeps lines in L2 beyond the launch (evict_last)");
    if (hinted(instruction) && may_keep_lines(function, instruction.operands.back()))
      kept_lines(statement, "may keep lines in L2 beyond the launch: its cache policy is a number or not known here");
  }

  void external(const Function& function) {
    if (starts_with(function.name, "cudaLaunch") || starts_with(function.name, "cudaGetParameterBuffer") ||
        starts_with(function.name, "cudaCDP") || starts_with(function.name, "cudaDevice") ||
        starts_with(function.name, "cudaStream")) {
      findings_.push_back(judge_finding("POL0001", Severity::error,
                                        fmt::format("'{}' launches work from the device", function.name),
                                        "a candidate's launches are those of its plan", place(function.name_span)));
    }
    if (!allows("state") && (function.name == "malloc" || function.name == "free")) {
      findings_.push_back(judge_finding(
          "POL0007", Severity::error, fmt::format("'{}' keeps memory on the device between launches", function.name),
          "ask for scratch in the plan; a task that needs state says so in `allow`", place(function.name_span)));
    }
  }

  void written(const std::string& name) {
    if (allows("state")) return;
    for (const auto& variable : module_.variables) {
      if (variable.name != name) continue;
      findings_.push_back(judge_finding(
          "POL0005", Severity::error,
          fmt::format("the module's variable '{}' may be written and then lives on between launches", name),
          "use scratch of the plan; a task that needs state says so in `allow`", place(variable.span)));
    }
  }

  base::Findings take() && { return std::move(findings_); }

 private:
  bool allows(const char* word) const { return allowed_.count(word) > 0; }
  base::Place place(const base::Span& span) const { return base::place_of(module_.source, span, module_.file); }

  static bool timing(const Operand& operand) {
    if (operand.kind == Operand::Kind::special && isa::special_registers()[operand.id].timing) return true;
    return std::any_of(operand.elements.begin(), operand.elements.end(), timing);
  }
  static bool reads_time(const Instruction& instruction) {
    if (instruction.form.row && instruction.form.row->effects.timing) return true;
    return std::any_of(instruction.operands.begin(), instruction.operands.end(), timing);
  }

  static bool keeps_lines(const Instruction& instruction) {
    return std::any_of(instruction.words.begin(), instruction.words.end(),
                       [](const std::string& w) { return starts_with(w, ".L2::evict_last"); });
  }

  static bool hinted(const Instruction& instruction) {
    return !instruction.operands.empty() && std::any_of(instruction.words.begin(), instruction.words.end(),
                                                        [](const std::string& w) { return w == ".L2::cache_hint"; });
  }

  // The words that createpolicy makes for the whole of an access, as libraries write them down.
  static bool harmless_policy(const Operand& operand) {
    return operand.kind == Operand::Kind::integer &&
           (operand.bits == 0x1000000000000000 || operand.bits == 0x12f0000000000000);  // normal, first
  }

  // Whether a policy may be another one than createpolicy made in sight: that one is noted where it is made.
  static bool may_keep_lines(const Function& function, const Operand& policy) {
    if (policy.kind != Operand::Kind::reg) return !harmless_policy(policy);
    for (const auto& statement : function.body) {
      const Instruction* instruction = statement.instruction();
      if (!instruction || instruction->operands.size() < 2 || instruction->is("st")) continue;
      const Operand& to = instruction->operands[0];
      if (to.kind != Operand::Kind::reg || to.id != policy.id || instruction->is("createpolicy")) continue;
      if (!instruction->is("mov") || !harmless_policy(instruction->operands[1])) return true;
    }
    return false;
  }

  // Legal, honest and worth knowing: lines under this policy outlive a flush that merely writes a lot.
  void kept_lines(const Statement& statement, const char* what) {
    if (counts_["POL0016"]++ > 0) return;
    findings_.push_back(judge_finding("POL0016", Severity::note, what,
                                      "cold timings have to rotate their inputs through more memory than L2 holds",
                                      place(statement.span)));
  }

  // One finding a code and opcode with the number of places: a kernel may hold hundreds.
  void add(const char* code, const Statement& statement, std::string_view what, const char* lifts, const char* hint) {
    const Instruction& instruction = *statement.instruction();
    std::string spelled;
    for (const auto& word : instruction.words) spelled += word;
    if (int& count = counts_[std::string(code) + spelled]; count++ > 0) return;
    findings_.push_back(
        judge_finding(code, Severity::error, fmt::format("'{}' {}, which this task does not allow", spelled, what),
                      fmt::format("{}; a task that may says `allow = [\"{}\"]`", hint, lifts), place(statement.span)));
  }

  const Module& module_;
  std::set<std::string, std::less<>> allowed_;
  std::map<std::string, int> counts_;
  base::Findings findings_;
};

// Flow-insensitive: once a register of a function has held an address derived from a variable, it counts as holding it
// always.
class AddressFlow {
 public:
  explicit AddressFlow(const Module& module) : module_(module) {}

  std::set<uint32_t> written() {
    bool any = std::any_of(module_.variables.begin(), module_.variables.end(),
                           [](const ptx::Variable& variable) { return variable.space == isa::Space::global; });
    if (!any) return {};
    // An address inside another variable's initial value can be loaded from there by anyone.
    for (const auto& variable : module_.variables) {
      if (!variable.init) continue;
      for (const auto& element : variable.init->elements) {
        for (uint32_t i = 0; i < module_.variables.size(); ++i) {
          if (!element.symbol.empty() && module_.variables[i].name == element.symbol) mark(i);
        }
      }
    }
    for (const Function& function : module_.functions) flow(function);
    return written_;
  }

 private:
  using Set = std::set<uint32_t>;

  void mark(uint32_t variable) {
    isa::Space space = module_.variables[variable].space;
    if (space == isa::Space::global) written_.insert(variable);
  }
  void mark(const Set& set) {
    for (uint32_t variable : set) mark(variable);
  }

  // The variables whose address an operand's value may hold; for an address operand those that it may point into.
  Set held(const Operand& operand, const std::vector<Set>& registers) const {
    Set set;
    if (operand.kind == Operand::Kind::symbol && operand.symbol.where == ptx::SymbolRef::Where::module_variable) {
      set.insert(operand.symbol.index);
    } else if (operand.kind == Operand::Kind::reg) {
      set = registers[operand.id];
    }
    for (const auto& element : operand.elements) set.merge(held(element, registers));
    return set;
  }

  static void each_register(const Operand& operand, const auto& visit) {
    if (operand.kind == Operand::Kind::reg) visit(operand.id);
    for (const auto& element : operand.elements) each_register(element, visit);
  }

  static bool harmless_call(const Instruction& instruction) {
    return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [](const Operand& operand) { return harmless_external(operand.name); });
  }

  void flow(const Function& function) {
    std::vector<Set> registers(function.registers.size());
    calls_out_ = std::any_of(function.body.begin(), function.body.end(), [](const Statement& statement) {
      const Instruction* instruction = statement.instruction();
      return instruction && instruction->is("call") && !harmless_call(*instruction);
    });
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& statement : function.body) {
        const Instruction* instruction = statement.instruction();
        if (instruction && !instruction->words.empty()) changed |= step(*instruction, registers);
      }
    }
  }

  bool step(const Instruction& instruction, std::vector<Set>& registers) {
    std::string_view opcode = instruction.words[0];
    const auto& operands = instruction.operands;
    Set sources;
    for (size_t i = 1; i < operands.size(); ++i) {
      if (operands[i].kind != Operand::Kind::address) sources.merge(held(operands[i], registers));
    }
    if (opcode == "call") {
      if (!harmless_call(instruction)) mark(sources);
      return false;
    }
    bool writes_memory = opcode == "st" || opcode == "red" || opcode == "atom" || starts_with(opcode, "cp") ||
                         starts_with(opcode, "multimem") || starts_with(opcode, "mbarrier") ||
                         starts_with(opcode, "stmatrix");
    bool to_param = std::find(instruction.words.begin(), instruction.words.end(), ".param") != instruction.words.end();
    if (writes_memory && to_param) {
      if (calls_out_) mark(sources);  // an argument of a function that may write through it
    } else if (writes_memory) {
      for (const auto& operand : operands) {
        if (operand.kind == Operand::Kind::address) mark(held(operand, registers));
      }
      mark(sources);  // the address itself stored somewhere: out of sight
    }
    if (operands.empty() || sources.empty() || opcode == "st" || opcode == "red") return false;
    bool changed = false;
    each_register(operands[0], [&](uint32_t id) {
      size_t before = registers[id].size();
      registers[id].insert(sources.begin(), sources.end());
      changed |= registers[id].size() != before;
    });
    return changed;
  }

  const Module& module_;
  bool calls_out_ = false;  // the function at hand calls one of the module's or one that is not known
  Set written_;
};

uint64_t access_bytes(const Instruction& instruction) {
  const auto* row = instruction.form.row;
  if (!row || !(row->effects.loads || row->effects.stores) || row->effects.async) return 0;
  isa::Space space = instruction.form.space();
  if (space == isa::Space::param || space == isa::Space::param_func) return 0;  // registers, once ptxas is done
  return static_cast<uint64_t>(instruction.form.vector_length()) * isa::bytes_of(instruction.form.type());
}

int dynamic_shared(const std::vector<launch::ResolvedPlan>& plans, std::string_view entry) {
  uint32_t most = 0;
  for (const auto& plan : plans) {
    for (const auto& launch : plan.launches) {
      if (launch.entry == entry) most = std::max(most, launch.shared_bytes);
    }
  }
  return static_cast<int>(most);
}

uint64_t threads_of(const launch::ResolvedLaunch& launch) {
  return uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
}

// Whether a module that needs `wanted` runs on `target`: an 'a' on itself only, an 'f' in its family, plain ones
// upwards.
bool runs_on(const isa::Target& wanted, const isa::Target& target) {
  if (wanted.suffix == 'a') return wanted == target;
  if (wanted.suffix == 'f') return target.suffix != 0 && target.sm >= wanted.sm && target.sm / 10 == wanted.sm / 10;
  return target.sm >= wanted.sm;
}

}  // namespace

uint64_t initialised_bytes(const Module& module) {
  uint64_t bytes = 0;
  for (const auto& variable : module.variables) {
    if (variable.init) bytes += variable.bytes();
  }
  return bytes;
}

namespace {

void collect_constants(const Operand& operand, std::set<uint64_t>& seen) {
  bool number = operand.kind == Operand::Kind::integer || operand.kind == Operand::Kind::floating;
  bool small = operand.kind == Operand::Kind::integer && operand.bits + 0x8000 < 0x18000;  // -2^15 to 2^16
  if (number && !small) seen.insert(operand.bits);
  for (const auto& element : operand.elements) collect_constants(element, seen);
}

}  // namespace

uint64_t constant_bytes(const Module& module) {
  std::set<uint64_t> seen;
  for (const Function& function : module.functions)
    for (const auto& statement : function.body)
      if (const Instruction* instruction = statement.instruction())
        for (const auto& operand : instruction->operands) collect_constants(operand, seen);
  return 4 * seen.size();
}

std::vector<std::string> written_variables(const Module& module) {
  std::vector<std::string> names;
  for (uint32_t index : AddressFlow(module).written()) names.push_back(module.variables[index].name);
  return names;
}

base::Findings check_policy(const Module& module, const task::Task& task, const isa::Target& target,
                            uint64_t baseline_bytes) {
  Rules rules(module, task);
  for (const Function& function : module.functions) {
    if (!function.has_body && !function.entry) rules.external(function);
    for (const auto& statement : function.body) {
      if (const Instruction* instruction = statement.instruction())
        rules.instruction(function, statement, *instruction);
    }
  }
  for (const auto& name : written_variables(module)) rules.written(name);
  base::Findings findings = std::move(rules).take();
  uint64_t limit = std::max(kMaxInitialisedBytes, baseline_bytes);
  auto cap = [&](uint64_t bytes, const char* what) {
    if (bytes <= limit) return;
    findings.push_back(
        judge_finding("POL0006", Severity::error,
                      fmt::format("the module carries {} bytes of {}, {} are allowed", bytes, what, limit),
                      "compute the values, or read them from the task's inputs"));
  };
  cap(initialised_bytes(module), "initialised data");
  cap(constant_bytes(module), "constants in its code");
  if (!runs_on(module.target, target)) {
    findings.push_back(
        judge_finding("POL0008", Severity::error,
                      fmt::format("the module needs {} and is judged for {}", module.target.name(), target.name()),
                      fmt::format("lower its .target, or judge with --target {}", module.target.name())));
  }
  return findings;
}

base::Findings check_constraints(const Module& module, const std::vector<launch::ResolvedPlan>& plans,
                                 const record::Constraints& constraints) {
  base::Findings findings;
  if (constraints.max_block_threads) {
    uint64_t most = 0;
    for (const auto& plan : plans) {
      for (const auto& launch : plan.launches) most = std::max(most, threads_of(launch));
    }
    if (most > static_cast<uint64_t>(*constraints.max_block_threads)) {
      findings.push_back(judge_finding(
          "POL0012", Severity::error,
          fmt::format("a block has {} threads, the brief allows {}", most, *constraints.max_block_threads),
          "launch smaller blocks"));
    }
  }
  for (const Function& function : module.functions) {
    if (constraints.max_shared_bytes) {
      if (int bytes = dynamic_shared(plans, function.name); bytes > *constraints.max_shared_bytes) {
        findings.push_back(
            judge_finding("POL0011", Severity::error,
                          fmt::format("'{}' is launched with {} bytes of shared memory, the brief allows {}",
                                      function.name, bytes, *constraints.max_shared_bytes)));
      }
    }
    if (!constraints.vector_bytes) continue;
    for (const auto& statement : function.body) {
      const Instruction* instruction = statement.instruction();
      uint64_t bytes = instruction ? access_bytes(*instruction) : 0;
      if (bytes <= static_cast<uint64_t>(*constraints.vector_bytes)) continue;
      if (findings.size() >= kMaxFindings) break;
      findings.push_back(judge_finding(
          "POL0013", Severity::error,
          fmt::format("an access of {} bytes a thread, the brief allows {}", bytes, *constraints.vector_bytes),
          "use narrower loads and stores", base::place_of(module.source, statement.span, module.file)));
    }
  }
  return findings;
}

base::Findings check_scratch(const launch::ResolvedPlan& plan, uint64_t least) {
  uint64_t scratch = 0, own = 0;
  for (const auto& buffer : plan.buffers) {
    uint64_t& sum = buffer.role == launch::ResolvedBuffer::Role::scratch ? scratch : own;
    sum += buffer.bytes;
  }
  uint64_t limit = std::max(least, 16 * own);
  if (scratch <= limit) return {};
  return {judge_finding("POL0015", Severity::error,
                        fmt::format("the plan asks for {} bytes of scratch, {} are allowed here", scratch, limit),
                        "scratch grows with the task's buffers, and no faster")};
}

base::Findings check_resources(const std::vector<toolchain::Resources>& resources,
                               const std::vector<launch::ResolvedPlan>& plans, const isa::Target& target,
                               const record::Constraints& constraints) {
  base::Findings findings;
  for (const auto& entry : resources) {
    int shared = entry.shared + dynamic_shared(plans, entry.entry);
    if (constraints.max_registers && entry.registers > *constraints.max_registers) {
      findings.push_back(judge_finding("POL0010", Severity::error,
                                       fmt::format("'{}' takes {} registers a thread, the brief allows {}", entry.entry,
                                                   entry.registers, *constraints.max_registers),
                                       ".maxnreg or fewer live values bring it down"));
    }
    if (constraints.max_shared_bytes && shared > *constraints.max_shared_bytes) {
      findings.push_back(judge_finding("POL0011", Severity::error,
                                       fmt::format("'{}' takes {} bytes of shared memory, the brief allows {}",
                                                   entry.entry, shared, *constraints.max_shared_bytes)));
    }
    uint64_t threads = 0;
    for (const auto& plan : plans) {
      for (const auto& launch : plan.launches) {
        if (launch.entry == entry.entry) threads = std::max(threads, threads_of(launch));
      }
    }
    if (threads == 0) continue;
    auto occupancy = toolchain::occupancy(target, static_cast<int>(threads), entry.registers, shared);
    if (occupancy.ctas > 0) continue;
    findings.push_back(judge_finding(
        "POL0014", Severity::error,
        fmt::format("a block of '{}' ({} threads of {} registers, {} bytes of shared memory) does not fit on an "
                    "SM of {}: {}",
                    entry.entry, threads, entry.registers, shared, target.name(), occupancy.limited_by),
        "launch smaller blocks, or say .maxntid so that ptxas keeps to fewer registers"));
  }
  return findings;
}

}  // namespace ptxlab::judge
