// One function on its way from the module to ops: what decode.cc and decode_calls.cc share.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simt/decode.h"

namespace ptxlab::simt {

inline bool wide_type(isa::Type type) { return isa::bits_of(type) > 32; }

class FunctionDecoder {
 public:
  FunctionDecoder(const ptx::Module& module, Image& image, Code& code, const Variables& variables,
                  const std::map<const ptx::Function*, Code*>& codes, base::Findings& unsupported)
      : module_(module),
        image_(image),
        code_(code),
        function_(*code.function),
        variables_(variables),
        codes_(codes),
        unsupported_(unsupported) {}
  void decode();

 private:
  void assign_registers();
  void assign_stack();
  bool instruction(const ptx::Instruction& in, Op& op);
  bool operands(const ptx::Instruction& in, Op& op);
  bool vector(const ptx::Operand& operand, isa::Type type, int lanes, Op& op);
  bool address(const ptx::Operand& operand, Op& op, uint32_t& base, int64_t& offset, bool& wide);
  bool call(const ptx::Instruction& in, Op& op);
  const ptx::Directive* directive_at(const ptx::Operand& label) const;
  const std::vector<ptx::Variable>& formals_of(const ptx::Directive& declared, bool parameters) const;
  bool branch_table(const ptx::Instruction& in, Op& op);
  std::optional<uint32_t> slot_of(const ptx::Operand& operand, isa::Type type, bool& wide);
  uint32_t constant(uint64_t bits, bool wide);
  uint32_t stack_address(uint64_t offset, bool wide);
  std::optional<uint32_t> special(const ptx::Operand& operand, bool wide);
  std::optional<uint32_t> symbol_address(const ptx::Operand& operand, bool wide);
  uint32_t fixed(uint32_t count);
  std::optional<uint32_t> target(const ptx::Operand& operand) const;
  void finish(const isa::Form& form, Op& op);
  void refuse(const ptx::Statement& statement, const std::string& why = "");

  const ptx::Module& module_;
  Image& image_;
  Code& code_;
  const ptx::Function& function_;
  const Variables& variables_;
  const std::map<const ptx::Function*, Code*>& codes_;
  base::Findings& unsupported_;
  std::vector<uint32_t> register_slots_;
  uint32_t carry_ = 0;
  std::map<std::pair<uint64_t, bool>, uint32_t> constants_, stack_slots_;
  std::map<std::tuple<uint16_t, int8_t, bool>, uint32_t> specials_;
  std::vector<uint32_t> pc_of_statement_;
  std::string why_;
};

}  // namespace ptxlab::simt
