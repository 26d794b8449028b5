#include <algorithm>
#include <bit>

#include "operations.h"

namespace ptxlab::twin {
namespace {

using isa::Type;
using Wide = __int128;

struct Shape {
  int bits;
  bool is_signed;
  Wide value(uint64_t raw) const {
    return is_signed ? static_cast<Wide>(sign_extended(raw, bits)) : static_cast<Wide>(raw & mask(bits));
  }
  Wide low() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide high() const { return is_signed ? (Wide{1} << (bits - 1)) - 1 : (Wide{1} << bits) - 1; }
};

// add, sub and their carries; with .sat the signed 32-bit result is clamped.
void sum(const Operation& op, Values& v, Shape s) {
  const bool subtract = op.name[0] == 's';
  const bool with_carry = op.name.back() == 'c';
  const Wide carry = with_carry && v.carry_in ? 1 : 0;
  const Wide a = s.value(v.in[0]), b = s.value(v.in[1]);
  Wide exact = subtract ? a - b - carry : a + b + carry;
  const Wide ua = static_cast<Wide>(v.in[0] & mask(s.bits)), ub = static_cast<Wide>(v.in[1] & mask(s.bits));
  v.carry_out = subtract ? ua - ub - carry < 0 : (ua + ub + carry) >> s.bits;
  if (op.has("sat")) exact = std::clamp(exact, s.low(), s.high());
  v.out = static_cast<uint64_t>(exact) & mask(s.bits);
}

void product(const Operation& op, Values& v, Shape s) {
  const bool add = op.name.starts_with("mad");
  // Two's complement: the product of two 64-bit values wants all 128 bits, sign or none.
  using Bits = unsigned __int128;
  Wide exact = static_cast<Wide>(static_cast<Bits>(s.value(v.in[0])) * static_cast<Bits>(s.value(v.in[1])));
  const Wide carry = op.name == "madc" && v.carry_in ? 1 : 0;
  if (op.has("wide")) {
    v.out = static_cast<uint64_t>(exact) & mask(2 * s.bits);
    if (add) v.out = (v.out + v.in[2]) & mask(2 * s.bits);
    return;
  }
  const uint64_t part = static_cast<uint64_t>(op.has("hi") ? exact >> s.bits : exact) & mask(s.bits);
  if (!add) {
    v.out = part;
    return;
  }
  if (op.has("sat")) {
    v.out = static_cast<uint64_t>(std::clamp(s.value(part) + s.value(v.in[2]), s.low(), s.high())) & mask(s.bits);
    return;
  }
  const Wide total = static_cast<Wide>(part) + static_cast<Wide>(v.in[2] & mask(s.bits)) + carry;
  v.carry_out = total >> s.bits;
  v.out = static_cast<uint64_t>(total) & mask(s.bits);
}

// 24-bit products: the 48-bit result's low or high 32 bits.
void product24(const Operation& op, Values& v, Shape s) {
  auto low24 = [&](uint64_t raw) {
    return s.is_signed ? static_cast<Wide>(sign_extended(raw, 24)) : static_cast<Wide>(raw & mask(24));
  };
  const Wide exact = low24(v.in[0]) * low24(v.in[1]);
  uint64_t part = static_cast<uint64_t>(op.has("hi") ? exact >> 16 : exact) & mask(32);
  if (op.name == "mad24") {
    if (op.has("sat")) {
      v.out = static_cast<uint64_t>(std::clamp(s.value(part) + s.value(v.in[2]), s.low(), s.high())) & mask(32);
      return;
    }
    part += v.in[2];
  }
  v.out = part & mask(32);
}

void division(const Operation& op, Values& v, Shape s) {
  const Wide a = s.value(v.in[0]), b = s.value(v.in[1]);
  if (b == 0) {
    v.problem = "division by zero";
    return;
  }
  v.out = static_cast<uint64_t>(op.name == "div" ? a / b : a % b) & mask(s.bits);
}

void dot(const Operation& op, Values& v) {
  const bool a_signed = op.type(0) == Type::s32, b_signed = op.type(1) == Type::s32;
  Wide total =
      a_signed || b_signed ? static_cast<Wide>(sign_extended(v.in[2], 32)) : static_cast<Wide>(v.in[2] & mask(32));
  auto byte = [](uint64_t word, int i, bool is_signed) -> Wide {
    uint64_t raw = word >> (8 * i) & 0xff;
    return is_signed ? sign_extended(raw, 8) : static_cast<int64_t>(raw);
  };
  if (op.name == "dp4a") {
    for (int i = 0; i < 4; ++i) total += byte(v.in[0], i, a_signed) * byte(v.in[1], i, b_signed);
  } else {
    for (int i = 0; i < 2; ++i) {
      const uint64_t raw = v.in[0] >> (16 * i) & 0xffff;
      const Wide half = a_signed ? sign_extended(raw, 16) : static_cast<int64_t>(raw);
      total += half * byte(v.in[1], i + (op.has("hi") ? 2 : 0), b_signed);
    }
  }
  v.out = static_cast<uint64_t>(total) & mask(32);
}

void shift(const Operation& op, Values& v, Shape s) {
  const uint64_t by = v.in[1] & mask(32);
  const uint64_t value = v.in[0] & mask(s.bits);
  const bool over = by >= static_cast<uint64_t>(s.bits);
  if (op.name == "shl") {
    v.out = over ? 0 : value << by & mask(s.bits);
  } else if (s.is_signed) {
    v.out = static_cast<uint64_t>(sign_extended(value, s.bits) >> (over ? s.bits - 1 : static_cast<int>(by))) &
            mask(s.bits);
  } else {
    v.out = over ? 0 : value >> by;
  }
}

void funnel(const Operation& op, Values& v) {
  const uint64_t pair = (v.in[1] & mask(32)) << 32 | (v.in[0] & mask(32));
  uint64_t by = v.in[2] & mask(32);
  by = op.has("wrap") ? by & 31 : std::min<uint64_t>(by, 32);
  v.out = op.has("l") ? (by == 32 ? v.in[0] : pair << by >> 32) : pair >> by;
  v.out &= mask(32);
}

void bit_field_extract(Values& v, Shape s) {
  const int position = static_cast<int>(v.in[1] & 0xff), length = static_cast<int>(v.in[2] & 0xff), top = s.bits - 1;
  bool sign = false;
  if (s.is_signed && length > 0) sign = v.in[0] >> std::min(position + length - 1, top) & 1;
  v.out = 0;
  for (int i = 0; i <= top; ++i) {
    bool bit = i < length && position + i <= top ? v.in[0] >> (position + i) & 1 : sign;
    v.out |= static_cast<uint64_t>(bit) << i;
  }
}

void bit_field_insert(Values& v, Shape s) {
  const int position = static_cast<int>(v.in[2] & 0xff), length = static_cast<int>(v.in[3] & 0xff);
  v.out = v.in[1] & mask(s.bits);
  for (int i = 0; i < length && position + i < s.bits; ++i) {
    v.out &= ~(uint64_t{1} << (position + i));
    v.out |= (v.in[0] >> i & 1) << (position + i);
  }
}

void permute(const Operation& op, Values& v) {
  const uint64_t bytes = (v.in[1] & mask(32)) << 32 | (v.in[0] & mask(32));
  const int c = static_cast<int>(v.in[2]);
  std::array<int, 4> select{};
  for (int i = 0; i < 4; ++i) {
    const int k = c & 3;
    if (op.has("f4e"))
      select[i] = k + i;
    else if (op.has("b4e"))
      select[i] = (k - i) & 7;
    else if (op.has("rc8"))
      select[i] = k;
    else if (op.has("ecl"))
      select[i] = std::max(k, i);
    else if (op.has("ecr"))
      select[i] = std::min(k, i);
    else if (op.has("rc16"))
      select[i] = (k & 1) * 2 + (i & 1);
    else
      select[i] = c >> (4 * i) & 15;
  }
  v.out = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t byte = bytes >> (8 * (select[i] & 7)) & 0xff;
    if (select[i] & 8) byte = byte & 0x80 ? 0xff : 0;
    v.out |= byte << (8 * i);
  }
}

uint64_t highest(uint64_t value, int bits) {
  for (int i = bits - 1; i >= 0; --i)
    if (value >> i & 1) return static_cast<uint64_t>(i);
  return mask(32);
}

void find_leading(const Operation& op, Values& v, Shape s) {
  uint64_t value = v.in[0] & mask(s.bits);
  if (s.is_signed && value >> (s.bits - 1)) value = ~value & mask(s.bits);
  v.out = highest(value, s.bits);
  if (op.has("shiftamt") && v.out != mask(32)) v.out = static_cast<uint64_t>(s.bits) - 1 - v.out;
}

void mask_of_bits(const Operation& op, Values& v) {
  uint64_t from = v.in[0] & mask(32), length = v.in[1] & mask(32);
  if (op.has("clamp")) {
    from = std::min<uint64_t>(from, 32), length = std::min<uint64_t>(length, 32);
  } else {
    from &= 31, length &= 31;
  }
  v.out = (mask(static_cast<int>(length)) << from) & mask(32);
}

void extend(const Operation& op, Values& v, Shape s) {
  uint64_t bits = v.in[1] & mask(32);
  bits = op.has("clamp") ? std::min<uint64_t>(bits, 32) : bits & 31;
  if (bits == 0)
    v.out = 0;
  else
    v.out = (s.is_signed ? static_cast<uint64_t>(sign_extended(v.in[0], static_cast<int>(bits)))
                         : v.in[0] & mask(static_cast<int>(bits))) &
            mask(32);
}

void logic3(Values& v, int bits) {
  v.out = 0;
  for (int i = 0; i < bits; ++i) {
    const uint64_t index = (v.in[0] >> i & 1) << 2 | (v.in[1] >> i & 1) << 1 | (v.in[2] >> i & 1);
    v.out |= (v.in[3] >> index & 1) << i;
  }
}

}  // namespace

