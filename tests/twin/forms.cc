#include "forms.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <set>

#include "isa/enumerate.h"

namespace ptxlab::twin {
namespace {

constexpr std::string_view kPatterns[] = {
    // integers
    "{add,sub}{.u16,.s16} h, h, h",
    "{add,sub}{.u32,.s32,.sat.s32} r, r, r",
    "{add,sub}{.u64,.s64} q, q, q",
    "mul{.lo,.hi}{.u16,.s16} h, h, h",
    "mul{.lo,.hi}{.u32,.s32} r, r, r",
    "mul{.lo,.hi}{.u64,.s64} q, q, q",
    "mul.wide{.u16,.s16} r, h, h",
    "mul.wide{.u32,.s32} q, r, r",
    "mad{.lo,.hi}{.u16,.s16} h, h, h, h",
    "mad{.lo,.hi}{.u32,.s32} r, r, r, r",
    "mad.hi.sat.s32 r, r, r, r",
    "mad{.lo,.hi}{.u64,.s64} q, q, q, q",
    "mad.wide{.u16,.s16} r, h, h, r",
    "mad.wide{.u32,.s32} q, r, r, q",
    "{mul24}{.lo,.hi}{.u32,.s32} r, r, r",
    "mad24{.lo,.hi}{.u32,.s32} r, r, r, r",
    "mad24.hi.sat.s32 r, r, r, r",
    "sad{.u16,.s16} h, h, h, h",
    "sad{.u32,.s32} r, r, r, r",
    "sad{.u64,.s64} q, q, q, q",
    "{abs,neg}.s16 h, h",
    "{abs,neg}.s32 r, r",
    "{abs,neg}.s64 q, q",
    "{min,max}{.u16,.s16} h, h, h",
    "{min,max}{.u32,.s32} r, r, r",
    "{min,max}{.u64,.s64} q, q, q",
    "{popc,clz}.b32 r, r",
    "{popc,clz}.b64 r, q",
    "bfind{,.shiftamt}{.u32,.s32} r, r",
    "bfind{,.shiftamt}{.u64,.s64} r, q",
    "brev.b32 r, r",
    "brev.b64 q, q",
    "bfe{.u32,.s32} r, r, s, s",
    "bfe{.u64,.s64} q, q, s, s",
    "bfi.b32 r, r, r, s, s",
    "bfi.b64 q, q, q, s, s",
    "bmsk{.clamp,.wrap}.b32 r, s, s",
    "szext{.clamp,.wrap}{.u32,.s32} r, r, s",
    "dp4a{.u32,.s32}{.u32,.s32} r, r, r, r",
    "dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32} r, r, r, r",
    // logic, shifts, bytes
    "{and,or,xor}.b16 h, h, h",
    "{and,or,xor}.b32 r, r, r",
    "{and,or,xor}.b64 q, q, q",
    "{and,or,xor}.pred p, p, p",
    "{not,cnot}.b16 h, h",
    "{not,cnot}.b32 r, r",
    "{not,cnot}.b64 q, q",
    "not.pred p, p",
    "lop3.b32 r, r, r, r, c",
    "shl.b16 h, h, s",
    "shl.b32 r, r, s",
    "shl.b64 q, q, s",
    "shr{.b16,.u16,.s16} h, h, s",
    "shr{.b32,.u32,.s32} r, r, s",
    "shr{.b64,.u64,.s64} q, q, s",
    "shf{.l,.r}{.clamp,.wrap}.b32 r, r, r, s",
    "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16} r, r, r, s",
    "prmt.b32 r, r, r, r",
    // comparisons and selection
    "setp{.eq,.ne,.lt,.le,.gt,.ge}{.u16,.s16} p, h, h",
    "setp{.eq,.ne,.lt,.le,.gt,.ge}{.u32,.s32} p, r, r",
    "setp{.lo,.ls,.hi,.hs}.u32 p, r, r",
    "setp{.eq,.ne,.lt,.le,.gt,.ge}{.u64,.s64} p, q, q",
    "setp{.eq,.ne}{.b16} p, h, h",
    "setp{.eq,.ne}{.b32} p, r, r",
    "setp{.eq,.ne}{.b64} p, q, q",
    "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{,.ftz}.f32 p, f, f",
    "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}.f64 p, d, d",
    "setp{.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}.f16 p, e, e",
    "setp{.eq,.lt,.geu,.nan}.bf16 p, k, k",
    "setp{.lt,.eq}{.and,.or,.xor}.s32 p, r, r, p",
    "setp{.lt,.neu}{.and,.or,.xor}.f32 p, f, f, p",
    "set{.eq,.lt}{.u32,.s32,.f32}{.u32,.s32}  R, r, r",
    "set{.eq,.ne,.lt,.geu,.nan}{,.ftz}{.u32,.s32,.f32}.f32 R, f, f",
    "set{.lt,.gt}{.and,.or}.u32.s32 r, r, r, p",
    "selp.b16 h, h, h, p",
    "selp{.b32,.u32,.s32} r, r, r, p",
    "selp.b64 q, q, q, p",
    "selp.f32 f, f, f, p",
    "selp.f64 d, d, d, p",
    "slct{.u32,.s32,.b32}.s32 r, r, r, r",
    "slct.f32.s32 f, f, f, r",
    "slct{,.ftz}.b32.f32 r, r, r, f",
    "slct.f64.f32 d, d, d, f",
    // f32
    "{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 f, f, f",
    "{fma,mad}{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 f, f, f, f",
    "div{.rn,.rz,.rm,.rp}{,.ftz}.f32 f, f, f",
    "{rcp,sqrt}{.rn,.rz,.rm,.rp}{,.ftz}.f32 f, f",
    "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32 f, f, f",
    "{abs,neg}{,.ftz}.f32 f, f",
    "copysign.f32 f, f, f",
    "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f32 p, f",
    "~div{.approx,.full}{,.ftz}.f32 f, f, f",
    "~{rcp,sqrt,rsqrt,lg2}.approx{,.ftz}.f32 f, f",
    "~ex2.approx{,.ftz}.f32 f, f",
    "~{sin,cos}.approx{,.ftz}.f32 f, f",
    "~tanh.approx.f32 f, f",
    // f64
    "{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64 d, d, d",
    "{fma,mad}{.rn,.rz,.rm,.rp}.f64 d, d, d, d",
    "div{.rn,.rz,.rm,.rp}.f64 d, d, d",
    "{rcp,sqrt}{.rn,.rz,.rm,.rp}.f64 d, d",
    "{min,max}.f64 d, d, d",
    "{abs,neg}.f64 d, d",
    "copysign.f64 d, d, d",
    "testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}.f64 p, d",
    // halves
    "{add,sub,mul}{,.rn}{,.ftz}{,.sat}.f16 e, e, e",
    "fma.rn{,.ftz}{,.sat,.relu}.f16 e, e, e, e",
    "{add,sub,mul}{,.rn}{,.ftz}{,.sat}.f16x2 E, E, E",
    "fma.rn{,.ftz}{,.sat,.relu}.f16x2 E, E, E, E",
    "{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f16 e, e, e",
    "{min,max}{,.ftz}{,.NaN}.f16x2 E, E, E",
    "{abs,neg}{,.ftz}.f16 e, e",
    "{abs,neg}{,.ftz}.f16x2 E, E",
    "{add,sub,mul}{,.rn}.bf16 k, k, k",
    "{add,sub,mul}{,.rn}.bf16x2 K, K, K",
    "fma.rn{,.relu}.bf16 k, k, k, k",
    "fma.rn{,.relu}.bf16x2 K, K, K, K",
    "{min,max}{,.NaN}{,.xorsign.abs}.bf16 k, k, k",
    "{min,max}{,.NaN}.bf16x2 K, K, K",
    "{abs,neg}.bf16 k, k",
    "{abs,neg}.bf16x2 K, K",
    "~tanh.approx.f16 e, e",
    "~ex2.approx.f16 e, e",
    "~tanh.approx.bf16 k, k",
    "~ex2.approx.ftz.bf16 k, k",
    // conversions
    "cvt{,.sat}{.u8,.s8,.u16,.s16}{.u32,.s32} r, r",
    "cvt{,.sat}{.u32.s32,.s32.u32} r, r",
    "cvt{,.sat}{.u8,.s8}{.u16,.s16} h, h",
    "cvt{,.sat}{.u16.s16,.s16.u16} h, h",
    "cvt{,.sat}{.u32,.s32}{.u64,.s64} r, q",
    "cvt{.u64,.s64}{.u32,.s32} q, r",
    "cvt.sat.u64.s32 q, r",
    "cvt{.u32,.s32}{.u16,.s16} r, h",
    "cvt.sat.u32.s16 r, h",
    "cvt{,.sat}{.u16,.s16}{.u64,.s64} h, q",
    "cvt{.u32,.s32}{.u8,.s8} r, r",
    "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{.u32,.s32}.f32 r, f",
    "cvt{.rni,.rzi,.rmi,.rpi}{.u64,.s64}.f32 q, f",
    "cvt{.rni,.rzi,.rmi,.rpi}{.u16,.s16}.f32 h, f",
    "cvt.rzi{.u8,.s8}.f32 r, f",
    "cvt{.rni,.rzi,.rmi,.rpi}{.u32,.s32}.f64 r, d",
    "cvt{.rni,.rzi,.rmi,.rpi}{.u64,.s64}.f64 q, d",
    "cvt{.rni,.rzi,.rmi,.rpi}{.u32,.s32}.f16 r, e",
    "cvt{.rn,.rz,.rm,.rp}.f32{.u32,.s32} f, r",
    "cvt{.rn,.rz,.rm,.rp}.f32{.u64,.s64} f, q",
    "cvt{.rn,.rz,.rm,.rp}.f64{.u64,.s64} d, q",
    "cvt{.rn,.rz,.rm,.rp}.f64{.u32,.s32} d, r",
    "cvt{.rn,.rz,.rm,.rp}.f16{.u32,.s32} e, r",
    "cvt{.rn,.rz}.f32{.u16,.s16} f, h",
    "cvt.rn.f32{.u8,.s8} f, r",
    "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32.f64 f, d",
    "cvt{,.ftz}.f64.f32 d, f",
    "cvt{,.ftz}.f32.f16 f, e",
    "cvt.f64.f16 d, e",
    "cvt{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f16.f32 e, f",
    "cvt{.rn,.rz}.f16.f64 e, d",
    "cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32 f, f",
    "cvt{.rni,.rzi,.rmi,.rpi}.f64.f64 d, d",
    "cvt{.rni,.rzi,.rmi,.rpi}.f16.f16 e, e",
    "cvt{,.ftz}.sat.f32.f32 f, f",
    "cvt{.rn,.rz}{,.relu}.bf16.f32 k, f",
    "cvt.f32.bf16 f, k",
    "cvt{.rn,.rz}{,.relu}.f16x2.f32 E, f, f",
    "cvt{.rn,.rz}{,.relu}.bf16x2.f32 K, f, f",
    "cvt{.rna,.rn,.rz}.tf32.f32 r, f",
    "cvt.rn.satfinite{,.relu}{.e4m3x2,.e5m2x2}.f32 h, f, f",
    "cvt.rn.satfinite{,.relu}{.e4m3x2,.e5m2x2}.f16x2 h, E",
    "cvt.rn{,.relu}.f16x2{.e4m3x2,.e5m2x2} E, h",
    "cvt.pack.sat{.u16,.s16}.s32 r, r, r",
    "cvt.pack.sat{.u8,.s8}.s32.b32 r, r, r, r",
};

// Where a brace group opens, or npos.
std::vector<std::string> alternatives(std::string_view group) {
  std::vector<std::string> out{""};
  for (char c : group) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

struct Register {
  const char* prefix;
  const char* type;
  int bits;
};
Register register_of(char letter) {
  switch (letter) {
    case 'h': return {"%h", "b16", 16};
    case 'e': return {"%e", "b16", 16};
    case 'k': return {"%k", "b16", 16};
    case 'r':
    case 'R': return {"%r", "b32", 32};
    case 's': return {"%s", "b32", 32};
    case 'b': return {"%b", "b32", 32};
    case 'E': return {"%ee", "b32", 32};
    case 'K': return {"%kk", "b32", 32};
    case 'q': return {"%q", "b64", 64};
    case 'f': return {"%f", "f32", 32};
    case 'd': return {"%d", "f64", 64};
    case 'p': return {"%p", "pred", 1};
    case 'o': return {"%oct", "b8", 8};
    case 'x': return {"%x", "b16", 16};
    case 'y': return {"%y", "b32", 32};
    case 'z': return {"%z", "b64", 64};
    case 'F': return {"%ff", "b64", 64};
    default: assert(false); return {"", "", 0};
  }
}

constexpr uint64_t kIntegers[] = {0,
                                  1,
                                  2,
                                  3,
                                  0x7f,
                                  0x80,
                                  0xff,
                                  0x100,
                                  0x7fff,
                                  0x8000,
                                  0xffff,
                                  0x10000,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x100000000,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0xffffffffffffffff,
                                  0xffffffffffff8000,
                                  0xffffffffffffff80,
                                  0x00ff00ff,
                                  0xfffffffe,
                                  24,
                                  31,
                                  32,
                                  33};
constexpr uint32_t kFloats[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
                                0x80800000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000,
                                0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fa00000,
                                0x7fffffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x5f000000, 0x5f800000, 0x33800000,
                                0x34000000, 0x3f7fffff, 0x3f800001, 0x477fe000, 0x477ff000, 0x477fefff, 0x38800000,
                                0x33000000, 0x33000001, 0x43e00000, 0x43e80000, 0x42fe0000, 0x43000000};
constexpr uint16_t kHalves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff,
                                0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x7fff, 0x0200, 0x3bff, 0x3c01, 0x4200, 0x5bff};
constexpr uint16_t kBrains[] = {0,      0x8000, 1,      0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x3f00, 0x7f7f,
                                0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fff, 0x0040, 0x3f7f, 0x3f81, 0x4040};

template <class T, size_t N>
uint64_t one_of(const T (&values)[N], base::Random& random) {
  return values[random.below(N)];
}

uint64_t some_float(base::Random& random) {
  if (random.below(3) == 0) return one_of(kFloats, random);
  const uint64_t bits = random.next() & 0xffffffff;
  return random.below(2) ? bits : (bits & 0x87ffffff) | 0x38000000;
}
uint64_t some_double(base::Random& random) {
  const uint64_t choice = random.below(4);
  if (choice == 0)
    return std::bit_cast<uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(some_float(random)))));
  if (choice == 1) return one_of(kIntegers, random) << 52 | one_of(kIntegers, random);
  const uint64_t bits = random.next();
  return choice == 2 ? bits : (bits & 0x80ffffffffffffff) | 0x3f00000000000000;
}
uint64_t some_half(base::Random& random) { return random.below(3) ? random.next() & 0xffff : one_of(kHalves, random); }
uint64_t some_brain(base::Random& random) {
  if (random.below(3) == 0) return one_of(kBrains, random);
  const uint64_t bits = random.next() & 0xffff;
  return random.below(2) ? bits : (bits & 0x83ff) | 0x3c00;
}

