#include "estimate/sm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ptxlab::estimate {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kSchedulers = 4;            // an SM, on every target known here
constexpr double kBranchCycles = 8;       // until a warp that branched issues again
constexpr double kBarrierCycles = 20;     // from the last arrival to the first issue
constexpr double kQueueCycles = 24;       // of work that the load/store unit holds before it takes no more
constexpr double kMissQueueCycles = 400;  // of stores and misses on their way to L2 before loads are held back
constexpr double kSectorBytes = 32;
constexpr double kMostBusy = 0.95;  // where that stops growing
constexpr double kSpread = 0.15;    // of latencies, to both sides
constexpr double kWarmUp = 2000;    // cycles
constexpr double kQueueing = 0.04;  // of latency, for each unit of busy / idle

struct Ready {
  double time = 0;
  Stall why = Stall::none;
};

// A block's steps in issue order, as the machine sees the trace.
struct WarpProgram {
  std::vector<TraceStep> steps;
};

class Sm {
 public:
  Sm(const SmTask& task, uint64_t ctas, bool edges) : task_(task), h_(*task.hardware), left_(ctas), edges_(edges) {
    number_statements();
    order_ctas();
  }

  SmResult run();

 private:
  struct Warp {
    uint32_t cta = 0;  // resident slot
    const WarpProgram* program = nullptr;
    const CtaTrace* trace = nullptr;
    size_t at = 0;
    double issued = 0;  // when it issued last
    Ready ready;        // of the next step's operands
    bool waits_barrier = false;
    double barrier_since = 0;
    std::vector<Ready> registers;
    double pending_copies = 0;
  };
  struct Resident {
    uint32_t first = 0, warps = 0, running = 0, at_barrier = 0;
  };
  struct Scheduler {
    std::vector<uint32_t> warps;  // indices into warps_, oldest first
    double now = 0, next = 0;
    uint32_t pick = 0;
    bool dirty = true;
    std::array<double, kPipes> pipe_free{};
    std::array<double, kPipes> pipe_busy{};
    double issue_busy = 0, fetch_busy = 0;
  };

  void number_statements();
  void order_ctas();
  size_t trace_of(uint64_t nth) const;
  void start_cta(uint32_t slot, double when);
  static Pipe pipe_of(const Scheduler& s, const MachineCode& code);
  double free_of(const Scheduler& s, const MachineCode& code) const;
  void look(Scheduler& s);
  void issue(Scheduler& s);
  void execute(Scheduler& s, Warp& warp, const MachineCode& code, const TraceStep& step, double t);
  Ready reach_memory(const AccessCost& cost, const MachineCode& code, double t);
  void spill(Warp& warp, double t);
  void advance(Warp& warp, double t);
  void arrive(Warp& warp, Resident& cta, double t);
  void finish(Scheduler& s, uint32_t index, double t);
  void wake_all();
  double spread();

  const SmTask& task_;
  const Hardware& h_;
  uint64_t left_, started_ = 0;
  bool edges_;
  std::vector<const MachineCode*> code_;  // by statement number
  std::vector<uint32_t> register_base_;   // by statement number
  std::vector<double> fetch_of_;          // by statement number: cycles more
  std::vector<bool> spills_at_;           // by statement number: the block's first
  uint32_t registers_ = 0;
  std::vector<std::vector<WarpProgram>> programs_;  // by sampled CTA
  std::vector<size_t> bulk_;                        // sampled CTAs that stand for the many
  std::vector<Resident> slots_;
  std::vector<Warp> warps_;
  std::vector<uint32_t> free_slots_;
  std::array<Scheduler, kSchedulers> schedulers_;
  double lsu_free_ = 0, l2_free_ = 0, dram_free_ = 0, end_ = 0;
  std::vector<double> cold_owed_, write_owed_;
  double reread_owed_ = 0;
  uint64_t random_ = 1;
  SmResult result_;
  std::vector<double> ends_;  // of CTAs, in order
  std::vector<std::pair<double, uint32_t>> launches_;
};

