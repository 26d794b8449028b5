// Faults that any kernel can have, planted in its text: what is stored is scaled, rounded, moved; what is loaded is rounded; the plan's
// grid is cut, its arguments are exchanged; and what task/mutants.h plants.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <sstream>

#include "planted.h"
#include "ptx/printer.h"
#include "ptx/verifier.h"
#include "task/mutants.h"

namespace ptxlab::planted {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

// What is done to one value in %zf0 by way of %zb0, %zh0 and %zp0; the result is in %zf0.
struct Operation {
  const char* what;
  const char* is;
  const char* code;
};
const Operation kOnResults[] = {
    {"0.7 times", "constant factor", "mul.f32 %zf0, %zf0, 0f3F333333;"},
    {"3 times", "constant factor", "mul.f32 %zf0, %zf0, 0f40400000;"},
    {"2 more", "constant offset", "add.f32 %zf0, %zf0, 0f40000000;"},
    {"without its sign", "signedness", "abs.f32 %zf0, %zf0;"},
    {"rounded to 5 bits", "precision", "mov.b32 %zb0, %zf0; and.b32 %zb0, %zb0, 0xfff80000; mov.b32 %zf0, %zb0;"},
    {"no NaN", "special values", "max.f32 %zf0, %zf0, 0fFF7FFFFF;"},
};
const Operation kOnLoads[] = {
    {"loads rounded to f16", "precision", "cvt.rn.f16.f32 %zh0, %zf0; cvt.f32.f16 %zf0, %zh0;"},
    {"loads rounded to tf32", "precision", "mov.b32 %zb0, %zf0; and.b32 %zb0, %zb0, 0xffffe000; mov.b32 %zf0, %zb0;"},
    {"loads rounded to bf16", "precision", "mov.b32 %zb0, %zf0; and.b32 %zb0, %zb0, 0xffff0000; mov.b32 %zf0, %zb0;"},
};

// Scratch registers for what is inserted, in every function.
Lines with_registers(const Lines& lines) {
  Lines out;
  for (const auto& line : lines) {
    out.push_back(line);
    if (line == "{") out.push_back("\t.reg .f32 %zf<2>; .reg .b32 %zb<2>; .reg .b16 %zh<2>; .reg .pred %zp<2>;");
  }
  return out;
}

std::string indented(const std::string& code) { return "\t" + code; }

// Every result in f32 on its way out goes through `operation`: stored as it is, or converted to a narrow type first.
std::string on_results(const Lines& lines, const Operation& operation) {
  static const std::regex store(R"(^(\t(?:@\S+ )?st\.global(?:\.\S+?)?\.f32 \[.+\], )(%\w+);$)");
  static const std::regex vector(R"(^\t(?:@\S+ )?st\.global(?:\.\S+?)?\.v[24]\.f32 \[.+\], \{(.+)\};$)");
  static const std::regex convert(R"(^(\t(?:@\S+ )?cvt\.rn\.(?:bf16|f16)\.f32 %\w+, )(%\w+);$)");
  Lines out;
  bool any = false;
  for (const auto& line : lines) {
    std::smatch match;
    if (std::regex_match(line, match, store) || std::regex_match(line, match, convert)) {
      out.push_back(fmt::format("\tmov.f32 %zf0, {};", match[2].str()));
      out.push_back(indented(operation.code));
      out.push_back(match[1].str() + "%zf0;");
      any = true;
      continue;
    }
    if (std::regex_match(line, match, vector)) {
      std::string changed = line;
      const std::string list = match[1].str();
      std::regex name(R"(%\w+)");
      int k = 0;
      for (std::sregex_iterator at(list.begin(), list.end(), name), end; at != end; ++at, ++k) {
        out.push_back(fmt::format("\tmov.f32 %zf0, {};", at->str()));
        out.push_back(indented(operation.code));
        out.push_back(fmt::format("\tmov.f32 %zv{}, %zf0;", k));
      }
      std::string registers;
      for (int i = 0; i < k; ++i) registers += fmt::format("{}%zv{}", i ? ", " : "", i);
      changed.replace(changed.find('{'), std::string::npos, "{" + registers + "};");
      out.push_back(changed);
      any = true;
      continue;
    }
    out.push_back(line);
    if (line == "{") out.push_back("\t.reg .f32 %zv<4>;");
  }
  return any ? text_of(out) : "";
}

std::string on_loads(const Lines& lines, const Operation& operation) {
  static const std::regex load(R"(^\t(?:@\S+ )?ld\.global(?:\.\S+?)?\.f32 (%\w+), .*$)");
  static const std::regex vector(R"(^\t(?:@\S+ )?ld\.global(?:\.\S+?)?\.v[24]\.f32 \{(.+)\}, .*$)");
  Lines out;
  bool any = false;
  for (const auto& line : lines) {
    out.push_back(line);
    std::smatch match;
    if (!std::regex_match(line, match, load) && !std::regex_match(line, match, vector)) continue;
    const std::string list = match[1].str();
    std::regex name(R"(%\w+)");
    for (std::sregex_iterator at(list.begin(), list.end(), name), end; at != end; ++at) {
      out.push_back(fmt::format("\tmov.f32 %zf0, {};", at->str()));
      out.push_back(indented(operation.code));
      out.push_back(fmt::format("\tmov.f32 {}, %zf0;", at->str()));
    }
    any = true;
  }
  return any ? text_of(out) : "";
}

// A store to global memory that happens only where `condition` sets %zp0.
std::string guarded_stores(const Lines& lines, const std::string& condition) {
  static const std::regex store(R"(^\t(st\.global.*)$)");
  Lines out;
  bool any = false;
  for (const auto& line : lines) {
    std::smatch match;
    if (!std::regex_match(line, match, store)) {
      out.push_back(line);
      continue;
    }
    out.push_back(indented(condition));
    out.push_back(fmt::format("\t@%zp0 {}", match[1].str()));
    any = true;
  }
  return any ? text_of(out) : "";
}

class Planter {
 public:
  Planter(const task::Task& task, std::string host, const std::string& ptx, std::string plan, size_t places)
      : task_(task), host_(std::move(host)), plan_(std::move(plan)), places_(places) {
    checked_ = ptx::check(ptx, "host.ptx");
    if (checked_.ok()) printed_ = ptx::print(checked_.module);
  }