uint64_t some_value(char letter, base::Random& random) {
  switch (letter) {
    case 'h':
    case 'r':
    case 'q': return random.below(2) ? one_of(kIntegers, random) : random.next() >> random.below(64);
    case 's': return random.below(8) ? random.below(70) : random.below(2) ? random.next() : random.below(260);
    case 'b': return random.below(256);
    case 'e': return some_half(random);
    case 'k': return some_brain(random);
    case 'E': return some_half(random) << 16 | some_half(random);
    case 'K': return some_brain(random) << 16 | some_brain(random);
    case 'f': return some_float(random);
    case 'd': return some_double(random);
    case 'p': return random.below(2);
    case 'o': return random.below(256);
    case 'x': return random.below(4) ? 1 + random.below(0xffff) : 1 + random.below(3);
    case 'y': return random.below(4) ? 1 + random.below(0xffffffff) : 0xffffffff - random.below(3);
    case 'z': return random.below(4) ? random.next() | 1 : ~random.below(3);
    case 'F': return some_float(random) << 32 | some_float(random);
    default: return 0;
  }
}

std::string load_inputs() {
  std::string out;
  for (char letter : kLetters) {
    const Register r = register_of(letter);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const std::string name = r.prefix + std::to_string(slot);
      const std::string place = "[%in+" + std::to_string(input_index(letter, slot, 0) * kInputBytes) + "]";
      if (letter == 'p') {
        out += "ld.global.b32 %tmp, " + place + ";\nsetp.ne.b32 " + name + ", %tmp, 0;\n";
      } else {
        out += "ld.global." + std::string(r.type) + " " + name + ", " + place + ";\n";
      }
    }
  }
  return out;
}

}  // namespace

