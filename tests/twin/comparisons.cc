#include <optional>

#include "operations.h"

namespace ptxlab::twin {
namespace {

using isa::Type;

const char* const kComparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                    "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

std::string comparison_of(const Operation& op) {
  for (const std::string& m : op.modifiers)
    for (const char* c : kComparisons)
      if (m == c) return m;
  return "";
}

bool from_order(const std::string& c, int order) {
  if (c.starts_with("eq")) return order == 0;
  if (c.starts_with("ne")) return order != 0;
  if (c.starts_with("lt") || c == "lo") return order < 0;
  if (c.starts_with("le") || c == "ls") return order <= 0;
  if (c.starts_with("gt") || c == "hi") return order > 0;
  return order >= 0;
}

bool compare_values(const std::string& c, uint64_t a, uint64_t b, Type type, bool ftz) {
  const int bits = isa::bits_of(isa::info(type).element);
  a &= mask(bits), b &= mask(bits);
  if (isa::is_float(type)) {
    const Format f = format_of(type);
    if (ftz) a = flush(a, f), b = flush(b, f);
    const bool unordered = is_nan(a, f) || is_nan(b, f);
    if (c == "num" || c == "nan") return unordered == (c == "nan");
    if (unordered) return c.size() == 3 && c.back() == 'u';
    return from_order(c, compare(a, b, f));
  }
  const bool by_sign = isa::is_signed(type) && c.size() == 2 && c != "lo" && c != "ls" && c != "hi" && c != "hs";
  if (by_sign) {
    const int64_t x = sign_extended(a, bits), y = sign_extended(b, bits);
    return from_order(c, x < y ? -1 : x > y);
  }
  return from_order(c, a < b ? -1 : a > b);
}

// The third source combined with the comparison by .and, .or, .xor.
std::optional<bool> combined(const Operation& op, bool t, bool c) {
  if (op.has("and")) return t && c;
  if (op.has("or")) return t || c;
  if (op.has("xor")) return t != c;
  return std::nullopt;
}

void set_predicate(const Operation& op, Values& v) {
  const bool t = compare_values(comparison_of(op), v.in[0], v.in[1], op.type(), op.has("ftz"));
  const bool c = v.in[2] & 1;
  v.out = combined(op, t, c).value_or(t);
  v.second = combined(op, !t, c).value_or(!t);
}

void set_packed_predicates(const Operation& op, Values& v) {
  const std::string c = comparison_of(op);
  const bool third = v.in[2] & 1;
  const bool low = compare_values(c, v.in[0], v.in[1], op.type(), op.has("ftz"));
  const bool high = compare_values(c, v.in[0] >> 16, v.in[1] >> 16, op.type(), op.has("ftz"));
  v.out = combined(op, low, third).value_or(low);
  v.second = combined(op, high, third).value_or(high);
}

uint64_t truth(Type type) {
  switch (type) {
    case Type::f32: return 0x3f800000;
    case Type::f16: return 0x3c00;
    case Type::bf16: return 0x3f80;
    default: return mask(isa::bits_of(type));
  }
}

void set_value(const Operation& op, Values& v) {
  const Type to = op.type(0), from = op.type(1);
  const std::string c = comparison_of(op);
  const int lanes = isa::info(from).lanes, width = isa::bits_of(isa::info(from).element);
  v.out = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    bool t = compare_values(c, v.in[0] >> (lane * width), v.in[1] >> (lane * width), from, op.has("ftz"));
    t = combined(op, t, v.in[2] & 1).value_or(t);
    if (lanes == 1)
      v.out = t ? truth(to) : 0;
    else if (t)
      v.out |= (isa::is_float(to) ? truth(isa::info(to).element) : mask(16)) << (lane * 16);
  }
}

}  // namespace

bool comparison(const Operation& op, Values& v) {
  if (op.name == "setp") {
    isa::info(op.type()).lanes == 2 ? set_packed_predicates(op, v) : set_predicate(op, v);
  } else if (op.name == "set") {
    set_value(op, v);
  } else if (op.name == "selp") {
    v.out = v.in[2] & 1 ? v.in[0] : v.in[1];
  } else if (op.name == "slct") {
    bool first;
    if (op.type(1) == Type::f32) {
      Bits c = v.in[2] & mask(32);
      if (op.has("ftz")) c = flush(c, base::kF32);
      first = !is_nan(c, base::kF32) && (is_zero(c, base::kF32) || !is_negative(c, base::kF32));
    } else {
      first = sign_extended(v.in[2], 32) >= 0;
    }
    v.out = first ? v.in[0] : v.in[1];
  } else {
    return false;
  }
  return true;
}

}  // namespace ptxlab::twin
