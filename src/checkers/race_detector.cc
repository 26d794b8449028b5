#include "checkers/race_detector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <tuple>

#include "analysis/cfg.h"
#include "checkers/traffic_lines.h"

namespace ptxlab::checkers {
namespace {

constexpr size_t kMostBytes = 64;  // of one lane

// Vectors and packed types count as so many scalars.
uint8_t element_bytes(const ptx::Instruction& instruction) {
  for (auto word = instruction.words.rbegin(); word != instruction.words.rend(); ++word)
    if (auto type = isa::type_named(*word)) return static_cast<uint8_t>(isa::bytes_of(isa::info(*type).element));
  return 0;
}

std::string triple(uint32_t linear, const launch::Dim3& extent) {
  return fmt::format("({},{},{})", linear % extent[0], linear / extent[0] % extent[1], linear / extent[0] / extent[1]);
}

}  // namespace

void RaceDetector::begin(const simt::Access& access, Event floor) {
  access_ = &access;
  if (access.site.instruction != last_instruction_) {
    last_instruction_ = access.site.instruction;
    site_ = site_index(access.site);
  }
  event_ = order_.next();
  floor_ = floor;
  base_ = order_.base(access.warp.cta_linear);
  cta_first_ = order_.first_thread(access.warp.cta_linear);
  cta_threads_ = order_.stride();
  warp_first_ = cta_first_ + access.warp.warp * 32;
  strong_ = access.atomic || access.strong;
  writes_ = access.writes;
}

simt::LaneMask RaceDetector::telling_lanes(const simt::Access& access) const {
  if (exact_ || strong_ || access.writes || access.active != ~simt::LaneMask{0}) return access.active;
  simt::LaneMask repeats = 0;  // lanes that load from where their lower neighbour does
  for (int lane = 1; lane < 32; ++lane)
    repeats |= static_cast<simt::LaneMask>(access.address[lane] == access.address[lane - 1]) << lane;
  return ~(repeats & repeats << 1);  // the third of a row and those after it
}

uint16_t RaceDetector::site_index(const simt::Site& site) {
  auto [at, fresh] = site_indices_.try_emplace(site.instruction, static_cast<uint16_t>(sites_.size()));
  if (fresh) {
    assert(sites_.size() < 0xffff);
    sites_.push_back(site);
    scopes_.push_back(ordering_of(*site.instruction).scope);
    atomics_.push_back(site.instruction->is("atom") || site.instruction->is("red"));
    widths_.push_back(element_bytes(*site.instruction));
  }
  return at->second;
}

bool RaceDetector::ordered_by_knowledge(Event event, ThreadId other) const {
  return exact_ && order_.ordered(other, event, self_);
}

void RaceDetector::refine(Page& page, uint32_t granule) {
  while ((1u << page.shift) > granule) {
    std::vector<Cell> finer;
    finer.reserve(page.cells.size() * 2);
    for (const Cell& cell : page.cells) {
      finer.push_back(cell);
      finer.push_back(cell);
      if (cell.extra == 0) continue;
      Extra copy = extras_[cell.extra];
      extras_.push_back(std::move(copy));
      finer.back().extra = static_cast<uint32_t>(extras_.size() - 1);
    }
    page.cells = std::move(finer);
    --page.shift;
  }
}

void RaceDetector::split(SegmentedPage& page, uint32_t index) {
  if (page.split >> index & 1) return;
  page.split |= uint32_t{1} << index;
  Page& cells = page.page;
  if (cells.cells.empty()) cells.cells.resize(kPageBytes >> cells.shift);
  const Segment& segment = page.segments[index];
  uint8_t finest = cells.shift;
  for (const Segment::Row* row : {&segment.write, &segment.first, &segment.second})
    if (row->event) finest = std::min(finest, row->log);
  if (finest < cells.shift) refine(cells, 1u << finest);
  for (uint32_t at = 0; at < kSegmentBytes; at += 1u << cells.shift) {
    Cell& cell = cells.cells[(index * kSegmentBytes + at) >> cells.shift];
    cell.write = segment.write.event, cell.write_site = segment.write.site;
    cell.writer = segment.write.thread + (at >> segment.write.log);
    cell.first_read = segment.first.event, cell.first_site = segment.first.site;
    cell.first_reader = segment.first.thread + (at >> segment.first.log);
    cell.second_read = segment.second.event, cell.second_site = segment.second.site;
    cell.second_reader = segment.second.thread + (at >> segment.second.log);
  }
}

void RaceDetector::lane_slowly(uint64_t address, Page& page, uint32_t offset, uint32_t bytes, uint32_t skipped) {
  if ((offset | bytes) & ((1u << page.shift) - 1)) refine(page, (offset | bytes) & 1 ? 1 : 2);
  granule_ = 1u << page.shift;
  Cell* cell = &page.cells[offset >> page.shift];
  for (uint32_t at = 0; at < bytes; at += granule_, ++cell) {
    address_ = address + at;
    if (strong_) {
      strong(*cell);
    } else if (writes_) {
      write(*cell, address_, granule_, skipped + at);
    } else {
      read(*cell);
    }
  }
}

void RaceDetector::read(Cell& cell) {
  if (!ordered(cell.write, cell.writer)) report(ConflictKind::store_load, cell.writer, cell.write_site);
  if (cell.extra) check_list(extras_[cell.extra].strong_writes, ConflictKind::atomic_plain);
  remember_reader(cell);
}

// A reader that happens before this one may be forgotten: whatever is ordered after this one is ordered after it.
void RaceDetector::remember_reader(Cell& cell) {
  if (ordered(cell.first_read, cell.first_reader)) {
    cell.first_read = event_, cell.first_reader = self_, cell.first_site = site_;
  } else if (ordered(cell.second_read, cell.second_reader)) {
    cell.second_read = event_, cell.second_reader = self_, cell.second_site = site_;
  } else if (exact_) {
    add_to(extra_of(cell).reads);
  } else if (cell.first_reader - cta_first_ >= cta_threads_ && cell.second_reader - cta_first_ >= cta_threads_ &&
             order_.cta_of(cell.first_reader) == order_.cta_of(cell.second_reader)) {
    // Readers of two CTAs are unordered with any store at all; two of one CTA only until its next barrier.
    cell.second_read = event_, cell.second_reader = self_, cell.second_site = site_;
  }
}

void RaceDetector::write(Cell& cell, uint64_t address, uint32_t bytes, uint32_t skipped) {
  if (cell.write == event_) {
    if (cell.writer != self_ && !lanes_agree(cell, address, bytes, skipped))
      report(ConflictKind::same_instruction, cell.writer, cell.write_site);
    return;
  }
  if (!ordered(cell.write, cell.writer) && !stores_same_value(skipped, bytes))
    report(ConflictKind::store_store, cell.writer, cell.write_site);
  if (!ordered(cell.first_read, cell.first_reader))
    report(ConflictKind::store_load, cell.first_reader, cell.first_site);
  if (!ordered(cell.second_read, cell.second_reader))
    report(ConflictKind::store_load, cell.second_reader, cell.second_site);
  if (cell.extra) {
    Extra& extra = extras_[cell.extra];
    check_list(extra.reads, ConflictKind::store_load);
    check_strong(extra.strong);
    extra = Extra{};
  }
  cell.write = event_, cell.writer = self_, cell.write_site = site_;
  cell.first_read = cell.second_read = 0;
}

void RaceDetector::strong(Cell& cell) {
  if (!ordered(cell.write, cell.writer)) report(ConflictKind::atomic_plain, cell.writer, cell.write_site);
  Extra& extra = extra_of(cell);
  const std::vector<Reader>& others = access_->writes ? extra.strong : extra.strong_writes;
  if (narrow_scopes_) check_scopes(others);
  check_sizes(others);
  if (access_->writes) {
    if (!ordered(cell.first_read, cell.first_reader))
      report(ConflictKind::atomic_plain, cell.first_reader, cell.first_site);
    if (!ordered(cell.second_read, cell.second_reader))
      report(ConflictKind::atomic_plain, cell.second_reader, cell.second_site);
    check_list(extra.reads, ConflictKind::atomic_plain);
    add_to(extra.strong_writes);
  }
  add_to(extra.strong);
}

// What the lane finds and what it stores; false where nobody knows. `before` may be null.
bool RaceDetector::values_of(int lane, uint8_t* before, uint8_t* after) const {
  assert(access_->bytes <= kMostBytes);
  if (access_->values) {
    if (before) access_->values->before(lane, before);
    access_->values->after(lane, after);
    return true;
  }
  if (!access_->value_before || !access_->value_after) return false;
  const size_t at = static_cast<size_t>(lane) * access_->bytes;
  if (before) std::memcpy(before, access_->value_before + at, access_->bytes);
  std::memcpy(after, access_->value_after + at, access_->bytes);
  return true;
}

bool RaceDetector::stores_same_value(uint32_t skipped, uint32_t bytes) const {
  std::array<uint8_t, kMostBytes> before, after;
  return values_of(lane_, before.data(), after.data()) &&
         std::memcmp(before.data() + skipped, after.data() + skipped, bytes) == 0;
}

// Whether the lane that stored first in this instruction and this one store the same bytes at `address`.
bool RaceDetector::lanes_agree(const Cell& cell, uint64_t address, uint32_t bytes, uint32_t skipped) const {
  std::array<uint8_t, kMostBytes> one, other;
  const auto first = static_cast<int>(cell.writer % 32);
  if (!values_of(first, nullptr, other.data()) || !values_of(lane_, nullptr, one.data())) return false;
  const uint64_t theirs = address - access_->address[first];
  assert(theirs < access_->bytes);
  return std::memcmp(other.data() + theirs, one.data() + skipped, bytes) == 0;
}

void RaceDetector::check_list(const std::vector<Reader>& list, ConflictKind kind) {
  for (const Reader& reader : list) {
    if (reader.event <= floor_) continue;
    for (simt::LaneMask rest = reader.lanes; rest; rest &= rest - 1) {
      const ThreadId other = reader.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest));
      if (ordered(reader.event, other)) continue;
      report(kind, other, reader.site);
      break;
    }
  }
}

