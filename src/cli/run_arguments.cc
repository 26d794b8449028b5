#include "cli/run_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/narrow_float.h"
#include "base/nearest.h"

namespace ptxlab::cli {
namespace {

using isa::Type;

constexpr Type kTypes[] = {Type::u8,  Type::u16,  Type::u32, Type::u64, Type::s8, Type::s16, Type::s32, Type::s64,
                           Type::f16, Type::bf16, Type::f32, Type::f64, Type::b8, Type::b16, Type::b32, Type::b64};

base::Finding trouble(std::string message, std::string hint) {
  return base::error("CLI0010", std::move(message), std::move(hint));
}

std::optional<Type> type_in_list(std::string_view name) {
  for (Type type : kTypes) {
    if (isa::name_of(type) == name) return type;
  }
  return std::nullopt;
}

void append(std::vector<uint8_t>& bytes, uint64_t bits, Type type) {
  for (int i = 0; i < isa::bytes_of(type); ++i) bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

// Digits of `base` and nothing else; nothing where it overflows 64 bits.
std::optional<uint64_t> digits(std::string_view text, int base) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool strip(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The bits of an integer in `type`; nothing where it is none or does not fit.
std::optional<uint64_t> integer_bits(std::string_view text, Type type) {
  bool negative = strip(text, "-");
  if (!negative) strip(text, "+");
  int base = strip(text, "0x") || strip(text, "0X") ? 16 : 10;
  auto magnitude = digits(text, base);
  if (!magnitude) return std::nullopt;
  int bits = isa::bits_of(type);
  uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (isa::is_signed(type)) most >>= 1;
  if (*magnitude > most + (negative && isa::is_signed(type) ? 1 : 0)) return std::nullopt;
  if (negative && !isa::is_signed(type) && *magnitude != 0) return std::nullopt;
  return negative ? ~*magnitude + 1 : *magnitude;
}

std::optional<uint64_t> float_bits(std::string_view text, Type type) {
  std::string word(text);
  char* end = nullptr;
  if (word.empty() || std::isspace(static_cast<unsigned char>(word[0]))) return std::nullopt;
  if (type == Type::f32) {  // rounded once, from the decimal digits
    float value = std::strtof(word.c_str(), &end);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return *end ? std::nullopt : std::optional<uint64_t>(bits);
  }
  double value = std::strtod(word.c_str(), &end);
  if (*end) return std::nullopt;
  if (type == Type::f16) return base::double_to_f16(value);
  if (type == Type::bf16) return base::double_to_bf16(value);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::optional<uint64_t> value_bits(std::string_view text, Type type) {
  switch (isa::info(type).kind) {
    case isa::Kind::bits: {
      if (!strip(text, "0x")) strip(text, "0X");
      auto bits = digits(text, 16);
      int width = isa::bits_of(type);
      if (bits && width < 64 && *bits >> width) return std::nullopt;
      return bits;
    }
    case isa::Kind::unsigned_integer:
    case isa::Kind::signed_integer: return integer_bits(text, type);
    case isa::Kind::floating: return float_bits(text, type);
    case isa::Kind::none:
    case isa::Kind::predicate: break;
  }
  return std::nullopt;
}

base::Finding no_value(std::string_view text, Type type) {
  auto name = isa::name_of(type);
  if (isa::info(type).kind == isa::Kind::bits)
    return trouble(fmt::format("'{}' is not a {} value", text, name),
                   fmt::format("{} takes hexadecimal: {}:0x1f", name, name));
  return trouble(fmt::format("'{}' is not a {} value", text, name), "");
}

// "TYPE:V,V,..." of a buffer.
base::Result<RunArgument> typed_values(RunArgument argument, std::string_view text) {
  size_t colon = text.find(':');
  auto type = type_in_list(text.substr(0, colon));
  if (!type || colon == std::string_view::npos)
    return trouble(fmt::format("'{}' has no type", text), "write in:TYPE:V,V,... such as in:f32:1,2,3, or in:@FILE");
  argument.type = *type;
  text.remove_prefix(colon + 1);
  if (strip(text, "@")) {
    auto content = base::read_file(std::string(text));
    if (!content.ok()) return content.findings();
    if (content->size() % static_cast<size_t>(isa::bytes_of(*type)) != 0)
      return trouble(
          fmt::format("'{}' has {} bytes, which is no whole number of {}", text, content->size(), isa::name_of(*type)),
          "in:@FILE takes bytes of any kind");
    argument.bytes.assign(content->begin(), content->end());
    return argument;
  }
  while (true) {
    size_t comma = text.find(',');
    auto word = text.substr(0, comma);
    auto bits = value_bits(word, *type);
    if (!bits) return no_value(word, *type);
    append(argument.bytes, *bits, *type);
    if (comma == std::string_view::npos) return argument;
    text.remove_prefix(comma + 1);
  }
}

base::Result<RunArgument> buffer(RunArgument::Kind kind, std::string_view text) {
  RunArgument argument;
  argument.kind = kind;
  if (!strip(text, "@")) return typed_values(std::move(argument), text);
  auto content = base::read_file(std::string(text));
  if (!content.ok()) return content.findings();
  argument.bytes.assign(content->begin(), content->end());
  return argument;
}

base::Result<RunArgument> scalar(std::string_view spec) {
  if (spec == "null") return scalar("u64:0");
  size_t colon = spec.find(':');
  auto word = spec.substr(0, colon);
  auto type = type_in_list(word);
  if (!type || colon == std::string_view::npos) {
    std::vector<std::string_view> known = {"in", "out", "inout", "same"};
    for (Type one : kTypes) known.push_back(isa::name_of(one));
    auto near = base::nearest(word, std::span<const std::string_view>(known));
    return trouble(fmt::format("'{}' is no argument", spec),
                   near.empty() || near == word
                       ? "write TYPE:VALUE, in:TYPE:V,V,..., in:TYPE:@FILE, out:TYPE:COUNT, inout:..., same:N or null"
                       : fmt::format("did you mean '{}:'?", near));
  }
  auto text = spec.substr(colon + 1);
  auto bits = value_bits(text, *type);
  if (!bits) return no_value(text, *type);
  RunArgument argument;
  argument.type = *type;
  append(argument.bytes, *bits, *type);
  int unused = 64 - isa::bits_of(*type);
  argument.integer =
      isa::is_signed(*type) ? static_cast<int64_t>(*bits << unused) >> unused : static_cast<int64_t>(*bits);
  return argument;
}

bool is_name(std::string_view text) {
  auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), letter);
}

constexpr uint64_t kLargest = uint64_t{1} << 32;

// "BYTES", or "TYPE:COUNT", whose elements are shown as such.
base::Result<RunArgument> output(std::string_view spec) {
  RunArgument argument;
  argument.kind = RunArgument::Kind::out;
  uint64_t unit = 1;
  std::string_view count = spec;
  if (size_t colon = spec.find(':'); colon != std::string_view::npos) {
    auto type = type_in_list(spec.substr(0, colon));
    if (!type)
      return trouble(fmt::format("'{}' has no type", spec), "write out:TYPE:COUNT such as out:f32:256, or out:BYTES");
    argument.type = *type;
    unit = static_cast<uint64_t>(isa::bytes_of(*type));
    count.remove_prefix(colon + 1);
  }
  auto size = digits(count, 10);
  if (!size || *size == 0 || *size > kLargest / unit)
    return trouble(fmt::format("'{}' is not a size", spec),
                   "out:BYTES takes a number of bytes, from 1 to 4 GiB, out:TYPE:COUNT a number of elements");
  argument.bytes.resize(*size * unit);
  return argument;
}

}  // namespace

base::Result<RunArgument> parse_argument(std::string_view spec) {
  size_t equals = spec.find('=');
  if (equals != std::string_view::npos && is_name(spec.substr(0, equals))) {
    auto argument = parse_argument(spec.substr(equals + 1));
    if (argument.ok()) argument->name = spec.substr(0, equals);
    return argument;
  }
  if (strip(spec, "in:")) return buffer(RunArgument::Kind::in, spec);
  if (strip(spec, "inout:")) return buffer(RunArgument::Kind::inout, spec);
  RunArgument argument;
  if (strip(spec, "out:")) return output(spec);
  if (strip(spec, "same:")) {
    auto number = digits(spec, 10);
    if (!number)
      return trouble(fmt::format("'{}' is not an argument's number", spec), "same:N counts all --arg from 0");
    argument.kind = RunArgument::Kind::same;
    argument.same = *number;
    return argument;
  }
  return scalar(spec);
}

base::Result<std::vector<RunArgument>> parse_arguments(const std::vector<std::string>& specs) {
  std::vector<RunArgument> arguments;
  for (size_t i = 0; i < specs.size(); ++i) {
    auto argument = parse_argument(specs[i]);
    if (!argument.ok()) {
      auto findings = argument.findings();
      findings[0].message = fmt::format("argument {}: {}", i, findings[0].message);
      return findings;
    }
    if (argument->kind == RunArgument::Kind::same) {
      size_t at = argument->same;
      if (at >= i || !arguments[at].buffer())
        return trouble(fmt::format("argument {}: same:{} names no earlier buffer", i, at),
                       "same:N counts all --arg from 0");
      if (arguments[at].kind == RunArgument::Kind::same) argument->same = arguments[at].same;
    }
    arguments.push_back(*std::move(argument));
  }
  return arguments;
}

base::Result<launch::Dim3> parse_dim3(std::string_view text, std::string_view option) {
  launch::Dim3 size{1, 1, 1};
  auto rest = text;
  for (size_t axis = 0;; ++axis) {
    size_t comma = rest.find(',');
    auto number = digits(rest.substr(0, comma), 10);
    if (axis == 3 || !number || *number == 0 || *number > 0x7fffffff) {
      return base::error("CLI0011", fmt::format("{} {}: not a size", option, text),
                         fmt::format("{} X[,Y[,Z]], each at least 1: {} 128,2", option, option));
    }
    size[axis] = static_cast<uint32_t>(*number);
    if (comma == std::string_view::npos) return size;
    rest.remove_prefix(comma + 1);
  }
}

std::string element_text(const uint8_t* bytes, isa::Type type) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, static_cast<size_t>(isa::bytes_of(type)));
  int unused = 64 - isa::bits_of(type);
  switch (isa::info(type).kind) {
    case isa::Kind::unsigned_integer: return fmt::format("{}", bits);
    case isa::Kind::signed_integer: return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
    case isa::Kind::floating: {
      if (type == Type::f16)
        return fmt::format("{}", static_cast<float>(base::f16_to_double(static_cast<uint16_t>(bits))));
      if (type == Type::bf16)
        return fmt::format("{}", static_cast<float>(base::bf16_to_double(static_cast<uint16_t>(bits))));
      if (type == Type::f32) {
        float value;
        memcpy(&value, bytes, sizeof value);
        return fmt::format("{}", value);
      }
      double value;
      memcpy(&value, bytes, sizeof value);
      return fmt::format("{}", value);
    }
    case isa::Kind::none:
    case isa::Kind::predicate:
    case isa::Kind::bits: break;
  }
  return fmt::format("0x{:0{}x}", bits, isa::bits_of(type) / 4);
}

}  // namespace ptxlab::cli
