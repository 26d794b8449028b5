// Function bodies: a flat list of statements; braces only open and close scopes, so nesting costs no stack.
#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "ptx/function_check.h"
#include "ptx/opcode_word.h"
#include "ptx/parse_state.h"
#include "ptx/pragma_check.h"

namespace ptxlab::ptx {

// Operands are referred to by address until their names are settled: growing the body must move, not copy.
static_assert(std::is_nothrow_move_constructible_v<Statement>);
static_assert(std::is_nothrow_move_constructible_v<Function>);

void BodyParser::declare_parameters() {
  auto declare = [&](const std::vector<Variable>& variables, Binding::Kind kind) {
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable& variable = variables[i];
      if (variable.name.empty() || variable.name == "_") continue;
      std::string_view name = reader_.text(variable.span);
      Binding binding{kind, static_cast<uint32_t>(i)};
      if (variable.space == isa::Space::reg) {
        binding = {Binding::Kind::reg, static_cast<uint32_t>(function_.registers.size())};
        function_.registers.push_back({variable.name, variable.type, variable.vector, variable.span});
      }
      scope_.declare(name, binding, variable.span);
    }
  };
  declare(function_.results, Binding::Kind::result);
  declare(function_.parameters, Binding::Kind::parameter);
}

// A statement takes hundreds of times the memory of the one byte that it may be written in, a brace: far beyond what any
// kernel needs, a text of those is not held.
constexpr size_t kMostStatements = 2'000'000;

void BodyParser::run() {
  scope_.open();
  labels_.open(reader_.previous_end());
  declare_parameters();
  while (!reader_.at_end() && !(reader_.at('}') && scope_.depth() == 1)) {
    if (function_.body.size() == kMostStatements) {
      report_.error(Code::too_large, function_.name_span,
                    "the body of " + quoted(function_.name) + " has more than two million statements",
                    "the rest is not read");
      while (!reader_.at_end()) reader_.advance();
      break;
    }
    statement();
  }
  function_.end_trivia = reader_.begin_item();
  labels_.close(reader_.token().span.begin);
  while (scope_.depth() > 1) {  // the text ended inside braces
    scope_.close();
    labels_.close(reader_.token().span.begin);
  }
  scope_.close();
  if (reader_.at_end()) {
    report_.error(Code::unexpected_end, function_.name_span,
                  "the body of " + quoted(function_.name) + " has no closing '}'",
                  "the text ends inside it: was the file cut off?");
  } else {
    reader_.advance();
  }
  labels_.resolve(function_, report_);
}

void BodyParser::finish(Statement&& statement, uint32_t begin) {
  statement.span = {begin, reader_.previous_end()};
  reader_.end_item(statement.trivia);
  function_.body.push_back(std::move(statement));
}

// The ',' before another operand. One left out between two on the same line does not cost the statement.
bool BodyParser::accept_comma() {
  if (reader_.accept(',')) return true;
  if (reader_.token().new_line) return false;
  bool operand = reader_.at(Token::Kind::number) || reader_.at('[') || reader_.at('{') ||
                 (reader_.at(Token::Kind::word) && reader_.following() != ':' &&
                  !(reader_.following() == '.' && is_opcode_word(reader_.text())));
  if (!operand) return false;
  report_missing_comma(reader_);
  return true;
}

// The ';' of a statement. One left out at the end of a line does not cost the next line.
bool BodyParser::end_of_statement() {
  if (reader_.accept(';')) return true;
  // The next statement may have begun on the same line.
  bool next = reader_.at('@') || reader_.at_dotted(".reg") ||
              (reader_.at(Token::Kind::word) && (reader_.following() == '.' || reader_.following() == ':') &&
               (reader_.following() == ':' || is_opcode_word(reader_.text())));
  if (reader_.token().new_line || next || reader_.at('}') || reader_.at_end()) {
    uint32_t end = reader_.previous_end();
    report_.add(Code::missing_semicolon, base::Severity::error, {end > 0 ? end - 1 : 0, end}, "';' is missing here",
                "every statement ends with ';'", {{{end, end}, ";"}});
    return true;
  }
  reader_.unexpected("',' or ';'");
  return false;
}

