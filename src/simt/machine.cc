// A launch: its memory, its CTAs in a seeded order, and what it reports.
#include "simt/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/span.h"

namespace ptxlab::simt {
namespace {

constexpr size_t kMostResident = 1024;  // CTAs that wait for their next turn

bool tracks(const RunOptions& options) { return options.check == CheckLevel::defined; }

// All numbers below `count` in a seeded order, without a list of them: steps of a size that is coprime to the count.
class Shuffled {
 public:
  Shuffled(uint64_t count, base::Random& random) : count_(count), start_(random.below(count)), step_(1) {
    while (count > 2 && step_ == 1) {
      uint64_t step = 1 + random.below(count - 1);
      if (std::gcd(step, count) == 1) step_ = step;
      if (count <= 4) step_ = count - 1;
    }
  }
  uint64_t operator[](uint64_t i) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(i) * step_ + start_) % count_);
  }

 private:
  uint64_t count_, start_, step_;
};

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string triple(const launch::Dim3& d) { return fmt::format("({},{},{})", d[0], d[1], d[2]); }

}  // namespace

bool Warp::runnable() const {
  for (uint32_t i = 0; i < split_count; ++i)
    if (splits[i].mask && splits[i].wait == Wait::none) return true;
  return false;
}

Machine::Machine(const Image& image, Variables& variables, const launch::ResolvedLaunch& launch,
                 std::span<const size_t> buffers, Memory& memory, const RunOptions& options,
                 std::span<Observer* const> observers)
    : image_(image),
      variables_(variables),
      launch_(launch),
      buffers_(buffers),
      memory_(memory),
      options_(options),
      observers_(observers),
      random_(base::derive_seed(options.seed, "schedule")) {
  for (const Observer* observer : observers_) events_ |= observer->events();
  issued_.resize(image.places.size());
  counts_.resize(image.places.size());
  region_cache_.resize(image.places.size(), ~uint32_t{0});
}

// --- what is told ---

Site Machine::site(const Op& op) const {
  const ptx::Function* function = image_.places[op.id].code->function;
  return {function, op.statement, function->body.empty() ? nullptr : function->body[op.statement].instruction()};
}

std::string Machine::thread_name(const Warp& warp, int lane) const {
  uint32_t t = warp.index * kLanes + static_cast<uint32_t>(lane);
  const launch::Dim3& b = launch_.block;
  return fmt::format("thread {} of CTA {}", triple({t % b[0], t / b[0] % b[1], t / b[0] / b[1]}), triple(warp.id.cta));
}

std::string Machine::line_of(uint32_t op_id) const {
  const OpPlace& place = image_.places[op_id];
  const Op& op = place.code->ops[place.pc];
  const ptx::Function& function = *place.code->function;
  if (function.body.empty()) return "the end of the function";
  const ptx::Instruction* in = function.body[op.statement].instruction();
  uint32_t line = base::place_of(image_.module->source, function.body[op.statement].span, "").line;
  if (!in || !in->loc || in->loc > image_.module->locations.size()) return fmt::format("line {}", line);
  const ptx::Loc& loc = image_.module->locations[in->loc - 1];
  for (const auto& [number, name] : image_.module->files)
    if (number == loc.file) return fmt::format("line {} ({}:{})", line, file_name(name), loc.line);
  return fmt::format("line {}", line);
}

std::string Machine::origin_text(const Registers& registers, uint32_t slot) const {
  uint32_t origin = registers.origin[slot];
  if (origin == 0) return "it comes from a register that was never written";
  auto read = undefined_reads_.find(origin - 1);
  return fmt::format("it comes from {}{}", line_of(origin - 1), read == undefined_reads_.end() ? "" : read->second);
}

void Machine::undefined_read(const Context& context, const Op& op, isa::Space space, int lane, uint64_t address,
                             uint32_t bytes) {
  auto [at, fresh] = undefined_reads_.try_emplace(op.id);
  if (!fresh) return;
  at->second = fmt::format(" ({} read {} bytes without a defined value, {})", thread_name(context.warp, lane), bytes,
                           describe(context, space, address, bytes));
}

void Machine::report(const char* code, base::Severity severity, const Context&, const Op& op, LaneMask lanes_hit,
                     const std::string& message, const std::string& hint) {
  report_at(code, severity, op.id, static_cast<uint64_t>(std::popcount(lanes_hit)), message, hint);
}

bool Machine::seen(const char* code, const Op& op, LaneMask lanes_hit) {
  auto it = reported_.find({code, op.id});
  if (it == reported_.end()) return false;
  it->second.total += static_cast<uint64_t>(std::popcount(lanes_hit));
  return true;
}