  std::vector<Fault> run() {
    if (!checked_.ok()) return {};
    const Lines lines = with_registers(lines_of(printed_));
    for (const auto& operation : kOnResults) add(operation.what, {operation.is}, on_results(lines, operation));
    for (const auto& operation : kOnLoads) add(operation.what, {operation.is}, on_loads(lines, operation));
    add("odd threads do not store", {"wrong width", "unwritten elements", "part of the grid missing"},
        guarded_stores(lines, "mov.u32 %zb0, %tid.x; and.b32 %zb0, %zb0, 1; setp.eq.u32 %zp0, %zb0, 0;"));
    add("odd CTAs do not store", {"part of the grid missing", "unwritten elements"},
        guarded_stores(lines, "mov.u32 %zb0, %ctaid.x; and.b32 %zb0, %zb0, 1; setp.eq.u32 %zp0, %zb0, 0;"));
    add("the last CTA does not store", {"part of the grid missing", "unwritten elements"},
        guarded_stores(
            lines,
            "mov.u32 %zb0, %ctaid.x; add.u32 %zb0, %zb0, 1; mov.u32 %zb1, %nctaid.x; setp.ne.u32 %zp0, %zb0, "
            "%zb1;"));
    plans();
    mutants();
    return std::move(faults_);
  }

