#include "simt/random_rounding.h"

#include <immintrin.h>
#include <algorithm>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "simt/conversion.h"
#include "simt/lane_access.h"

namespace ptxlab::simt {
namespace {

using isa::Type;

thread_local base::Random* current = nullptr;
thread_local bool was_inexact = false;

constexpr unsigned kDown = 0x2000, kUp = 0x4000, kModes = 0x6000;

// Sets the processor's rounding around what stands between begin and end. Both are barriers for memory, so that a loop over
// arrays cannot move across them.
class Mode {
 public:
  explicit Mode(unsigned mode) : saved_(_mm_getcsr()) {
    asm volatile("" ::: "memory");
    _mm_setcsr((saved_ & ~kModes) | mode);
    asm volatile("" ::: "memory");
  }
  ~Mode() {
    asm volatile("" ::: "memory");
    _mm_setcsr(saved_);
    asm volatile("" ::: "memory");
  }

 private:
  unsigned saved_;
};

template <class T>
T canonical(T x) {
  if (x == x) return x;
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(0x7fffffffu);
  else
    return std::bit_cast<T>(uint64_t{0x7fffffffffffffff});
}
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
}
template <class T>
T saturated(T x) {
  return x > T{0} ? (x < T{1} ? x : T{1}) : T{0};
}

struct Add {
  template <class T>
  static T f(T a, T b, T) {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  static T f(T a, T b, T) {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  static T f(T a, T b, T) {
    return a * b;
  }
};
struct Divide {
  template <class T>
  static T f(T a, T b, T) {
    return a / b;
  }
};
struct Fused {
  template <class T>
  static T f(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Reciprocal {
  template <class T>
  static T f(T a, T, T) {
    return T{1} / a;
  }
};
struct Root {
  template <class T>
  static T f(T a, T, T) {
    return std::sqrt(a);
  }
};

// One operation on all lanes. Of its own for a processor with fma, so that fma is an instruction there.
template <class T, class F>
__attribute__((noinline)) void compute(const T* a, const T* b, const T* c, T* out) {
  for (int l = 0; l < kLanes; ++l) out[l] = F::f(a[l], b[l], c[l]);
}
template <class T>
__attribute__((noinline, target("avx2,fma"))) void compute_fused(const T* a, const T* b, const T* c, T* out) {
  for (int l = 0; l < kLanes; ++l) {
    if constexpr (sizeof(T) == 4)
      out[l] = __builtin_fmaf(a[l], b[l], c[l]);
    else
      out[l] = __builtin_fma(a[l], b[l], c[l]);
  }
}
template <class T, class F>
void compute_in(unsigned mode, const T* a, const T* b, const T* c, T* out) {
  static const bool has_fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  Mode guard(mode);
  if constexpr (std::is_same_v<F, Fused>) {
    if (has_fma) return compute_fused<T>(a, b, c, out);
  }
  compute<T, F>(a, b, c, out);
}

// f32 and f64: computed up and down, and one of the two taken.
template <class T, class F>
void either_way(const Op& op, const Registers& r, LaneMask active) {
  const bool ftz = op.flags & kFlush, sat = op.flags & kSaturate;
  alignas(64) T x[3][kLanes], up[kLanes], down[kLanes];
  const uint32_t slots[3] = {op.a, op.b, op.c};
  for (int i = 0; i < 3; ++i) {
    const T* from = lanes<T>(r, slots[i]);
    for (int l = 0; l < kLanes; ++l) x[i][l] = ftz ? flushed(from[l]) : from[l];
  }
  compute_in<T, F>(kUp, x[0], x[1], x[2], up);
  compute_in<T, F>(kDown, x[0], x[1], x[2], down);
  const auto directions = static_cast<uint32_t>(current ? current->next() : 0);
  T* d = lanes<T>(r, op.d);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    // x - x is +0 by nearest rounding and -0 downwards: no inexactness, so it stays +0.
    T value = up[l] == down[l] ? up[l] : directions >> l & 1 ? up[l] : down[l];
    was_inexact |= up[l] != down[l] && up[l] == up[l];
    // Overflow by rounding upwards is none: the nearest value decides there.
    if (std::isinf(value) && !std::isinf(up[l] == value ? down[l] : up[l])) value = up[l] == value ? down[l] : up[l];
    value = canonical(value);
    if (ftz) value = flushed(value);
    d[l] = sat ? saturated(value) : value;
  }
}

// --- halves ---

double exact(const Add&, double a, double b, double) { return a + b; }
double exact(const Subtract&, double a, double b, double) { return a - b; }
double exact(const Multiply&, double a, double b, double) { return a * b; }
double exact(const Fused&, double a, double b, double c) { return std::fma(a, b, c); }

uint32_t half_flushed(uint32_t h, const base::Format& format) {
  const uint32_t fraction = (1u << format.fraction) - 1;
  return (h & 0x7fff & ~fraction) == 0 ? h & 0x8000u : h;
}

template <class F>
uint32_t half_of(uint32_t a, uint32_t b, uint32_t c, const base::Format& format, uint8_t flags) {
  const auto read = [&](uint32_t h) {
    return base::widen((flags & kFlush ? half_flushed(h & 0xffff, format) : h) & 0xffff, format);
  };
  uint32_t h = rounded_narrow(exact(F(), read(a), read(b), read(c)), format, current);
  if (flags & kFlush) h = half_flushed(h, format);
  const double value = base::widen(h, format);
  if (flags & kSaturate) h = value != value ? 0 : base::narrow(saturated(value), format);
  if (flags & kRelu && value == value && (h & 0x8000u)) h = 0;
  return h;
}

template <class F>
void halves_either_way(const Op& op, const Registers& r, LaneMask active) {
  const Type type = op.modifiers->type;
  const base::Format format = type == Type::bf16 || type == Type::bf16x2 ? base::kBf16 : base::kF16;
  const bool two = isa::info(type).lanes == 2;
  const auto *a = lanes<uint32_t>(r, op.a), *b = lanes<uint32_t>(r, op.b), *c = lanes<uint32_t>(r, op.c);
  auto* d = lanes<uint32_t>(r, op.d);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    uint32_t word = half_of<F>(a[l], b[l], c[l], format, op.flags);
    if (two) word |= half_of<F>(a[l] >> 16, b[l] >> 16, c[l] >> 16, format, op.flags) << 16;
    d[l] = word;
  }
}

// --- conversions: the general handler, up for some lanes and down for the others ---

void convert_either_way(const Op& op, const Registers& r, LaneMask active) {
  Modifiers m = *op.modifiers;
  Op directed = op;
  directed.modifiers = &m;
  const Lanewise convert = select_any_conversion(m);
  was_inexact = true;  // widenings apart, as nearly always
  const auto directions = static_cast<LaneMask>(current ? current->next() : 0);
  m.rounding = Rounding::up;
  convert(directed, r, active & directions);
  m.rounding = Rounding::down;
  convert(directed, r, active & ~directions);
}

// --- approximations: the true value, off by something within the manual's bound ---

double draw() {
  was_inexact = true;
  return current ? 2 * current->uniform() - 1 : 0;
}
double relative(double y, double bound) { return y * (1 + bound * draw()); }

struct Exp2 {
  static double f(double a, double) { return relative(std::exp2(a), 0x1p-22); }
};
struct Log2 {
  static double f(double a, double) {
    const double y = std::log2(a);
    const bool near_one = a > 0.5 && a < 2;
    return near_one && a != 1 ? y + 0x1p-22 * draw() * std::min(1.0, 4 * std::fabs(a - 1)) : relative(y, 0x1p-22);
  }
};
struct Sine {
  static double f(double a, double) { return std::sin(a) + 0x1p-20 * draw() * std::min(1.0, std::fabs(a)); }
};
struct Cosine {
  static double f(double a, double) { return std::cos(a) + 0x1p-20 * draw(); }
};
struct Tanh {
  static double f(double a, double) { return relative(std::tanh(a), 0x1p-11); }
};
struct InverseRoot {
  static double f(double a, double) {
    return a == 0 ? std::copysign(INFINITY, a) : relative(1 / std::sqrt(a), 0x1.2p-23);
  }
};
struct RootApprox {
  static double f(double a, double) { return relative(std::sqrt(a), 0x1p-23); }
};
struct ReciprocalApprox {
  static double f(double a, double) { return relative(1 / a, 0x1p-23); }
};
struct Quotient {  // .full
  static double f(double a, double b) { return relative(a / b, 0x1p-22); }
};
struct QuotientApprox {  // promises a zero for divisors above 2^126
  static double f(double a, double b) {
    const bool large = std::fabs(b) > 0x1p126 && std::isfinite(b);
    return large ? a * 0.0 * (b < 0 ? -1.0 : 1.0) : Quotient::f(a, b);
  }
};

template <class F>
void about(const Op& op, const Registers& r, LaneMask active) {
  const bool ftz = op.flags & kFlush, sat = op.flags & kSaturate;
  const auto *a = lanes<float>(r, op.a), *b = lanes<float>(r, op.b);
  auto* d = lanes<float>(r, op.d);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    const float x = ftz ? flushed(a[l]) : a[l], y = ftz ? flushed(b[l]) : b[l];
    auto value = canonical(static_cast<float>(F::f(x, y)));
    if (ftz) value = flushed(value);
    d[l] = sat ? saturated(value) : value;
  }
}
template <class F>
void about_halves(const Op& op, const Registers& r, LaneMask active) {
  const Type type = op.modifiers->type;
  const bool brain = type == Type::bf16 || type == Type::bf16x2;
  const base::Format format = brain ? base::kBf16 : base::kF16;
  const auto one = [&](uint32_t h) {
    const double y = F::f(base::widen(h & 0xffff, format), 0);
    return base::narrow(relative(y, brain ? 0x1p-8 : 0x1p-10), format);
  };
  const auto* a = lanes<uint32_t>(r, op.a);
  auto* d = lanes<uint32_t>(r, op.d);
  for (int l = 0; l < kLanes; ++l) {
    if (!(active >> l & 1)) continue;
    d[l] = isa::info(type).lanes == 1 ? one(a[l]) : one(a[l]) | one(a[l] >> 16) << 16;
  }
}
template <class F>
Lanewise select_about(const Modifiers& m) {
  if (m.type == Type::f32) return about<F>;
  if (m.type == Type::f16 || m.type == Type::f16x2 || m.type == Type::bf16 || m.type == Type::bf16x2)
    return about_halves<F>;
  return nullptr;
}

bool nearest(const Modifiers& m) { return m.rounding == Rounding::none || m.rounding == Rounding::nearest_even; }

template <class F>
Lanewise select_arithmetic(const Modifiers& m) {
  if (m.other || !nearest(m)) return nullptr;
  switch (m.type) {
    case Type::f32: return either_way<float, F>;
    case Type::f64: return either_way<double, F>;
    case Type::f16:
    case Type::f16x2:
    case Type::bf16:
    case Type::bf16x2:
      if constexpr (std::is_same_v<F, Add> || std::is_same_v<F, Subtract> || std::is_same_v<F, Multiply> ||
                    std::is_same_v<F, Fused>)
        return halves_either_way<F>;
      return nullptr;
    default: return nullptr;
  }
}
template <class Full, class Exact>
Lanewise select_root(const Modifiers& m) {
  if (m.approx) return m.type == Type::f32 ? about<Full> : nullptr;
  return m.type == Type::f32 || m.type == Type::f64 ? select_arithmetic<Exact>(m) : nullptr;
}
Lanewise select_divide(const Modifiers& m) {
  if (m.type == Type::f32 && m.approx) return about<QuotientApprox>;
  if (m.type == Type::f32 && m.full) return about<Quotient>;
  return m.type == Type::f32 || m.type == Type::f64 ? select_arithmetic<Divide>(m) : nullptr;
}
Lanewise select_convert(const Modifiers& m) {
  const bool to_float = isa::is_float(isa::info(m.type).element) && m.type != Type::none;
  const bool to_nearest = nearest(m) || m.rounding == Rounding::nearest_away;
  if (!to_float || m.to_integer || m.pack || !to_nearest || m.rounding == Rounding::none) return nullptr;
  return select_any_conversion(m) ? convert_either_way : nullptr;
}

Lanewise select_random(std::string_view opcode, const Modifiers& m) {
  if (opcode == "add") return select_arithmetic<Add>(m);
  if (opcode == "sub") return select_arithmetic<Subtract>(m);
  if (opcode == "mul") return select_arithmetic<Multiply>(m);
  if (opcode == "fma" || opcode == "mad") return select_arithmetic<Fused>(m);
  if (opcode == "div") return select_divide(m);
  if (opcode == "sqrt") return select_root<RootApprox, Root>(m);
  if (opcode == "rcp") return select_root<ReciprocalApprox, Reciprocal>(m);
  if (opcode == "rsqrt") return m.type == Type::f32 ? about<InverseRoot> : nullptr;
  if (opcode == "ex2") return select_about<Exp2>(m);
  if (opcode == "lg2") return select_about<Log2>(m);
  if (opcode == "sin") return select_about<Sine>(m);
  if (opcode == "cos") return select_about<Cosine>(m);
  if (opcode == "tanh") return select_about<Tanh>(m);
  if (opcode == "cvt") return select_convert(m);
  return nullptr;
}

}  // namespace

base::Random* random_rounding() { return current; }

RandomRoundingScope::RandomRoundingScope(uint64_t seed) : random_(base::derive_seed(seed, "rounding")) {
  current = &random_;
  was_inexact = false;
}
bool RandomRoundingScope::inexact() const { return was_inexact; }
RandomRoundingScope::~RandomRoundingScope() { current = nullptr; }

void round_randomly(Image& image) {
  for (auto& code : image.codes) {
    for (Op& op : code->ops) {
      if (op.kind != OpKind::lanewise || !op.modifiers || op.statement >= code->function->body.size()) continue;
      const ptx::Instruction* instruction = code->function->body[op.statement].instruction();
      if (!instruction || !instruction->form.row) continue;
      if (Lanewise handler = select_random(instruction->form.row->opcode, *op.modifiers)) op.lanewise = handler;
    }
  }
}

float rounded_float(double exact, base::Random* random) {
  auto nearest = static_cast<float>(exact);
  if (!random || nearest == exact || !std::isfinite(nearest)) return nearest;
  was_inexact = true;
  if (random->next() & 1) return nearest;
  return std::nextafter(nearest, nearest < exact ? INFINITY : -INFINITY);
}

uint32_t rounded_narrow(double exact, base::Format format, base::Random* random) {
  if (!random) return base::narrow(exact, format);
  const uint32_t up = base::narrow(exact, format, base::Rounding::up),
                 down = base::narrow(exact, format, base::Rounding::down);
  if (up == down || exact == 0) return base::narrow(exact, format);
  was_inexact = true;
  const uint32_t chosen = random->next() & 1 ? up : down;
  return std::isfinite(base::widen(chosen, format)) ? chosen : base::narrow(exact, format);
}

double rounded_sum(double a, double b, base::Random* random) {
  const double nearest = a + b;
  if (!random || !std::isfinite(nearest)) return nearest;
  const double part = nearest - a, error = (a - (nearest - part)) + (b - part);
  if (error == 0) return nearest;
  was_inexact = true;
  if (random->next() & 1) return nearest;
  return std::nextafter(nearest, error > 0 ? INFINITY : -INFINITY);
}

}  // namespace ptxlab::simt
