// For tests: a checker fed with events by hand, without an engine in between.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/registry.h"
#include "simt/memory.h"

namespace ptxlab::checkers {

// Plays threads of a launch to one checker. An instruction is its words ("st.shared.u32"); the same words on the same
// line are the same instruction.
class Play {
 public:
  Play(std::string_view checker, uint32_t threads, std::vector<std::string> kernel, uint32_t ctas = 1)
      : observer_(checker_named(checker)->make()), threads_(threads) {
    module_.file = "play.ptx";
    module_.functions.emplace_back();
    for (const std::string& text : kernel) {
      ptx::Instruction instruction;
      instruction.line = static_cast<uint32_t>(module_.functions[0].body.size() + 1);
      size_t operands = 0;
      std::string words = text;
      if (size_t space = text.find(' '); space != std::string::npos) {
        words = text.substr(0, space);
        operands = static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1;
      }
      for (size_t at = 0; at < words.size();) {
        size_t dot = words.find('.', at + 1);
        instruction.words.push_back(words.substr(at, dot - at));
        at = dot;
      }
      instruction.operands.resize(operands);
      ptx::Statement statement;
      statement.what = instruction;
      module_.functions[0].body.push_back(statement);
    }
    launch_.grid = {ctas, 1, 1};
    launch_.block = {threads, 1, 1};
    variable_.name = "tile";
    variable_.bytes = 4096;
    memory_.allocate("x", 4096, launch::ResolvedBuffer::Init::zero);
    memory_.allocate("input", 4096, launch::ResolvedBuffer::Init::zero, false);
    begin();
  }

  void begin() {
    simt::LaunchContext context{&module_, &module_.functions[0], &memory_, {&variable_, 1}};
    observer_->context(context);
    observer_->launch_begin(launch_);
    for (uint32_t c = 0; c < launch_.grid[0]; ++c) observer_->cta_begin(warp_id(c, 0), threads_, 4096);
  }
  void next_launch() {
    for (uint32_t c = 0; c < launch_.grid[0]; ++c) observer_->cta_end(warp_id(c, 0));
    observer_->launch_end();
    begin();
  }

  void cluster(const launch::Dim3& size) {
    launch_.cluster = size;
    begin();
  }

  // One thread's access by the instruction on `line`; `value` is what a store stores.
  void at(uint32_t line, uint32_t thread, uint64_t address, uint32_t value = 1, uint32_t bytes = 4, uint32_t cta = 0) {
    lanes(
        line, thread / 32, 1u << (thread % 32), [&](int) { return address; }, [&](int) { return value; }, bytes, cta);
  }
  template <class Address, class Value>
  void lanes(uint32_t line, uint32_t warp, simt::LaneMask mask, Address address, Value value, uint32_t bytes = 4,
             uint32_t cta = 0) {
    const simt::Site s = site(line);
    const auto& words = s.instruction->words;
    auto has = [&](std::string_view w) { return std::find(words.begin(), words.end(), w) != words.end(); };
    std::array<uint64_t, 32> addresses{};
    std::array<uint32_t, 32> allocations{};
    std::vector<uint8_t> before(32 * bytes), after(32 * bytes);
    simt::Access access;
    access.site = s;
    access.warp = warp_id(cta, warp);
    access.active = mask;
    access.space = has(".shared") ? isa::Space::shared : isa::Space::global;
    access.atomic = words[0] == "atom" || words[0] == "red";
    access.reads = words[0] == "ld" || words[0] == "atom";
    access.writes = words[0] != "ld";
    access.strong = has(".volatile") || has(".relaxed") || has(".acquire") || has(".release") || has(".acq_rel");
    access.bytes = bytes;
    for (int lane = 0; lane < 32; ++lane) {
      if (!(mask >> lane & 1)) continue;
      const uint64_t offset = address(lane);
      const uint32_t stored = value(lane);
      std::memcpy(&before[lane * bytes], &contents_[offset], bytes);
      std::memcpy(&after[lane * bytes], &stored, std::min<uint32_t>(bytes, 4));
      allocations[lane] = buffer_;
      addresses[lane] = access.space == isa::Space::shared ? offset : memory_.allocation(buffer_).address + offset;
    }
    if (access.writes)
      for (int lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1) std::memcpy(&contents_[address(lane)], &after[lane * bytes], bytes);
    access.address = addresses.data();
    access.allocation = allocations.data();
    access.value_before = before.data();
    access.value_after = after.data();
    observer_->access(access);
  }
  void fence(uint32_t line, uint32_t thread, uint32_t cta = 0) {
    observer_->fence({site(line), warp_id(cta, thread / 32), 1u << (thread % 32)});
  }
  // The warps reach barrier `id` one after the other; the last trips it.
  void barrier(uint32_t line, std::vector<uint32_t> warps, uint32_t id = 0, uint32_t cta = 0) {
    for (uint32_t warp : warps) arrive(line, warp, id, cta);
    complete(line, warps.back(), id, cta);
  }
  void arrive(uint32_t line, uint32_t warp, uint32_t id, uint32_t cta = 0) {
    observer_->barrier(barrier_event(line, warp, id, cta, simt::Barrier::Step::arrive));
  }
  void complete(uint32_t line, uint32_t warp, uint32_t id, uint32_t cta = 0) {
    observer_->barrier(barrier_event(line, warp, id, cta, simt::Barrier::Step::complete));
  }
  void warp_sync(uint32_t line, uint32_t warp, simt::LaneMask members = ~0u) {
    simt::Barrier b = barrier_event(line, warp, ~0u, 0, simt::Barrier::Step::complete);
    b.members = members;
    observer_->barrier(b);
  }
  void use_input() { buffer_ = 1; }

  // "CHK0001 line 2, ..." or "".
  std::string codes() const {
    std::string out;
    for (const auto& f : observer_->findings())
      out += (out.empty() ? "" : " ") + f.code + ":" + std::to_string(f.place.line);
    return out;
  }
  base::Findings findings() const { return observer_->findings(); }

 private:
  simt::WarpId warp_id(uint32_t cta, uint32_t warp) const { return {{cta, 0, 0}, cta, warp}; }
  simt::Site site(uint32_t line) const {
    return {&module_.functions[0], line - 1, module_.functions[0].body[line - 1].instruction()};
  }
  simt::Barrier barrier_event(uint32_t line, uint32_t warp, uint32_t id, uint32_t cta, simt::Barrier::Step step) const {
    simt::Barrier b;
    b.site = site(line);
    b.warp = warp_id(cta, warp);
    b.active = threads_ - warp * 32 >= 32 ? ~0u : (1u << (threads_ - warp * 32)) - 1;
    b.id = id;
    b.threads = threads_;
    b.step = step;
    return b;
  }

  std::unique_ptr<simt::Observer> observer_;
  ptx::Module module_;
  launch::ResolvedLaunch launch_;
  simt::SharedVariable variable_;
  simt::Memory memory_;
  uint32_t threads_;
  uint32_t buffer_ = 0;
  std::vector<uint8_t> contents_ = std::vector<uint8_t>(4096);
};

}  // namespace ptxlab::checkers
