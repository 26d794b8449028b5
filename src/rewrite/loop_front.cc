#include "rewrite/loop_front.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"
#include "rewrite/aliasing.h"

namespace ptxlab::rewrite {

using analysis::kNone;
using analysis::opcode_of;

namespace {

// Names of the labels at the head of a block.
std::set<std::string> labels_of(const Flow& flow, uint32_t block) {
  std::set<std::string> names;
  const auto& b = flow.cfg.blocks()[block];
  for (uint32_t s = b.begin; s < b.end; ++s)
    if (const auto* label = std::get_if<ptx::Label>(&flow.function.body[s].what))
      names.insert(flow.function.labels[label->id].name);
  return names;
}

bool falls_into(const Flow& flow, uint32_t from, uint32_t header) {
  const auto& block = flow.cfg.blocks()[from];
  if (block.end != flow.cfg.blocks()[header].begin) return false;
  if (block.terminator == kNone) return true;
  const auto& last = *flow.function.body[block.terminator].instruction();
  return last.guard.has_value();
}

bool jumps_to(const Flow& flow, uint32_t from, const std::set<std::string>& names) {
  uint32_t t = flow.cfg.blocks()[from].terminator;
  const auto* last = t == kNone ? nullptr : flow.function.body[t].instruction();
  return last && opcode_of(*last) == "bra" && !last->operands.empty() && names.count(last->operands[0].name) > 0;
}

bool writes_inside(const Flow& flow, uint32_t loop, uint32_t definition) {
  return flow.cfg.loops()[loop].contains(flow.cfg.block_of(flow.definitions.all()[definition].statement));
}

}  // namespace

std::string no_front(const Flow& flow, uint32_t loop) {
  uint32_t header = flow.cfg.loops()[loop].header;
  auto names = labels_of(flow, header);
  for (uint32_t from : flow.cfg.blocks()[header].predecessors) {
    if (flow.cfg.loops()[loop].contains(from) || !flow.cfg.reachable(from)) continue;
    if (!falls_into(flow, from, header) && !jumps_to(flow, from, names)) return "it is entered by a jump table";
  }
  // A round that falls into the header would pass what is put there.
  for (uint32_t from : flow.cfg.loops()[loop].latches)
    if (falls_into(flow, from, header)) return "a round falls into its header";
  return "";
}

void put_in_front(const Flow& flow, uint32_t loop, Statements code, Editor& editor, BodyEdit& edit) {
  uint32_t header = flow.cfg.loops()[loop].header, begin = flow.cfg.blocks()[header].begin;
  auto names = labels_of(flow, header);
  std::string entry;
  for (uint32_t from : flow.cfg.blocks()[header].predecessors) {
    if (flow.cfg.loops()[loop].contains(from) || !jumps_to(flow, from, names)) continue;
    if (entry.empty()) entry = editor.fresh_label("entry");
    for (const auto& name : names) edit.retargeted[flow.cfg.blocks()[from].terminator][name] = entry;
  }
  auto& there = edit.before[begin];
  if (!entry.empty()) {
    editor.label(entry);
    auto made = editor.take();
    there.insert(there.end(), made.begin(), made.end());
  }
  there.insert(there.end(), std::make_move_iterator(code.begin()), std::make_move_iterator(code.end()));
}

std::string label_at(const ptx::Function& function, uint32_t statement, Editor& editor, BodyEdit& edit) {
  if (statement < function.body.size())
    if (const auto* label = std::get_if<ptx::Label>(&function.body[statement].what))
      return function.labels[label->id].name;
  auto& there = edit.before[statement];
  if (!there.empty())
    if (const auto* label = std::get_if<ptx::Label>(&there.front().what)) return editor.label_name(label->id);
  auto name = editor.fresh_label("at");
  editor.label(name);
  auto made = editor.take();
  there.insert(there.begin(), made.begin(), made.end());
  return name;
}

std::set<uint32_t> loop_invariants(const Flow& flow, uint32_t loop) {
  std::set<uint32_t> found;
  const auto& l = flow.cfg.loops()[loop];
  for (bool grown = true; grown;) {
    grown = false;
    for (uint32_t b : l.blocks)
      for (uint32_t s = flow.cfg.blocks()[b].begin; s < flow.cfg.blocks()[b].end; ++s) {
        const auto* instruction = flow.function.body[s].instruction();
        if (!instruction || found.count(s) || !pure(*instruction)) continue;
        auto use = analysis::register_use(*instruction);
        // Written once in the whole function: then a value computed early is the same wherever it is read.
        if (use.writes.size() != 1 || flow.definitions.of(use.writes[0]).size() != 1) continue;
        bool fits = std::all_of(use.reads.begin(), use.reads.end(),
                                [&](uint32_t reg) { return invariant_in(flow, loop, found, s, reg); });
        if (fits) grown = found.insert(s).second || grown;
      }
  }
  return found;
}

bool invariant_in(const Flow& flow, uint32_t loop, const std::set<uint32_t>& invariants, uint32_t statement,
                  uint32_t reg) {
  bool inside = false;
  for (uint32_t d : flow.definitions.of(reg)) inside = inside || writes_inside(flow, loop, d);
  if (!inside) return true;
  uint32_t d = flow.definitions.only(statement, reg);
  return d != kNone && invariants.count(flow.definitions.all()[d].statement) > 0;
}

std::vector<uint32_t> invariant_slice(const Flow& flow, uint32_t loop, const std::set<uint32_t>& invariants,
                                      uint32_t statement, uint32_t reg) {
  std::set<uint32_t> found;
  std::vector<std::pair<uint32_t, uint32_t>> open{{statement, reg}};
  while (!open.empty()) {
    auto [at, wanted] = open.back();
    open.pop_back();
    uint32_t d = flow.definitions.only(at, wanted);
    if (d == kNone || !writes_inside(flow, loop, d)) continue;
    uint32_t by = flow.definitions.all()[d].statement;
    if (!invariants.count(by) || !found.insert(by).second) continue;
    for (uint32_t input : analysis::register_use(*flow.function.body[by].instruction()).reads)
      open.emplace_back(by, input);
  }
  return {found.begin(), found.end()};
}

}  // namespace ptxlab::rewrite