void BodyParser::statement() {
  Statement statement;
  statement.trivia = reader_.begin_item();
  uint32_t begin = reader_.token().span.begin;
  using Kind = Token::Kind;
  if (reader_.at('{')) {
    scope_.open();
    labels_.open(begin);
    statement.what = BlockBegin{};
    reader_.advance();
    finish(std::move(statement), begin);
  } else if (reader_.at('}')) {
    scope_.close();
    labels_.close(begin);
    statement.what = BlockEnd{};
    reader_.advance();
    finish(std::move(statement), begin);
  } else if (reader_.at(Kind::dotted)) {
    declaration_statement(std::move(statement), reader_.text());
  } else if (reader_.at(Kind::word) || reader_.at('@') || reader_.at('!')) {
    word_statement(std::move(statement));
  } else {
    if (reader_.at(';')) {
      Span span = reader_.token().span;
      report_.add(Code::unexpected_token, base::Severity::error, span, "an empty statement",
                  "PTX has none: remove this ';'", {{span, ""}});
    } else {
      reader_.unexpected("an instruction, a label or a declaration");
    }
    reader_.advance();
    if (!reader_.token().new_line) reader_.skip_statement();
  }
}

void BodyParser::declaration_statement(Statement&& statement, std::string_view word) {
  if (word == ".reg") return register_statement(std::move(statement));
  if (word == ".loc") return loc_statement(std::move(statement));
  if (word == ".pragma") return pragma_statement(std::move(statement));
  if (word == ".branchtargets") return targets_statement(std::move(statement), false);
  if (word == ".calltargets") return targets_statement(std::move(statement), true);
  if (word == ".callprototype") return prototype_statement(std::move(statement));
  for (auto known : {".shared", ".local", ".param", ".global", ".const"})
    if (word == known) return variable_statement(std::move(statement));
  bool declares = word == ".visible" || word == ".entry" || word == ".func" || word == ".weak" || word == ".extern" ||
                  word == ".version" || word == ".target" || word == ".address_size" || word == ".file" ||
                  word == ".section";
  if (declares) {
    report_.error(Code::misplaced_directive, reader_.token().span, quoted(word) + " cannot stand inside a function",
                  "is the '}' of the function before it missing?");
  } else {
    constexpr std::string_view kBodyWords[] = {".reg",         ".loc",           ".pragma", ".branchtargets",
                                               ".calltargets", ".callprototype", ".shared", ".local",
                                               ".param",       ".global",        ".const"};
    report_unknown_directive(report_, word, reader_.token().span, kBodyWords,
                             "an instruction's modifiers follow its opcode: ld.global.f32");
  }
  reader_.advance();
  reader_.skip_statement();
}

void BodyParser::register_statement(Statement&& statement) {
  uint32_t begin = reader_.token().span.begin;
  RegisterDeclaration declaration;
  if (!parser_.read_register_declaration(declaration) || !end_of_statement()) return reader_.skip_statement();
  for (const auto& item : declaration.items) {
    std::string_view name = reader_.text({item.span.begin, item.span.begin + static_cast<uint32_t>(item.name.size())});
    if (item.bank) {
      scope_.declare_bank(name, declaration, item.count, item.span);
    } else {
      auto index = static_cast<uint32_t>(function_.registers.size());
      function_.registers.push_back({item.name, declaration.type, declaration.vector, item.span});
      scope_.declare(name, {Binding::Kind::reg, index}, item.span);
    }
  }
  statement.what = std::move(declaration);
  finish(std::move(statement), begin);
}

void BodyParser::variable_statement(Statement&& statement) {
  uint32_t begin = reader_.token().span.begin;
  Parser::Prefix prefix;
  if (!parser_.read_prefix(prefix)) return reader_.skip_statement();
  size_t first = function_.variables.size();
  do {
    Variable variable = parser_.variable_from(prefix);
    if (!parser_.read_declarator(variable)) return reader_.skip_statement();
    parser_.check_variable(variable, false);
    auto index = static_cast<uint32_t>(function_.variables.size());
    scope_.declare(reader_.text(variable.span), {Binding::Kind::variable, index}, variable.span);
    function_.variables.push_back(std::move(variable));
  } while (reader_.accept(','));
  if (!end_of_statement()) return reader_.skip_statement();
  for (size_t i = first; i < function_.variables.size(); ++i) {  // a, b, c: a statement each
    statement.what = VariableDeclaration{static_cast<uint32_t>(i)};
    if (i + 1 == function_.variables.size()) return finish(std::move(statement), begin);
    statement.span = {begin, reader_.previous_end()};
    function_.body.push_back(statement);
    statement.trivia.before.clear();
  }
}

