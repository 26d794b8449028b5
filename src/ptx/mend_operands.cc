#include "ptx/mend_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "ptx/arguments.h"
#include "ptx/constant.h"

namespace ptxlab::ptx {
namespace {

using Kind = Operand::Kind;

bool is_decimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

const Operand* operand_at(const std::vector<Operand>& operands, Span span) {
  for (const Operand& operand : operands) {
    if (operand.span == span) return &operand;
    if (const Operand* inner = operand_at(operand.elements, span)) return inner;
  }
  return nullptr;
}

std::string_view text_of(const Site& site, Span span) {
  return std::string_view(site.module.source).substr(span.begin, span.size());
}

// 1 for a float is 1.0, and 0x3f800000 is a pattern.
std::optional<std::string> as_float(std::string_view written, int bits) {
  std::string_view sign = written.starts_with('-') ? "-" : "";
  std::string_view digits = written.substr(sign.size());
  if (is_decimal(digits) && (digits.size() == 1 || digits[0] != '0')) return fmt::format("{}{}.0", sign, digits);
  size_t length = static_cast<size_t>(bits) / 4;
  if (sign.empty() && digits.starts_with("0x") && digits.size() == length + 2 && is_hexadecimal(digits.substr(2)))
    return fmt::format("0{}{}", bits == 32 ? 'f' : 'd', digits.substr(2));
  return std::nullopt;
}

// 2.0 where sums of integers are formed is 2. Where bits are moved it may as well be a pattern: no mend.
std::optional<std::string> as_integer(const Operand& operand, const isa::Form& form) {
  if (form.row == nullptr || !isa::is_integer(form.type()) || form.row->opcode == "mov") return std::nullopt;
  double value = std::bit_cast<double>(operand.bits);
  if (operand.single_precision || !(std::abs(value) < 2147483648.0)) return std::nullopt;
  auto whole = static_cast<int64_t>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;
  return fmt::format("{}", whole);
}

Edits mend_constant(const Site& site, const Operand& operand) {
  const isa::Form& form = site.instruction->form;
  if (form.row == nullptr) return {};
  if (operand.kind == Kind::floating) {
    auto text = as_integer(operand, form);
    return text ? Edits{{operand.span, *text}} : Edits{};
  }
  int bits = isa::bits_of(form.type());
  if (!isa::is_float(form.type()) || (bits != 32 && bits != 64)) return {};
  auto text = as_float(text_of(site, operand.span), bits);
  return text ? Edits{{operand.span, *text}} : Edits{};
}

// ld.global.f32 %f1, %rd1; and cvta.to.global.u64 %rd2, [%rd1];
Edits mend_brackets(const Site& site, const Operand& operand) {
  const isa::Form& form = site.instruction->form;
  if (form.row == nullptr) return {};
  Arguments arguments = arguments_of(*site.instruction, form);
  for (size_t i = 0; i < form.row->operands.size(); ++i) {
    if (arguments.at[i] != &operand) continue;
    bool memory = form.row->operands[i].shape == isa::Shape::address;
    bool names_place = operand.kind == Kind::reg || operand.kind == Kind::symbol;
    if (memory && names_place)
      return {{{operand.span.begin, operand.span.begin}, "["}, {{operand.span.end, operand.span.end}, "]"}};
    bool bare = operand.kind == Kind::address && operand.elements.size() == 1 && operand.offset == 0;
    // mov with brackets may as well be a load.
    if (!memory && bare && form.row->opcode != "mov")
      return {{operand.span, std::string(text_of(site, operand.elements[0].span))}};
  }
  return {};
}

// mov.u64 %rd1, %tid.x: the narrow register is widened, without a sign.
Edits mend_wide_read(const Site& site, const Operand& operand) {
  const Instruction& instruction = *site.instruction;
  if (!instruction.is("mov") || operand.kind != Kind::special || instruction.words.size() != 2) return {};
  const auto& special = isa::special_registers()[operand.id];
  auto type = isa::type_named(instruction.words[1]);
  if (!type || isa::bits_of(*type) != 64 || isa::is_float(*type) || isa::bits_of(special.type) != 32) return {};
  Span words{instruction.word_spans.front().begin, instruction.word_spans.back().end};
  return {{words, "cvt.u64.u32"}};
}

// %tid.xx, %ctaid.X: the only component that is one letter away.
Edits mend_component(const Site& site) {
  std::string_view written = text_of(site, site.span);
  std::string found;
  for (std::string_view known : {".x", ".y", ".z", ".w"}) {
    bool near = written.size() == 3 && written[1] == written[2] && written.substr(0, 2) == known;
    near |= written.size() == 2 && written[1] == known[1] - 'a' + 'A';
    if (near) found = known;
  }
  return found.empty() ? Edits{} : Edits{{site.span, found}};
}

// bar.sync; is what __syncthreads() means: barrier 0.
Edits mend_barrier(const Site& site) {
  const Instruction& instruction = *site.instruction;
  bool sync = instruction.words.size() >= 2 && instruction.words[1] == ".sync";
  sync &= instruction.words[0] == "bar" || instruction.words[0] == "barrier";
  uint32_t end = instruction.word_spans.back().end;
  return sync && instruction.operands.empty() ? Edits{{{end, end}, " 0"}} : Edits{};
}

}  // namespace

Edits mend_operand(const Site& site) {
  if (site.is(Code::component)) return mend_component(site);
  if (site.is(Code::operand_count) && site.instruction) return mend_barrier(site);
  if (!site.instruction) return {};
  const Operand* operand = operand_at(site.instruction->operands, site.span);
  if (!operand) return {};
  if (site.is(Code::immediate_kind)) return mend_constant(site, *operand);
  if (site.is(Code::operand_kind)) return mend_brackets(site, *operand);
  if (site.is(Code::special_register_width)) return mend_wide_read(site, *operand);
  return {};
}

Edits mend_number(const Site& site) {
  std::string_view text = text_of(site, site.span);
  // C's suffixes. In hexadecimal an f is a digit.
  for (std::string_view suffix : {"ull", "ULL", "UL", "ul", "LL", "ll", "f", "F", "u", "L", "l"}) {
    if (!text.ends_with(suffix)) continue;
    std::string_view number = text.substr(0, text.size() - suffix.size());
    bool floating = number.find_first_of(".eE") != number.npos && !number.starts_with("0x");
    bool is_float = suffix == "f" || suffix == "F";
    if (is_float != floating || number.starts_with("0f") || !number_from(number)) continue;
    return {{{site.span.end - static_cast<uint32_t>(suffix.size()), site.span.end}, ""}};
  }
  // The sign of a pattern is its first bit.
  std::string_view source = site.module.source;
  if (text == "-" && site.span.end + 2 < source.size()) {
    std::string_view rest = source.substr(site.span.end);
    size_t length = std::min(rest.find_first_not_of("0123456789abcdefABCDEFx"), rest.size());
    std::string_view pattern = rest.substr(0, length);
    bool single = pattern.size() == 10 && (pattern[1] == 'f' || pattern[1] == 'F');
    bool twice = pattern.size() == 18 && (pattern[1] == 'd' || pattern[1] == 'D');
    if ((single || twice) && is_hexadecimal(pattern.substr(2))) {
      size_t digit =
          std::string_view("0123456789abcdef")
              .find(pattern[2] >= 'A' && pattern[2] <= 'F' ? static_cast<char>(pattern[2] - 'A' + 'a') : pattern[2]);
      Span span{site.span.begin, site.span.end + static_cast<uint32_t>(length)};
      return {{span, fmt::format("{}{:x}{}", pattern.substr(0, 2), digit ^ 8, pattern.substr(3))}};
    }
  }
  return {};
}

}  // namespace ptxlab::ptx