uint64_t mask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

int64_t sign_extended(uint64_t value, int bits) {
  value &= mask(bits);
  if (bits < 64 && value >> (bits - 1)) value |= ~mask(bits);
  return static_cast<int64_t>(value);
}

// Pairs of 16-bit numbers, each half by itself.
static bool pair_operation(const Operation& op, Values& v) {
  Operation half = op;
  half.types[0] = isa::info(op.type()).element;
  uint64_t out = 0;
  for (int i = 0; i < 2; ++i) {
    Values one = v;
    for (uint64_t& in : one.in) in = in >> (16 * i) & mask(16);
    if (!integer_operation(half, one)) return false;
    out |= one.out << (16 * i);
  }
  v.out = out;
  return true;
}

// The number of the offset-th set bit counted from base, upwards or downwards; base itself must be set where it is 0.
static uint64_t nth_set(uint64_t word, uint64_t base, int64_t offset) {
  if (base > 31) return mask(32);
  int64_t at = static_cast<int64_t>(base);
  if (offset == 0) return word >> at & 1 ? base : mask(32);
  int64_t left = offset < 0 ? -offset : offset;
  for (; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
    if ((word >> at & 1) && --left == 0) return static_cast<uint64_t>(at);
  return mask(32);
}

bool integer_operation(const Operation& op, Values& v) {
  const Type type = op.type();
  const std::string& n = op.name;
  if (isa::is_float(type) || type == Type::none) return false;
  if (isa::info(type).lanes == 2) return pair_operation(op, v);
  const int bits = type == Type::pred ? 1 : isa::bits_of(type);
  const Shape s{bits, isa::is_signed(type)};
  const uint64_t a = v.in[0] & mask(bits), b = v.in[1] & mask(bits);
  if (n == "add" || n == "sub" || n == "addc" || n == "subc")
    sum(op, v, s);
  else if (n == "mul" || n == "mad" || n == "madc")
    product(op, v, s);
  else if (n == "mul24" || n == "mad24")
    product24(op, v, s);
  else if (n == "div" || n == "rem")
    division(op, v, s);
  else if (n == "sad")
    v.out =
        (v.in[2] + static_cast<uint64_t>(s.value(a) < s.value(b) ? s.value(b) - s.value(a) : s.value(a) - s.value(b))) &
        mask(bits);
  else if (n == "abs")
    v.out = static_cast<uint64_t>(s.value(a) < 0 ? -s.value(a) : s.value(a)) & mask(bits);
  else if (n == "neg")
    v.out = (0 - a) & mask(bits);
  else if (n == "min")
    v.out = s.value(a) < s.value(b) ? a : b;
  else if (n == "max")
    v.out = s.value(a) < s.value(b) ? b : a;
  else if (n == "popc")
    v.out = static_cast<uint64_t>(std::popcount(a));
  else if (n == "clz")
    v.out = static_cast<uint64_t>(std::countl_zero(a) - (64 - bits));
  else if (n == "bfind")
    find_leading(op, v, s);
  else if (n == "brev") {
    v.out = 0;
    for (int i = 0; i < bits; ++i) v.out |= (a >> i & 1) << (bits - 1 - i);
  } else if (n == "bfe")
    bit_field_extract(v, s);
  else if (n == "bfi")
    bit_field_insert(v, s);
  else if (n == "bmsk")
    mask_of_bits(op, v);
  else if (n == "szext")
    extend(op, v, s);
  else if (n == "dp4a" || n == "dp2a")
    dot(op, v);
  else if (n == "and")
    v.out = a & b;
  else if (n == "or")
    v.out = a | b;
  else if (n == "xor")
    v.out = a ^ b;
  else if (n == "not")
    v.out = ~a & mask(bits);
  else if (n == "cnot")
    v.out = a == 0;
  else if (n == "fns")
    v.out = nth_set(v.in[0], v.in[1], sign_extended(v.in[2], 32));
  else if (n == "lop3") {
    logic3(v, bits);
    v.second = op.has("and") ? v.out != 0 && v.in[4] : v.out != 0 || v.in[4];
  } else if (n == "shl" || n == "shr")
    shift(op, v, s);
  else if (n == "shf")
    funnel(op, v);
  else if (n == "prmt")
    permute(op, v);
  else
    return false;
  if (op.has("relu") && s.is_signed && sign_extended(v.out, bits) < 0) v.out = 0;
  return true;
}

}  // namespace ptxlab::twin