void Machine::report_at(const char* code, base::Severity severity, uint32_t op_id, uint64_t threads,
                        const std::string& message, const std::string& hint) {
  auto [it, fresh] = reported_.try_emplace({code, op_id}, Reported{report_.findings.size(), threads, 0});
  it->second.total += threads;
  if (!fresh) return;
  if (report_.findings.size() >= options_.max_findings) {
    ++left_out_;
    reported_.erase(it);
    return;
  }
  const OpPlace& place = image_.places[op_id];
  const Op& op = place.code->ops[place.pc];
  const ptx::Function& function = *place.code->function;
  base::Finding finding;
  finding.code = code;
  finding.severity = severity;
  if (!function.body.empty())
    finding.place = base::place_of(image_.module->source, function.body[op.statement].span, image_.module->file);
  std::string line = line_of(op_id);
  size_t source = line.find(" (");
  finding.message = message + (source == std::string::npos ? "" : line.substr(source));
  finding.hint = hint;
  report_.findings.push_back(std::move(finding));
}

void Machine::fail(const char* code, const std::string& message, const std::string& hint) {
  base::Finding finding;
  finding.code = code;
  finding.message = message;
  finding.hint = hint;
  finding.place = base::place_of(image_.module->source, image_.codes[0]->function->name_span, image_.module->file);
  report_.findings.push_back(std::move(finding));
  stop_ = true;
}

void Machine::notify(const Access& access) {
  for (Observer* observer : observers_)
    if (observer->events() & (kAccesses | kAccessValues)) observer->access(access);
}
void Machine::notify(const Barrier& barrier) {
  for (Observer* observer : observers_)
    if (observer->events() & kBarriers) observer->barrier(barrier);
}
void Machine::notify_fence(const Context& context, const Op& op, LaneMask active) {
  if (!wants(kBarriers)) return;
  for (Observer* observer : observers_)
    if (observer->events() & kBarriers) observer->fence({site(op), context.warp.id, active});
}

// --- memory ---

void Machine::count_traffic(const Op& op, isa::Space space, const uint64_t* addresses, LaneMask lanes, uint32_t bytes,
                            bool atomic) {
  if (!options_.count_sectors || (space != isa::Space::global && space != isa::Space::shared)) return;
  Counts& counts = counts_[op.id];
  if (!counts.memo) counts.memo = std::make_unique<std::array<TrafficMemo, 2>>();
  ++counts.requests;
  if (space == isa::Space::global) {
    Traffic traffic = (*counts.memo)[0].sectors(addresses, lanes, bytes);
    counts.sectors += traffic.units;
    counts.ideal_sectors += traffic.ideal;
  } else {
    Traffic traffic = (*counts.memo)[1].passes(addresses, lanes, bytes, atomic);
    counts.wavefronts += traffic.units;
    counts.ideal_wavefronts += traffic.ideal;
  }
}

void Machine::make_regions() {
  auto add = [&](Memory& memory, size_t index, uint32_t allocation, isa::Space space) {
    Allocation& a = memory.allocation(index);
    Region region;
    region.data = a.data.data();
    region.defined = tracks(options_) && !a.defined.empty() ? a.defined.data() : nullptr;
    region.base = a.address;
    region.bytes = a.bytes;
    region.writable = a.writable;
    region.space = space;
    region.allocation = allocation;
    region.owner = &a;
    regions_.push_back(region);
  };
  for (size_t i = 0; i < memory_.count(); ++i) add(memory_, i, static_cast<uint32_t>(i), isa::Space::global);
  for (size_t i = 0; i < variables_.allocation.size(); ++i) {
    if (variables_.allocation[i] < 0) continue;
    bool constant = image_.module->variables[i].space == isa::Space::constant;
    add(variables_.memory, static_cast<size_t>(variables_.allocation[i]), kModuleVariables + static_cast<uint32_t>(i),
        constant ? isa::Space::constant : isa::Space::global);
  }
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.base < b.base; });
  parameter_region_.data = parameters_.data();
  parameter_region_.bytes = parameters_.size();
  parameter_region_.writable = false;
  parameter_region_.space = isa::Space::param;
  shared_region_.bytes = shared_bytes_;
  shared_region_.space = isa::Space::shared;
}