// A plain store against the strong accesses before it. An atomic observes those that it follows: where one of them is ordered
// before this store, so are all atomics that came before that one (causality order takes observation in). So the last
// CTA may set the ticket back which all the others took. Loads are looked at more strictly: which of them comes last is
// the schedule's choice.
void RaceDetector::check_strong(const std::vector<Reader>& list) {
  Event seen = 0;
  for (const Reader& reader : list) {
    if (!atomics_[reader.site] || reader.event <= seen) continue;
    for (simt::LaneMask rest = reader.lanes; rest; rest &= rest - 1) {
      if (!ordered(reader.event, reader.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest)))) continue;
      seen = reader.event;
      break;
    }
  }
  for (const Reader& reader : list) {
    if (reader.event <= floor_ || (atomics_[reader.site] && reader.event < seen)) continue;
    for (simt::LaneMask rest = reader.lanes; rest; rest &= rest - 1) {
      const ThreadId other = reader.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest));
      if (ordered(reader.event, other)) continue;
      report(ConflictKind::atomic_plain, other, reader.site);
      break;
    }
  }
}

// Strong accesses of two CTAs are meant for each other only where the scope of each takes the other in.
void RaceDetector::check_scopes(const std::vector<Reader>& list) {
  const uint32_t own = access_->warp.cta_linear;
  for (const Reader& reader : list) {
    const uint32_t theirs = order_.cta_of(reader.warp * 32);
    if (reader.event <= floor_ || theirs == own) continue;
    if (order_.reaches(scopes_[site_], own, theirs) && order_.reaches(scopes_[reader.site], theirs, own)) continue;
    for (simt::LaneMask rest = reader.lanes; rest; rest &= rest - 1) {
      const ThreadId other = reader.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest));
      if (ordered(reader.event, other)) continue;
      report(ConflictKind::narrow_scope, other, reader.site);
      break;
    }
  }
}

