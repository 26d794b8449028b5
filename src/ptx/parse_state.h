// The recursive-descent parser's state, shared by its parts: the module level (parser.cc), declarations (declaration.cc),
// function bodies (body.cc) and operands (operand.cc).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/constant.h"
#include "ptx/module.h"
#include "ptx/reader.h"
#include "ptx/scope.h"

namespace ptxlab::ptx {

// Two things stand side by side that a comma should part.
inline void report_missing_comma(Reader& reader) {
  uint32_t end = reader.previous_end();
  reader.report().add(Code::missing_comma, base::Severity::error, reader.token().span,
                      "',' is missing before " + quoted(reader.text()), "", {{{end, end}, ","}});
}

class Parser {
 public:
  Parser(std::string_view source, std::string_view file, size_t limit)
      : report_(source, file, limit), reader_(source, report_) {
    module_.file = file;
  }
  void run();
  Module& module() { return module_; }
  Report& report() { return report_; }

  // ---- declaration.cc
  // Everything of a variable but its linkage: .global .attribute(...) .align 4 .v2 .u32 name[4][2] = {...}
  struct Prefix {
    isa::Space space = isa::Space::none;
    isa::Type type = isa::Type::none;
    int vector = 1;
    uint32_t align = 0;
    std::optional<isa::Space> ptr_space;
    uint32_t ptr_align = 0;
    std::vector<std::string> attributes;
    std::string opaque;
  };
  bool read_prefix(Prefix& prefix);
  // Name, dimensions, initialiser.
  bool read_declarator(Variable& variable);
  Variable variable_from(const Prefix& prefix) const;
  bool read_initializer(Variable& variable);
  bool read_initializer_element(const Variable& variable, Initializer& initializer);
  void convert(const Variable& variable, const Constant& value, Initializer::Element& element, Span span);
  void check_initializer_size(const Variable& variable, const Initializer& initializer, uint64_t outermost, bool braces,
                              Span place);
  bool read_alignment(Prefix& prefix, Span span);
  bool read_type(Prefix& prefix, std::string_view word, Span span);
  bool read_prefix_word(Prefix& prefix, std::string_view word, Span span);
  bool read_register_declaration(RegisterDeclaration& declaration);
  void check_variable(const Variable& variable, bool at_module_level);
  std::optional<uint32_t> read_count(std::string_view what);
  // ( .param .u64 a, .reg .b32 b ); the caller stands at the '('.
  bool read_parameters(std::vector<Variable>& parameters);

  Report report_;
  Reader reader_;
  Module module_;

 private:
  // ---- parser.cc
  void header();
  void read_version();
  void read_targets();
  void read_target(std::string_view word, Span span);
  void read_address_size();
  void skip_semicolon();
  void item();
  void module_directive();
  void variables(Linkage linkage, uint32_t begin, Trivia trivia);
  void function(Linkage linkage, uint32_t begin, Trivia trivia);
  bool function_header(Function& function);
  void declare_function(uint32_t index);
  void add_variable(Variable variable, Trivia trivia);
  void skip_item();
  void skip_declaration();
  void add_directive(uint32_t begin, Trivia trivia);
  void settle_function_references();

  friend class BodyParser;
  std::unordered_map<std::string_view, SymbolRef> names_;
  std::unordered_map<uint32_t, uint32_t> definitions_;  // first declaration of a function -> its definition
  std::vector<Operand*> function_references_;
};

// One function body, from after its '{' to its '}'.
class BodyParser {
 public:
  BodyParser(Parser& parser, Function& function)
      : parser_(parser),
        reader_(parser.reader_),
        report_(parser.report_),
        module_(parser.module_),
        function_(function),
        scope_(function, parser.report_) {}
  void run();

 private:
  // ---- body.cc
  void statement();
  void declare_parameters();
  void declaration_statement(Statement&& statement, std::string_view word);
  void register_statement(Statement&& statement);
  void variable_statement(Statement&& statement);
  void loc_statement(Statement&& statement);
  void pragma_statement(Statement&& statement);
  void targets_statement(Statement&& statement, bool calls);
  void prototype_statement(Statement&& statement);
  void word_statement(Statement&& statement);
  void instruction(Statement&& statement, Instruction&& instruction, Span opcode, Span first);
  void label_statement(Statement&& statement, std::string_view name, Span span);
  void define_label(Statement&& statement, std::string_view name, Span span);
  bool read_guard(Instruction& instruction);
  void finish(Statement&& statement, uint32_t begin);
  void settle(Operand& operand);
  bool end_of_statement();
  bool accept_comma();
  bool at_bare_guard();

  // ---- operand.cc
  bool read_operand(Operand& operand, int depth);
  bool read_word(Operand& operand);
  bool read_number(Operand& operand);
  bool read_address(Operand& operand, int depth);
  bool read_list(Operand& operand, char open, char close, int depth);
  bool read_offset(Operand& operand);
  bool read_index(Operand& operand);
  bool skip_register_index(Operand& operand);
  void bind(Operand& operand, std::string_view name);

  Parser& parser_;
  Reader& reader_;
  Report& report_;
  Module& module_;
  Function& function_;
  Scope scope_;
  LabelScopes labels_;
  uint32_t loc_ = 0;
  std::vector<Span> word_spans_;  // of the instruction at hand
  std::vector<Operand> operands_;
  bool memory_ = false;     // the opcode at hand reads or writes memory: a[2] is an address
  bool branch_ = false;     // the opcode at hand takes labels
  bool call_ = false;       // the opcode at hand has parenthesised lists
  bool unsettled_ = false;  // the statement at hand has names that are not known yet
};

}  // namespace ptxlab::ptx
