// Decoded functions: what the interpreter runs. An image is an entry with all that it calls, laid out for one launch after
// another; control flow is resolved to indices, and every operand to a slot of the frame's register file.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"
#include "simt/memory.h"
#include "simt/observer.h"
#include "simt/op.h"

namespace ptxlab::simt {

// A slot with the same value in every lane of every frame.
struct ConstantSlot {
  uint32_t slot;
  uint64_t bits;
  bool wide;
};
// A slot that holds an address in the frame's part of the thread's stack, or that address as a generic one.
struct StackSlot {
  uint32_t slot;
  uint64_t offset;  // from the frame's base
  bool wide;
};
// A slot that holds a special register; filled when a warp starts.
enum class Special : uint8_t;  // special.h
struct SpecialSlot {
  uint32_t slot;
  Special which;
  int8_t component;
  bool wide;
};

struct StackVariable {
  uint32_t offset = 0;  // from the frame's base
  uint32_t bytes = 0;
};

struct Code;

struct Call {
  enum class Builtin : uint8_t { none, vprintf, assertfail } builtin = Builtin::none;
  const Code* callee = nullptr;
  bool indirect = false;  // the callee's address lies in the op's `a`
  // Where the arguments lie in the caller's stack, or slots where they are registers.
  struct Value {
    bool in_stack = true;
    StackVariable variable;
    uint32_t slot = 0;
    bool wide = false;
  };
  std::vector<Value> arguments, results;
};

struct Code {
  const ptx::Function* function = nullptr;
  std::vector<Op> ops;  // ends with an exit or a return of its own, so that a function may simply end
  std::vector<uint32_t> lists;
  std::vector<bool> read_slots;     // by slot: some instruction reads it
  std::vector<uint8_t> wide_slots;  // by slot: it begins a register of 64-bit lanes
  std::vector<Call> calls;
  std::deque<Modifiers> modifiers;              // what Op::modifiers points to
  std::vector<std::vector<uint32_t>> branches;  // targets of brx.idx
  uint32_t register_end = kFirstSlot;  // registers are the slots from kFirstSlot to here, then come the fixed ones
  uint32_t slots = kFirstSlot;
  std::vector<ConstantSlot> constants;
  std::vector<StackSlot> stack_slots;
  std::vector<SpecialSlot> specials;
  uint32_t stack_used = 0;  // to the last variable's last byte: what may be touched
  uint32_t stack_bytes = 0;
  std::vector<StackVariable> parameters, results, variables;  // variables: by index in Function::variables
  std::vector<int64_t> parameter_slots, result_slots;         // .reg parameters: their slot; -1: in the stack
  bool entry = false;
};

struct OpPlace {
  const Code* code = nullptr;
  uint32_t pc = 0;
};

struct Image {
  const ptx::Module* module = nullptr;
  std::vector<std::unique_ptr<Code>> codes;  // the entry first
  std::vector<OpPlace> places;               // by Op::id
  std::vector<SharedVariable> shared;
  uint32_t static_shared = 0;             // bytes before the dynamic part
  std::vector<StackVariable> parameters;  // the entry's, in its .param space
  uint32_t parameter_bytes = 0;
  std::map<uint64_t, const Code*> by_address;  // functions that calls through registers may reach
};

// Where a function lies: an address that is no data's. The same in every entry's image.
uint64_t code_address(const ptx::Module& module, std::string_view name);

// Where a module's variables lie.
struct Variables {
  Memory memory{0, kVariableBase};
  std::vector<int64_t> allocation;  // by index in Module::variables; -1: not in global or constant memory
};

// Decodes `entry` and what it calls. What has no handler goes to `unsupported`, one finding each (RUN0001).
std::unique_ptr<Image> decode(const ptx::Module& module, const ptx::Function& entry, const Variables& variables,
                              base::Findings& unsupported);

// Offsets of variables that follow one another at their own alignment; the bytes of all goes to `end`.
std::vector<StackVariable> layout(const std::vector<ptx::Variable>& variables, uint32_t& end);

}  // namespace ptxlab::simt
