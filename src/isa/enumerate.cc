#include "isa/enumerate.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

namespace ptxlab::isa {
namespace {

// How many ways a slot can be taken: its choices, and being left out.
size_t ways(const Slot& slot) { return slot.choices.size() + (slot.optional ? 1 : 0); }

// The register that stands for operand `n` of type `type`: class letter by width, or by the type itself.
std::string register_name(Type type, int n, bool typed) {
  if (typed && type != Type::none) {
    switch (info(type).kind) {
      case Kind::none: break;
      case Kind::predicate: break;
      case Kind::bits: break;
      case Kind::unsigned_integer:
      case Kind::signed_integer:
        if (info(type).lanes == 1 && bits_of(type) >= 8) return fmt::format("%{}_{}", name_of(type), n);
        break;
      case Kind::floating:
        // A .bf16 or .tf32 register does not exist: such values live in bits.
        if (type == Type::f16 || type == Type::f16x2 || type == Type::f32 || type == Type::f64) {
          return fmt::format("%{}_{}", name_of(type), n);
        }
        break;
    }
  }
  switch (bits_of(type)) {
    case 1: return fmt::format("%p{}", n);
    case 8: return fmt::format("%c{}", n);
    case 16: return fmt::format("%h{}", n);
    case 64: return fmt::format("%d{}", n);
    case 128: return fmt::format("%q{}", n);
    default: return fmt::format("%r{}", n);
  }
}

std::string constant_text(const OperandSpec& spec, Type type) {
  if (spec.constants.step) return std::to_string(spec.constants.low);
  if (!is_float(type)) return "1";
  return type == Type::f64 ? "0d3FF0000000000000" : "0f3F800000";
}

std::string address_text(const Form& form, int operand) {
  switch (form.operand_space(operand)) {
    case Space::constant: return "[cmem]";
    case Space::shared:
    case Space::shared_cluster: return fmt::format("[%r{}]", 40 + operand);
    case Space::param:
    case Space::param_func: return form.row->effects.stores ? "[plocal]" : "[pbytes]";
    case Space::none:
    case Space::generic:
    case Space::reg:
    case Space::global:
    case Space::local:
    case Space::tex: break;
  }
  return fmt::format("[%d{}]", 40 + operand);
}

class Writer {
 public:
  Writer(const Form& form, const OperandStyle& style) : form_(form), style_(style) {}

  std::string text() {
    std::string out(form_.row->opcode);
    out += modifiers();
    const auto specs = form_.row->operands;
    std::string separator = " ";
    for (size_t i = 0; i < specs.size(); ++i) {
      if (left_out(specs[i])) continue;
      out += (second_half(static_cast<int>(i)) ? "|" : separator) + operand(static_cast<int>(i));
      separator = ", ";
    }
    return out + ";";
  }

 private:
  std::string modifiers() const {
    if (style_.replaced < 0) return spelling(form_);
    std::string out;
    for (size_t s = 0; s < form_.row->slots.size(); ++s) {
      if (static_cast<int>(s) == style_.replaced) {
        out += style_.by.token;
      } else if (form_.taken[s] >= 0) {
        out += form_.row->slots[s].choices[static_cast<size_t>(form_.taken[s])].token;
      }
    }
    return out;
  }

  Type type_of(int i) const {
    const TypeRule& rule = form_.row->operands[static_cast<size_t>(i)].type;
    bool replaced = rule.kind == TypeRule::Kind::slot && rule.slot == style_.replaced;
    return replaced && style_.by.type != Type::none ? style_.by.type : form_.operand_type(i);
  }

  bool second_half(int i) const { return i > 0 && form_.row->operands[static_cast<size_t>(i - 1)].pair; }

  bool left_out(const OperandSpec& spec) const {
    if (!spec.optional) return false;
    if (spec.present_with >= 0) return form_.taken[static_cast<size_t>(spec.present_with)] < 0;
    return !style_.optional;
  }

  std::string operand(int i) const {
    const OperandSpec& spec = form_.row->operands[static_cast<size_t>(i)];
    Type type = type_of(i);
    if (spec.sink_only || (style_.sink && spec.sink_allowed && spec.shape != Shape::vector && !second_half(i)))
      return "_";
    if (!spec.sample.empty()) {
      return spec.shape == Shape::address ? fmt::format("[{}]", spec.sample) : std::string(spec.sample);
    }
    switch (spec.shape) {
      case Shape::value:
        if (style_.immediate == i) return constant_text(spec, type);
        return register_name(type, i + 1, style_.typed);
      case Shape::reg: return register_name(type, i + 1, style_.typed);
      case Shape::predicate: return fmt::format("{}%p{}", style_.negate && spec.negatable ? "!" : "", i + 1);
      case Shape::address: return spec.coordinates ? coordinates(i) : address_text(form_, i);
      case Shape::vector: return vector(i, type);
      case Shape::label: return indirect() ? "P" + callee() : "L0";
      case Shape::symbol: return indirect() ? "%d60" : callee();
      case Shape::arguments: return i == 0 ? "(%r1)" : "(%r2)";
      case Shape::immediate: return constant_text(spec, Type::b32);
    }
    return "";
  }

  // [a, {x, y}] with as many coordinates as the slot `dim` has dimensions.
  std::string coordinates(int i) const {
    std::string_view dim = form_.at("dim");
    int count = dim.size() > 1 && dim[1] >= '1' && dim[1] <= '5' ? dim[1] - '0' : form_.has(".2d") ? 2 : 1;
    // Textures: three dimensions, arrays of two and cubes take four.
    std::string_view geometry = form_.at("geom");
    if (geometry == ".2d" || geometry == ".a1d") count = 2;
    if (geometry == ".3d" || geometry == ".a2d" || geometry.ends_with("cube")) count = 4;
    std::string out = address_text(form_, i);
    out.pop_back();
    for (int n = 0; n < count; ++n) out += fmt::format("{}%r{}", n ? ", " : ", {", 50 + n);
    return out + "}]";
  }