void Sm::number_statements() {
  for (size_t f = 0; f < task_.functions.size(); ++f) {
    const auto& function = task_.functions[f];
    auto first = static_cast<uint32_t>(code_.size());
    for (size_t s = 0; s < function.code.size(); ++s) {
      code_.push_back(&function.code[s]);
      register_base_.push_back(registers_);
      double loop = function.loop_slots.empty() ? 0 : function.loop_slots[function.block_of[s]];
      double kilobytes = loop * task_.code_bytes_slot / 1024;
      fetch_of_.push_back(kilobytes > h_.instruction_l1_kb   ? task_.fetch_cycles_l1
                          : kilobytes > h_.instruction_l0_kb ? task_.fetch_cycles_l0
                                                             : 0);
      spills_at_.push_back(false);
    }
    for (const auto& [owner, block] : task_.spill_blocks)
      if (owner == f && !function.order[block].empty()) spills_at_[first + function.order[block].front()] = true;
    registers_ += static_cast<uint32_t>(function.registers);
  }
}

// Whole runs through a block take the block's issue order; what a diverged warp did in pieces stays as it was.
void Sm::order_ctas() {
  const auto& trace = *task_.trace;
  for (size_t c = 0; c < trace.ctas.size(); ++c) {
    auto& programs = programs_.emplace_back();
    if (!trace.ctas[c].edge) bulk_.push_back(c);
    for (const auto& steps : trace.ctas[c].warps) {
      WarpProgram program;
      program.steps.reserve(steps.size());
      for (size_t i = 0; i < steps.size();) {
        size_t f = 0;
        while (f + 1 < trace.functions.size() && trace.functions[f + 1].first <= steps[i].statement) ++f;
        uint32_t first = trace.functions[f].first, at = steps[i].statement - first;
        const auto& function = task_.functions[f];
        const auto& order = function.order[function.block_of[at]];
        uint32_t begin = function.blocks[function.block_of[at]].first;
        // The block's instructions in text order are the steps of a whole run.
        size_t n = 0;
        uint32_t previous = begin;
        bool whole = i + order.size() <= steps.size() && !order.empty();
        for (; whole && n < order.size(); ++n) {
          uint32_t statement = steps[i + n].statement;
          // A call goes on in another function, before this one's statements or behind them.
          if (statement < first || statement - first < previous || statement - first >= function.block_of.size() ||
              function.block_of[statement - first] != function.block_of[at] ||
              (n == 0 && statement - first != *std::min_element(order.begin(), order.end())))
            whole = false;
          else
            previous = statement - first + 1;
        }
        if (!whole) {
          program.steps.push_back(steps[i++]);
          continue;
        }
        // Place of each statement in this run.
        std::vector<uint32_t> place(function.blocks[function.block_of[at]].second - begin);
        for (size_t k = 0; k < order.size(); ++k)
          place[steps[i + k].statement - first - begin] = static_cast<uint32_t>(k);
        for (uint32_t s : order) program.steps.push_back(steps[i + place[s - begin]]);
        i += order.size();
      }
      programs.push_back(std::move(program));
    }
  }
  if (bulk_.empty())
    for (size_t c = 0; c < trace.ctas.size(); ++c) bulk_.push_back(c);
}

size_t Sm::trace_of(uint64_t nth) const {
  if (edges_ && nth == 0) return 0;
  if (edges_ && left_ == 1) return task_.trace->ctas.size() - 1;
  return bulk_[nth % bulk_.size()];
}

