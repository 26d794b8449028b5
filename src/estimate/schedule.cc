#include "estimate/schedule.h"

#include <algorithm>
#include <map>
#include <queue>

namespace ptxlab::estimate {
namespace {

// What a load is taken to cost while code is ordered: far more than all arithmetic, as for ptxas.
constexpr double kAssumedLoad = 200;

struct Edge {
  uint32_t to = 0;
  double latency = 0;
};

bool memory(const MachineCode& code) {
  return code.role == Role::load || code.role == Role::store || code.role == Role::atomic;
}

bool keeps_order(Role role) {
  return role == Role::barrier || role == Role::fence || role == Role::wait || role == Role::branch;
}

bool same_memory(isa::Space a, isa::Space b) {
  using isa::Space;
  return a == b || a == Space::generic || b == Space::generic;
}

class Scheduler {
 public:
  Scheduler(const ptx::Function& function, std::span<const MachineCode> code, uint32_t begin, uint32_t end)
      : code_(code) {
    for (uint32_t s = begin; s < end; ++s)
      if (function.body[s].instruction()) nodes_.push_back(s);
    edges_.resize(nodes_.size());
    waiting_.resize(nodes_.size());
  }

  std::vector<uint32_t> run() {
    link_registers();
    link_memory();
    rank();
    return order();
  }

 private:
  const MachineCode& at(uint32_t node) const { return code_[nodes_[node]]; }

  double latency_of(const MachineCode& code) const {
    return code.role == Role::load && code.space != isa::Space::shared ? kAssumedLoad : code.latency;
  }

  void edge(uint32_t from, uint32_t to, double latency) {
    edges_[from].push_back({to, latency});
    ++waiting_[to];
  }

  void link_registers() {
    std::map<uint32_t, uint32_t> writer;
    std::map<uint32_t, std::vector<uint32_t>> readers;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      for (uint32_t r : at(n).reads) {
        if (auto it = writer.find(r); it != writer.end()) edge(it->second, n, latency_of(at(it->second)));
        readers[r].push_back(n);
      }
      for (uint32_t r : at(n).writes) {
        for (uint32_t reader : readers[r])
          if (reader != n) edge(reader, n, 0);
        if (auto it = writer.find(r); it != writer.end() && it->second != n) edge(it->second, n, 0);
        readers[r].clear();
        writer[r] = n;
      }
    }
  }

  // A load may pass what does not write its memory; stores, atomics, barriers and branches keep their order.
  void link_memory() {
    std::vector<uint32_t> stores, loads;  // since the last barrier
    uint32_t fence = ~uint32_t{0}, last_kept = ~uint32_t{0};
    for (uint32_t n = 0; n < nodes_.size(); ++n) {
      const auto& code = at(n);
      if (keeps_order(code.role)) {
        bool all = code.role == Role::branch;  // nothing leaves its block
        for (uint32_t m = all || last_kept == ~uint32_t{0} ? 0 : last_kept; m < n; ++m)
          if (all || memory(at(m)) || keeps_order(at(m).role)) edge(m, n, 0);
        fence = last_kept = n;
        stores.clear();
        loads.clear();
        continue;
      }
      if (!memory(code)) continue;
      if (fence != ~uint32_t{0}) edge(fence, n, 0);
      if (code.role == Role::load) {
        if (code.ordered)
          for (uint32_t s : stores)
            if (same_memory(at(s).space, code.space)) edge(s, n, 0);
        loads.push_back(n);
      } else {
        for (uint32_t l : loads)
          if (at(l).ordered && same_memory(at(l).space, code.space)) edge(l, n, 0);
        if (!stores.empty()) edge(stores.back(), n, 0);
        stores.push_back(n);
      }
    }
  }

  void rank() {
    rank_.assign(nodes_.size(), 0);
    for (uint32_t n = static_cast<uint32_t>(nodes_.size()); n-- > 0;)
      for (const auto& e : edges_[n]) rank_[n] = std::max(rank_[n], rank_[e.to] + e.latency + at(n).slots);
  }

  std::vector<uint32_t> order() {
    struct Ready {
      double time, rank;
      uint32_t node;
    };
    auto later = [](const Ready& a, const Ready& b) { return a.time != b.time ? a.time > b.time : a.node > b.node; };
    auto worse = [](const Ready& a, const Ready& b) { return a.rank != b.rank ? a.rank < b.rank : a.node > b.node; };
    std::priority_queue<Ready, std::vector<Ready>, decltype(later)> pending(later);
    std::priority_queue<Ready, std::vector<Ready>, decltype(worse)> able(worse);
    std::vector<double> from(nodes_.size(), 0);
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      if (!waiting_[n]) pending.push({0, rank_[n], n});
    std::vector<uint32_t> made;
    double now = 0;
    while (!pending.empty() || !able.empty()) {
      while (!pending.empty() && (pending.top().time <= now || able.empty())) {
        now = std::max(now, pending.top().time);
        able.push(pending.top());
        pending.pop();
      }
      Ready next = able.top();
      able.pop();
      made.push_back(nodes_[next.node]);
      for (const auto& e : edges_[next.node]) {
        from[e.to] = std::max(from[e.to], now + e.latency);
        if (--waiting_[e.to] == 0) pending.push({from[e.to], rank_[e.to], e.to});
      }
      now += std::max(at(next.node).slots, 0.01);
    }
    return made;
  }

  std::span<const MachineCode> code_;
  std::vector<uint32_t> nodes_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<uint32_t> waiting_;
  std::vector<double> rank_;
};

}  // namespace

std::vector<uint32_t> schedule(const ptx::Function& function, std::span<const MachineCode> code, uint32_t begin,
                               uint32_t end) {
  return Scheduler(function, code, begin, end).run();
}

}  // namespace ptxlab::estimate
