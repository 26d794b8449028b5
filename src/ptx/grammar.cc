// The frame of a module by hand, as the manual has it: header, declarations, statements. Instructions come from the table
// (ptx/instruction_grammar.h).
#include "ptx/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "isa/type_names.h"
#include "ptx/instruction_grammar.h"

namespace ptxlab::ptx {
namespace {

using G = Grammatical;

class Frame {
 public:
  Frame(const isa::Target& target, isa::PtxVersion version) : target_(target), version_(version) {}

  Grammar make(GrammarRoot root) {
    spaces();
    words();
    header();
    declarations();
    functions();
    statements();
    add_instructions(target_, version_, grammar_);
    grammar_.root = "root";
    if (root == GrammarRoot::module) {
      rule("root", ref("module"));
    } else {
      // The plan's own form is left to its reader: TOML needs no grammar to be well-formed line by line.
      // Three lines of prose at most: a small model that is let go on with it never comes to its module.
      rule("line", seq({many(chars("^`\\n")), text("\n")}));
      rule("root",
           seq({opt(ref("line")), opt(ref("line")), opt(ref("line")), text("```ptx\n"), ref("module"), text("```"),
                opt(seq({ref("blank"), text("```toml\n"), many(chars("^`")), text("```")})), ref("blank")}));
      rule("blank", many(chars(" \\t\\r\\n")));
    }
    return std::move(grammar_);
  }

 private:
  static G text(std::string_view word) { return {G::Kind::text, std::string(word), {}, 0}; }
  static G chars(std::string_view set) { return {G::Kind::chars, std::string(set), {}, 0}; }
  static G ref(std::string_view name) { return {G::Kind::rule, std::string(name), {}, 0}; }
  static G seq(std::vector<G> parts) { return {G::Kind::sequence, "", std::move(parts), 0}; }
  static G any(std::vector<G> parts) { return {G::Kind::choice, "", std::move(parts), 0}; }
  static G opt(G part) { return {G::Kind::optional, "", {std::move(part)}, 0}; }
  static G many(G part) { return {G::Kind::many, "", {std::move(part)}, 0}; }
  static G some(const G& part) { return seq({part, many(part)}); }
  static G any_of(const std::vector<std::string>& words) {
    std::vector<G> parts;
    for (const auto& word : words) parts.push_back(text(word));
    return any(std::move(parts));
  }
  G ws() const { return ref("ws"); }
  G sp() const { return ref("sp"); }
  // part, part, part
  G list(const G& part) const { return seq({part, many(seq({ws(), text(","), ws(), part}))}); }
  void rule(std::string_view name, G right) { grammar_.rules[std::string(name)] = std::move(right); }

  void spaces() {
    rule("gap", any({chars(" \\t\\r\\n"), seq({text("//"), many(chars("^\\n")), text("\n")}),
                     seq({text("/*"), many(any({chars("^*"), seq({text("*"), chars("^/")})})), text("*/")})}));
    rule("ws", many(ref("gap")));
    rule("sp", seq({ref("gap"), many(ref("gap"))}));
  }

  void words() {
    rule("ident", any({seq({chars("a-zA-Z"), many(chars("a-zA-Z0-9_$"))}),
                       seq({chars("_$%"), chars("a-zA-Z0-9_$"), many(chars("a-zA-Z0-9_$"))})}));
    rule("digits", some(chars("0-9")));
    rule("number",
         seq({opt(chars("+-")), any({seq({text("0"), chars("xX"), some(chars("0-9a-fA-F")), opt(text("U"))}),
                                     seq({text("0"), chars("fF"), G{G::Kind::repeat, "", {chars("0-9a-fA-F")}, 8}}),
                                     seq({text("0"), chars("dD"), G{G::Kind::repeat, "", {chars("0-9a-fA-F")}, 16}}),
                                     seq({ref("digits"), opt(text("U"))}),
                                     seq({ref("digits"), text("."), many(chars("0-9")),
                                          opt(seq({chars("eE"), opt(chars("+-")), ref("digits")}))})})}));
    rule("string", seq({text("\""), many(chars("^\"\\n")), text("\"")}));
    std::vector<std::string> types;
    for (size_t i = 1; i < isa::kTypes; ++i) types.push_back("." + std::string(isa::kTypeInfo[i].name));
    rule("type", any_of(types));
  }

