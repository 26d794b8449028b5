#include "gpu/worker/stage.h"

#include <algorithm>

#include "gpu/worker/arena.h"

namespace ptxlab::gpu {
namespace {

using launch::ResolvedBuffer;

constexpr uint64_t kGaps = 16;  // so many different distances, in steps of the alignment

}  // namespace

Stage::~Stage() {
  for (Address at : pristine_)
    if (at) device_.release(at);
  for (Address at : changed_)
    if (at) device_.release(at);
  if (whole_) device_.release(whole_);
}

Trouble Stage::upload() {
  pristine_.resize(contest_.shared);
  for (size_t i = 0; i < contest_.shared; ++i) {
    const auto& buffer = shared()[i];
    if (buffer.init != ResolvedBuffer::Init::data || buffer.bytes == 0) continue;
    if (contest_.contents[i].size() != buffer.bytes) return "the content of '" + buffer.name + "' has another size";
    if (auto why = device_.allocate(aligned(buffer.bytes), pristine_[i])) return why;
    if (auto why = device_.write(pristine_[i], contest_.contents[i])) return why;
  }
  const auto& change = contest_.change;
  if (change.bytes.empty()) return std::nullopt;
  std::string_view first = contest_.contents[change.buffer];
  for (size_t v = 0; v < kVariants; ++v) {
    if (auto why = device_.allocate(change.bytes.size(), changed_.at(v))) return why;
    std::string_view bytes = v == 0 ? first.substr(change.offset, change.bytes.size()) : change.bytes;
    if (auto why = device_.write(changed_.at(v), bytes)) return why;
  }
  return std::nullopt;
}

// Scratch of both arms begins at the same place: only one of them uses it at a time.
uint64_t Stage::scratch_bytes(Arm arm, uint64_t guard) const {
  const auto& buffers = side(arm).plan.buffers;
  uint64_t bytes = 0;
  for (size_t i = contest_.shared; i < buffers.size(); ++i) bytes += aligned(buffers[i].bytes) + aligned(guard);
  return bytes;
}

uint64_t Stage::bytes_of_set(uint64_t guard) const {
  uint64_t bytes = std::max(scratch_bytes(Arm::a, guard), scratch_bytes(Arm::b, guard));
  for (const auto& buffer : shared()) bytes += aligned(buffer.bytes) + aligned(guard);
  return bytes + (contest_.shared + 1) * (kGaps - 1) * kBufferAlignment;
}

Trouble Stage::lay_out(uint32_t sets, uint64_t guard, base::Random& random) {
  if (whole_) device_.release(whole_);
  whole_ = 0;
  sets_.assign(sets, {});
  guard = aligned(guard);
  struct Piece {
    uint32_t set;
    size_t buffer;  // of the shared ones; behind them: the scratch
    uint64_t bytes, offset = 0;
  };
  std::vector<Piece> pieces;
  for (uint32_t s = 0; s < sets; ++s) {
    for (size_t i = 0; i < contest_.shared; ++i) pieces.push_back({s, i, aligned(shared()[i].bytes) + guard});
    pieces.push_back({s, contest_.shared, std::max(scratch_bytes(Arm::a, guard), scratch_bytes(Arm::b, guard))});
  }
  for (size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random.below(i)]);
  uint64_t end = guard;
  for (auto& piece : pieces) {
    end += random.below(kGaps) * kBufferAlignment;
    piece.offset = end;
    end += piece.bytes;
  }
  bytes_ = end + guard;
  if (auto why = device_.allocate(bytes_, whole_)) {
    sets_.clear();
    return why;
  }
  for (auto& set : sets_) {
    for (size_t a = 0; a < kArms; ++a) set.at.at(a).resize(contest_.sides.at(a).plan.buffers.size());
  }
  for (const auto& piece : pieces) {
    for (size_t a = 0; a < kArms; ++a) {
      auto& where = sets_[piece.set].at.at(a);
      Address at = whole_ + piece.offset;
      if (piece.buffer < contest_.shared) {
        where[piece.buffer] = at;
        continue;
      }
      for (size_t i = contest_.shared; i < where.size(); ++i) {
        where[i] = at;
        at += aligned(contest_.sides.at(a).plan.buffers[i].bytes) + guard;
      }
    }
  }
  return std::nullopt;
}

