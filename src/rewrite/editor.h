// Writes new statements into a function: fresh registers in a bank of their own, fresh labels, instructions as text,
// copies of existing statements with registers and labels renamed. The result is for printing; whoever wants to analyse
// it parses it again, since indices (of labels, of sources) are not kept up.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace ptxlab::rewrite {

using Statements = std::vector<ptx::Statement>;

class Editor {
 public:
  // New names begin with `prefix` ("vec"), made unique in the function.
  Editor(ptx::Function& function, std::string_view prefix);

  uint32_t fresh(isa::Type type);                  // a new register
  std::string fresh_label(std::string_view hint);  // "$vec_loop_1"
  // By value: fresh() moves the registers.
  std::string name(uint32_t reg) const { return function_.registers[reg].name; }
  isa::Type type(uint32_t reg) const { return function_.registers[reg].type; }

  // A comment above the next statement.
  void comment(std::string text);
  // "add.s64" with operands as spelt: {"%rd1", "%rd2", "8"}; the guard is a predicate register.
  void emit(std::string_view words, std::vector<std::string> operands);
  void emit_if(uint32_t guard, bool negated, std::string_view words, std::vector<std::string> operands);
  void label(std::string name);
  // A copy of a statement; registers found in `registers` and labels found in `labels` are replaced.
  void copy(const ptx::Statement& statement, const std::map<uint32_t, uint32_t>& registers,
            const std::map<std::string, std::string>& labels);
  void move(uint32_t to, const std::string& from);  // mov of the register's width

  // What was emitted since the last take().
  Statements take();
  // Goes on behind what take() gave.
  void put_back(Statements statements);
  std::string label_name(uint32_t id) const { return function_.labels[id].name; }
  // Puts the declaration of all fresh registers at the head of the body.
  void declare();

 private:
  void push(ptx::Statement statement);
  ptx::Function& function_;
  std::string prefix_;
  Statements out_;
  std::vector<std::string> comments_;
  std::map<std::string, uint32_t> labels_;
  struct Bank {
    isa::Type type;
    uint32_t count = 0;
  };
  std::map<std::string, Bank> banks_;
};

// "b16", "b32", "f32", "b64" ...: the type whose mov carries a register of that type unchanged.
isa::Type mov_type(isa::Type type);

// The index in a body at which code of its own may begin: behind the declarations at its head.
size_t first_step(const ptx::Function& function);

// Splits "ld.global.v4.f32" into an instruction's words.
std::vector<std::string> split_words(std::string_view words);

}  // namespace ptxlab::rewrite
