#include "ptx/mend_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "isa/special_register.h"
#include "ptx/function_check.h"
#include "ptx/lexer.h"

namespace ptxlab::ptx {
namespace {

using isa::Gate;
using isa::PtxVersion;
using isa::Target;

// Where version and target stand.
struct Heading {
  Span version, target;  // the number, the first target's name; empty where the line is missing
};

Heading heading_of(std::string_view source) {
  Report unheard(source, "", 1);
  Lexer lexer(source, unheard);
  Gap gap;
  Heading heading;
  Span* next = nullptr;
  constexpr int kMostTokens = 12;
  for (int i = 0; i < kMostTokens; ++i) {
    Token token = lexer.next(gap);
    if (token.kind == Token::Kind::end) break;
    std::string_view text = lexer.text(token.span);
    if (next) *next = token.span;
    next = text == ".version" ? &heading.version : text == ".target" ? &heading.target : nullptr;
  }
  return heading;
}

std::string spelt(PtxVersion version) { return fmt::format("{}.{}", version / 10, version % 10); }

// Every version that PTX has had since `from`.
std::vector<PtxVersion> versions_from(PtxVersion from) {
  std::vector<PtxVersion> versions{from};
  constexpr PtxVersion kBeyond = 100;
  for (PtxVersion next = from + 1; next < kBeyond; ++next)
    if (version_exists(next)) versions.push_back(next);
  return versions;
}

// The oldest target that today's ptxas takes: a module for it runs on every GPU since.
constexpr uint16_t kOldestTarget = 75;
constexpr PtxVersion kPlainVersion = 80;

Edits bad_target(const Site& site) {
  std::string_view written = std::string_view(site.module.source).substr(site.span.begin, site.span.size());
  std::string lower(written);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (lower.size() > 12) return {};
  std::vector<std::string> near;
  for (const Target& target : isa::known_targets()) {
    if (target.name() == lower) return {{site.span, target.name()}};
    if (base::edit_distance(target.name(), lower) == 1) near.push_back(target.name());
  }
  return near.size() == 1 ? Edits{{site.span, near.front()}} : Edits{};
}

Edits bad_version(const Site& site) {
  std::string_view written = std::string_view(site.module.source).substr(site.span.begin, site.span.size());
  bool whole = written.size() == 1 && written[0] >= '6' && written[0] <= '9';
  return whole ? Edits{{{site.span.end, site.span.end}, ".0"}} : Edits{};
}

void add_gates(const Site& site, std::vector<Gate>& gates) {
  if (site.instruction) {
    const isa::Form& form = site.instruction->form;
    if (form.row) gates.push_back(form.gate());
    for (const Operand& operand : site.instruction->operands)
      if (operand.kind == Operand::Kind::special) gates.push_back(isa::special_registers()[operand.id].gate);
    return;
  }
  std::string_view text = std::string_view(site.module.source).substr(site.span.begin, site.span.size());
  if (auto gate = directive_gate(text)) {
    gates.push_back(*gate);
  } else if (text == ".b128") {
    Gate wide;
    wide.ptx_since = 83;
    gates.push_back(wide);
  } else {
    Gate never;
    never.only_on = 1;
    never.sm_since = 999;
    gates.push_back(never);
  }
}

// What every instruction of the module needs.
std::vector<Gate> all_gates(const Module& module) {
  std::vector<Gate> gates;
  for (const Function& function : module.functions) {
    for (const Statement& statement : function.body) {
      const Instruction* instruction = statement.instruction();
      if (!instruction || !instruction->form.row) continue;
      Gate gate = instruction->form.gate();
      bool asks = gate.ptx_since || gate.sm_since || gate.only_on;
      if (asks && std::find(gates.begin(), gates.end(), gate) == gates.end()) gates.push_back(gate);
    }
  }
  return gates;
}

// The lowest version that, on `target`, admits all gates.
std::optional<PtxVersion> admitting(const std::vector<Gate>& gates, const Target& target, PtxVersion from) {
  for (PtxVersion version : versions_from(from)) {
    if (isa::first_version(target) > version) continue;
    bool all = std::all_of(gates.begin(), gates.end(),
                           [&](const Gate& gate) { return isa::refusal(gate, version, target).empty(); });
    if (all) return version;
  }
  return std::nullopt;
}

// The oldest target on which everything in the module exists.
std::optional<Target> target_for(const Module& module) {
  std::vector<Gate> gates = all_gates(module);
  size_t others = 0;
  std::optional<Target> only;
  for (const Target& target : isa::known_targets()) {
    if (target.sm < kOldestTarget) continue;
    auto version = admitting(gates, target, module.version);
    if (!version || *version > module.version) continue;
    if (target.suffix == 0) return target;
    ++others;
    only = target;
  }
  return others == 1 ? only : std::nullopt;
}

}  // namespace

Edits mend_header(const Site& site) {
  Span before{site.span.begin, site.span.begin};
  if (site.is(Code::missing_version)) {
    if (site.module.functions.empty() && site.module.variables.empty()) return {};  // nothing that a heading would help
    // The target stands below, if at all: it may need more.
    std::string_view source = site.module.source;
    Heading heading = heading_of(source);
    auto target = isa::target_named(source.substr(heading.target.begin, heading.target.size()));
    PtxVersion version = std::max(kPlainVersion, target ? isa::first_version(*target) : PtxVersion{0});
    if (target) version = admitting(all_gates(site.module), *target, version).value_or(version);
    return {{before, fmt::format(".version {}\n", spelt(version))}};
  }
  if (site.is(Code::missing_target)) {
    auto target = target_for(site.module);
    return target ? Edits{{before, fmt::format(".target {}\n", target->name())}} : Edits{};
  }
  if (site.is(Code::bad_target)) return bad_target(site);
  if (site.is(Code::bad_version)) return bad_version(site);
  if (site.is(Code::bad_address_size)) return {{site.span, "64"}};
  if (site.is(Code::target_needs_version)) {
    Heading heading = heading_of(site.module.source);
    if (heading.version.size() == 0) return {};
    return {{heading.version, spelt(isa::first_version(site.module.target))}};
  }
  return {};
}

Edits mend_gates(const Module& module, const Sites& sites, const std::vector<const base::Finding*>& findings) {
  Heading heading = heading_of(module.source);
  if (heading.version.size() == 0 || heading.target.size() == 0) return {};
  std::vector<Gate> gates;
  for (const base::Finding* finding : findings) add_gates(sites.at(*finding), gates);
  std::optional<std::pair<Target, PtxVersion>> best;
  auto consider = [&](const Target& target) {
    auto version = admitting(gates, target, module.version);
    if (version && (!best || *version < best->second)) best = {target, *version};
    return version.has_value();
  };
  // A newer version alone; else the target with its suffix; else the oldest plain one that is new enough; else the only
  // one at all.
  if (!consider(module.target)) {
    for (char suffix : {'f', 'a'}) consider({module.target.sm, suffix});
    if (!best && module.target.suffix == 0) {
      for (const Target& target : isa::known_targets())
        if (!best && target.suffix == 0 && target.sm > module.target.sm) consider(target);
    }
    if (!best && module.target.suffix == 0) {
      size_t admitted = 0;
      for (const Target& target : isa::known_targets()) admitted += target.sm > module.target.sm && consider(target);
      if (admitted != 1) return {};
    }
  }
  if (!best) return {};
  Edits edits;
  if (best->second != module.version) edits.push_back({heading.version, spelt(best->second)});
  if (best->first != module.target) edits.push_back({heading.target, best->first.name()});
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  return edits;
}

}  // namespace ptxlab::ptx