 private:
  void add(std::string what, std::vector<std::string> is, std::string text, std::string plan = "") {
    if (text.empty()) return;
    Fault fault;
    fault.task = task_.name;
    fault.host = host_;
    fault.what = std::move(what);
    fault.is = std::move(is);
    fault.text = std::move(text);
    fault.plan_text = plan.empty() ? plan_ : std::move(plan);
    faults_.push_back(std::move(fault));
  }

  // The grid's CTAs rounded down; arguments of one kind and type exchanged.
  void plans() {
    static const std::regex rounded(R"(ceildiv\(([^,()]+), ([^()]+)\))");
    std::smatch match;
    if (std::regex_search(plan_, match, rounded))
      add("the grid is rounded down", {"part of the grid missing"}, printed_,
          std::regex_replace(plan_, rounded, "max(1, $1 / ($2))", std::regex_constants::format_first_only));
    std::vector<const task::Argument*> scalars, inputs;
    for (const auto& argument : task_.arguments) {
      if (argument.kind == task::Argument::Kind::scalar) scalars.push_back(&argument);
      if (argument.kind == task::Argument::Kind::in) inputs.push_back(&argument);
    }
    exchange(scalars, {"wrong scalar"});
    exchange(inputs, {"inputs exchanged"});
  }

  void exchange(const std::vector<const task::Argument*>& arguments, const std::vector<std::string>& is) {
    size_t made = 0;
    for (size_t a = 0; a < arguments.size(); ++a)
      for (size_t b = a + 1; b < arguments.size() && made < places_; ++b) {
        if (arguments[a]->type != arguments[b]->type) continue;
        const auto one = fmt::format("\"{}\"", arguments[a]->name), other = fmt::format("\"{}\"", arguments[b]->name);
        const size_t begin = plan_.find("args");
        if (begin == std::string::npos) continue;
        const size_t x = plan_.find(one, begin), y = plan_.find(other, begin);
        if (x == std::string::npos || y == std::string::npos) continue;
        std::string plan = plan_;
        plan.replace(std::max(x, y), (x > y ? one : other).size(), x > y ? other : one);
        plan.replace(std::min(x, y), (x < y ? one : other).size(), x < y ? other : one);
        add(fmt::format("'{}' and '{}' exchanged in the plan", arguments[a]->name, arguments[b]->name), is, printed_,
            plan);
        ++made;
      }
  }

  void mutants() {
    static const std::vector<std::pair<const char*, std::vector<std::string>>> kNames{
        {"barrier_removed", {"missing barrier or atomic"}},
        {"f16_accumulation", {"precision", "special values"}},
        {"last_term_dropped", {"off by one", "unwritten elements", "tail"}},
        {"guard_too_narrow", {"off by one", "unwritten elements", "tail"}},
        {"wrong_sign", {"signedness"}},
        {"store_removed", {"unwritten elements", "wrong width", "tail"}},
        {"store_misplaced", {"shifted"}},
        {"wrong_operation", {}},
        {"product_alone", {}},
    };
    for (const auto& mutant : task::ptx_mutants()) {
      auto known = std::find_if(kNames.begin(), kNames.end(), [&](const auto& k) { return mutant.name == k.first; });
      if (known == kNames.end()) continue;
      auto planted = mutant.apply(checked_.module);
      // Spread over the text: unrolled code has the same place many times.
      const size_t step = std::max<size_t>(1, planted.size() / places_);
      for (size_t i = 0, made = 0; i < planted.size() && made < places_; i += step, ++made)
        add(fmt::format("{}, {}", mutant.name, planted[i].what), known->second, planted[i].text);
    }
  }

  const task::Task& task_;
  std::string host_, plan_;
  size_t places_;
  ptx::Checked checked_;
  std::string printed_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<Fault> plant_everywhere(const task::Task& task, const std::string& host, const std::string& ptx,
                                    const std::string& plan, size_t places) {
  return Planter(task, host, ptx, plan, places).run();
}

}  // namespace ptxlab::planted