// .loc 1 23 5, function_name $L__info_string0+4, inlined_at 1 20 3
void BodyParser::loc_statement(Statement&& statement) {
  uint32_t begin = reader_.token().span.begin;
  reader_.advance();
  Loc loc;
  for (uint32_t* field : {&loc.file, &loc.line, &loc.column}) {
    auto value = parser_.read_count("a number of .loc");
    if (!value) return reader_.skip_statement();
    *field = *value;
  }
  if (reader_.at(',')) {
    reader_.advance();
    uint32_t rest = reader_.token().span.begin;
    for (;;) {
      if (reader_.at(Token::Kind::word) && reader_.text() == "function_name") {
        reader_.advance();
        if (!reader_.at(Token::Kind::word))
          return reader_.unexpected("a label of .debug_str"), reader_.skip_statement();
        reader_.advance();
        if (reader_.accept('+') && !parser_.read_count("an offset")) return reader_.skip_statement();
      } else if (reader_.at(Token::Kind::word) && reader_.text() == "inlined_at") {
        reader_.advance();
        for (int i = 0; i < 3; ++i)
          if (!parser_.read_count("a number of inlined_at")) return reader_.skip_statement();
      } else {
        reader_.unexpected("function_name or inlined_at");
        return reader_.skip_statement();
      }
      if (!reader_.accept(',')) break;
    }
    loc.rest = reader_.slice(rest);
  }
  module_.locations.push_back(loc);
  loc_ = static_cast<uint32_t>(module_.locations.size());
  statement.what = std::move(loc);
  finish(std::move(statement), begin);
}

void BodyParser::pragma_statement(Statement&& statement) {
  uint32_t begin = reader_.token().span.begin;
  Span word = reader_.token().span;
  reader_.advance();
  do {
    if (!reader_.at(Token::Kind::string)) return reader_.unexpected("a string"), reader_.skip_statement();
    reader_.advance();
  } while (reader_.accept(','));
  Directive directive;
  directive.text = reader_.slice(begin);
  if (!end_of_statement()) return reader_.skip_statement();
  check_pragma(directive.text, word, PragmaPlace::body, module_.version, report_);
  statement.what = std::move(directive);
  finish(std::move(statement), begin);
}

void BodyParser::targets_statement(Statement&& statement, bool calls) {
  uint32_t begin = reader_.token().span.begin;
  reader_.advance();
  Directive directive;
  branch_ = !calls;
  do {
    Operand target;
    target.span = reader_.token().span;
    if (!reader_.at(Token::Kind::word)) {
      reader_.unexpected(calls ? "a function" : "a label");
      return reader_.skip_statement();
    }
    bind(target, reader_.text());
    reader_.advance();
    directive.targets.push_back(std::move(target));
  } while (reader_.accept(','));
  directive.text = reader_.slice(begin);
  if (!end_of_statement()) return reader_.skip_statement();
  statement.what = std::move(directive);
  finish(std::move(statement), begin);
  for (auto& target : std::get<Directive>(function_.body.back().what).targets) settle(target);
}

// .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) .noreturn
void BodyParser::prototype_statement(Statement&& statement) {
  uint32_t begin = reader_.token().span.begin;
  reader_.advance();
  Directive directive;
  if (reader_.at('(') && !parser_.read_parameters(directive.results)) return reader_.skip_statement();
  if (!reader_.at(Token::Kind::word)) return reader_.unexpected("'_'"), reader_.skip_statement();
  reader_.advance();
  if (reader_.at('(') && !parser_.read_parameters(directive.parameters)) return reader_.skip_statement();
  while (reader_.at(Token::Kind::dotted)) {  // .noreturn, .abi_preserve 8
    reader_.advance();
    while (reader_.at(Token::Kind::number)) reader_.advance();
  }
  directive.text = reader_.slice(begin);
  if (!end_of_statement()) return reader_.skip_statement();
  statement.what = std::move(directive);
  finish(std::move(statement), begin);
}

void BodyParser::label_statement(Statement&& statement, std::string_view name, Span span) {
  reader_.advance();  // the ':'
  define_label(std::move(statement), name, span);
}

void BodyParser::define_label(Statement&& statement, std::string_view name, Span span) {
  auto id = static_cast<uint32_t>(function_.labels.size());
  function_.labels.push_back({std::string(name), static_cast<int32_t>(function_.body.size()), span});
  labels_.define(name, id, span.begin);
  if (name[0] != '$' && scope_.here(name)) {
    report_.error(Code::duplicate_label, span, quoted(name) + " is already the name of a variable or register here",
                  "rename the label");
  }
  statement.what = Label{id};
  finish(std::move(statement), span.begin);
}

bool BodyParser::read_guard(Instruction& instruction) {
  Guard guard;
  guard.span.begin = reader_.token().span.begin;
  if (!reader_.accept('@')) {
    report_.add(Code::missing_at, base::Severity::error, reader_.token().span, "'@' is missing before the guard",
                "write @%p or @!%p before the instruction", {{{guard.span.begin, guard.span.begin}, "@"}});
  }
  guard.negated = reader_.accept('!');
  if (!reader_.at(Token::Kind::word)) {
    reader_.unexpected("a predicate register");
    return false;
  }
  std::string_view name = reader_.text();
  Span span = reader_.token().span;
  auto binding = scope_.lookup(name);
  reader_.advance();
  guard.span.end = reader_.previous_end();
  if (binding && binding->kind == Binding::Kind::reg) {
    guard.reg = binding->index;
    instruction.guard = guard;
  } else {
    scope_.report_unknown(name, span);
  }
  return true;
}