std::vector<std::string_view> patterns() { return {std::begin(kPatterns), std::end(kPatterns)}; }

std::vector<std::string> expand(std::string_view pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return {std::string(pattern)};
  const size_t close = pattern.find('}', open);
  std::vector<std::string> out;
  for (const std::string& rest : expand(pattern.substr(close + 1)))
    for (const std::string& choice : alternatives(pattern.substr(open + 1, close - open - 1)))
      out.push_back(std::string(pattern.substr(0, open)) + choice + rest);
  return out;
}

bool computes(const isa::Row& row) {
  const isa::Effects& e = row.effects;
  if (e.loads || e.stores || e.atomic || e.barrier || e.warp_sync || e.fence || e.branch || e.call || e.ends_thread ||
      e.async || e.timing || row.operands.empty() || !row.operands[0].destination)
    return false;
  for (const isa::OperandSpec& operand : row.operands)
    if (operand.shape == isa::Shape::address || operand.shape == isa::Shape::vector) return false;
  constexpr std::string_view kOnlySeem[] = {
      "mov",     "mapa",         "getctarank", "isspacep", "cvta", "stacksave", "stackrestore",          "alloca",
      "pmevent", "createpolicy", "addc",       "subc",     "madc", "istypep",   "mbarrier.pending_count"};
  if (std::find(std::begin(kOnlySeem), std::end(kOnlySeem), row.opcode) != std::end(kOnlySeem)) return false;
  if (row.syntax.starts_with("cvt.rs") || row.opcode.starts_with("clusterlaunch")) return false;  // not executed
  bool approximates_double = e.approximate && row.syntax.find(".f64") != std::string_view::npos;
  bool carries = row.syntax.find(".cc") != std::string_view::npos;
  return !approximates_double && !carries;
}