  void header() {
    std::vector<std::string> targets;
    for (const auto& known : isa::known_targets()) {
      bool plain = known.suffix == 0 && known.sm <= target_.sm;
      if (plain || known == target_) targets.push_back(known.name());
    }
    rule("target", any_of(targets));
    rule("module",
         seq({ws(), text(".version"), sp(), ref("digits"), text("."), chars("0-9"), sp(), text(".target"), sp(),
              ref("target"), many(seq({ws(), text(","), ws(), ref("ident")})), sp(),
              opt(seq({text(".address_size"), sp(), any_of({"64", "32"}), sp()})), many(seq({ref("top"), ws()}))}));
    rule("rest_of_line", seq({many(chars("^\\n")), text("\n")}));
    rule("top", any({ref("function"), seq({opt(ref("linkage")), ref("variable")}), ref("pragma"),
                     seq({text(".file"), ref("rest_of_line")}), seq({text(".loc"), ref("rest_of_line")}),
                     seq({text(".alias"), sp(), ref("ident"), ws(), text(","), ws(), ref("ident"), ws(), text(";")}),
                     seq({text(".section"), sp(), many(chars("^{")), text("{"), many(chars("^}")), text("}")})}));
    rule("linkage", seq({any_of({".visible", ".extern", ".weak", ".common"}), sp()}));
    rule("pragma", seq({text(".pragma"), sp(), list(ref("string")), ws(), text(";")}));
  }

  void declarations() {
    rule("space", any_of({".global", ".const", ".shared", ".local", ".param", ".tex"}));
    rule("align", seq({text(".align"), sp(), ref("digits"), sp()}));
    rule("bounds", many(seq({ws(), text("["), ws(), opt(ref("digits")), ws(), text("]")})));
    rule("value",
         any({ref("number"),
              seq({opt(any({text("generic"), seq({text("mask("), ref("number"), text(")")})})), ws(), opt(text("(")),
                   ws(), ref("ident"), opt(seq({ws(), chars("+-"), ws(), ref("number")})), ws(), opt(text(")"))}),
              seq({text("{"), ws(), opt(list(ref("value"))), ws(), text("}")}), ref("string")}));
    rule("declared", seq({ref("ident"), ref("bounds"), opt(seq({ws(), text("="), ws(), ref("value")}))}));
    rule("variable", seq({ref("space"), sp(), opt(seq({text(".attribute("), many(chars("^)")), text(")"), sp()})),
                          opt(ref("align")), opt(seq({any_of({".v2", ".v4", ".v8"}), sp()})),
                          any({ref("type"), ref("opaque")}), sp(), list(ref("declared")), ws(), text(";")}));
    rule("opaque", any_of({".texref", ".samplerref", ".surfref"}));
    rule("register", seq({ref("ident"), opt(seq({ws(), text("<"), ws(), ref("digits"), ws(), text(">")}))}));
    rule("registers", seq({text(".reg"), ws(), opt(seq({any_of({".v2", ".v4"}), sp()})), ref("type"), sp(),
                           list(ref("register")), ws(), text(";")}));
  }

  void functions() {
    rule("parameter", seq({any_of({".param", ".reg"}), sp(), opt(ref("align")), any({ref("type"), ref("opaque")}), sp(),
                           opt(seq({text(".ptr"), opt(seq({sp(), any_of({".global", ".const", ".shared", ".local"})})),
                                    opt(seq({sp(), text(".align"), sp(), ref("digits")})), sp()})),
                           ref("ident_or_sink"), ref("bounds")}));
    rule("parameters", seq({text("("), ws(), opt(list(ref("parameter"))), ws(), text(")")}));
    rule("attribute",
         any({seq({any_of({".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqnctapercluster",
                           ".maxclusterrank", ".abi_preserve_control", ".abi_preserve"}),
                   sp(), list(ref("digits"))}),
              any_of({".noreturn", ".explicitcluster", ".blocksareclusters"}), ref("pragma")}));
    rule("function", seq({opt(ref("linkage")),
                          any({seq({text(".entry"), sp(), ref("ident"), ws(), opt(ref("parameters"))}),
                               seq({text(".func"), ws(), opt(seq({ref("parameters"), ws()})), ref("ident"), ws(),
                                    opt(ref("parameters"))})}),
                          ws(), many(seq({ref("attribute"), ws()})), any({ref("block"), text(";")})}));
    rule("block", seq({text("{"), ws(), many(seq({ref("statement"), ws()})), text("}")}));
  }