// Accesses are aligned, so that elements of one size that overlap are one place. Where sizes differ, the memory model takes
// neither for atomic to the other.
void RaceDetector::check_sizes(const std::vector<Reader>& list) {
  for (const Reader& reader : list) {
    if (widths_[reader.site] == widths_[site_] || reader.event <= floor_) continue;
    for (simt::LaneMask rest = reader.lanes; rest; rest &= rest - 1) {
      const ThreadId other = reader.warp * 32 + static_cast<uint32_t>(__builtin_ctz(rest));
      if (ordered(reader.event, other)) continue;
      report(ConflictKind::mixed_size, other, reader.site);
      break;
    }
  }
}

// Keeps one entry a warp and access; lanes that come again leave their older entry, ordered entries go.
void RaceDetector::add_to(std::vector<Reader>& list) {
  const uint32_t warp = self_ / 32;
  const simt::LaneMask bit = 1u << (self_ % 32);
  Reader* mine = nullptr;
  for (Reader& reader : list) {
    if (reader.warp != warp) continue;
    // An entry whose lanes all take part now is as good as one of now.
    if (reader.event == event_ || (reader.lanes & ~access_->active) == 0) {
      mine = &reader;
    } else {
      reader.lanes &= ~bit;
    }
  }
  if (mine) {
    mine->lanes |= bit;
    mine->event = event_;
    mine->site = site_;
    return;
  }
  std::erase_if(list, [&](const Reader& r) {
    return r.lanes == 0 || r.event <= floor_ || (r.event <= base_ && r.warp * 32 - cta_first_ < cta_threads_);
  });
  list.push_back({event_, warp, bit, site_});
}