namespace {

// The letter of a register of this type.
char letter_of(isa::Type type) {
  switch (type) {
    case isa::Type::f16: return 'e';
    case isa::Type::f16x2: return 'E';
    case isa::Type::bf16: return 'k';
    case isa::Type::bf16x2: return 'K';
    case isa::Type::f32: return 'f';
    case isa::Type::f32x2: return 'F';
    case isa::Type::f64: return 'd';
    case isa::Type::pred: return 'p';
    default: break;
  }
  switch (isa::bits_of(type)) {
    case 8: return 'o';
    case 16: return 'h';
    case 64: return 'q';
    default: return 'r';
  }
}

Instruction instruction_of(const isa::Form& form) {
  Instruction out;
  const isa::Row& row = *form.row;
  const std::string written = isa::instruction_text(form);
  out.text = written.substr(0, written.find(' '));
  const bool divides = row.opcode == "div" || row.opcode == "rem";
  std::string separator = " ";
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const isa::OperandSpec& spec = row.operands[i];
    char letter = letter_of(form.operand_type(static_cast<int>(i)));
    if (spec.shape == isa::Shape::predicate) letter = 'p';
    if (spec.shape == isa::Shape::immediate) letter = 'c';
    if (divides && i == 2 && !isa::is_float(form.type())) letter = letter == 'h' ? 'x' : letter == 'r' ? 'y' : 'z';
    if (spec.pair) letter = letter == 'p' ? 'Q' : 'L', ++i;
    if (spec.destination) out.result = letter;
    out.text += separator + letter;
    separator = ", ";
  }
  out.near = row.effects.approximate;
  return out;
}

}  // namespace

