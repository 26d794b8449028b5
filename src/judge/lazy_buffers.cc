#include "judge/lazy_buffers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>

#include "base/random.h"
#include "task/fill.h"

namespace ptxlab::judge {
namespace {

constexpr int kMostRounds = 5;
constexpr uint64_t kPool = 16;  // different chunks of a fill whose values stand for themselves

using Chunk = std::pair<uint32_t, uint64_t>;

class Places : public simt::Observer {
 public:
  std::string_view name() const override { return "places"; }
  uint32_t events() const override { return simt::kAccesses; }
  void access(const simt::Access& access) override {
    if (access.space != isa::Space::global) return;
    for (uint32_t left = access.active; left; left &= left - 1) {
      auto lane = static_cast<size_t>(std::countr_zero(left));
      if (access.allocation[lane] >= simt::kModuleVariables) return;
      // Addresses are told as the kernel made them; the allocation's own is taken off by whoever asks.
      Chunk first{access.allocation[lane], access.address[lane]};
      if (access.reads) note(read_, first);
      if (access.writes) note(written_, first);
    }
  }
  std::vector<Chunk> read() const { return {read_.begin(), read_.end()}; }
  std::vector<Chunk> written() const { return {written_.begin(), written_.end()}; }

 private:
  // Allocations begin at multiples of 256, so pieces of 256 bytes never straddle a chunk.
  void note(std::set<Chunk>& into, Chunk place) {
    place.second /= 256;
    if (place == last_ && &into == last_set_) return;
    last_ = place;
    last_set_ = &into;
    into.insert(place);
  }
  std::set<Chunk> read_, written_;
  Chunk last_;
  const std::set<Chunk>* last_set_ = nullptr;
};

// One argument's fill as chunks.
class Pattern {
 public:
  Pattern(task::FillSpec spec, uint64_t bytes) : spec_(std::move(spec)), bytes_(bytes) {
    width_ = static_cast<uint64_t>(std::max(1, isa::bytes_of(spec_.type)));
  }

  void fill(uint64_t offset, std::span<uint8_t> out) {
    if (spec_.name == "sorted" || spec_.name == "permutation" || spec_.name == "offsets") return ordered(offset, out);
    uint64_t nth = offset / kFillChunk % kPool;
    auto& chunk = pool_[nth];
    if (chunk.empty()) {
      chunk.resize(kFillChunk / width_ * width_);
      task::fill_row(spec_, nth, chunk);
    }
    for (uint64_t at = 0; at < out.size(); at += chunk.size())
      std::memcpy(out.data() + at, chunk.data(), std::min<uint64_t>(chunk.size(), out.size() - at));
  }

 private:
  // Element i of n, as far along the range as the buffer: sorted, and legal as an offset; scattered by a multiplication
  // modulo n as a permutation.
  void ordered(uint64_t offset, std::span<uint8_t> out) {
    uint64_t n = std::max<uint64_t>(1, bytes_ / width_);
    double low = spec_.bounded ? spec_.low : 0, high = spec_.bounded ? spec_.high : static_cast<double>(n);
    for (uint64_t k = 0; k < out.size() / width_; ++k) {
      uint64_t i = offset / width_ + k;
      double value = low + (high - low) * static_cast<double>(i) / static_cast<double>(n);
      if (spec_.name == "permutation") value = static_cast<double>(i * 0x9e3779b1u % n);
      task::store_element(out, spec_.type, k, value);
    }
  }

  task::FillSpec spec_;
  uint64_t bytes_, width_ = 1;
  std::map<uint64_t, std::vector<uint8_t>> pool_;
};

}  // namespace

FillChunk fill_of(const task::Task& task, const task::CaseData& data) {
  auto patterns = std::make_shared<std::map<size_t, Pattern>>();
  size_t buffer = 0;
  for (const auto& argument : task.arguments) {
    if (!argument.buffer()) continue;
    size_t index = buffer++;
    if (argument.kind == task::Argument::Kind::out || index >= data.binding.buffers.size()) continue;
    auto spec = task::fill_spec(task, argument, data.what);
    if (spec.ok()) patterns->emplace(index, Pattern(*spec, data.binding.buffers[index].bytes));
  }
  return [patterns](size_t index, uint64_t offset, std::span<uint8_t> bytes) {
    auto it = patterns->find(index);
    if (it != patterns->end()) it->second.fill(offset, bytes);
  };
}

LazyBuffers::LazyBuffers(const launch::ResolvedPlan& plan, simt::Memory& memory, const std::vector<size_t>& buffers,
                         FillChunk fill)
    : plan_(plan), memory_(memory), buffers_(buffers), fill_(std::move(fill)) {}

void LazyBuffers::settle(simt::Program& program, const launch::ResolvedLaunch& launch, uint32_t cta, uint64_t budget) {
  for (int round = 0; round < kMostRounds; ++round) {
    Places places;
    simt::Observer* observers[] = {&places};
    simt::RunOptions how;
    how.check = simt::CheckLevel::bounds;
    how.budget = budget;
    how.memory_budget = ~uint64_t{0};
    how.ctas = {cta};
    program.run(launch, buffers_, memory_, how, observers);
    bool fresh = false;
    auto chunk_of = [&](const Chunk& place) {
      return Chunk{place.first, (place.second * 256 - memory_.allocation(place.first).address) / kFillChunk};
    };
    // Undone first: what was written over is filled again.
    std::set<Chunk> again;
    for (const auto& place : places.written()) {
      auto& to = memory_.allocation(place.first);
      uint64_t offset = place.second * 256 - to.address;
      std::memset(to.data.data() + offset, 0, std::min<uint64_t>(256, to.bytes - offset));
      if (filled_.count(chunk_of(place))) again.insert(chunk_of(place));
    }
    for (const auto& place : places.read())
      if (filled_.insert(chunk_of(place)).second) {
        again.insert(chunk_of(place));
        fresh = true;
      }
    for (const auto& [allocation, chunk] : again) {
      auto buffer = static_cast<size_t>(std::find(buffers_.begin(), buffers_.end(), allocation) - buffers_.begin());
      if (buffer >= plan_.buffers.size()) continue;
      auto& to = memory_.allocation(allocation);
      uint64_t offset = chunk * kFillChunk;
      fill_(buffer, offset, std::span(to.data).subspan(offset, std::min(kFillChunk, to.bytes - offset)));
    }
    if (!fresh) return;
  }
}

}  // namespace ptxlab::judge