void Sm::start_cta(uint32_t slot, double when) {
  size_t c = trace_of(started_++);
  --left_;
  Resident& cta = slots_[slot];
  cta.running = cta.warps = static_cast<uint32_t>(programs_[c].size());
  cta.at_barrier = 0;
  for (uint32_t w = 0; w < cta.warps; ++w) {
    Warp& warp = warps_[cta.first + w];
    warp.cta = slot;
    warp.program = &programs_[c][w];
    warp.trace = &task_.trace->ctas[c];
    warp.at = 0;
    warp.issued = when;
    warp.waits_barrier = false;
    warp.registers.assign(registers_, {});
    warp.ready = {when + w, Stall::branch};
    warp.pending_copies = 0;
    Scheduler& s = schedulers_[(cta.first + w) % kSchedulers];
    s.warps.push_back(cta.first + w);
    s.dirty = true;
    if (warp.program->steps.empty()) warp.ready.time = kNever;
  }
  // A CTA without a step is over at once.
  for (uint32_t w = 0; w < cta.warps; ++w) {
    Warp& warp = warps_[cta.first + w];
    if (warp.program->steps.empty()) finish(schedulers_[(cta.first + w) % kSchedulers], cta.first + w, when);
  }
}

Pipe Sm::pipe_of(const Scheduler& s, const MachineCode& code) {
  bool other =
      code.either && s.pipe_free[static_cast<size_t>(Pipe::fp32)] < s.pipe_free[static_cast<size_t>(Pipe::integer)];
  return other ? Pipe::fp32 : code.pipe;
}

// When the instruction's pipe or queue takes it.
double Sm::free_of(const Scheduler& s, const MachineCode& code) const {
  if (code.pipe == Pipe::memory) return std::max(lsu_free_ - kQueueCycles, l2_free_ - kMissQueueCycles);
  return s.pipe_free[static_cast<size_t>(pipe_of(s, code))];
}

// The scheduler's next event: which of its warps issues, and when.
void Sm::look(Scheduler& s) {
  s.dirty = false;
  s.next = kNever;
  for (uint32_t index : s.warps) {
    const Warp& warp = warps_[index];
    if (warp.waits_barrier) continue;
    const MachineCode& code = *code_[warp.program->steps[warp.at].statement];
    double t = std::max(warp.ready.time, s.now);
    t = std::max(t, free_of(s, code));
    if (t < s.next) {
      s.next = t;
      s.pick = index;
    }
  }
}

// Slices of L2 lie near and far, rows of DRAM are open or not: latencies differ, and so warps that began together do not
// stay in step. The same sequence in every run.
double Sm::spread() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return 1 + kSpread * (static_cast<double>(random_ >> 40) / (1 << 23) - 1);
}

// Where a global access's bytes come from, as queues and latencies.
Ready Sm::reach_memory(const AccessCost& cost, const MachineCode& code, double t) {
  lsu_free_ = std::max(lsu_free_, t) + cost.wavefronts;
  result_.lsu_busy += cost.wavefronts;
  (cost.shared ? result_.conflicts : result_.scattered) += std::max(0, cost.wavefronts - cost.ideal);
  if (cost.shared) {
    double turns = code.role == Role::atomic ? 2. * cost.collisions : 0;
    lsu_free_ += turns;
    result_.lsu_busy += turns;
    return {lsu_free_ + code.latency, Stall::shared};
  }
  result_.l1_bytes += cost.l1_sectors * kSectorBytes;
  double l1_done = lsu_free_ + h_.l1_latency;
  if (!cost.l2_sectors) return {l1_done, Stall::l1};
  double bytes = cost.l2_sectors * kSectorBytes;
  double work = bytes / task_.l2_bytes_cycle;
  // L2's atomic units take lanes at one address one after the other.
  if (code.role == Role::atomic) work = std::max<double>(work, cost.collisions);
  l2_free_ = std::max(l2_free_, lsu_free_) + work;
  result_.l2_busy += work;
  result_.l2_bytes += bytes;
  double cold = cost.cold_sectors, again = cost.dram_sectors;
  if (cost.local) cold = again = 0;
  double& owed = cost.write || code.role == Role::atomic ? write_owed_[cost.buffer] : cold_owed_[cost.buffer];
  double share =
      cost.write || code.role == Role::atomic ? task_.write_share[cost.buffer] : task_.cold_share[cost.buffer];
  owed += cold * share;
  reread_owed_ += again * task_.reread_share;
  double sectors = std::floor(owed + 1e-9) + std::floor(reread_owed_ + 1e-9);
  owed -= std::floor(owed + 1e-9);
  reread_owed_ -= std::floor(reread_owed_ + 1e-9);
  if (sectors < 1) return {l2_free_ + h_.l2_latency * spread(), Stall::l2};
  double dram = sectors * kSectorBytes / task_.dram_bytes_cycle;
  dram_free_ = std::max(dram_free_, l2_free_) + dram;
  result_.dram_busy += dram;
  result_.dram_bytes += sectors * kSectorBytes;
  // Other SMs' bursts are in the way as well, the more the busier DRAM is.
  double busy = std::min(kMostBusy, result_.dram_busy / std::max(dram_free_, kWarmUp));
  double latency = h_.dram_latency_ns * h_.clock_ghz * (1 + kQueueing * busy / (1 - busy)) * spread();
  return {std::max(dram_free_, l2_free_) + latency, Stall::dram};
}