std::vector<Instruction> all_instructions() {
  std::vector<Instruction> out;
  for (std::string_view pattern : kPatterns) {
    for (std::string text : expand(pattern)) {
      Instruction instruction;
      instruction.near = text[0] == '~';
      instruction.text = instruction.near ? text.substr(1) : text;
      instruction.result = instruction.text[instruction.text.find(' ') + 1];
      if (instruction.result == ' ')
        instruction.result = instruction.text[instruction.text.find_last_of(' ', instruction.text.find(',')) + 1];
      out.push_back(instruction);
    }
  }
  std::set<std::string> known;
  for (const Instruction& i : out) known.insert(i.text.substr(0, i.text.find(' ')));
  for (const isa::Row& row : isa::rows()) {
    if (!computes(row)) continue;
    for (const isa::Form& form : isa::forms_of(row, 4000)) {
      Instruction instruction = instruction_of(form);
      if (known.insert(instruction.text.substr(0, instruction.text.find(' '))).second) out.push_back(instruction);
    }
  }
  return out;
}

size_t input_index(char letter, uint32_t slot, uint32_t thread) {
  return (kLetters.find(letter) * kSlots + slot) * kThreads + thread;
}

std::vector<uint64_t> inputs(base::Random& random) {
  std::vector<uint64_t> out(kLetters.size() * kSlots * kThreads);
  for (char letter : kLetters)
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      for (uint32_t thread = 0; thread < kThreads; ++thread)
        out[input_index(letter, slot, thread)] = some_value(letter, random);
  return out;
}