RaceDetector::Extra& RaceDetector::extra_of(Cell& cell) {
  if (cell.extra == 0) {
    extras_.emplace_back();
    cell.extra = static_cast<uint32_t>(extras_.size() - 1);
  }
  return extras_[cell.extra];
}

void RaceDetector::report(ConflictKind kind, ThreadId other, uint16_t other_site) {
  const bool between_ctas = order_.cta_of(other) != access_->warp.cta_linear;
  const uint32_t first = std::min(site_, other_site), second = std::max(site_, other_site);
  Conflict& conflict = conflicts_[{first << 16 | second, static_cast<uint32_t>(kind), between_ctas}];
  if (conflict.count++ > 0) return;
  conflict.kind = kind;
  conflict.earlier_site = other_site, conflict.later_site = site_;
  conflict.earlier = other, conflict.later = self_;
  conflict.address = address_;
  conflict.bytes = granule_;
  conflict.what = namer_(*access_, lane_, address_);
  conflict.earlier_name = thread_name(other);
  conflict.later_name = thread_name(self_);
  conflict.cta_name = cta_name(access_->warp.cta_linear);
  conflict.between_ctas = between_ctas;
  conflict.same_warp = other / 32 == self_ / 32;
  if (between_ctas) {
    conflict.earlier_name += " of " + cta_name(order_.cta_of(other));
    conflict.later_name += " of " + conflict.cta_name;
  }
}

std::vector<ConflictGroup> RaceDetector::groups() const {
  std::vector<ConflictGroup> out;
  std::map<std::tuple<ConflictKind, bool, uint16_t, std::string>, size_t> index;
  for (const auto& [key, conflict] : conflicts_) {
    auto stores = [&](uint16_t site) {
      const std::string& word = sites_[site].instruction->words.front();
      return word != "ld" && word != "ldu";
    };
    const uint16_t store = stores(conflict.earlier_site) ? conflict.earlier_site : conflict.later_site;
    const uint16_t other = store == conflict.earlier_site ? conflict.later_site : conflict.earlier_site;
    auto [at, fresh] = index.try_emplace(
        {conflict.kind, conflict.between_ctas, store, conflict.what.substr(conflict.what.find('\'') + 1)}, out.size());
    if (fresh) out.push_back({&conflict, {}, 0});
    out[at->second].count += conflict.count;
    if (!fresh) {
      out[at->second].more.push_back(sites_[other].instruction->line);
    }
  }
  for (ConflictGroup& group : out) {
    std::sort(group.more.begin(), group.more.end());
    group.more.erase(std::unique(group.more.begin(), group.more.end()), group.more.end());
  }
  return out;
}

void RaceDetector::launch_begin(const launch::ResolvedLaunch& launch) {
  grid_ = launch.grid;
  block_ = launch.block;
  order_.launch_begin(launch);
}

std::string RaceDetector::thread_name(ThreadId thread) const {
  return fmt::format("thread {}", triple(thread % order_.stride(), block_));
}

std::string RaceDetector::cta_name(uint32_t cta) const { return fmt::format("CTA {}", triple(cta, grid_)); }