// Registers that ptxas keeps in thread memory: written and read back where most are alive.
void Sm::spill(Warp& warp, double t) {
  double l2 = task_.spill_words * task_.spill_l2_share;
  lsu_free_ = std::max(lsu_free_, t) + task_.spill_words;
  result_.lsu_busy += task_.spill_words;
  result_.slots += task_.spill_words;
  result_.l1_bytes += (task_.spill_words - l2) * 128;
  double done = lsu_free_ + h_.l1_latency;
  if (l2 > 0) {
    double work = l2 * 128 / task_.l2_bytes_cycle;
    l2_free_ = std::max(l2_free_, lsu_free_) + work;
    result_.l2_busy += work;
    result_.l2_bytes += l2 * 128;
    done = l2_free_ + h_.l2_latency;
  }
  if (done > warp.ready.time) warp.ready = {done, Stall::l1};
}

void Sm::execute(Scheduler& s, Warp& warp, const MachineCode& code, const TraceStep& step, double t) {
  Ready done{t + code.latency, Stall::arithmetic};
  switch (code.pipe) {
    case Pipe::special:
    case Pipe::convert:
    case Pipe::fp64:
    case Pipe::tensor: done.why = Stall::slow; break;
    case Pipe::none:
    case Pipe::fp32:
    case Pipe::integer:
    case Pipe::half2:
    case Pipe::memory:
    case Pipe::control: break;
  }
  if (code.pipe == Pipe::memory) {
    if (step.access != kNoAccess) {
      done = reach_memory(warp.trace->accesses[step.access], code, t);
      if (code.role == Role::store) end_ = std::max({end_, l2_free_, dram_free_});
    } else {  // a shuffle, or masked off
      lsu_free_ = std::max(lsu_free_, t) + (code.role == Role::shuffle ? code.slots : 0);
      if (code.role == Role::shuffle) result_.lsu_busy += code.slots;
      done = {lsu_free_ + (code.role == Role::shuffle ? code.latency : 0), Stall::shared};
      if (code.role == Role::fence) done.why = Stall::fence;
    }
  } else {
    auto pipe = static_cast<size_t>(pipe_of(s, code));
    s.pipe_free[pipe] = std::max(s.pipe_free[pipe], t) + code.pipe_cycles;
    s.pipe_busy[pipe] += code.pipe_cycles;
  }
  uint32_t base = register_base_[step.statement];
  if (code.writes.empty() && code.role == Role::load) warp.pending_copies = std::max(warp.pending_copies, done.time);
  for (uint32_t r : code.writes) {
    // A guarded write that did nothing keeps what the register waits for.
    Ready& reg = warp.registers[base + r];
    if (done.time > reg.time || step.access != kNoAccess || code.pipe != Pipe::memory) reg = done;
  }
  if (code.role == Role::fence) warp.ready = done;
}

