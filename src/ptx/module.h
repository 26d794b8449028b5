// A PTX module as written: declarations, functions and statements in source order, names resolved to indices, comments kept.
// Function bodies are flat lists of statements, with braces as statements of their own, since that is what printing,
// rewriting and diagnostics want; control flow is derived in analysis/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/span.h"
#include "isa/special_register.h"
#include "isa/table.h"
#include "isa/target.h"
#include "isa/type.h"

namespace ptxlab::ptx {

using base::Span;

// Comments and blank lines around an item, so that a printed module reads like the original.
struct Trivia {
  std::vector<std::string> before;  // whole comment lines, with their // or /* */, in order; "" is a blank line
  std::string after;                // a comment at the end of the item's last line
  friend bool operator==(const Trivia&, const Trivia&) = default;
};

enum class Linkage : uint8_t { internal, visible, external, weak, common };

// A name that an operand refers to.
struct SymbolRef {
  enum class Where : uint8_t {
    unresolved,
    module_variable,
    function_variable,
    parameter,
    return_parameter,
    function
  } where;
  uint32_t index = 0;
  friend bool operator==(const SymbolRef&, const SymbolRef&) = default;
};

struct Operand {
  enum class Kind : uint8_t {
    reg,       // id: index into Function::registers
    special,   // id: index into isa::special_registers(); component: 0..3 for .x .. .w, -1 none
    integer,   // bits: two's complement; text as written in `name`
    floating,  // bits: the pattern of an f64; 0f literals are widened, their own pattern is in `name`
    symbol,    // symbol (name is kept for printing), offset added: mov.u32 %r, table+4
    label,     // name; id: index into Function::labels
    address,   // elements[0] is the base (reg, symbol or integer), offset added; printed in [ ]; any further elements
               // are what follows the base: [map, {x, y}]
    vector,    // { elements }
    sink,      // _
    pair,      // elements[0] | elements[1]
    list,      // ( elements ): call arguments
    name,      // a bare word that resolves to nothing: the parser has reported it
  };
  Kind kind = Kind::name;
  bool negated = false;  // ! on a predicate
  int8_t component =
      -1;  // 0..3: .x .y .z .w of a special or vector register; 4..7: .b0 .. .b3, 8, 9: .h0, .h1 of video instructions
  bool single_precision = false;  // floating: written as 0f...
  bool adds_zero = false;         // written as [a+0]: ptxas -g makes other code of it than of [a]
  uint32_t id = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  SymbolRef symbol{SymbolRef::Where::unresolved, 0};
  std::string name;  // spelling of symbol, label, name, number
  std::vector<Operand> elements;
  Span span;
};

struct Guard {
  uint32_t reg = 0;  // index into Function::registers
  bool negated = false;
  Span span;
};

struct Instruction {
  std::optional<Guard> guard;
  std::vector<std::string> words;  // "ld", ".global", ".v4", ".f32", as written
  std::vector<Span> word_spans;
  std::vector<Operand> operands;  // in written order
  isa::Form form;                 // set by the verifier; row is null where the table lacks the form
  uint32_t line = 0;              // line in the PTX text, from 1
  uint32_t loc = 0;               // index + 1 into Module::locations: the CUDA source line in force; 0: none
  bool is(std::string_view opcode) const {
    return form.row ? form.row->opcode == opcode : !words.empty() && words[0] == opcode;
  }
};

struct Label {
  uint32_t id;  // index into Function::labels
};

// .reg .b32 %r<100>;  .reg .pred %p, %q;
struct RegisterDeclaration {
  struct Item {
    std::string name;
    uint32_t count = 0;  // of a bank: name0 .. name(count-1)
    bool bank = false;   // %r<100>; else a single register
    Span span;
  };
  isa::Type type = isa::Type::none;
  int vector = 1;  // .v2, .v4
  std::vector<Item> items;
};

struct Register {
  std::string name;
  isa::Type type = isa::Type::none;
  int vector = 1;
  Span declared;  // of the declaring item
};

struct Initializer {
  // Nested braces flattened in order; each element is a number (bits in the variable's type) or a symbol's address.
  struct Element {
    uint64_t bits = 0;
    std::string symbol;
    int64_t offset = 0;
    bool generic = false;  // generic(symbol)
    uint64_t mask = 0;     // 0xff00(symbol): these bits of the address, shifted down; 0: all
  };
  std::vector<Element> elements;  // the rest of the variable is zero
  std::string text;               // as written, for printing
};

struct Variable {
  std::string name;
  isa::Space space = isa::Space::none;
  isa::Type type = isa::Type::none;
  int vector = 1;
  uint32_t align = 0;          // 0: the type's own
  std::vector<uint64_t> dims;  // empty: scalar; a 0 first dimension is []
  std::optional<Initializer> init;
  Linkage linkage = Linkage::internal;
  std::optional<isa::Space> ptr_space;  // .param .u64 .ptr .global .align 16 x
  uint32_t ptr_align = 0;
  std::vector<std::string> attributes;  // as written, such as ".attribute(.managed)"
  std::string opaque;                   // ".texref", ".samplerref", ".surfref": then type is none
  Span span;                            // of the name
  // The declared bytes: type x vector x dims; 0 for [].
  uint64_t bytes() const;
  uint32_t alignment() const;
};

struct VariableDeclaration {
  uint32_t index;  // into Module::variables or Function::variables
};

struct Loc {
  uint32_t file = 0, line = 0, column = 0;
  std::string rest;  // function_name and inlined_at, as written
};

// .pragma, .branchtargets, .callprototype, and whatever else stands in a body as a directive, as written without its label
// and its ';'.
struct Directive {
  std::string text;
  std::vector<Operand> targets;  // of .branchtargets (labels) and .calltargets (function symbols), in order
  // Of .callprototype: the declared parameters and results.
  std::vector<Variable> parameters, results;
};

struct BlockBegin {};
struct BlockEnd {};

struct Statement {
  std::variant<Instruction, Label, RegisterDeclaration, VariableDeclaration, Loc, Directive, BlockBegin, BlockEnd> what;
  Trivia trivia;
  Span span;
  Instruction* instruction() { return std::get_if<Instruction>(&what); }
  const Instruction* instruction() const { return std::get_if<Instruction>(&what); }
};

struct LabelInfo {
  std::string name;
  int32_t statement = -1;  // index into Function::body; -1: used and never defined (the parser has reported it)
  Span span;
};

struct Function {
  std::string name;
  bool entry = false;
  bool has_body = false;  // false: a forward declaration
  Linkage linkage = Linkage::internal;
  std::vector<Variable> parameters;     // a .func may have parameters in space reg: registers of the same name exist
  std::vector<Variable> results;        // of a .func
  std::vector<std::string> leading;     // what stands between .func and the name: .attribute(...), as written
  std::vector<std::string> directives;  // .maxntid 256, 1, 1 and such, as written
  std::vector<Statement> body;
  std::vector<Register> registers;  // those declared singly, and those of banks that are used; unique across scopes
  std::vector<LabelInfo> labels;
  std::vector<Variable> variables;  // .shared, .local, .param inside the body
  Trivia trivia;                    // before: comments inside the header; after: the comment behind the opening brace
  Trivia end_trivia;                // before the closing brace
  Span name_span;
  Span span;