  void statements() {
    rule("statement",
         any({ref("block"), ref("registers"), ref("variable"), ref("pragma"), seq({text(".loc"), ref("rest_of_line")}),
              seq({ref("ident"), ws(), text(":")}),
              seq({text(".branchtargets"), sp(), list(ref("ident")), ws(), text(";")}),
              seq({text(".calltargets"), sp(), list(ref("ident")), ws(), text(";")}),
              seq({text(".callprototype"), ws(), opt(seq({ref("parameters"), ws()})), ref("ident_or_sink"), ws(),
                   ref("parameters"), opt(seq({ws(), text(".noreturn")})), ws(), text(";")}),
              seq({opt(seq({text("@"), opt(text("!")), ref("ident"), sp()})), ref("instruction"), ws(), text(";")})}));
    rule("ident_or_sink", any({ref("ident"), text("_")}));
  }

  isa::Target target_;
  isa::PtxVersion version_;
  Grammar grammar_;
};

// --- printing ------------------------------------------------------------------------------------------------------------

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

struct Printer {
  bool for_lark = false;

  std::string name(std::string_view rule) const {
    std::string out(for_lark && rule == "root" ? "start" : rule);
    if (!for_lark) std::replace(out.begin(), out.end(), '_', '-');
    return out;
  }

  std::string set(const std::string& content) const {
    if (!for_lark) return "[" + content + "]";
    std::string out;
    for (char c : content) out += c == '/' ? std::string("\\/") : std::string(1, c);
    return "/[" + out + "]/";
  }

  // Where a rule or a way of a choice is empty, GBNF would take the next line for its content.
  std::string whole(const G& part) const {
    auto out = print(part);
    return out.empty() && !for_lark ? "\"\"" : out;
  }

  std::string inside(const G& part) const {
    auto out = print(part);
    bool loose = (part.kind == G::Kind::sequence || part.kind == G::Kind::choice) && part.parts.size() > 1;
    return loose ? "(" + out + ")" : out;
  }

  std::string print(const G& part) const {
    switch (part.kind) {
      case G::Kind::text: return quoted(part.text);
      case G::Kind::chars: return set(part.text);
      case G::Kind::rule: return name(part.text);
      case G::Kind::sequence: {
        std::string out;
        for (const auto& one : part.parts) {
          auto word = one.kind == G::Kind::choice ? inside(one) : print(one);
          if (!word.empty()) out += (out.empty() ? "" : " ") + word;
        }
        return out;
      }
      case G::Kind::choice: {
        std::string out;
        for (const auto& one : part.parts) out += (out.empty() ? "" : " | ") + whole(one);
        return out;
      }
      case G::Kind::optional: return inside(part.parts[0]) + "?";
      case G::Kind::many: return inside(part.parts[0]) + "*";
      case G::Kind::repeat:
        return for_lark ? fmt::format("{}~{}", inside(part.parts[0]), part.count)
                        : fmt::format("{}{{{}}}", inside(part.parts[0]), part.count);
    }
    return "";
  }
};

std::string printed(const Grammar& grammar, bool for_lark) {
  Printer printer{for_lark};
  std::string text;
  auto line = [&](const std::string& name) {
    text +=
        fmt::format("{}{}{}\n", printer.name(name), for_lark ? ": " : " ::= ", printer.whole(grammar.rules.at(name)));
  };
  line(grammar.root);
  for (const auto& [name, right] : grammar.rules) {
    if (name != grammar.root) line(name);
  }
  return text;
}

}  // namespace

Grammar grammar_for(const isa::Target& target, isa::PtxVersion version, GrammarRoot root) {
  return Frame(target, version).make(root);
}

std::string gbnf(const Grammar& grammar) { return printed(grammar, false); }
std::string lark(const Grammar& grammar) { return printed(grammar, true); }

}  // namespace ptxlab::ptx
