#include "ptx/mend_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "isa/special_register.h"
#include "ptx/lexer.h"
#include "ptx/patch.h"
#include "ptx/scope.h"

namespace ptxlab::ptx {
namespace {

using Declared = RegisterDeclaration::Item;

// One thing that could be meant.
struct Way {
  // Of equally good ways one of a lower rank is taken without asking; two of the same rank are undecided.
  int rank = 0;
  size_t distance = 0;  // from what is written
  Edits edits;
  Outcome outcome;
};

// The words of a function and where they stand, those apart that declare registers: %f of .reg .f32 %f<4> is no use.
std::multimap<std::string_view, Span> words_of(std::string_view source, const Function& function) {
  std::string_view text = source.substr(function.span.begin, function.span.size());
  Report unheard(text, "", 1);
  Lexer lexer(text, unheard);
  Gap gap;
  std::vector<Span> declaring;
  for (const Statement& statement : function.body)
    if (std::holds_alternative<RegisterDeclaration>(statement.what)) declaring.push_back(statement.span);
  size_t next = 0;
  std::multimap<std::string_view, Span> words;
  for (Token token = lexer.next(gap); token.kind != Token::Kind::end; token = lexer.next(gap)) {
    if (token.kind != Token::Kind::word) continue;
    uint32_t at = token.span.begin + function.span.begin;
    while (next < declaring.size() && declaring[next].end <= at) ++next;
    if (next < declaring.size() && declaring[next].begin <= at) continue;
    words.emplace(lexer.text(token.span),
                  Span{token.span.begin + function.span.begin, token.span.end + function.span.begin});
  }
  return words;
}

// What a function does not declare: names that end in numbers go together, as the registers of a bank do.
struct Group {
  std::vector<const base::Finding*> findings;
  std::set<std::string_view> names;
  std::string_view base;  // of a bank; empty for a lone name
  uint32_t highest = 0;
  bool beyond = false;  // there is a bank, and it is too small
};

class FunctionNames {
 public:
  FunctionNames(const Module& module, const Function& function, Trials& trials)
      : module_(module),
        source_(module.source),
        function_(function),
        trials_(trials),
        words_(words_of(source_, function)) {}

  std::optional<NameMend> undeclared(const Group& group) {
    if (!begin()) return std::nullopt;
    ways_.clear();
    if (group.beyond) grow(group);
    make_bank(group);
    if (!group.beyond) declare(group);
    if (group.names.size() == 1) rename_register(*group.names.begin());
    if (group.names.size() == 1 && !group.names.begin()->starts_with('%')) rename_symbol(*group.names.begin());
    return chosen(group.findings);
  }

  std::optional<NameMend> label(const base::Finding* finding, std::string_view name) {
    if (!begin()) return std::nullopt;
    ways_.clear();
    for (const LabelInfo& known : function_.labels)
      if (known.statement >= 0) rename(name, known.name, name.size() >= 6 ? 2 : 1, 1);
    return chosen({finding});
  }

  // A register of the wrong width or kind where one of nearly the same name waits to be written or read.
  std::optional<NameMend> wrong_register(const Site& site) {
    if (!begin()) return std::nullopt;
    ways_.clear();
    std::string_view written = source_.substr(site.span.begin, site.span.size());
    constexpr size_t kMost = 20;
    std::set<std::string_view> known;
    for (const Register& reg : function_.registers)
      if (reg.name != written && base::edit_distance(written, reg.name) == 1) known.insert(reg.name);
    if (known.size() > kMost) return std::nullopt;
    for (std::string_view each : known) add(1, 1, {{site.span, std::string(each)}});
    std::erase_if(ways_, [&](const Way& way) {
      return std::pair(way.outcome.orphans, way.outcome.idle) >= std::pair(before_->orphans, before_->idle);
    });
    return chosen({&site.finding});
  }