// When the warp's next instruction may issue, and what for it waits.
void Sm::advance(Warp& warp, double t) {
  Ready next{t, Stall::none};
  if (warp.ready.time > next.time) next = warp.ready;
  const TraceStep& step = warp.program->steps[warp.at];
  const MachineCode& code = *code_[step.statement];
  uint32_t base = register_base_[step.statement];
  for (uint32_t r : code.reads) {
    const Ready& reg = warp.registers[base + r];
    if (reg.time > next.time) next = reg;
  }
  if (code.role == Role::wait && warp.pending_copies > next.time) next = {warp.pending_copies, Stall::dram};
  warp.ready = next;
}

void Sm::wake_all() {
  for (auto& s : schedulers_) s.dirty = true;
}

void Sm::arrive(Warp& warp, Resident& cta, double t) {
  warp.waits_barrier = true;
  warp.barrier_since = t;
  if (++cta.at_barrier < cta.running) return;
  cta.at_barrier = 0;
  for (uint32_t w = 0; w < cta.warps; ++w) {
    Warp& other = warps_[cta.first + w];
    if (!other.waits_barrier) continue;
    other.waits_barrier = false;
    double go = t + kBarrierCycles;
    if (go > other.ready.time) other.ready = {go, Stall::barrier};
  }
  wake_all();
}

void Sm::finish(Scheduler& s, uint32_t index, double t) {
  s.warps.erase(std::find(s.warps.begin(), s.warps.end(), index));
  s.dirty = true;
  Resident& cta = slots_[warps_[index].cta];
  end_ = std::max(end_, t);
  if (--cta.running > 0) {
    // Those that wait for warps which have ended go on.
    if (cta.at_barrier > 0 && cta.at_barrier >= cta.running) {
      cta.at_barrier = 0;
      for (uint32_t w = 0; w < cta.warps; ++w) {
        Warp& other = warps_[cta.first + w];
        if (!other.waits_barrier) continue;
        other.waits_barrier = false;
        if (t + kBarrierCycles > other.ready.time) other.ready = {t + kBarrierCycles, Stall::barrier};
      }
      wake_all();
    }
    return;
  }
  ends_.push_back(t);
  if (left_ > 0) {
    launches_.emplace_back(t + h_.cta_ns * h_.clock_ghz, warps_[index].cta);
  }
}

void Sm::issue(Scheduler& s) {
  uint32_t index = s.pick;
  Warp& warp = warps_[index];
  double t = s.next;
  const TraceStep step = warp.program->steps[warp.at];
  const MachineCode& code = *code_[step.statement];
  // Since it issued last: waiting for operands, then for its pipe or its turn.
  double operands = std::clamp(warp.ready.time, warp.issued, t);
  result_.stalls[static_cast<size_t>(warp.ready.why)] += operands - warp.issued;
  double blocked = std::clamp(free_of(s, code), operands, t);
  result_.stalls[static_cast<size_t>(code.pipe == Pipe::memory ? Stall::queue : Stall::pipe)] += blocked - operands;
  result_.stalls[static_cast<size_t>(Stall::selected)] += t - blocked;

  warp.ready = {0, Stall::none};
  if (spills_at_[step.statement]) spill(warp, t);
  execute(s, warp, code, step, t);
  double slots = code.slots + (spills_at_[step.statement] ? task_.spill_words : 0);
  double fetch = fetch_of_[step.statement] * code.slots;
  s.now = t + slots + fetch;
  s.issue_busy += slots;
  s.fetch_busy += fetch;
  result_.stalls[static_cast<size_t>(Stall::branch)] += fetch;
  result_.slots += code.slots;
  result_.stalls[static_cast<size_t>(Stall::none)] += slots;
  warp.issued = s.now;
  s.dirty = true;
  // What shares the load/store unit sees its queue move.
  if (++warp.at == warp.program->steps.size()) {
    finish(s, index, t + slots);
    return;
  }
  if (code.role == Role::branch) {
    double go = t + kBranchCycles;
    if (go > warp.ready.time) warp.ready = {go, Stall::branch};
  }
  Resident& cta = slots_[warp.cta];
  if (code.role == Role::barrier) arrive(warp, cta, t + slots);
  advance(warp, t + slots);
}

