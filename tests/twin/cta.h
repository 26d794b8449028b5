// One CTA of the twin: its threads, each a small state machine with registers and a place in the code, its shared
// memory and its barriers.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/resolved.h"
#include "machine.h"
#include "operations.h"
#include "ptx/module.h"
#include "simt/memory.h"

namespace ptxlab::twin {

// Generic addresses of shared and local memory lie in windows of the twin's own choice.
inline constexpr uint64_t kSharedBase = uint64_t{1} << 60;
inline constexpr uint64_t kLocalBase = uint64_t{2} << 60;
inline constexpr uint64_t kCodeBase = uint64_t{3} << 60;
inline constexpr uint64_t kWindow = uint64_t{1} << 32;

// Where a function's code lies, by its name; 0: there is none.
uint64_t function_address(const ptx::Module& module, std::string_view name);
const ptx::Function* function_at(const ptx::Module& module, uint64_t address);

struct Frame {
  const ptx::Function* function = nullptr;
  size_t pc = 0;
  std::vector<uint64_t> registers;
  std::vector<std::vector<uint8_t>> parameters, results;  // bytes of each
  std::vector<std::vector<uint8_t>> parameter_variables;  // of the body's .param variables, by variable index
  std::vector<uint64_t> local_offsets;                    // of the body's .local variables, by variable index
};

struct Thread {
  enum class State : uint8_t { running, at_barrier, at_warp, ended };
  State state = State::running;
  uint32_t index = 0;
  std::vector<Frame> frames;
  std::vector<uint8_t> local;
  bool carry = false;
  Frame& frame() { return frames.back(); }
  const ptx::Instruction* instruction() const {
    const Frame& f = frames.back();
    return f.function->body[f.pc].instruction();
  }
};

// Where the module's variables live; the same for all CTAs of a launch.
struct Layout {
  std::vector<uint64_t> module_address;                                  // of global and constant variables
  std::map<std::pair<const ptx::Function*, uint32_t>, uint64_t> shared;  // offsets; function null: module variables
  uint64_t shared_bytes = 0;                                             // static; dynamic memory follows
};

class Cta {
 public:
  Cta(const ptx::Module& module, const ptx::Function& entry, const launch::ResolvedLaunch& launch, const Layout& layout,
      const std::vector<std::vector<uint8_t>>& parameters, simt::Memory& memory, simt::Memory& variables,
      launch::Dim3 id);
  // Gives each thread a turn. False where none could do anything, or where there was a problem.
  bool advance(const Options& options, Outcome& outcome);
  // A problem where threads are left that can never go on.
  void expect_ended(Outcome& outcome) const;

 private:
  struct BarrierArrival {
    uint32_t thread;
    bool waits;
    bool predicate;
  };
  struct Place {  // bytes somewhere in memory
    uint8_t* data = nullptr;
    uint8_t* defined = nullptr;
  };

  void step(Thread& thread);
  void execute(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  bool control(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  bool memory_operation(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  bool synchronisation(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void move(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void compute(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void load(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void store(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  uint64_t updated(Thread& thread, const Operation& op, uint64_t old, uint64_t b, uint64_t c);
  void atomic(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void copy_async(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void convert_address(Thread& thread, const ptx::Instruction& instruction, const Operation& op);
  void call(Thread& thread, const ptx::Instruction& instruction);
  void leave(Thread& thread);
  Frame enter(Thread& thread, const ptx::Function& function);

  uint64_t value(Thread& thread, const ptx::Operand& operand, isa::Type type);
  uint64_t special(const Thread& thread, const ptx::Operand& operand);
  uint64_t symbol_address(Thread& thread, const ptx::Operand& operand);
  void assign(Thread& thread, const ptx::Operand& operand, uint64_t value);
  uint64_t address(Thread& thread, const ptx::Operand& operand);
  Place place(Thread& thread, const ptx::Operand& operand, const Operation& op, uint64_t bytes, bool writes);
  Place parameter_place(Thread& thread, const ptx::Operand& operand, uint64_t bytes);
  Place place_at(Thread& thread, isa::Space space, uint64_t address, uint64_t bytes, bool writes);

  size_t threads_of_whole_warps(const std::vector<BarrierArrival>& arrivals) const;
  bool resolve_barriers();
  bool resolve_warps();
  bool resolve_warp(uint32_t warp, Thread& first);
  void exchange(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op);
  void shuffle(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op);
  uint64_t fragment_element(Thread& thread, const ptx::Operand& operand, isa::Type type, int i);
  void multiply_matrices(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op);
  void move_matrices(const std::vector<Thread*>& lanes, const ptx::Instruction& instruction, const Operation& op);
  uint32_t live_lanes(uint32_t warp) const;
  void problem(const Thread& thread, std::string text);

  const ptx::Module& module_;
  const ptx::Function& entry_;
  const launch::ResolvedLaunch& launch_;
  const Layout& layout_;
  simt::Memory& memory_;
  simt::Memory& variables_;
  launch::Dim3 id_;
  std::vector<Thread> threads_;
  std::vector<uint8_t> shared_;
  std::map<uint64_t, std::vector<BarrierArrival>> barriers_;
  std::map<uint64_t, uint64_t> barrier_counts_;  // 0: every living thread
  std::string problem_;
  uint32_t problem_line_ = 0;
};

}  // namespace ptxlab::twin
