// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between shared memory and the fragments of a warp. Row
// i of matrix m lies at the address that lane 8 m + i gives; lane l holds two neighbours of row l / 4 in register m.
#include <bit>
#include <cstring>

#include "isa/table.h"
#include "simt/meeting.h"
#include "simt/shadow.h"
#include "simt/step.h"
#include "simt/telling.h"

namespace ptxlab::simt {
namespace {

constexpr uint32_t kRowBytes = 16;
constexpr uint8_t kTransposed = 2;  // Op::mode, beside kStrong

using Rows = uint8_t[kLanes][kRowBytes];

// Where the two halves of lane `lane`'s word lie in its matrix of eight rows.
struct HalfPlaces {
  int row[2], byte[2];
};
HalfPlaces places_of(int lane, bool transposed) {
  int group = lane / 4, member = lane % 4;
  if (transposed) return {{2 * member, 2 * member + 1}, {2 * group, 2 * group}};
  return {{group, group}, {4 * member, 4 * member + 2}};
}
uint32_t gather(const Rows& rows, int matrix, int lane, bool transposed) {
  HalfPlaces at = places_of(lane, transposed);
  uint16_t half[2];
  for (int i = 0; i < 2; ++i) std::memcpy(&half[i], &rows[8 * matrix + at.row[i]][at.byte[i]], 2);
  return half[0] | uint32_t{half[1]} << 16;
}
void scatter(Rows& rows, int matrix, int lane, bool transposed, uint32_t word) {
  HalfPlaces at = places_of(lane, transposed);
  uint16_t half[2] = {static_cast<uint16_t>(word), static_cast<uint16_t>(word >> 16)};
  for (int i = 0; i < 2; ++i) std::memcpy(&rows[8 * matrix + at.row[i]][at.byte[i]], &half[i], 2);
}

// The lanes whose addresses count.
LaneMask row_lanes(const Op& op) { return op.count == 4 ? kAllLanes : (LaneMask{1} << (8 * op.count)) - 1; }

bool outside_shared(Context& context, const Op& op, const Group& group) {
  if (group.region->space == isa::Space::shared) return false;
  context.machine.report("RUN0003", base::Severity::error, context, op, group.lanes,
                         "the address lies outside shared memory; " +
                             context.machine.thread_name(context.warp, std::countr_zero(group.lanes)),
                         "matrices are loaded from and stored to shared memory only");
  return true;
}

Flow load_matrix(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  Rows rows, defined;
  std::memset(defined, 0xff, sizeof defined);
  bool all_defined = true, elsewhere = false;
  bool ok = for_each_group(request_of(context, op, row_lanes(op), kRowBytes, Intent::read), [&](const Group& group) {
    elsewhere = elsewhere || outside_shared(context, op, group);
    for (LaneMask left = group.lanes; left; left &= left - 1) {
      int l = std::countr_zero(left);
      std::memcpy(rows[l], group.at(l), kRowBytes);
      if (!context.defined || !group.region->defined) continue;
      std::memcpy(defined[l], group.defined_at(l), kRowBytes);
      for (uint8_t byte : defined[l]) all_defined = all_defined && byte == 0xff;
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, kRowBytes);
    if (!watched(context, op)) return;
    Telling telling;
    tell(context, op, group, kRowBytes, Intent::read, false, telling);
  });
  if (!ok || elsewhere) return Flow::fault;
  bool transposed = op.mode & kTransposed;
  for (int m = 0; m < op.count; ++m) {
    for (int l = 0; l < kLanes; ++l) {
      set_value(r, list[m], false, l, gather(rows, m, l, transposed));
      if (!all_defined) set_shadow(r, list[m], false, l, ~gather(defined, m, l, transposed));
    }
    if (all_defined) {
      r.taint[list[m]] = 0;
    } else {
      set_origin(r, list[m], op.id + 1);
    }
  }
  return Flow::next;
}

Flow store_matrix(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  const Registers& r = context.registers;
  const uint32_t* list = &context.frame.code->lists[op.list];
  Rows rows, defined;
  bool transposed = op.mode & kTransposed, elsewhere = false;
  for (int m = 0; m < op.count; ++m)
    for (int l = 0; l < kLanes; ++l) {
      scatter(rows, m, l, transposed, static_cast<uint32_t>(value_of(r, list[m], false, l)));
      scatter(defined, m, l, transposed, ~static_cast<uint32_t>(shadow_of(r, list[m], false, l)));
    }
  bool ok = for_each_group(request_of(context, op, row_lanes(op), kRowBytes, Intent::write), [&](const Group& group) {
    elsewhere = elsewhere || outside_shared(context, op, group);
    Telling telling;
    bool values = context.machine.wants(kAccessValues) && watched(context, op);
    if (values) telling.before = bytes_of(group, kRowBytes);
    for (LaneMask left = group.lanes; left; left &= left - 1) {
      int l = std::countr_zero(left);
      std::memcpy(group.at(l), rows[l], kRowBytes);
      if (context.defined && group.region->defined) std::memcpy(group.defined_at(l), defined[l], kRowBytes);
    }
    count_traffic(context, op, group.region->space, group.addresses, group.lanes, kRowBytes);
    if (!watched(context, op)) return;
    if (values) {
      telling.after.resize(sizeof rows);
      std::memcpy(telling.after.data(), rows, sizeof rows);
    }
    tell(context, op, group, kRowBytes, Intent::write, false, telling);
  });
  return ok && !elsewhere ? Flow::next : Flow::fault;
}

// A matrix in registers, transposed: a store by rows and a load by columns, without memory.
Flow transpose_matrix(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  const Registers& r = context.registers;
  Rows rows, undefined;
  LaneMask tainted = context.defined ? r.taint[op.a] : 0;
  uint32_t origin = r.origin[op.a];
  for (int l = 0; l < kLanes; ++l) {
    scatter(rows, 0, l, false, static_cast<uint32_t>(value_of(r, op.a, false, l)));
    if (tainted) scatter(undefined, 0, l, false, static_cast<uint32_t>(shadow_of(r, op.a, false, l)));
  }
  for (int l = 0; l < kLanes; ++l) {
    set_value(r, op.d, false, l, gather(rows, 0, l, true));
    if (tainted) set_shadow(r, op.d, false, l, gather(undefined, 0, l, true));
  }
  if (tainted) {
    set_origin(r, op.d, origin);
  } else {
    r.taint[op.d] = 0;
  }
  return Flow::next;
}

bool of_halves(const isa::Form& form, const Modifiers& m) { return form.has(".m8n8") && m.type == isa::Type::b16; }

Step select_load_matrix(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = form.has(".trans") ? kTransposed : 0;
  return of_halves(form, m) ? load_matrix : nullptr;
}
Step select_store_matrix(const isa::Form& form, const Modifiers& m, Op& op) {
  op.mode = form.has(".trans") ? kTransposed : 0;
  return of_halves(form, m) ? store_matrix : nullptr;
}
Step select_transpose(const isa::Form& form, const Modifiers& m, Op&) {
  return of_halves(form, m) ? transpose_matrix : nullptr;
}

}  // namespace

const StepBinding* matrix_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"ldmatrix", select_load_matrix},
      {"stmatrix", select_store_matrix},
      {"movmatrix", select_transpose},
      {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