SmResult Sm::run() {
  size_t widest = 1;
  for (const auto& programs : programs_) widest = std::max(widest, programs.size());
  cold_owed_.assign(std::max<size_t>(1, task_.cold_share.size()), 0);
  write_owed_.assign(cold_owed_.size(), 0);
  auto resident = static_cast<uint32_t>(std::min<uint64_t>(static_cast<uint64_t>(std::max(1, task_.resident)), left_));
  uint64_t all = left_;
  slots_.resize(resident);
  warps_.resize(resident * widest);
  for (uint32_t c = 0; c < resident; ++c) slots_[c].first = static_cast<uint32_t>(c * widest);
  for (uint32_t c = 0; c < resident && left_ > 0; ++c) start_cta(c, 2. * c);
  uint64_t steps = 0;
  for (;;) {
    Scheduler* first = nullptr;
    for (auto& s : schedulers_) {
      if (s.dirty) look(s);
      if (!first || s.next < first->next) first = &s;
    }
    auto launch = std::min_element(launches_.begin(), launches_.end());
    if (launch != launches_.end() && launch->first <= first->next) {
      auto [when, slot] = *launch;
      launches_.erase(launch);
      if (left_ > 0) start_cta(slot, when);
      continue;
    }
    if (first->next == kNever) {
      // Warps that wait at a barrier which nobody else will reach: what is left of a trace that was cut short.
      bool any = false;
      for (auto& warp : warps_) {
        any |= warp.waits_barrier;
        warp.waits_barrier = false;
      }
      for (auto& cta : slots_) cta.at_barrier = 0;
      wake_all();
      if (!any) break;
      continue;
    }
    issue(*first);
    // The load/store unit is everybody's: what others thought of it is out of date only towards later, so they are
    // asked again when their turn comes.
    if (code_.size() && first->next != kNever)
      for (auto& s : schedulers_)
        if (&s != first && !s.dirty && s.next < kNever) {
          const Warp& other = warps_[s.pick];
          if (code_[other.program->steps[other.at].statement]->pipe == Pipe::memory) s.dirty = true;
        }
    ++steps;
  }
  end_ = std::max({end_, l2_free_, dram_free_, lsu_free_});
  result_.cycles = end_;
  result_.ctas = all;
  for (const auto& s : schedulers_) {
    result_.issue_busy = std::max(result_.issue_busy, s.issue_busy);
    result_.fetch_busy = std::max(result_.fetch_busy, s.fetch_busy);
    for (size_t p = 0; p < kPipes; ++p) result_.pipe_busy[p] = std::max(result_.pipe_busy[p], s.pipe_busy[p]);
  }
  for (double stall : result_.stalls) result_.warp_cycles += stall;
  // From the end of the first wave to the beginning of the last: while it is full, and neither filling nor draining.
  size_t n = ends_.size();
  size_t r = resident;
  size_t last = n >= 4 * r ? 3 * r : 2 * r;
  result_.steady_cycles = n >= 2 * r ? (ends_[last - 1] - ends_[r - 1]) / static_cast<double>(last - r)
                                     : end_ / static_cast<double>(std::max<size_t>(1, n));
  return std::move(result_);
}

}  // namespace

std::string_view name_of(Stall stall) {
  switch (stall) {
    case Stall::none: return "issuing";
    case Stall::selected: return "another warp issues";
    case Stall::dram: return "a value from DRAM";
    case Stall::l2: return "a value from L2";
    case Stall::l1: return "a value from L1";
    case Stall::shared: return "shared memory, shuffles";
    case Stall::arithmetic: return "an arithmetic result";
    case Stall::slow: return "a slow unit's result";
    case Stall::pipe: return "a busy pipe";
    case Stall::queue: return "the load/store queue";
    case Stall::barrier: return "a barrier";
    case Stall::branch: return "the next instruction";
    case Stall::fence: return "a fence";
  }
  return "";
}

SmResult run_sm(const SmTask& task, uint64_t ctas, bool edges) { return Sm(task, ctas, edges).run(); }

}  // namespace ptxlab::estimate