const Region* Machine::find_region(Context& context, isa::Space space, uint64_t address, uint32_t op_id) {
  switch (space) {
    case isa::Space::shared: return &shared_region_;
    case isa::Space::param: return &parameter_region_;
    case isa::Space::local:
    case isa::Space::param_func: {
      Region& r = stack_region_;
      r.data = context.warp.stack.data();
      r.defined = context.defined ? context.warp.stack_defined.data() : nullptr;
      r.bytes = context.frame.local_end();
      r.lane_stride = context.warp.stack_capacity;
      r.space = space == isa::Space::local ? isa::Space::local : isa::Space::param;
      return &r;
    }
    default: break;
  }
  uint32_t& cached = region_cache_[op_id];
  if (cached < regions_.size() && address - regions_[cached].base < regions_[cached].bytes) return &regions_[cached];
  auto it = std::partition_point(regions_.begin(), regions_.end(),
                                 [&](const Region& r) { return r.base + r.bytes <= address; });
  if (it == regions_.end() || address < it->base) return nullptr;
  if (space == isa::Space::constant && it->space != isa::Space::constant) return nullptr;
  cached = static_cast<uint32_t>(it - regions_.begin());
  return &*it;
}

void Machine::make_definedness(const Region& region) {
  if (!region.owner) return;
  region.owner->defined.assign(region.bytes, 0xff);
  const_cast<Region&>(region).defined = region.owner->defined.data();  // all regions are ours
}

std::string Machine::describe(const Context& context, isa::Space space, uint64_t address, uint32_t bytes) const {
  auto window = [&](const char* name, uint64_t size) {
    auto offset = static_cast<int64_t>(address);
    if (offset < 0 && offset > -(int64_t{1} << 40)) return fmt::format("{} bytes before the {}", -offset, name);
    if (address >= size) return fmt::format("{} bytes past the end of the {} ({} bytes)", address - size, name, size);
    if (address + bytes > size)
      return fmt::format("its last {} bytes lie past the end of the {} ({} bytes)", address + bytes - size, name, size);
    return fmt::format("offset {} of the {}", address, name);
  };
  switch (space) {
    case isa::Space::shared: return window("CTA's shared memory", shared_bytes_);
    case isa::Space::param: return window("kernel's parameters", parameters_.size());
    case isa::Space::local:
    case isa::Space::param_func: return window("thread's local memory", context.frame.local_end());
    default: break;
  }
  bool variable = address >= kVariableBase && address < kDriverBase && variables_.memory.count();
  return variable ? variables_.memory.describe(address, bytes) : memory_.describe(address, bytes);
}

std::string Machine::text_at(uint64_t address) const {
  std::string text;
  for (const Region& region : regions_)
    for (; address - region.base < region.bytes && text.size() < 200; ++address) {
      char c = static_cast<char>(region.data[address - region.base]);
      if (c == 0) return text;
      text += c;
    }
  return text;
}

// --- the launch ---

bool Machine::prepare() {
  const ptx::Function& entry = *image_.codes[0]->function;
  uint64_t threads = uint64_t{launch_.block[0]} * launch_.block[1] * launch_.block[2];
  for (int i = 0; i < 3; ++i)
    if (launch_.grid[i] == 0 || launch_.block[i] == 0) fail("RUN0002", "the grid or the block is empty");
  if (threads > launch::kMaxThreadsPerCta)
    fail("RUN0002", fmt::format("a block of {} threads: at most {} are possible", threads, launch::kMaxThreadsPerCta));
  if (std::vector<uint32_t> required = entry.directive(".reqntid"); !required.empty()) {
    required.resize(3, 1);
    if (!std::equal(required.begin(), required.end(), launch_.block.begin()))
      fail("RUN0002", fmt::format("the block is {}, and '.reqntid' demands ({},{},{})", triple(launch_.block),
                                  required[0], required[1], required[2]));
  }
  if (std::vector<uint32_t> most = entry.directive(".maxntid"); !most.empty()) {
    uint64_t limit = std::accumulate(most.begin(), most.end(), uint64_t{1}, std::multiplies<>());
    if (threads > limit)
      fail("RUN0002", fmt::format("a block of {} threads, and '.maxntid' allows {}", threads, limit));
  }
  if (launch_.cluster != launch::Dim3{1, 1, 1}) {
    fail("RUN0001",
         fmt::format("clusters are not executed by this engine: the launch asks for {}", triple(launch_.cluster)));
    report_.supported = false;
  }
  if (!launch_.tensor_maps.empty()) {
    fail("RUN0001", "tensor maps are not executed by this engine");
    report_.supported = false;
  }
  uint64_t shared = uint64_t{image_.static_shared} + launch_.shared_bytes;
  auto limit = static_cast<uint64_t>(isa::limits_of(image_.module->target).shared_bytes_cta);
  if (shared > limit)
    fail("RUN0002", fmt::format("{} bytes of shared memory: a CTA of {} has at most {}", shared,
                                image_.module->target.name(), limit));
  shared_bytes_ = static_cast<uint32_t>(std::min(shared, limit));
  if (launch_.parameters.size() < image_.parameter_bytes)
    fail("RUN0002", fmt::format("the launch has {} bytes of parameters, '{}' takes {}", launch_.parameters.size(),
                                entry.name, image_.parameter_bytes));
  parameters_ = launch_.parameters;
  for (const launch::Relocation& relocation : launch_.pointers) {
    if (relocation.buffer >= buffers_.size() || uint64_t{relocation.offset} + 8 > parameters_.size()) {
      fail("RUN0002", "a pointer of the launch lies outside its parameters or buffers");
      break;
    }
    uint64_t address = memory_.allocation(buffers_[relocation.buffer]).address + relocation.addend;
    for (uint32_t b = 0; b < 8; ++b) parameters_[relocation.offset + b] = static_cast<uint8_t>(address >> (8 * b));
  }
  memory_used_ = memory_.bytes() + variables_.memory.bytes();
  if (stop_) return false;
  make_regions();
  // What the warps of one CTA take at least, so that a monster is refused before it is built.
  uint64_t warps = (threads + kLanes - 1) / kLanes;
  uint64_t a_warp =
      uint64_t{image_.codes[0]->slots} * kSlotBytes * 2 + uint64_t{image_.codes[0]->stack_bytes} * kLanes * 2;
  if (memory_used_ + warps * a_warp > options_.memory_budget)
    fail("RUN0020", fmt::format("registers and local memory of a CTA take {} bytes: more than the memory budget of {}",
                                warps * a_warp, options_.memory_budget));
  return !stop_;
}

