// The module level: header, variables, functions, directives.
#include "ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "ptx/function_check.h"
#include "ptx/parse_state.h"
#include "ptx/pragma_check.h"

namespace ptxlab::ptx {
namespace {

// The last minor version of each major one that is known here.
constexpr int kLastMinor[] = {-1, 5, 3, 2, 3, 0, 5, 8, 8, 5};

struct Version {
  int major = 0, minor = 0;
};

std::optional<Version> version_from(std::string_view text) {
  size_t dot = text.find('.');
  if (dot == 0 || dot > 3 || dot + 2 != text.size()) return std::nullopt;
  Version version;
  for (char c : text.substr(0, dot)) {
    if (c < '0' || c > '9') return std::nullopt;
    version.major = version.major * 10 + (c - '0');
  }
  version.minor = text[dot + 1] - '0';
  if (version.minor < 0 || version.minor > 9) return std::nullopt;
  return version;
}

constexpr std::string_view kModuleWords[] = {".visible", ".extern", ".weak",         ".common", ".entry",   ".func",
                                             ".global",  ".const",  ".shared",       ".file",   ".section", ".alias",
                                             ".version", ".target", ".address_size", ".pragma"};

bool begins_item(std::string_view word) {
  return std::find(std::begin(kModuleWords), std::end(kModuleWords), word) != std::end(kModuleWords);
}

}  // namespace

void Parser::run() {
  header();
  while (!reader_.at_end() && !report_.full()) item();
  module_.end_trivia = reader_.begin_item();
  settle_function_references();
}

void Parser::header() {
  module_.header = reader_.begin_item();
  read_version();
  read_targets();
  read_address_size();
  reader_.end_item(module_.header);
  if (!module_.header.after.empty()) module_.header.before.push_back(std::exchange(module_.header.after, {}));
}

void Parser::read_version() {
  if (!reader_.at_dotted(".version")) {
    report_.error(Code::missing_version, reader_.token().span, "a module begins with .version",
                  "begin with .version 8.0, .target sm_90 and .address_size 64");
    return;
  }
  reader_.advance();
  Span span = reader_.token().span;
  auto version = reader_.at(Token::Kind::number) ? version_from(reader_.text()) : std::nullopt;
  if (!version) {
    report_.error(Code::bad_version, span, quoted(reader_.text()) + " is no PTX version", "write .version 8.0");
  } else {
    module_.version = static_cast<isa::PtxVersion>(version->major * 10 + version->minor);
    int majors = static_cast<int>(std::size(kLastMinor));
    bool newer = version->major >= majors || (version->major == majors - 1 && version->minor > kLastMinor[majors - 1]);
    if (newer) {
      report_.warning(Code::bad_version, span, "this PTX version is newer than what is known here",
                      "what it adds is reported as unknown");
    } else if (version->major == 0 || version->minor > kLastMinor[version->major]) {
      report_.error(Code::bad_version, span, "there is no PTX version " + std::string(reader_.text()));
    }
  }
  if (reader_.at(Token::Kind::number)) reader_.advance();
  skip_semicolon();
}

// The heading's lines end without one.
void Parser::skip_semicolon() {
  if (!reader_.at(';')) return;
  Span span = reader_.token().span;
  report_.add(Code::unexpected_token, base::Severity::error, span, "the lines of the heading end without ';'",
              "remove it", {{span, ""}});
  reader_.advance();
}

void Parser::read_targets() {
  if (!reader_.at_dotted(".target")) {
    if (module_.version)
      report_.error(Code::missing_target, reader_.token().span, ".target follows .version", "write .target sm_90");
    return;
  }
  do {
    reader_.advance();
    if (!reader_.at(Token::Kind::word)) return reader_.unexpected("a target such as sm_90");
    read_target(reader_.text(), reader_.token().span);
    reader_.advance();
  } while (reader_.at(','));
  skip_semicolon();
}

// sm_90a, or one of the options behind it.
void Parser::read_target(std::string_view word, Span span) {
  if (word == "debug" || word == "texmode_unified" || word == "texmode_independent" || word == "map_f64_to_f32") {
    module_.target_options.emplace_back(word);
    return;
  }
  // ptxas takes the virtual architecture's name for the real one's.
  std::string name(word);
  if (name.starts_with("compute_")) name.replace(0, 7, "sm");
  auto target = isa::target_named(name);
  if (!target) {
    std::vector<std::string> known;
    for (const auto& each : isa::known_targets()) known.push_back(each.name());
    auto near = word.size() < 64 ? base::nearest(word, known) : "";
    report_.error(Code::bad_target, span, "there is no target " + quoted(word),
                  near.empty() ? "" : "did you mean " + near + "?");
    return;
  }
  module_.target = *target;
  auto since = isa::first_version(*target);
  if (module_.version && since > module_.version) {
    report_.error(Code::target_needs_version, span,
                  fmt::format("{} needs PTX ISA {}.{} or later", word, since / 10, since % 10),
                  fmt::format("write .version {}.{}", since / 10, since % 10));
  }
}

void Parser::read_address_size() {
  if (!reader_.at_dotted(".address_size")) return;
  reader_.advance();
  Span span = reader_.token().span;
  auto size = read_count("64");
  if (!size) return;
  skip_semicolon();
  module_.address_size = static_cast<int>(*size);
  if (*size != 64) {
    report_.error(Code::bad_address_size, span, fmt::format("addresses of {} bits are not supported", *size),
                  "write .address_size 64");
  }
}

void Parser::skip_item() {
  bool first = true;
  int depth = 0;
  while (!reader_.at_end() && !report_.full()) {
    if (!first && reader_.token().new_line && depth == 0 && reader_.at(Token::Kind::dotted) &&
        begins_item(reader_.text()))
      return;
    first = false;
    if (reader_.at('{')) ++depth;
    if (reader_.at('}') && --depth <= 0) return reader_.advance();
    if (reader_.at(';') && depth == 0) return reader_.advance();
    reader_.advance();
  }
}

// Past the ';' of a variable, braces of an initialiser or not.
void Parser::skip_declaration() {
  while (!reader_.at_end() && !report_.full() && !reader_.accept(';')) {
    bool next = reader_.token().new_line && reader_.at(Token::Kind::dotted) && begins_item(reader_.text());
    if (next) return;
    reader_.advance();
  }
}

void Parser::item() {
  Trivia trivia = reader_.begin_item();
  uint32_t begin = reader_.token().span.begin;
  if (reader_.at('}')) {
    report_.error(Code::unbalanced_brace, reader_.token().span, "this '}' closes nothing",
                  "the function above ended earlier than it seems");
    return reader_.advance();
  }
  Linkage linkage = Linkage::internal;
  bool linked = true;
  if (reader_.at_dotted(".visible"))
    linkage = Linkage::visible;
  else if (reader_.at_dotted(".extern"))
    linkage = Linkage::external;
  else if (reader_.at_dotted(".weak"))
    linkage = Linkage::weak;
  else if (reader_.at_dotted(".common"))
    linkage = Linkage::common;
  else
    linked = false;
  if (linked) reader_.advance();
  if (linkage == Linkage::common && (reader_.at_dotted(".entry") || reader_.at_dotted(".func")))
    report_.error(Code::misplaced_directive, reader_.token().span, ".common is for variables", "write .weak");
  if (reader_.at_dotted(".entry") || reader_.at_dotted(".func")) return function(linkage, begin, std::move(trivia));
  for (auto word : {".global", ".const", ".shared", ".local", ".param"})
    if (reader_.at_dotted(word)) return variables(linkage, begin, std::move(trivia));
  if (linked) {
    reader_.unexpected(".func, .entry or a variable");
    return skip_item();
  }
  module_directive();
  add_directive(begin, std::move(trivia));
}

// .file 1 "a.cu", 0, 0   .section .debug_str { ... }   .pragma "...";   .alias a, b;
// Leaves the reader behind it; the text is kept as written.
void Parser::module_directive() {
  using Kind = Token::Kind;
  Span span = reader_.token().span;
  std::string_view word = reader_.text();
  if (word == ".file") {
    reader_.advance();
    auto number = read_count("the file's number");
    if (!number) return skip_item();
    if (!reader_.at(Kind::string)) return reader_.unexpected("the file's name"), skip_item();
    module_.files.emplace_back(*number, std::string(reader_.text().substr(1, reader_.text().size() - 2)));
    reader_.advance();
    while (reader_.accept(','))
      if (!read_count("a number")) return skip_item();
    return;
  }
  if (word == ".section") {
    reader_.advance();
    if (!reader_.at(Kind::dotted) && !reader_.at(Kind::word))
      return reader_.unexpected("the section's name"), skip_item();
    reader_.advance();
    if (!reader_.expect('{', "of the section")) return skip_item();
    while (!reader_.at_end() && !reader_.at('}')) reader_.advance();
    if (reader_.at_end()) {
      report_.error(Code::unexpected_end, span, "this section has no closing '}'", "was the file cut off?");
      return;
    }
    return reader_.advance();
  }
  if (word == ".pragma" || word == ".alias") {
    do reader_.advance();
    while (reader_.at(Kind::string) || reader_.at(Kind::word) || reader_.at(','));
    if (!reader_.expect(';', "after the directive")) return skip_item();
    if (word == ".pragma") check_pragma(reader_.slice(span.begin), span, PragmaPlace::module, module_.version, report_);
    return;
  }
  if (word == ".version" || word == ".target" || word == ".address_size") {
    report_.error(Code::misplaced_directive, span, quoted(word) + " stands once, at the beginning of the module");
  } else if (word == ".reg") {
    report_.error(Code::misplaced_directive, span, "registers are declared inside functions");
  } else if (reader_.at(Kind::dotted)) {
    report_unknown_directive(report_, word, span, kModuleWords, "");
  } else {
    reader_.unexpected("a declaration");
  }
  skip_item();
}

void Parser::add_directive(uint32_t begin, Trivia trivia) {
  auto index = static_cast<uint32_t>(module_.directives.size());
  module_.directives.push_back(reader_.slice(begin));
  reader_.end_item(trivia);
  module_.items.push_back({Item::Kind::directive, index, std::move(trivia)});
}

void Parser::add_variable(Variable variable, Trivia trivia) {
  std::string_view name = reader_.text(variable.span);
  auto index = static_cast<uint32_t>(module_.variables.size());
  SymbolRef symbol{SymbolRef::Where::module_variable, index};
  auto [found, added] = names_.try_emplace(name, symbol);
  if (!added) {
    bool function = found->second.where != SymbolRef::Where::module_variable;
    bool defined_before = !function && module_.variables[found->second.index].linkage != Linkage::external;
    if (function || (defined_before && variable.linkage != Linkage::external)) {
      report_.error(Code::duplicate_declaration, variable.span, quoted(name) + " is declared twice in this module");
    } else if (variable.linkage != Linkage::external) {
      found->second = symbol;
    }
  }
  module_.variables.push_back(std::move(variable));
  module_.items.push_back({Item::Kind::variable, index, std::move(trivia)});
}

void Parser::variables(Linkage linkage, uint32_t, Trivia trivia) {
  Prefix prefix;
  if (!read_prefix(prefix)) return skip_item();
  std::vector<Variable> read;
  do {
    Variable variable = variable_from(prefix);
    variable.linkage = linkage;
    if (!read_declarator(variable)) return skip_declaration();
    check_variable(variable, true);
    read.push_back(std::move(variable));
    if (reader_.at(',')) add_variable(std::exchange(read, {}).front(), std::exchange(trivia, {}));
  } while (reader_.accept(','));
  if (!reader_.accept(';')) {
    uint32_t end = reader_.previous_end();
    report_.add(Code::missing_semicolon, base::Severity::error, {end - 1, end}, "';' is missing here",
                "every declaration ends with ';'", {{{end, end}, ";"}});
    if (!reader_.token().new_line) skip_item();
  }
  reader_.end_item(trivia);
  add_variable(std::move(read.front()), std::move(trivia));
}

bool Parser::function_header(Function& function) {
  using Kind = Token::Kind;
  function.entry = reader_.text() == ".entry";
  reader_.advance();
  while (reader_.at_dotted(".attribute")) {
    uint32_t begin = reader_.token().span.begin;
    reader_.advance();
    if (reader_.at('(')) {
      while (!reader_.at_end() && !reader_.at(')')) reader_.advance();
      reader_.accept(')');
    }
    function.leading.push_back(reader_.slice(begin));
  }
  if (!function.entry && reader_.at('(') && !read_parameters(function.results)) return false;
  if (!reader_.at(Kind::word)) {
    reader_.unexpected(function.entry ? "the kernel's name" : "the function's name");
    return false;
  }
  function.name = reader_.text();
  function.name_span = reader_.token().span;
  reader_.advance();
  if (reader_.at('(') && !read_parameters(function.parameters)) return false;
  while (reader_.at(Kind::dotted)) {
    uint32_t begin = reader_.token().span.begin;
    bool pragma = reader_.text() == ".pragma";
    Span word = reader_.token().span;
    reader_.advance();
    if (pragma) {
      while (reader_.at(Kind::string) || reader_.at(',')) reader_.advance();
      if (!reader_.expect(';', "after .pragma")) return false;
      check_pragma(reader_.slice(begin), word, PragmaPlace::heading, module_.version, report_);
    } else if (reader_.at(Kind::number)) {
      do {
        if (!read_count("a number of this directive")) return false;
      } while (reader_.accept(','));
    }
    function.directives.push_back(reader_.slice(begin));
    check_function_directive(function, function.directives.size() - 1, word, module_.version, module_.target, report_);
  }
  check_signature(function, report_);
  return true;
}

// Enters a function's name, and settles which of several declarations has the body.
void Parser::declare_function(uint32_t index) {
  const Function& function = module_.functions[index];
  std::string_view name = reader_.text(function.name_span);
  auto [found, added] = names_.try_emplace(name, SymbolRef{SymbolRef::Where::function, index});
  if (added) return;
  if (found->second.where != SymbolRef::Where::function) {
    report_.error(Code::duplicate_declaration, function.name_span, quoted(name) + " is declared twice in this module");
    return;
  }
  const Function& first = module_.functions[found->second.index];
  bool defined = first.has_body || definitions_.contains(found->second.index);
  if (function.has_body && defined) {
    report_.error(Code::duplicate_declaration, function.name_span, "function " + quoted(name) + " is defined twice");
    return;
  }
  auto same = [](const std::vector<Variable>& a, const std::vector<Variable>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Variable& x, const Variable& y) { return x.bytes() == y.bytes(); });
  };
  if (!same(first.parameters, function.parameters) || !same(first.results, function.results)) {
    report_.error(Code::conflicting_prototype, function.name_span,
                  "this declaration of " + quoted(name) + " differs from the one before",
                  "parameters and results have the same number and sizes everywhere");
  }
  if (function.has_body) definitions_[found->second.index] = index;
}

