// wmma: matrices from memory into fragments, their product, and back. How a fragment holds its matrix is nobody's business:
// here lane l's element i is element number l * P + i of the matrix by rows, with P elements a lane; f16 fragments of A and B
// have room for the matrix several times over and hold it so. Products round as mma's do.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "isa/table.h"
#include "simt/meeting.h"
#include "simt/numbers.h"
#include "simt/shadow.h"
#include "simt/step.h"
#include "simt/telling.h"

namespace ptxlab::simt {
namespace {

using isa::Type;

enum WmmaMode : uint8_t {
  kStrongAccess = kStrong,
  kByColumns = 2,
  kMatrixA = 4,
  kMatrixB = 8,
  kClamps = 16,
  kCountsBoth = 32
};

struct Shape {
  uint32_t m, n, k;
};
Shape shape_of(const Op& op) { return {op.target & 0xff, op.target >> 8 & 0xff, op.target >> 16 & 0xff}; }

// A matrix in the registers of a warp.
struct Held {
  uint32_t rows, columns;
  Type type;
  uint32_t bits;         // of an element
  const uint32_t* list;  // registers
  uint32_t registers;    // of a lane
  bool wide;
  bool turned = false;  // B in nibbles and bits, which lie along k in memory: rows are B's columns
  uint32_t elements() const { return rows * columns; }
  uint32_t in_register() const { return bits >= 32 ? 1 : 32 / bits; }
  uint32_t of_lane() const { return registers * in_register(); }
  uint32_t copies() const { return of_lane() * kLanes / elements(); }
};

Held held_by(Type type, uint32_t rows, uint32_t columns, const uint32_t* list, bool wide, uint32_t registers) {
  auto bits = static_cast<uint32_t>(type == Type::tf32 ? 32 : isa::bits_of(type));
  return {rows, columns, type, bits, list, registers, wide};
}
uint64_t mask_of(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

uint64_t get(const Registers& r, const Held& h, uint32_t e) {
  uint32_t lane = e / h.of_lane(), i = e % h.of_lane();
  uint64_t word = value_of(r, h.list[i / h.in_register()], h.wide, static_cast<int>(lane));
  return word >> (i % h.in_register() * h.bits) & mask_of(h.bits);
}
bool undefined(const Registers& r, const Held& h, uint32_t e) {
  uint32_t lane = e / h.of_lane(), i = e % h.of_lane();
  uint64_t word = shadow_of(r, h.list[i / h.in_register()], h.wide, static_cast<int>(lane));
  return (word >> (i % h.in_register() * h.bits) & mask_of(h.bits)) != 0;
}
void put(const Registers& r, const Held& h, uint32_t e, uint64_t bits, bool undefined_bits, bool defined) {
  for (uint32_t copy = 0; copy < h.copies(); ++copy, e += h.elements()) {
    auto lane = static_cast<int>(e / h.of_lane());
    uint32_t i = e % h.of_lane(), slot = h.list[i / h.in_register()], shift = i % h.in_register() * h.bits;
    uint64_t mask = mask_of(h.bits) << shift;
    set_value(r, slot, h.wide, lane, (value_of(r, slot, h.wide, lane) & ~mask) | (bits << shift & mask));
    if (defined)
      set_shadow(r, slot, h.wide, lane, (shadow_of(r, slot, h.wide, lane) & ~mask) | (undefined_bits ? mask : 0));
  }
}

uint32_t place_in_b(const Held& b, uint32_t k, uint32_t column) {
  return b.turned ? column * b.columns + k : k * b.columns + column;
}

// --- memory ---

// An access with addresses that no register holds: registers of their own, of which slot 0 has them.
struct Addresses {
  explicit Addresses(const Context& context)
      : inner{context.machine, context.cta, context.warp, context.split, context.frame, registers, context.defined} {
    registers.values = reinterpret_cast<uint8_t*>(at);
    registers.taint = taint;
    registers.origin = origin;
  }
  alignas(64) uint64_t at[kLanes] = {};
  LaneMask taint[2] = {};
  uint32_t origin[2] = {};
  Registers registers;
  Context inner;
};

bool same_everywhere(Context& context, const Op& op, uint32_t slot, bool wide, const char* what) {
  const Registers& r = context.registers;
  if (context.defined && r.taint[slot]) {
    context.machine.report("RUN0008", base::Severity::error, context, op, r.taint[slot],
                           std::string("the ") + what + " is undefined: " + context.machine.origin_text(r, slot));
    return false;
  }
  for (int l = 1; l < kLanes; ++l) {
    if (value_of(r, slot, wide, l) == value_of(r, slot, wide, 0)) continue;
    context.machine.report("RUN0023", base::Severity::error, context, op, kAllLanes,
                           std::string("the ") + what + " has to be the same in all lanes of the warp; lane " +
                               std::to_string(l) + " has another than lane 0; " +
                               context.machine.thread_name(context.warp, l));
    return false;
  }
  return true;
}

// Moves a matrix between its place in memory, whose lines lie `stride` elements apart, and its fragment. A piece is what one
// lane moves at once: an element, or for elements of less than a byte a whole register.
Flow move_matrix(Context& context, const Op& op, const Held& h, uint32_t stride_slot, bool loads) {
  const Registers& r = context.registers;
  if (!same_everywhere(context, op, op.a, op.a_wide, "address")) return Flow::fault;
  if (stride_slot != kZeroSlot && !same_everywhere(context, op, stride_slot, false, "stride")) return Flow::fault;
  bool by_columns = (op.mode & kByColumns) && !h.turned;
  uint64_t stride = stride_slot == kZeroSlot ? (by_columns ? h.rows : h.columns) : value_of(r, stride_slot, false, 0);
  uint64_t base = value_of(r, op.a, op.a_wide, 0) + static_cast<uint64_t>(op.offset);
  uint32_t each = h.bits < 8 ? h.in_register() : 1, bytes = each * h.bits / 8, pieces = h.elements() / each;
  Addresses addresses(context);
  // Registers have to begin defined: they are written piece by piece.
  for (uint32_t n = 0; loads && n < h.registers; ++n) r.taint[h.list[n]] = 0;
  for (uint32_t first = 0; first < pieces; first += kLanes) {
    LaneMask active = pieces - first >= kLanes ? kAllLanes : (LaneMask{1} << (pieces - first)) - 1;
    for (uint32_t l = 0; l < kLanes && first + l < pieces; ++l) {
      uint32_t e = (first + l) * each, row = e / h.columns, column = e % h.columns;
      uint64_t place = by_columns ? column * stride + row : row * stride + column;
      addresses.at[l] = base + place * h.bits / 8;
    }
    AccessRequest request{
        addresses.inner, op, active, op.space, 0, true, 0, bytes, bytes, loads ? Intent::read : Intent::write};
    bool ok = for_each_group(request, [&](const Group& group) {
      for (LaneMask left = group.lanes; left; left &= left - 1) {
        int l = std::countr_zero(left);
        for (uint32_t i = 0; i < each; ++i) {
          uint32_t e = (first + static_cast<uint32_t>(l)) * each + i;
          uint64_t word = 0, known = ~uint64_t{0};
          if (loads) {
            std::memcpy(&word, group.at(l), bytes);
            if (context.defined && group.region->defined) std::memcpy(&known, group.defined_at(l), bytes);
            uint64_t mask = mask_of(h.bits);
            put(r, h, e, word >> (i * h.bits) & mask, (known >> (i * h.bits) & mask) != mask, context.defined);
          } else {
            word = get(r, h, e);
            std::memcpy(group.at(l), &word, bytes);
            if (!context.defined) continue;
            bool bad = undefined(r, h, e);
            if (bad && !group.region->defined) context.machine.make_definedness(*group.region);
            if (group.region->defined) std::memset(group.defined_at(l), bad ? 0 : 0xff, bytes);
          }
        }
      }
      count_traffic(context, op, group.region->space, group.addresses, group.lanes, bytes);
      if (!watched(context, op)) return;
      Telling telling;
      if (!loads && context.machine.wants(kAccessValues)) telling.before = telling.after = bytes_of(group, bytes);
      tell(context, op, group, bytes, loads ? Intent::read : Intent::write, false, telling);
    });
    if (!ok) return Flow::fault;
  }
  for (uint32_t n = 0; loads && n < h.registers; ++n) set_origin(r, h.list[n], op.id + 1);
  return Flow::next;
}

Flow load_fragment(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  Shape s = shape_of(op);
  uint32_t rows = op.mode & kMatrixB ? s.k : s.m, columns = op.mode & kMatrixA ? s.k : s.n;
  const uint32_t* list = &context.frame.code->lists[op.list];
  Held h = held_by(op.modifiers->type, rows, columns, list, op.d_wide, op.count);
  if ((op.mode & kMatrixB) && h.bits < 8) h.turned = true, std::swap(h.rows, h.columns);
  return move_matrix(context, op, h, op.b, true);
}
Flow store_fragment(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  Shape s = shape_of(op);
  const uint32_t* list = &context.frame.code->lists[op.list];
  return move_matrix(context, op, held_by(op.modifiers->type, s.m, s.n, list, op.b_wide, op.count), op.c, false);
}

// --- products ---

uint64_t finished(double sum, Type type, bool clamps) {
  if (clamps && sum != sum) return 0;
  if (clamps) {
    double most = type == Type::f16 ? 65504.0 : static_cast<double>(std::numeric_limits<float>::max());
    sum = std::clamp(sum, -most, most);
  }
  return element_bits(sum, type);
}

// A, B (by columns) and C as numbers.
template <class T>
struct Numbers {
  std::vector<T> a, b, c;
};
template <class T, class F>
Numbers<T> numbers_of(const Registers& r, const Held& a, const Held& b, const Held& c, F number) {
  Numbers<T> out;
  for (uint32_t e = 0; e < a.elements(); ++e) out.a.push_back(number(get(r, a, e), a.type));
  uint32_t depth = a.columns, columns = c.columns;
  for (uint32_t j = 0; j < columns; ++j)
    for (uint32_t k = 0; k < depth; ++k) out.b.push_back(number(get(r, b, place_in_b(b, k, j)), b.type));
  for (uint32_t e = 0; e < c.elements(); ++e) out.c.push_back(number(get(r, c, e), c.type));
  return out;
}

std::vector<uint64_t> float_product(const Registers& r, const Held& a, const Held& b, const Held& c, const Held& d,
                                    bool clamps) {
  Numbers<double> x = numbers_of<double>(r, a, b, c, element_number);
  std::vector<uint64_t> out;
  uint32_t depth = a.columns;
  for (uint32_t i = 0; i < d.rows; ++i)
    for (uint32_t j = 0; j < d.columns; ++j) {
      double sum = x.c[i * d.columns + j];
      const double *left = &x.a[i * depth], *right = &x.b[j * depth];
      for (uint32_t k = 0; k < depth; ++k)
        sum = d.type == Type::f64 ? std::fma(left[k], right[k], sum) : sum + left[k] * right[k];
      out.push_back(finished(sum, d.type, clamps));
    }
  return out;
}
std::vector<uint64_t> integer_product(const Registers& r, const Held& a, const Held& b, const Held& c, uint8_t mode) {
  bool single = a.type == Type::b1;
  Numbers<int64_t> x = numbers_of<int64_t>(r, a, b, c, [](uint64_t bits, Type type) -> int64_t {
    return type == Type::b1 ? static_cast<int64_t>(bits) : element_integer(bits, type);
  });
  std::vector<uint64_t> out;
  uint32_t depth = a.columns;
  for (uint32_t i = 0; i < c.rows; ++i)
    for (uint32_t j = 0; j < c.columns; ++j) {
      int64_t sum = x.c[i * c.columns + j];
      const int64_t *left = &x.a[i * depth], *right = &x.b[j * depth];
      for (uint32_t k = 0; k < depth; ++k)
        sum += !single ? left[k] * right[k] : mode & kCountsBoth ? left[k] & right[k] : left[k] ^ right[k];
      if (mode & kClamps) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      out.push_back(static_cast<uint32_t>(sum));
    }
  return out;
}

// Which elements of D are undefined: those of an undefined row of A, column of B, or element of C.
std::vector<bool> undefined_elements(const Registers& r, const Held& a, const Held& b, const Held& c) {
  std::vector<bool> rows(c.rows), columns(c.columns), out(c.elements());
  for (uint32_t k = 0; k < a.columns; ++k) {
    for (uint32_t i = 0; i < c.rows; ++i) rows[i] = rows[i] || undefined(r, a, i * a.columns + k);
    for (uint32_t j = 0; j < c.columns; ++j) columns[j] = columns[j] || undefined(r, b, place_in_b(b, k, j));
  }
  for (uint32_t e = 0; e < c.elements(); ++e)
    out[e] = rows[e / c.columns] || columns[e % c.columns] || undefined(r, c, e);
  return out;
}

Flow multiply(Context& context, const Op& op, LaneMask active) {
  if (Flow flow = meet_aligned(context, op, active); flow != Flow::next) return flow;
  const Registers& r = context.registers;
  Shape s = shape_of(op);
  const uint32_t* list = &context.frame.code->lists[op.list];
  auto c_type = static_cast<Type>(op.target >> 24);
  bool halves = op.modifiers->third == Type::none;
  Type a_type = halves ? Type::f16 : op.modifiers->second, b_type = halves ? Type::f16 : op.modifiers->third;
  auto next = [&](Type type, uint32_t rows, uint32_t columns, bool factor) {
    Held h = held_by(type, rows, columns, list, op.b_wide, 0);
    h.registers = factor && type == Type::f16 ? 8 : h.elements() * std::min(h.bits, 32u) / 32 / kLanes;
    list += h.registers;
    return h;
  };
  Held d = next(op.modifiers->type, s.m, s.n, false), a = next(a_type, s.m, s.k, true);
  bool turned = isa::bits_of(b_type) < 8;
  Held b = next(b_type, turned ? s.n : s.k, turned ? s.k : s.n, true);
  b.turned = turned;
  Held c = next(c_type, s.m, s.n, false);
  uint32_t origin = 0;
  bool tainted = false;
  for (const uint32_t* slot = a.list; slot < list && context.defined; ++slot) {
    if (!r.taint[*slot]) continue;
    if (!tainted) origin = r.origin[*slot];
    tainted = true;
  }
  std::vector<bool> bad = tainted ? undefined_elements(r, a, b, c) : std::vector<bool>(d.elements());
  std::vector<uint64_t> results = isa::is_float(d.type) ? float_product(r, a, b, c, d, (op.mode & kClamps) != 0)
                                                        : integer_product(r, a, b, c, op.mode);
  for (uint32_t n = 0; n < d.registers; ++n) r.taint[d.list[n]] = 0;
  for (uint32_t e = 0; e < d.elements(); ++e) put(r, d, e, results[e], bad[e], context.defined);
  for (uint32_t n = 0; tainted && n < d.registers; ++n) set_origin(r, d.list[n], origin);
  return Flow::next;
}

// --- selection ---

uint32_t packed_shape(const isa::Form& form) {
  for (size_t i = 0; i < form.row->slots.size(); ++i) {
    if (form.taken[i] < 0) continue;
    std::string_view token = form.row->slots[i].choices[static_cast<size_t>(form.taken[i])].token;
    uint32_t numbers[3] = {};
    const char *at = token.data() + 1, *end = token.data() + token.size();
    int found = 0;
    while (found < 3 && at < end && *at == "mnk"[found]) {
      auto [next, error] = std::from_chars(at + 1, end, numbers[found]);
      if (error != std::errc{}) break;
      at = next;
      ++found;
    }
    if (found == 3) return numbers[0] | numbers[1] << 8 | numbers[2] << 16;
  }
  return 0;
}

Step select_move(const isa::Form& form, const Modifiers&, Op& op) {
  std::string_view opcode = form.row->opcode;
  op.target = packed_shape(form);
  op.mode = static_cast<uint8_t>((form.has(".col") ? kByColumns : 0) | (opcode.ends_with(".a") ? kMatrixA : 0) |
                                 (opcode.ends_with(".b") ? kMatrixB : 0));
  return opcode == "wmma.store.d" ? store_fragment : load_fragment;
}
Step select_multiply(const isa::Form& form, const Modifiers& m, Op& op) {
  Type c = m.third == Type::none ? m.second : form.type(3);
  op.target = packed_shape(form) | static_cast<uint32_t>(c) << 24;
  op.mode = static_cast<uint8_t>((form.has(".satfinite") ? kClamps : 0) | (form.has(".and") ? kCountsBoth : 0));
  return multiply;
}

}  // namespace

const StepBinding* wmma_bindings() {
  static constexpr StepBinding kBindings[] = {
      {"wmma.load.a", select_move},  {"wmma.load.b", select_move},  {"wmma.load.c", select_move},
      {"wmma.store.d", select_move}, {"wmma.mma", select_multiply}, {nullptr, nullptr},
  };
  return kBindings;
}

}  // namespace ptxlab::simt
