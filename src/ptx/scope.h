// The names of one function while it is read: registers, banks, variables and parameters under nested braces, and the
// labels, which may be used before they stand there.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/module.h"
#include "ptx/report.h"

namespace ptxlab::ptx {

struct Binding {
  enum class Kind : uint8_t { reg, variable, parameter, result } kind;
  uint32_t index;  // into Function::registers, variables, parameters, results
};

// A bank %r<n> costs the same for every n: its registers come into being when they are first used.
class Scope {
 public:
  Scope(Function& function, Report& report) : function_(function), report_(report) {}

  void open();
  void close();
  uint32_t depth() const { return static_cast<uint32_t>(marks_.size()); }

  // Each reports a name that this scope already has. The views must outlive the object.
  void declare(std::string_view name, Binding binding, Span span);
  void declare_bank(std::string_view base, const RegisterDeclaration& declaration, uint32_t count, Span span);

  std::optional<Binding> lookup(std::string_view name);
  // Whether the innermost scope itself declares `name` (banks apart).
  bool here(std::string_view name) const;
  // Why `name` is no register: beyond the bank, misspelt ...; reported.
  void report_unknown(std::string_view name, Span span);

 private:
  struct Entry {
    uint32_t depth;
    Binding binding;
  };
  struct Bank {
    uint32_t depth;
    uint32_t count;
    isa::Type type;
    int vector;
    Span declared;
    std::vector<uint32_t> small;  // number -> register + 1, 0 where not in use yet
    std::unordered_map<uint32_t, uint32_t> large;
  };
  struct Undo {
    std::string_view name;
    bool bank;
  };
  std::optional<uint32_t> member(Bank& bank, std::string_view base, uint32_t number);
  Bank* bank_here(std::string_view base);

  Function& function_;
  Report& report_;
  std::unordered_map<std::string_view, std::vector<Entry>> names_;
  std::unordered_map<std::string_view, std::vector<Bank>> banks_;
  std::unordered_map<std::string_view, std::vector<std::pair<uint32_t, uint64_t>>>
      numbered_;  // singles %r5 by base: depth, number
  std::vector<Undo> undo_;
  std::vector<size_t> marks_;
  size_t numbered_count_ = 0;  // names in scope that end in a digit and are no bank's: usually none
};

// Splits %r12 into %r and 12. Nothing where the name does not end in a digit or the number is too large for a bank.
struct Numbered {
  std::string_view base;
  uint32_t number;
};
std::optional<Numbered> numbered(std::string_view name);

// Labels: defined per brace scope, visible from the scopes inside it, before and after their definition.
class LabelScopes {
 public:
  void open(uint32_t position);
  void close(uint32_t position);
  void define(std::string_view name, uint32_t label, uint32_t position);
  // `operand` must stay where it is until resolve().
  void use(std::string_view name, Operand* operand, uint32_t position);
  // Turns every used name that is a label into one; reports duplicates and names that nothing declares.
  void resolve(Function& function, Report& report);

 private:
  struct Extent {
    uint32_t begin, end;
  };
  struct Definition {
    uint32_t scope, label;
  };
  struct Use {
    Operand* operand;
    uint32_t position;
  };
  struct Name {
    std::vector<Definition> definitions;
    std::vector<Use> uses;
  };
  void resolve(Name& name, std::string_view spelling, Function& function, Report& report);

  std::vector<Extent> scopes_;
  std::vector<uint32_t> open_;
  std::unordered_map<std::string_view, uint32_t> index_;
  std::vector<std::pair<std::string_view, Name>> names_;  // in order of appearance
};

}  // namespace ptxlab::ptx