Generated generate(const std::vector<Instruction>& instructions, base::Random& random, bool chained) {
  Generated out;
  std::string body;
  std::vector<std::string> results_of(256);  // by letter: names of earlier results, joined by ' '
  std::vector<std::vector<std::string>> earlier(256);
  const uint32_t count = static_cast<uint32_t>(instructions.size());
  for (uint32_t n = 0; n < count; ++n) {
    const Instruction& instruction = instructions[n];
    const size_t space = instruction.text.find(' ');
    std::string text = instruction.text.substr(0, space + 1);
    bool first = true;
    std::string destination;
    for (char c : instruction.text.substr(space + 1)) {
      if (c == ',' || c == ' ') {
        text += c;
      } else if (first) {
        const std::string number = std::to_string(kSlots + n);
        destination = register_of(c == 'Q' ? 'p' : c == 'L' ? 'r' : c).prefix + number;
        text += destination;
        if (c == 'Q' || c == 'L') text += "|%second" + number;
        first = false;
      } else if (c == 'c') {
        text += std::to_string(random.below(256));
      } else if (chained && !earlier[static_cast<size_t>(c)].empty() && random.below(2)) {
        const auto& names = earlier[static_cast<size_t>(c)];
        text += names[random.below(names.size())];
      } else {
        text += register_of(c).prefix + std::to_string(random.below(kSlots));
      }
    }
    out.written.push_back(text);
    body += text + ";\n";
    const char letter = instruction.result;
    const std::string place = "[%out+" + std::to_string(size_t{n} * kThreads * kInputBytes) + "]";
    if (letter == 'Q' || letter == 'L') {
      body += "selp.b32 %tmp, 1, 0, %second" + std::to_string(kSlots + n) + ";\n";
      if (letter == 'Q') body += "selp.b32 %t, 1, 0, " + destination + ";\n";
      body += "mov.b64 %at, {" + (letter == 'Q' ? "%t" : destination) + ", %tmp};\nst.global.b64 " + place + ", %at;\n";
    } else if (letter == 'p') {
      body += "selp.b32 %tmp, 1, 0, " + destination + ";\nst.global.b32 " + place + ", %tmp;\n";
    } else {
      body += "st.global." + std::string(register_of(letter).type) + " " + place + ", " + destination + ";\n";
    }
    if (letter == 'h' || letter == 'r' || letter == 'q' || letter == 'p')
      earlier[static_cast<size_t>(letter)].push_back(destination);
  }
  out.text = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n";
  out.text +=
      ".reg .b64 %in, %out, %at;\n.reg .b32 %tmp, %t;\n.reg .pred %second<" + std::to_string(kSlots + count) + ">;\n";
  for (char letter : kLetters) {
    const Register r = register_of(letter);
    out.text += ".reg ." + std::string(r.type) + " " + r.prefix + "<" + std::to_string(kSlots + count) + ">;\n";
  }
  out.text += "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 8;\n";
  out.text += "add.s64 %in, %in, %at;\nadd.s64 %out, %out, %at;\n" + load_inputs() + body + "ret;\n}\n";
  return out;
}

}  // namespace ptxlab::twin