// %p1 bra DONE; with its '@' forgotten: a register, and an opcode right behind it.
bool BodyParser::at_bare_guard() {
  std::string_view name = reader_.text();
  std::string_view after = reader_.word_behind();
  if (after.empty() || !is_opcode_word(after)) return false;
  if (name[0] == '%') return true;
  auto binding = scope_.lookup(name);
  return binding && binding->kind == Binding::Kind::reg && function_.registers[binding->index].type == isa::Type::pred;
}

void BodyParser::word_statement(Statement&& statement) {
  Instruction read;
  Span first = reader_.token().span;
  if (reader_.at('@') || reader_.at('!') || at_bare_guard()) {
    if (!read_guard(read)) return reader_.skip_statement();
    if (!reader_.at(Token::Kind::word)) {
      reader_.unexpected("an opcode after the guard");
      return reader_.skip_statement();
    }
  }
  std::string_view word = reader_.text();
  Span span = reader_.token().span;
  read.line = reader_.token().line;
  reader_.advance();
  if (!read.guard && reader_.at(':')) return label_statement(std::move(statement), word, span);
  instruction(std::move(statement), std::move(read), span, first);
}

void BodyParser::instruction(Statement&& statement, Instruction&& instruction, Span opcode_span, Span first) {
  // Both lists are collected aside and moved at their final size: large modules are nearly all instructions.
  word_spans_.assign(1, opcode_span);
  operands_.clear();
  while (reader_.at(Token::Kind::dotted)) {
    word_spans_.push_back(reader_.token().span);
    reader_.advance();
  }
  instruction.word_spans = word_spans_;
  instruction.words.reserve(word_spans_.size());
  for (Span span : word_spans_) instruction.words.emplace_back(reader_.text(span));
  const std::string& opcode = instruction.words[0];
  branch_ = opcode == "bra" || opcode == "brx";
  bool call = opcode == "call";
  call_ = call || !is_opcode_word(opcode);  // who knows what an unknown instruction takes
  memory_ = opcode == "ld" || opcode == "st" || opcode == "atom" || opcode == "red" || opcode == "ldu";
  unsettled_ = false;
  bool stop = reader_.at(';') || reader_.at('}') || reader_.at_end();
  if (!stop && reader_.token().new_line && !call) {  // an opcode alone on its line: probably its ';' is missing
    stop = reader_.at('@') || reader_.at(Token::Kind::dotted) ||
           (reader_.at(Token::Kind::word) && (reader_.following() == ':' || is_opcode_word(reader_.text())));
  }
  // A name alone on its line is a label that lost its ':'.
  if (stop && reader_.token().new_line && word_spans_.size() == 1 && !instruction.guard && !is_opcode_word(opcode) &&
      !reader_.at(';')) {
    report_.add(
        Code::unexpected_token, base::Severity::error, opcode_span, "':' is missing behind the label " + quoted(opcode),
        "an instruction has modifiers or operands, a label ends with ':'", {{{opcode_span.end, opcode_span.end}, ":"}});
    return define_label(std::move(statement), reader_.text(opcode_span), opcode_span);
  }
  while (!stop) {
    Operand operand;
    if (!read_operand(operand, 0)) return reader_.skip_statement();
    operands_.push_back(std::move(operand));
    stop = !accept_comma();
  }
  instruction.operands.assign(std::make_move_iterator(operands_.begin()), std::make_move_iterator(operands_.end()));
  instruction.loc = loc_;
  if (!end_of_statement()) return reader_.skip_statement();
  bool unsettled = unsettled_;
  statement.what = std::move(instruction);
  finish(std::move(statement), first.begin);
  if (!unsettled) return;
  for (auto& operand : function_.body.back().instruction()->operands) settle(operand);
}

// Hands every name that is not known yet to the labels, and calls to the module, which knows later which declaration of a
// function has the body.
void BodyParser::settle(Operand& operand) {
  using Kind = Operand::Kind;
  if (operand.kind == Kind::symbol && operand.symbol.where == SymbolRef::Where::function) {
    parser_.function_references_.push_back(&operand);
  } else if (operand.kind == Kind::label ||
             (operand.kind == Kind::name && !operand.name.empty() && operand.name[0] != '%')) {
    labels_.use(operand.name, &operand, operand.span.begin);
  }
  for (auto& element : operand.elements) settle(element);
}

}  // namespace ptxlab::ptx
