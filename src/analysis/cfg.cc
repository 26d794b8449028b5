#include "analysis/cfg.h"

#include <algorithm>
#include <map>

#include "analysis/registers.h"

namespace ptxlab::analysis {
namespace {

bool ends_block(const ptx::Instruction& instruction) {
  auto opcode = opcode_of(instruction);
  return opcode == "bra" || opcode == "brx" || opcode == "ret" || opcode == "exit" || opcode == "trap";
}

// Cooper, Harvey, Kennedy (2001): immediate dominators by iteration over reverse post-order. `order` begins with the
// root; `number` gives each node's place in it, kNone for nodes not reached; `into` lists the edges that come into a
// node.
std::vector<uint32_t> immediate_dominators(const std::vector<uint32_t>& order, const std::vector<uint32_t>& number,
                                           const std::vector<std::vector<uint32_t>>& into) {
  std::vector<uint32_t> idom(number.size(), kNone);
  if (order.empty()) return idom;
  idom[order[0]] = order[0];
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] > number[b]) a = idom[a];
      while (number[b] > number[a]) b = idom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 1; i < order.size(); ++i) {
      uint32_t best = kNone;
      for (uint32_t from : into[order[i]])
        if (number[from] != kNone && idom[from] != kNone) best = best == kNone ? from : meet(best, from);
      if (best != idom[order[i]]) {
        idom[order[i]] = best;
        changed = true;
      }
    }
  }
  idom[order[0]] = kNone;
  return idom;
}