void Machine::start_warp(Cta& cta, Warp& warp) {
  const Code& code = *image_.codes[0];
  warp.id = {cta.id, cta.linear, warp.index};
  uint32_t first = warp.index * kLanes, here = std::min<uint32_t>(cta.threads - first, kLanes);
  warp.exists = warp.alive = here == kLanes ? kAllLanes : (LaneMask{1} << here) - 1;
  bool fresh = warp.frames.empty();
  if (fresh) warp.frames.push_back(new_frame(code));
  Frame& frame = *warp.frames[0];
  frame.live = warp.alive;
  frame.dynamic.fill(0);
  reset_registers(frame, kAllLanes);
  // Lanes that do not exist are never looked at; taking them for defined keeps the fast path.
  for (uint32_t s = 0; s < code.register_end && warp.exists != kAllLanes; ++s) frame.registers.taint[s] &= warp.exists;
  fill_specials(frame, warp, cta, fresh);
  grow_stack(warp, code.stack_bytes);
  std::fill(warp.stack_defined.begin(), warp.stack_defined.end(), 0);
  if (!warp.stack.empty()) fill_poison(warp.stack, options_.seed + cta.linear);
  warp.split_count = 1;
  warp.splits[0] = {&frame, 0, warp.alive, Wait::none, 0};
  warp.diverged_steps = 0;
  warp.exit_op.fill(0);
  warp.copies.reset();
}

void Machine::begin_cta(uint64_t linear) {
  cta_.id = {static_cast<uint32_t>(linear % launch_.grid[0]),
             static_cast<uint32_t>(linear / launch_.grid[0] % launch_.grid[1]),
             static_cast<uint32_t>(linear / launch_.grid[0] / launch_.grid[1])};
  cta_.linear = static_cast<uint32_t>(linear);
  cta_.threads = cta_.alive = launch_.block[0] * launch_.block[1] * launch_.block[2];
  cta_.smid = static_cast<uint32_t>(random_.below(132));
  cta_.barriers.fill({});
  cta_.shared.resize(shared_bytes_);
  if (!cta_.shared.empty()) fill_poison(cta_.shared, base::derive_seed(options_.seed + linear, "shared"));
  if (tracks(options_)) cta_.shared_defined.assign(shared_bytes_, 0);
  shared_region_.data = cta_.shared.data();
  shared_region_.defined = tracks(options_) ? cta_.shared_defined.data() : nullptr;
  uint32_t warps = (cta_.threads + kLanes - 1) / kLanes;
  ready_ = warps == kLanes ? kAllLanes : (uint32_t{1} << warps) - 1;
  while (cta_.warps.size() < warps) {
    cta_.warps.push_back(std::make_unique<Warp>());
    cta_.warps.back()->index = static_cast<uint32_t>(cta_.warps.size() - 1);
  }
  for (uint32_t w = 0; w < warps; ++w) start_warp(cta_, *cta_.warps[w]);
  WarpId id{cta_.id, cta_.linear, 0};
  if (wants(kLaunches))
    for (Observer* o : observers_)
      if (o->events() & kLaunches) o->cta_begin(id, cta_.threads, shared_bytes_);
}