  // A type of a declaration that is none: .b23.
  std::optional<NameMend> type(const Site& site) {
    if (!begin()) return std::nullopt;
    ways_.clear();
    std::string_view written = source_.substr(site.span.begin, site.span.size());
    for (auto known : {".pred", ".b8", ".b16", ".b32", ".b64", ".b128", ".u8", ".u16", ".u32", ".u64", ".s8", ".s16",
                       ".s32", ".s64", ".f16", ".f32", ".f64"}) {
      size_t distance = base::edit_distance(written, known);
      if (distance <= 1) add(1, distance, {{site.span, known}});
    }
    return chosen({&site.finding});
  }

  std::optional<NameMend> duplicate(const Site& site);

 private:
  bool begin() {
    if (!before_) before_ = trials_.outcome(&function_, {});
    return before_.has_value();
  }

  void add(int rank, size_t distance, Edits edits) {
    auto outcome = trials_.outcome(&function_, edits);
    if (!outcome || outcome->errors >= before_->errors) return;
    ways_.push_back({rank, distance, std::move(edits), *outcome});
  }

  // --- declarations

  template <class Visit>
  void each_declaration(const Visit& visit) const {
    for (const Statement& statement : function_.body)
      if (const auto* declaration = std::get_if<RegisterDeclaration>(&statement.what))
        for (const Declared& item : declaration->items) visit(statement, *declaration, item);
  }

  // A way that leaves a register read and never written is no mend: somebody meant another one.
  void add_declaring(int rank, Edits edits) {
    size_t ways = ways_.size();
    add(rank, 0, std::move(edits));
    if (ways_.size() > ways && ways_.back().outcome.orphans > before_->orphans) ways_.pop_back();
  }

  void grow(const Group& group) {
    each_declaration([&](const Statement&, const RegisterDeclaration&, const Declared& item) {
      if (item.bank && item.name == group.base && item.count <= group.highest)
        add_declaring(1, {{item.span, fmt::format("{}<{}>", group.base, uint64_t{group.highest} + 1)}});
    });
  }

  // .reg .pred %p2; where %p0 and %p1 are used: a bank was meant.
  void make_bank(const Group& group) {
    if (group.base.empty()) return;
    const Declared* only = nullptr;
    uint32_t number = 0;
    int singles = 0;
    each_declaration([&](const Statement&, const RegisterDeclaration&, const Declared& item) {
      auto split = item.bank ? std::nullopt : numbered(item.name);
      if (!split || split->base != group.base) return;
      ++singles;
      only = &item;
      number = split->number;
    });
    if (singles != 1) return;
    uint64_t count =
        std::max<uint64_t>({number, uint64_t{group.highest} + 1, words_.count(only->name) > 0 ? number + 1 : 0});
    add_declaring(0, {{only->span, fmt::format("{}<{}>", group.base, count)}});
  }

  void declare(const Group& group) {
    // What stands there once is nobody's register: it is another one, misspelt.
    if (function_.body.empty() || (group.names.size() == 1 && words_.count(*group.names.begin()) == 1)) return;
    // Where all of the function sees it: not inside braces.
    const Statement* first = &function_.body.front();
    int depth = 0;
    for (const Statement& statement : function_.body) {
      depth += std::holds_alternative<BlockBegin>(statement.what);
      depth -= std::holds_alternative<BlockEnd>(statement.what);
      if (depth > 0 || !std::holds_alternative<RegisterDeclaration>(statement.what)) continue;
      first = &statement;
      break;
    }
    uint32_t at = first->span.begin;
    size_t line = source_.rfind('\n', at);
    line = line == source_.npos ? 0 : line + 1;
    std::string_view indent = source_.substr(line, at - line);
    bool own_line = indent.find_first_not_of(" \t") == indent.npos;
    std::string name = group.base.empty() ? std::string(*group.names.begin())
                                          : fmt::format("{}<{}>", group.base, uint64_t{group.highest} + 1);
    std::string end = own_line ? fmt::format("\n{}", indent) : " ";
    size_t from = ways_.size();
    for (auto type : {".pred", ".b16", ".b32", ".b64", ".b128"})
      add_declaring(1, {{{at, at}, fmt::format(".reg {} {};{}", type, name, end)}});
    // Every width that is as good: the narrowest. A bank of floats says so.
    auto better = [](const Way& a, const Way& b) { return a.outcome < b.outcome; };
    auto best = std::min_element(ways_.begin() + static_cast<std::ptrdiff_t>(from), ways_.end(), better);
    if (best == ways_.end()) return;
    Way kept = *best;
    ways_.resize(from);
    ways_.push_back(kept);
    for (auto [bits, type] : {std::pair{".b32", ".f32"}, {".b64", ".f64"}}) {
      std::string& text = kept.edits[0].text;
      if (!text.starts_with(fmt::format(".reg {} ", bits))) continue;
      Edits edits = kept.edits;
      edits[0].text.replace(5, 4, type);
      auto outcome = trials_.outcome(&function_, edits);
      if (outcome && *outcome == kept.outcome) ways_.back().edits = std::move(edits);
    }
  }