// Reverse post-order from `root` along `out`, without recursion.
std::vector<uint32_t> reverse_post_order(uint32_t root, const std::vector<std::vector<uint32_t>>& out) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> seen(out.size(), 0);
  std::vector<std::pair<uint32_t, size_t>> open{{root, 0}};
  seen[root] = 1;
  while (!open.empty()) {
    auto& [node, next] = open.back();
    if (next == out[node].size()) {
      order.push_back(node);
      open.pop_back();
    } else if (uint32_t to = out[node][next++]; !seen[to]) {
      seen[to] = 1;
      open.emplace_back(to, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

bool Loop::contains(uint32_t block) const { return std::binary_search(blocks.begin(), blocks.end(), block); }

Cfg::Cfg(const ptx::Function& function) {
  split(function);
  connect(function);
  number();
  find_dominators();
  find_post_dominators();
  find_loops();
}

void Cfg::split(const ptx::Function& function) {
  const auto& body = function.body;
  block_of_.resize(body.size());
  uint32_t begin = 0;
  auto close = [&](uint32_t end, uint32_t terminator) {
    Block block;
    block.begin = begin;
    block.end = end;
    block.terminator = terminator;
    blocks_.push_back(std::move(block));
    begin = end;
  };
  for (uint32_t i = 0; i < body.size(); ++i) {
    if (std::holds_alternative<ptx::Label>(body[i].what) && i > begin) close(i, kNone);
    const auto* instruction = body[i].instruction();
    if (instruction && ends_block(*instruction)) close(i + 1, i);
  }
  if (begin < body.size() || blocks_.empty()) close(static_cast<uint32_t>(body.size()), kNone);
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    for (uint32_t i = blocks_[b].begin; i < blocks_[b].end; ++i) block_of_[i] = b;
}

void Cfg::connect(const ptx::Function& function) {
  auto target_of = [&](const ptx::Operand& operand) {
    if (operand.kind != ptx::Operand::Kind::label || operand.id >= function.labels.size()) return kNone;
    int32_t statement = function.labels[operand.id].statement;
    return statement < 0 || static_cast<size_t>(statement) >= block_of_.size() ? kNone : block_of_[statement];
  };
  std::vector<uint32_t> labelled;
  for (const auto& label : function.labels)
    if (label.statement >= 0 && static_cast<size_t>(label.statement) < block_of_.size())
      labelled.push_back(block_of_[label.statement]);
  auto edge = [&](uint32_t from, uint32_t to) {
    auto& out = blocks_[from].successors;
    if (to < blocks_.size() && std::find(out.begin(), out.end(), to) == out.end()) out.push_back(to);
  };
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    bool falls = true;
    if (blocks_[b].terminator != kNone) {
      const auto& last = *function.body[blocks_[b].terminator].instruction();
      falls = last.guard.has_value();
      if (opcode_of(last) == "bra" && !last.operands.empty()) edge(b, target_of(last.operands[0]));
      // The targets of brx stand in a directive; any label is a safe answer.
      if (opcode_of(last) == "brx")
        for (uint32_t to : labelled) edge(b, to);
    }
    if (falls) edge(b, b + 1);
  }
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    for (uint32_t to : blocks_[b].successors) blocks_[to].predecessors.push_back(b);
}

void Cfg::number() {
  std::vector<std::vector<uint32_t>> out(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) out[b] = blocks_[b].successors;
  order_ = reverse_post_order(0, out);
  number_.assign(blocks_.size(), kNone);
  for (uint32_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i;
}

void Cfg::find_dominators() {
  std::vector<std::vector<uint32_t>> into(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) into[b] = blocks_[b].predecessors;
  dominators_ = immediate_dominators(order_, number_, into);
  depth_.assign(blocks_.size(), 0);
  for (uint32_t b : order_)
    if (dominators_[b] != kNone) depth_[b] = depth_[dominators_[b]] + 1;
}

bool Cfg::dominates(uint32_t above, uint32_t below) const {
  if (!reachable(above) || !reachable(below)) return false;
  while (depth_[below] > depth_[above]) below = dominators_[below];
  return above == below;
}

void Cfg::find_post_dominators() {
  // A virtual node behind every block without successors is the root of the reversed graph.
  auto exit = static_cast<uint32_t>(blocks_.size());
  std::vector<std::vector<uint32_t>> out(blocks_.size() + 1), into(blocks_.size() + 1);
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    out[b] = blocks_[b].predecessors;
    into[b] = blocks_[b].successors;
    if (blocks_[b].successors.empty()) {
      out[exit].push_back(b);
      into[b].push_back(exit);
    }
  }
  auto order = reverse_post_order(exit, out);
  std::vector<uint32_t> place(blocks_.size() + 1, kNone);
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  post_dominators_ = immediate_dominators(order, place, into);
  post_dominators_.pop_back();
  for (auto& node : post_dominators_)
    if (node == exit) node = kNone;
}

void Cfg::find_loops() {
  std::map<uint32_t, std::vector<uint32_t>> latches;
  for (uint32_t b : order_)
    for (uint32_t to : blocks_[b].successors) {
      if (number_[to] > number_[b]) continue;
      if (dominates(to, b))
        latches[to].push_back(b);
      else
        irreducible_ = true;
    }
  std::vector<uint32_t> mark(blocks_.size(), kNone);  // the header of the loop that a block was last found in
  for (auto& [header, from] : latches) {
    Loop loop;
    loop.header = header;
    loop.latches = from;
    loop.blocks.push_back(header);
    mark[header] = header;
    std::vector<uint32_t> open;
    auto enter = [&](uint32_t block) {
      if (mark[block] == header || !reachable(block)) return;
      mark[block] = header;
      loop.blocks.push_back(block);
      open.push_back(block);
    };
    for (uint32_t latch : from) enter(latch);
    while (!open.empty()) {
      uint32_t block = open.back();
      open.pop_back();
      for (uint32_t before : blocks_[block].predecessors) enter(before);
    }
    std::sort(loop.blocks.begin(), loop.blocks.end());
    for (uint32_t b : loop.blocks)
      for (uint32_t to : blocks_[b].successors)
        if (mark[to] != header) loop.exits.push_back({b, to});
    loops_.push_back(std::move(loop));
  }
  std::stable_sort(loops_.begin(), loops_.end(),
                   [](const Loop& a, const Loop& b) { return a.blocks.size() > b.blocks.size(); });
  loop_of_.assign(blocks_.size(), kNone);
  for (uint32_t l = 0; l < loops_.size(); ++l) {
    loops_[l].parent = loop_of_[loops_[l].header];
    if (loops_[l].parent != kNone) loops_[l].depth = loops_[loops_[l].parent].depth + 1;
    for (uint32_t b : loops_[l].blocks) loop_of_[b] = l;
  }
}

}  // namespace ptxlab::analysis