Trouble Stage::restore(uint32_t set, size_t buffer) {
  if (!pristine_[buffer]) return std::nullopt;
  return device_.copy(shared_at(set, buffer), pristine_[buffer], shared()[buffer].bytes);
}

Trouble Stage::place_inputs(uint32_t set) {
  for (size_t i = 0; i < contest_.shared; ++i) {
    if (shared()[i].role != ResolvedBuffer::Role::in) continue;
    if (auto why = restore(set, i)) return why;
    if (shared()[i].init == ResolvedBuffer::Init::zero && shared()[i].bytes > 0) {
      if (auto why = device_.fill(shared_at(set, i), 0, shared()[i].bytes)) return why;
    }
  }
  return std::nullopt;
}

Trouble Stage::prepare(Arm arm, uint32_t set, uint8_t variant, uint8_t poison) {
  if (side(arm).reload) {
    if (auto why = load(arm)) return why;
  }
  const auto& buffers = side(arm).plan.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto& buffer = buffers[i];
    if (buffer.bytes == 0 || buffer.role == ResolvedBuffer::Role::in) continue;
    Trouble why;
    switch (buffer.init) {
      case ResolvedBuffer::Init::data: why = restore(set, i); break;
      case ResolvedBuffer::Init::poison: why = device_.fill(at(arm, set)[i], poison, buffer.bytes); break;
      case ResolvedBuffer::Init::zero:
        // Scratch is zeroed within the time; until then it holds nothing that helps.
        why = device_.fill(at(arm, set)[i], buffer.role == ResolvedBuffer::Role::scratch ? poison : 0, buffer.bytes);
        break;
    }
    if (why) return why;
  }
  const auto& change = contest_.change;
  if (!change.bytes.empty()) {
    Address to = shared_at(set, change.buffer) + change.offset;
    if (auto why = device_.copy(to, changed_.at(variant), change.bytes.size())) return why;
  }
  auto& maps = sets_.at(set).maps.at(static_cast<size_t>(arm));
  if (maps.size() != side(arm).plan.tensor_maps.size()) {
    if (auto why = encode_maps(device_, side(arm).plan, at(arm, set), maps)) return why;
  }
  return fill_variables(device_, arm, placed(arm, set));
}

Trouble Stage::execute(Arm arm, uint32_t set, uint32_t& failed) {
  const auto& plan = side(arm).plan;
  for (size_t i = contest_.shared; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].init != ResolvedBuffer::Init::zero || plan.buffers[i].bytes == 0) continue;
    if (auto why = device_.fill(at(arm, set)[i], 0, plan.buffers[i].bytes)) return why;
  }
  return queue_launches(device_, arm, placed(arm, set), failed);
}

// Words are numbered through all buffers: two that change places are not the same.
Trouble Stage::add_digest(uint32_t set, size_t buffer, uint64_t key) {
  uint64_t first = 0;
  for (size_t i = 0; i < buffer; ++i) first += shared()[i].bytes / 8 + 1;
  return device_.add_digest(shared_at(set, buffer), shared()[buffer].bytes, first, key);
}

Trouble Stage::digest_inputs(uint32_t set, uint64_t key) {
  for (size_t i = 0; i < contest_.shared; ++i) {
    if (shared()[i].role != ResolvedBuffer::Role::in || shared()[i].bytes == 0) continue;
    if (auto why = add_digest(set, i, key)) return why;
  }
  return std::nullopt;
}

Trouble Stage::project(uint32_t set, size_t buffer, uint64_t key, Projection& into) {
  const uint64_t bytes = element(buffer) == Element::f64 ? 8 : element(buffer) == Element::f32 ? 4 : 2;
  return device_.project(shared_at(set, buffer), shared()[buffer].bytes / bytes, element(buffer), key, into);
}

}  // namespace ptxlab::gpu