  // --- other names

  void rename(std::string_view from, std::string_view to, size_t farthest, int rank) {
    size_t distance = base::edit_distance(from, to);
    if (from == to || distance > farthest) return;
    Edits edits;
    auto [begin, end] = words_.equal_range(from);
    for (auto it = begin; it != end; ++it) edits.push_back({it->second, std::string(to)});
    std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
    add(rank, distance, std::move(edits));
  }

  void rename_register(std::string_view name) {
    if (name[0] == '%') {
      for (const auto& special : isa::special_registers()) {
        rename(name, special.name, name.size() >= 6 ? 2 : 1, 1);
        // %tidx, %tid_x
        for (char component : {'x', 'y', 'z'})
          if (special.components > 1 && name.back() == component)
            rename(name, fmt::format("{}.{}", special.name, component), 1, 1);
      }
    }
    if (words_.count(name) > 1) return;
    size_t ways = ways_.size();
    std::set<std::string_view> known;
    for (const Register& reg : function_.registers) known.insert(reg.name);
    auto base_of = [](std::string_view word) { return numbered(word).value_or(Numbered{word, 0}).base; };
    constexpr size_t kMost = 40;
    for (std::string_view each : known) {
      if (ways_.size() == ways + kMost) break;
      size_t before = ways_.size();
      rename(name, each, 1, 1);
      // Another number is no slip of the pen, unless this one is waited for.
      bool number = base_of(name) == base_of(each);
      if (ways_.size() > before && number && ways_.back().outcome.idle >= before_->idle &&
          ways_.back().outcome.orphans >= before_->orphans)
        ways_.pop_back();
    }
    // A source is one that is written; a result is one that waits to be written.
    std::erase_if(ways_, [&](const Way& way) { return way.distance > 0 && way.outcome.orphans > before_->orphans; });
  }

  void rename_symbol(std::string_view name) {
    size_t farthest = name.size() >= 6 ? 2 : 1;
    for (const auto* list : {&module_.variables, &function_.variables, &function_.parameters, &function_.results})
      for (const Variable& variable : *list) rename(name, variable.name, farthest, 1);
    for (const Function& function : module_.functions)
      if (!function.entry) rename(name, function.name, farthest, 1);
  }

  // The best way, if it is better than every other, or of a lower rank.
  std::optional<NameMend> chosen(std::vector<const base::Finding*> findings) {
    if (ways_.empty()) return std::nullopt;
    auto key = [](const Way& way) { return std::tuple(way.outcome, way.rank, way.distance); };
    auto best =
        std::min_element(ways_.begin(), ways_.end(), [&](const Way& a, const Way& b) { return key(a) < key(b); });
    auto equal = std::count_if(ways_.begin(), ways_.end(), [&](const Way& way) { return key(way) == key(*best); });
    if (equal > 1) return std::nullopt;
    return NameMend{std::move(findings), best->edits};
  }