namespace {

bool is_cta_barrier(const ptx::Instruction& instruction) {
  const std::string& word = instruction.words.front();
  return (word == "bar" || word == "barrier") && (instruction.words.size() < 2 || instruction.words[1] != ".warp");
}

// Where a barrier stands between two accesses of one loop, it is the way back that lacks one: "; the barrier at line 29
// does not order the way back of the loop at lines 26 to 35".
std::string loop_text(const simt::Site& a, const simt::Site& b) {
  if (a.function != b.function || !a.function) return "";
  const uint32_t first = std::min(a.statement, b.statement), second = std::max(a.statement, b.statement);
  const ptx::Instruction* barrier = nullptr;
  for (uint32_t i = first + 1; i < second; ++i) {
    const ptx::Instruction* between = a.function->body[i].instruction();
    if (between && !between->words.empty() && is_cta_barrier(*between)) barrier = between;
  }
  if (!barrier) return "";
  const analysis::Cfg cfg(*a.function);
  uint32_t loop = cfg.loop_of(cfg.block_of(first));
  while (loop != analysis::kNone && !cfg.loops()[loop].contains(cfg.block_of(second))) loop = cfg.loops()[loop].parent;
  if (loop == analysis::kNone) return "";
  uint32_t from = ~0u, to = 0;
  for (uint32_t block : cfg.loops()[loop].blocks)
    for (uint32_t i = cfg.blocks()[block].begin; i < cfg.blocks()[block].end; ++i)
      if (const ptx::Instruction* inside = a.function->body[i].instruction())
        from = std::min(from, inside->line), to = std::max(to, inside->line);
  return fmt::format("; the barrier at line {} does not order the way back of the loop at lines {} to {}",
                     barrier->line, from, to);
}

}  // namespace

std::string pair_text(const RaceDetector& detector, const ConflictGroup& group, const ptx::Module& module) {
  const Conflict& conflict = *group.first;
  const simt::Site& a = detector.site(conflict.earlier_site);
  const simt::Site& b = detector.site(conflict.later_site);
  std::string out;
  if (conflict.kind == ConflictKind::same_instruction) {
    out = fmt::format("the {} stores different values there", access_name(module, *a.instruction));
  } else if (conflict.earlier_site == conflict.later_site) {
    out = fmt::format("nothing orders what they do at the {}", access_name(module, *a.instruction));
  } else {
    out = fmt::format("nothing orders the first's {} and the second's {}", access_name(module, *a.instruction),
                      access_name(module, *b.instruction));
  }
  if (!conflict.between_ctas) out += loop_text(a, b);
  if (conflict.count > 1) out += fmt::format("; {} times in all", conflict.count);
  if (group.more.empty()) return out;
  const size_t shown = std::min<size_t>(group.more.size(), 4);
  return fmt::format("{}; so {} {} more (line{} {}{})", out, group.more.size() == 1 ? "does" : "do", group.more.size(),
                     group.more.size() == 1 ? "" : "s",
                     fmt::join(group.more.begin(), group.more.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < group.more.size() ? " ..." : "");
}

simt::Doing doing_of(const ConflictGroup& group, bool shared) {
  const Conflict& conflict = *group.first;
  const char* kind = "";
  switch (conflict.kind) {
    case ConflictKind::store_store: kind = "two stores"; break;
    case ConflictKind::store_load: kind = "store and load"; break;
    case ConflictKind::atomic_plain: kind = "atomic and plain"; break;
    case ConflictKind::same_instruction: kind = "one instruction"; break;
    case ConflictKind::narrow_scope: kind = "narrow scope"; break;
    case ConflictKind::mixed_size: kind = "sizes"; break;
  }
  const char* threads = conflict.between_ctas ? "CTAs" : conflict.same_warp ? "lanes" : "warps";
  const size_t quote = conflict.what.find('\'');
  return {fmt::format("{} of {} in {}", kind, threads,
                      shared                       ? "shared memory"
                      : quote == std::string::npos ? "memory"
                                                   : conflict.what.substr(quote)),
          group.count};
}

base::Finding pair_finding(const RaceDetector& detector, const Conflict& conflict, const ptx::Module& module) {
  const ptx::Instruction* a = detector.site(conflict.earlier_site).instruction;
  const ptx::Instruction* b = detector.site(conflict.later_site).instruction;
  base::Finding finding;
  finding.place.file = module.file;
  finding.place.line = std::max(a->line, b->line);
  // No GPU is known to tear an aligned access; the model promises nothing all the same.
  if (conflict.kind == ConflictKind::mixed_size) finding.severity = base::Severity::warning;
  return finding;
}

}  // namespace ptxlab::checkers