void Parser::function(Linkage linkage, uint32_t begin, Trivia trivia) {
  auto index = static_cast<uint32_t>(module_.functions.size());
  Function read;
  read.linkage = linkage;
  if (!function_header(read)) return skip_item();
  read.has_body = reader_.at('{');
  module_.functions.push_back(std::move(read));
  Function& function = module_.functions.back();
  declare_function(index);
  if (function.has_body) {
    reader_.advance();
    reader_.end_item(function.trivia);
    BodyParser(*this, function).run();
  } else if (!reader_.accept(';')) {
    reader_.unexpected("'{' or ';'");
    skip_item();
  }
  function.span = {begin, reader_.previous_end()};
  reader_.end_item(trivia);
  module_.items.push_back({Item::Kind::function, index, std::move(trivia)});
}

void Parser::settle_function_references() {
  for (Operand* operand : function_references_) {
    auto found = definitions_.find(operand->symbol.index);
    if (found != definitions_.end()) operand->symbol.index = found->second;
  }
}

bool version_exists(isa::PtxVersion version) {
  size_t major = version / 10;
  return major > 0 && major < std::size(kLastMinor) && version % 10 <= kLastMinor[major];
}

Parsed parse(std::string_view source, std::string_view file, size_t limit) {
  constexpr size_t kLargest = size_t{1} << 31;
  if (source.size() >= kLargest) {
    Parsed parsed;
    parsed.module.file = file;
    parsed.findings.push_back({spelling(Code::too_large),
                               base::Severity::error,
                               {std::string(file), 0, 0, 0},
                               "a module of 2 GB and more is not read",
                               "",
                               {}});
    return parsed;
  }
  Parser parser(source, file, limit);
  parser.run();
  Parsed parsed{std::move(parser.module()), parser.report().take()};
  parsed.module.source = source;
  return parsed;
}

}  // namespace ptxlab::ptx