  const Module& module_;
  std::string_view source_;
  const Function& function_;
  Trials& trials_;
  std::multimap<std::string_view, Span> words_;
  std::optional<Outcome> before_;
  std::vector<Way> ways_;
};

// The edit that takes away a whole statement, with its line where nothing else stands there.
base::Edit without(std::string_view source, Span span) {
  size_t line = source.rfind('\n', span.begin);
  line = line == source.npos ? 0 : line + 1;
  size_t end = std::min(source.find('\n', span.end), source.size());
  bool alone = source.substr(line, span.begin - line).find_first_not_of(" \t") == source.npos &&
               source.substr(span.end, end - span.end).find_first_not_of(" \t\r") == source.npos;
  if (!alone) return {span, ""};
  return {{static_cast<uint32_t>(line), static_cast<uint32_t>(std::min(end + 1, source.size()))}, ""};
}

// An item of a declaration, with the comma that parts it from the others; the whole statement where it is the only one.
base::Edit without(std::string_view source, const Statement& statement, const RegisterDeclaration& declaration,
                   const Declared& item) {
  if (declaration.items.size() == 1) return without(source, statement.span);
  size_t at = static_cast<size_t>(&item - declaration.items.data());
  if (at > 0) return {{declaration.items[at - 1].span.end, item.span.end}, ""};
  return {{item.span.begin, declaration.items[1].span.begin}, ""};
}

std::optional<NameMend> FunctionNames::duplicate(const Site& site) {
  ways_.clear();
  if (!begin()) return std::nullopt;
  const Statement* statement = site.statement;
  if (!statement) return std::nullopt;
  auto text_of = [&](Span span) { return source_.substr(span.begin, span.size()); };
  if (std::holds_alternative<Label>(statement->what)) {
    // L: L: with nothing in between.
    if (statement == &function_.body.front()) return std::nullopt;
    const Statement& before = *(statement - 1);
    const auto* other = std::get_if<Label>(&before.what);
    bool same = other && function_.labels[other->id].name == function_.labels[std::get<Label>(statement->what).id].name;
    if (same) add(1, 0, {without(source_, statement->span)});
    return chosen({&site.finding});
  }
  if (std::holds_alternative<VariableDeclaration>(statement->what)) {
    for (const Statement& other : function_.body)
      if (&other != statement && std::holds_alternative<VariableDeclaration>(other.what) &&
          text_of(other.span) == text_of(statement->span))
        add(1, 0, {without(source_, statement->span)});
    return chosen({&site.finding});
  }
  const auto* declaration = std::get_if<RegisterDeclaration>(&statement->what);
  if (!declaration) return std::nullopt;
  const Declared* second = nullptr;
  for (const Declared& item : declaration->items)
    if (item.span.begin == site.span.begin) second = &item;
  if (!second) return std::nullopt;
  auto overlap = [](const Declared& a, const Declared& b) {
    if (a.name == b.name) return true;
    auto split = [](const Declared& item) {
      return item.bank ? std::optional(Numbered{item.name, 0}) : numbered(item.name);
    };
    auto x = split(a), y = split(b);
    return x && y && x->base == y->base;
  };
  // What stands in the same braces.
  std::vector<size_t> scopes, open{0};
  size_t made = 0;
  for (const Statement& each : function_.body) {
    if (std::holds_alternative<BlockBegin>(each.what)) open.push_back(++made);
    scopes.push_back(open.back());
    if (std::holds_alternative<BlockEnd>(each.what) && open.size() > 1) open.pop_back();
  }
  auto scope_of = [&](const Statement& each) { return scopes[static_cast<size_t>(&each - function_.body.data())]; };
  each_declaration([&](const Statement& earlier, const RegisterDeclaration& other, const Declared& item) {
    if (scope_of(earlier) != scope_of(*statement)) return;
    if (&item == second || item.span.begin > second->span.begin || !overlap(item, *second)) return;
    bool alike = other.type == declaration->type && other.vector == declaration->vector;
    bool larger = second->bank && (!item.bank || second->count > item.count);
    // Of two that say the same the smaller goes; of two that differ the one with which everything is legal stays.
    if (!alike || !larger) add(1, 0, {without(source_, *statement, *declaration, *second)});
    if (!alike || larger) add(1, 0, {without(source_, earlier, other, item)});
  });
  return chosen({&site.finding});
}

// At module level: the same variable or function, word for word, a second time.
std::optional<NameMend> module_duplicate(const Module& module, const Site& site) {
  std::string_view source = module.source;
  for (const Function& function : module.functions) {
    if (function.name_span.begin != site.span.begin) continue;
    auto text = source.substr(function.span.begin, function.span.size());
    for (const Function& other : module.functions)
      if (&other < &function && source.substr(other.span.begin, other.span.size()) == text)
        return NameMend{{&site.finding}, {without(source, function.span)}};
  }
  auto statement_of = [&](const Variable& variable) {
    size_t begin = source.rfind('\n', variable.span.begin);
    begin = begin == source.npos ? 0 : begin + 1;
    size_t end = std::min(source.find(';', variable.span.end), source.size() - 1) + 1;
    return Span{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  };
  for (const Variable& variable : module.variables) {
    if (variable.span.begin != site.span.begin) continue;
    Span second = statement_of(variable);
    for (const Variable& other : module.variables) {
      Span first = statement_of(other);
      if (&other < &variable && source.substr(first.begin, first.size()) == source.substr(second.begin, second.size()))
        return NameMend{{&site.finding}, {without(source, second)}};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<NameMend> mend_names(const Module& module, const Sites& sites, const base::Findings& findings,
                                 Trials& trials) {
  std::vector<NameMend> mends;
  std::map<const Function*, std::vector<Site>> by_function;
  for (const auto& finding : findings) {
    if (finding.severity != base::Severity::error) continue;
    Site site = sites.at(finding);
    if (site.function) {
      by_function[site.function].push_back(site);
    } else if (site.is(Code::duplicate_declaration)) {
      if (auto mend = module_duplicate(module, site)) mends.push_back(std::move(*mend));
    }
  }
  std::string_view source = module.source;
  auto keep = [&](std::optional<NameMend> mend) {
    if (mend) mends.push_back(std::move(*mend));
  };
  for (const auto& [function, all] : by_function) {
    FunctionNames names(module, *function, trials);
    std::map<std::string_view, Group> groups;
    std::set<std::string_view> labels;
    for (const Site& site : all) {
      std::string_view name = source.substr(site.span.begin, site.span.size());
      bool undeclared = site.is(Code::undeclared_register) || site.is(Code::undeclared_name);
      if (undeclared || site.is(Code::beyond_bank)) {
        if (name.starts_with('@')) name.remove_prefix(1);
        auto split = numbered(name);
        Group& group = groups[split ? split->base : name];
        group.findings.push_back(&site.finding);
        group.names.insert(name);
        if (split) group.base = split->base;
        if (split) group.highest = std::max(group.highest, split->number);
        group.beyond |= site.is(Code::beyond_bank);
      } else if (site.is(Code::undefined_label)) {
        if (labels.insert(name).second) keep(names.label(&site.finding, name));
      } else if (site.is(Code::duplicate_declaration) || site.is(Code::duplicate_label)) {
        keep(names.duplicate(site));
      } else if (site.is(Code::register_width) || site.is(Code::register_kind)) {
        keep(names.wrong_register(site));
      } else if (site.is(Code::bad_declaration) && name.starts_with('.')) {
        keep(names.type(site));
      }
    }
    for (const auto& [name, group] : groups) keep(names.undeclared(group));
  }
  return mends;
}

}  // namespace ptxlab::ptx