void Machine::end_cta() {
  WarpId id{cta_.id, cta_.linear, 0};
  if (wants(kLaunches))
    for (Observer* o : observers_)
      if (o->events() & kLaunches) o->cta_end(id);
  for (auto& warp : cta_.warps) {  // frames of calls that a fault or an exit left behind
    for (size_t i = 1; i < warp->frames.size(); ++i) warp->spare.push_back(std::move(warp->frames[i]));
    if (!warp->frames.empty()) warp->frames.resize(1);
  }
}

void Machine::rest() {
  resting_.push_back({std::move(cta_), ready_});
  cta_ = Cta{};
  if (spare_ctas_.empty()) return;
  cta_ = std::move(spare_ctas_.back());
  spare_ctas_.pop_back();
}

void Machine::resume() {
  if (!cta_.warps.empty()) spare_ctas_.push_back(std::move(cta_));
  cta_ = std::move(resting_.front().cta);
  ready_ = resting_.front().ready;
  resting_.pop_front();
  shared_region_.data = cta_.shared.data();
  shared_region_.defined = tracks(options_) ? cta_.shared_defined.data() : nullptr;
}

// CTAs run one after another, but for those that look at memory as if they waited for another one: they take turns with
// those that have begun before them and with new ones, as CTAs do that lie on a GPU together.
void Machine::run_ctas() {
  uint64_t total = uint64_t{launch_.grid[0]} * launch_.grid[1];
  bool huge = static_cast<unsigned __int128>(total) * launch_.grid[2] > (uint64_t{1} << 62);
  total = huge ? uint64_t{1} << 62 : total * launch_.grid[2];
  uint64_t count = options_.ctas.empty() ? total : options_.ctas.size(), next = 0;
  Shuffled order(count, random_);
  while (!stop_) {
    bool room = resting_.size() < kMostResident && memory_used_ < options_.memory_budget / 2;
    if (next < count && (resting_.empty() || (room && random_.below(2)))) {
      uint64_t linear = options_.ctas.empty() ? order[next] : options_.ctas[order[next]];
      ++next;
      if (linear >= total) continue;
      begin_cta(linear);
    } else if (!resting_.empty()) {
      resume();
    } else {
      break;
    }
    do run_warps();
    while (!stop_ && cta_.alive && resting_.empty() && next == count);  // alone, it goes on
    if (cta_.alive && !stop_) {
      rest();
    } else {
      end_cta();
    }
  }
}

RunReport Machine::run() {
  if (prepare()) {
    for (Observer* o : observers_) {
      o->context({image_.module, image_.codes[0]->function, &memory_, image_.shared});
      if (o->events() & kLaunches) o->launch_begin(launch_);
    }
    run_ctas();
    report_.completed = !stop_;
    for (Observer* o : observers_)
      if (o->events() & kLaunches) o->launch_end();
  }
  finish_report();
  return std::move(report_);
}

void Machine::finish_report() {
  for (const auto& [key, reported] : reported_)
    if (reported.total > reported.first)
      report_.findings[reported.finding].message += fmt::format(" ({} threads in all)", reported.total);
  if (left_out_) {
    base::Finding more;
    more.code = "RUN0022";
    more.severity = base::Severity::note;
    more.message = fmt::format("{} further findings are left out", left_out_);
    report_.findings.push_back(std::move(more));
  }
  for (const auto& code : image_.codes) {
    analysis::FunctionProfile profile;
    profile.function = code->function->name;
    profile.statements.resize(code->function->body.size());
    for (size_t pc = 0; pc + 1 < code->ops.size(); ++pc) {
      const Op& op = code->ops[pc];
      analysis::StatementCounts& counts = profile.statements[op.statement];
      counts.warps = issued_[op.id].warps;
      counts.threads = issued_[op.id].threads;
      const Counts& traffic = counts_[op.id];
      counts.requests = traffic.requests;
      counts.sectors = traffic.sectors;
      counts.ideal_sectors = traffic.ideal_sectors;
      counts.shared_wavefronts = traffic.wavefronts;
      counts.ideal_wavefronts = traffic.ideal_wavefronts;
      report_.warp_instructions += counts.warps;
      report_.thread_instructions += counts.threads;
    }
    report_.profile.functions.push_back(std::move(profile));
  }
}

}  // namespace ptxlab::simt
