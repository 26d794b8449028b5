#include <bit>
#include <cmath>
#include <limits>

#include "operations.h"

namespace ptxlab::twin {
namespace {

using isa::Type;

Bits minimum_or_maximum(const Operation& op, Bits a, Bits b, Format f) {
  if (op.has("ftz")) a = flush(a, f), b = flush(b, f);
  Bits out;
  if (is_nan(a, f) || is_nan(b, f)) {
    if (op.has("NaN") || (is_nan(a, f) && is_nan(b, f))) return canonical_nan(f);
    out = is_nan(a, f) ? b : a;
  } else {
    Bits ma = a & ~sign_bit(f), mb = b & ~sign_bit(f);
    bool a_less = op.has("xorsign") && op.has("abs") ? ma < mb
                  : compare(a, b, f) != 0            ? compare(a, b, f) < 0
                                                     : is_negative(a, f) && !is_negative(b, f);
    out = (op.name == "min") == a_less ? a : b;
  }
  if (op.has("xorsign") && op.has("abs")) out = (out & ~sign_bit(f)) | ((a ^ b) & sign_bit(f));
  return out;
}

Bits test_property(const Operation& op, Bits a, Format f) {
  const bool finite = !is_nan(a, f) && !is_infinite(a, f);
  if (op.has("finite")) return finite;
  if (op.has("infinite")) return is_infinite(a, f);
  if (op.has("number")) return !is_nan(a, f);
  if (op.has("notanumber")) return is_nan(a, f);
  if (op.has("normal")) return finite && !is_denormal(a, f);  // zero counts as normal
  return is_denormal(a, f);
}

// The nearest number with 11 significant bits: adding and taking away what puts the unit there rounds to it.
double eleven_bits(double y) {
  if (y == 0 || !std::isfinite(y)) return y;
  const double unit = std::exp2(std::floor(std::log2(std::fabs(y))) - 10);
  return std::nearbyint(y / unit) * unit;
}

// The approximate functions, as the double result rounded to the format: within any documented error. tanh in f32 has the 11
// bits that the manual promises.
bool approximate(const Operation& op, Bits a, Format f, Mode mode, Bits& out) {
  if (op.has("ftz")) a = flush(a, f);
  const double x = to_double(a, f);
  double y;
  if (op.name == "ex2")
    y = std::exp2(x);
  else if (op.name == "lg2")
    y = std::log2(x);
  else if (op.name == "sin")
    y = std::sin(x);
  else if (op.name == "cos")
    y = std::cos(x);
  else if (op.name == "tanh")
    y = f.exponent == 8 && f.fraction == 23 ? eleven_bits(std::tanh(x)) : std::tanh(x);
  else if (op.name == "rsqrt")
    y = 1 / std::sqrt(x);
  else if (op.name == "sqrt")
    y = std::sqrt(x);
  else if (op.name == "rcp")
    y = 1 / x;
  else
    return false;
  out = from_double(y, f, mode);
  return true;
}

// Manual, "div": for 2^126 < |b| < 2^128 the result of .approx is a zero, and NaN for an infinite dividend.
Bits divide_approximately(Bits a, Bits b, Format f, Mode mode) {
  const Bits magnitude = b & ~sign_bit(f);
  if (magnitude <= 0x7e800000 || magnitude >= 0x7f800000) return divide(a, b, f, mode);
  const Bits absolute = a & ~sign_bit(f);
  return absolute >= 0x7f800000 ? canonical_nan(f) : (a ^ b) & sign_bit(f);
}

// The NaN that tensor copies leave outside makes a fused product +0.
bool out_of_bounds(const Operation& op, Bits a, Bits b) { return op.has("oob") && (a == 0x7ff7 || b == 0x7ff7); }

bool one_lane(const Operation& op, Values& v, Format f) {
  const Mode mode = mode_of(op);
  const Bits a = v.in[0] & (2 * sign_bit(f) - 1), b = v.in[1] & (2 * sign_bit(f) - 1),
             c = v.in[2] & (2 * sign_bit(f) - 1);
  const std::string& n = op.name;
  const bool approx = op.has("approx") || op.has("full");
  const Bits one = static_cast<Bits>((1 << (f.exponent - 1)) - 1) << f.fraction;
  auto negated = [&](Bits x) { return x ^ sign_bit(f); };
  if (n == "add")
    v.out = add(a, b, f, mode);
  else if (n == "sub")
    v.out = add(a, is_nan(b, f) ? b : negated(b), f, mode);
  else if (n == "mul")
    v.out = multiply(a, b, f, mode);
  else if (n == "fma" && out_of_bounds(op, a, b))
    v.out = 0;
  else if (n == "fma" || n == "mad")
    v.out = fused_multiply_add(a, b, c, f, mode);
  else if (n == "div")
    v.out = op.has("approx") ? divide_approximately(a, b, f, mode) : divide(a, b, f, mode);
  else if (n == "rcp" && !approx)
    v.out = divide(one, a, f, mode);
  else if (n == "sqrt" && !approx)
    v.out = square_root(a, f, mode);
  else if (n == "min" || n == "max") {
    const Bits keep = op.has("abs") && !op.has("xorsign") ? sign_bit(f) - 1 : 2 * sign_bit(f) - 1;
    v.out = minimum_or_maximum(op, a & keep, b & keep, f);
    if (v.sources == 3) v.out = minimum_or_maximum(op, v.out, c & keep, f);
  } else if (n == "abs" || n == "neg") {
    const Bits x = op.has("ftz") ? flush(a, f) : a;
    v.out = is_nan(x, f) ? canonical_nan(f) : n == "abs" ? x & ~sign_bit(f) : negated(x);
  } else if (n == "copysign")
    v.out = (a & sign_bit(f)) | (b & ~sign_bit(f));
  else if (n == "testp")
    v.out = test_property(op, a, f);
  else
    return approximate(op, a, f, mode, v.out);
  return true;
}

}  // namespace

Format format_of(Type type) {
  switch (isa::info(type).element) {
    case Type::f16: return base::kF16;
    case Type::bf16: return base::kBf16;
    case Type::tf32: return base::kTf32;
    case Type::f64: return kF64;
    case Type::e4m3: return base::kE4m3;
    case Type::e5m2: return base::kE5m2;
    case Type::e3m2: return base::kE3m2;
    case Type::e2m3: return base::kE2m3;
    case Type::e2m1: return base::kE2m1;
    default: return base::kF32;
  }
}

Rounding rounding_of(const Operation& op) {
  if (op.has("rz") || op.has("rzi")) return Rounding::zero;
  if (op.has("rm") || op.has("rmi")) return Rounding::down;
  if (op.has("rp") || op.has("rpi")) return Rounding::up;
  if (op.has("rna")) return Rounding::nearest_away;
  return Rounding::nearest_even;
}

Mode mode_of(const Operation& op) {
  return {rounding_of(op), op.has("ftz"), op.has("sat"), op.has("relu"), op.has("satfinite")};
}

bool float_operation(const Operation& op, Values& v) {
  const Type type = op.type();
  if (!isa::is_float(type)) return false;
  const isa::TypeInfo& info = isa::info(type);
  const Format f = format_of(type);
  if (type == Type::f32 && op.types.size() == 2) {  // halves, and an f32 last
    for (int i = 0; i + 1 < v.sources; ++i)
      v.in[static_cast<size_t>(i)] = convert(v.in[static_cast<size_t>(i)], format_of(op.type(1)), f, {});
  }
  if (info.lanes == 1) return one_lane(op, v, f);
  const int width = info.bits / info.lanes;
  uint64_t out = 0;
  for (int lane = 0; lane < info.lanes; ++lane) {
    Values one = v;
    for (uint64_t& in : one.in) in = in >> (lane * width) & mask(width);
    if (!one_lane(op, one, f)) return false;
    out |= (one.out & mask(width)) << (lane * width);
  }
  v.out = out;
  return true;
}

}  // namespace ptxlab::twin