  std::string vector(int i, Type type) const {
    int lanes = form_.operand_lanes(i);
    const OperandSpec& spec = form_.row->operands[static_cast<size_t>(i)];
    if (lanes == 1 && spec.lanes == 0 && spec.n_divisor == 0 && form_.at("vec").empty())
      return register_name(type, 8 * i + 1, style_.typed);
    std::string out = "{";
    for (int n = 0; n < lanes; ++n) {
      out += n ? ", " : "";
      out += style_.sink && spec.sink_allowed && n == 0 ? "_" : register_name(type, 8 * i + n + 1, style_.typed);
    }
    return out + "}";
  }

  // A call through a register, with a label for the prototype.
  bool indirect() const {
    bool symbol = false, prototype = false;
    for (const OperandSpec& spec : form_.row->operands) {
      symbol |= spec.shape == Shape::symbol;
      prototype |= spec.shape == Shape::label && !left_out(spec);
    }
    return symbol && prototype;
  }

  // A function with as many results and parameters as the call has; the prototype's label is its name behind a P.
  std::string callee() const {
    std::string name = "f";
    for (size_t i = 0; i < form_.row->operands.size(); ++i) {
      if (form_.row->operands[i].shape == Shape::arguments) name += i == 0 ? "r" : "p";
    }
    return name;
  }

  const Form& form_;
  const OperandStyle& style_;
};

constexpr std::string_view kModule = R"(
.shared .align 128 .b8 smem[1024];
.global .align 128 .b8 gmem[1024];
.const .align 128 .b8 cmem[1024];
.func f() { ret; }
.func (.reg .b32 r) fr() { ret; }
.func fp(.reg .b32 a) { ret; }
.func (.reg .b32 r) frp(.reg .b32 a) { ret; }
.visible .entry k(.param .align 128 .b8 pbytes[1024])
{
.param .align 128 .b8 plocal[1024];
.reg .pred %p<64>;
.reg .b16 %h<96>;
.reg .b32 %r<512>;
.reg .b64 %d<512>;
.reg .b8 %c<64>;
Pf: .callprototype _;
Pfr: .callprototype (.reg .b32 _) _;
Pfp: .callprototype _ (.reg .b32 _);
Pfrp: .callprototype (.reg .b32 _) _ (.reg .b32 _);
)";

}  // namespace

std::vector<Form> forms_of(const Row& row, size_t limit, uint64_t seed) {
  size_t total = 1;
  for (const Slot& slot : row.slots) total = std::min<size_t>(total * ways(slot), size_t{1} << 40);
  // Constraints thin the product out, so it may be some times larger than what is wanted of it.
  bool all = total <= 4 * limit;
  std::mt19937_64 random(seed + row.id);
  std::set<std::array<int8_t, kMaxSlots>> seen;
  std::vector<Form> forms;
  size_t tries = all ? total : 8 * limit;
  for (size_t n = 0; n < tries && forms.size() < limit; ++n) {
    Form form;
    form.row = &row;
    form.taken.fill(-1);
    size_t rest = n;
    for (size_t s = 0; s < row.slots.size(); ++s) {
      size_t pick = all ? rest % ways(row.slots[s]) : random() % ways(row.slots[s]);
      rest /= ways(row.slots[s]);
      form.taken[s] = static_cast<int8_t>(pick < row.slots[s].choices.size() ? pick : -1);
    }
    if (!keeps_constraints(form)) continue;
    if (!all && !seen.insert(form.taken).second) continue;
    forms.push_back(form);
  }
  return forms;
}

std::string instruction_text(const Form& form, const OperandStyle& style) { return Writer(form, style).text(); }

std::string frame(const std::vector<std::string>& lines, PtxVersion version, const Target& target,
                  uint32_t& first_line) {
  std::string text =
      fmt::format(".version {}.{}\n.target {}\n.address_size 64", version / 10, version % 10, target.name());
  text += kModule;
  if (version >= 83 && target.sm >= 70) text += ".reg .b128 %q<64>;\n";
  for (Type type :
       {Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64, Type::f32, Type::f64, Type::u8, Type::s8}) {
    text += fmt::format(".reg .{0} %{0}_<512>;\n", name_of(type));
  }
  if (version >= 42 && target.sm >= 53) text += ".reg .f16 %f16_<96>;\n.reg .f16x2 %f16x2_<512>;\n";
  if (version >= 60) text += "BT: .branchtargets L0;\n";
  first_line = static_cast<uint32_t>(1 + std::count(text.begin(), text.end(), '\n'));
  for (const std::string& line : lines) text += line + "\n";
  return text + "L0: ret;\n}\n";
}

Setting setting_for(const Gate& gate, PtxVersion newest, uint16_t at_least) {
  Setting best;
  best.version = newest;
  if (gate.ptx_until && gate.sm_until <= 1) best.version = std::min<PtxVersion>(newest, gate.ptx_until - 1);
  for (const Target& target : known_targets()) {
    if (best.target.sm >= at_least && best.target.sm) break;
    if (first_version(target) > best.version || !refusal(gate, best.version, target).empty()) continue;
    // A suffix only where the gate asks for one: it would hide that a form needs it.
    if ((target.suffix != 0) != (gate.only_on != 0)) continue;
    best.target = target;
  }
  return best;
}

}  // namespace ptxlab::isa