  // The numbers of ".maxntid", ".reqntid", ".maxnreg", ".minnctapersm" as in `directives`; empty where absent.
  std::vector<uint32_t> directive(std::string_view name) const;
};

// Module-level items in source order.
struct Item {
  enum class Kind : uint8_t { variable, function, directive } kind;
  uint32_t index;  // into variables, functions, directives
  Trivia trivia;
};

struct Module {
  std::string file;             // the name used in findings
  std::string source;           // the text that was parsed
  isa::PtxVersion version = 0;  // 83
  isa::Target target;
  std::vector<std::string> target_options;  // "texmode_independent", "debug"
  int address_size = 64;
  Trivia header;
  std::vector<Item> items;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<std::string> directives;                  // .file, .section and such, as written
  std::vector<std::pair<uint32_t, std::string>> files;  // .file numbers and names
  std::vector<Loc> locations;  // every .loc of the module, in order; Instruction::loc points here
  Trivia end_trivia;

  const Function* function(std::string_view name) const;
  // The module-level variable of that name, mangled or not where the unmangled name is unique.
  const Variable* variable(std::string_view name) const;
  // The entry of that name, mangled or not where the unmangled name is unique; with "" the only entry.
  const Function* entry(std::string_view name) const;
};

}  // namespace ptxlab::ptx
