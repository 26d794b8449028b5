#include "analysis/lane_operation.h"

#include <algorithm>
#include <string>

#include "isa/type.h"

namespace ptxlab::analysis {
namespace {

struct Words {
  std::vector<std::string_view> all;
  isa::Type type = isa::Type::none;  // the last one named
  explicit Words(std::string_view text) {
    while (!text.empty()) {
      size_t dot = text.find('.', 1);
      all.push_back(text.substr(0, dot));
      text = dot == std::string_view::npos ? std::string_view() : text.substr(dot);
    }
    for (auto word : all)
      if (auto named = isa::type_named(word); named && word.starts_with('.')) type = *named;
  }
  bool has(std::string_view word) const { return std::find(all.begin(), all.end(), word) != all.end(); }
  std::string_view opcode() const { return all.empty() ? std::string_view() : all[0]; }
};

// A value as a register of the type holds it.
int64_t narrowed(int64_t value, int bits, bool is_signed) {
  if (bits >= 64 || bits <= 0) return value;
  const uint64_t kept = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  if (!is_signed) return static_cast<int64_t>(kept);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((kept ^ sign) - sign);
}

using Lane = std::optional<int64_t> (*)(const Words&, const int64_t* v, int bits, bool is_signed);

std::optional<int64_t> shift_right(const Words&, const int64_t* v, int bits, bool is_signed) {
  const int64_t by = narrowed(v[1], 32, false);
  if (by >= bits) return is_signed && v[0] < 0 ? -1 : 0;
  return is_signed ? v[0] >> by : static_cast<int64_t>(static_cast<uint64_t>(v[0]) >> by);
}

std::optional<int64_t> shift_left(const Words&, const int64_t* v, int bits, bool) {
  const int64_t by = narrowed(v[1], 32, false);
  return by >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(v[0]) << by);
}

std::optional<int64_t> divide(const Words& words, const int64_t* v, int, bool is_signed) {
  if (v[1] == 0 || (v[0] == INT64_MIN && v[1] == -1)) return std::nullopt;
  const bool rest = words.opcode() == "rem";
  if (is_signed) return rest ? v[0] % v[1] : v[0] / v[1];
  const auto a = static_cast<uint64_t>(v[0]), b = static_cast<uint64_t>(v[1]);
  return static_cast<int64_t>(rest ? a % b : a / b);
}

std::optional<int64_t> multiply_high(const Words& words, const int64_t* v, int bits, bool is_signed) {
  if (!words.has(".hi") || bits > 32) return std::nullopt;
  return is_signed ? v[0] * v[1] >> bits
                   : static_cast<int64_t>(static_cast<uint64_t>(v[0]) * static_cast<uint64_t>(v[1]) >> bits);
}

std::optional<int64_t> multiply_add_high(const Words& words, const int64_t* v, int bits, bool is_signed) {
  auto product = multiply_high(words, v, bits, is_signed);
  if (!product) return std::nullopt;
  return static_cast<int64_t>(static_cast<uint64_t>(*product) + static_cast<uint64_t>(v[2]));
}

std::optional<int64_t> extract(const Words&, const int64_t* v, int bits, bool is_signed) {
  const int64_t at = v[1] & 255, length = v[2] & 255;
  if (at >= bits || length == 0) return 0;
  const auto moved = static_cast<int64_t>(static_cast<uint64_t>(narrowed(v[0], bits, is_signed)) >> at);
  return narrowed(moved, static_cast<int>(std::min<int64_t>(length, bits - at)), is_signed);
}

std::optional<int64_t> insert(const Words&, const int64_t* v, int bits, bool) {
  const int64_t at = v[2] & 255, length = v[3] & 255;
  if (at >= bits || length == 0) return v[1];
  const uint64_t ones = length >= 64 ? ~uint64_t{0} : (uint64_t{1} << length) - 1;
  const uint64_t mask = ones << at;
  return static_cast<int64_t>((static_cast<uint64_t>(v[1]) & ~mask) | (static_cast<uint64_t>(v[0]) << at & mask));
}

std::optional<int64_t> logic(const Words& words, const int64_t* v, int, bool) {
  if (words.opcode() == "and") return v[0] & v[1];
  if (words.opcode() == "or") return v[0] | v[1];
  return v[0] ^ v[1];
}

// Every bit of the result is the table's bit that the three sources' bits name.
std::optional<int64_t> lop3(const Words&, const int64_t* v, int bits, bool) {
  uint64_t result = 0;
  for (int i = 0; i < bits; ++i) {
    const auto bit = [&](size_t k) { return static_cast<uint64_t>(v[k]) >> i & 1; };
    const uint64_t index = bit(0) << 2 | bit(1) << 1 | bit(2);
    result |= (static_cast<uint64_t>(v[3]) >> index & 1) << i;
  }
  return static_cast<int64_t>(result);
}

std::optional<int64_t> smaller_or_larger(const Words& words, const int64_t* v, int, bool is_signed) {
  const bool less = is_signed ? v[0] < v[1] : static_cast<uint64_t>(v[0]) < static_cast<uint64_t>(v[1]);
  return less == (words.opcode() == "min") ? v[0] : v[1];
}

std::optional<int64_t> compare(const Words& words, const int64_t* v, int, bool is_signed) {
  if (words.all.size() != 3) return std::nullopt;  // with a second condition
  const auto a = static_cast<uint64_t>(v[0]), b = static_cast<uint64_t>(v[1]);
  const bool less = is_signed ? v[0] < v[1] : a < b;
  const auto how = words.all[1];
  if (how == ".lt" || how == ".lo") return less;
  if (how == ".le" || how == ".ls") return less || a == b;
  if (how == ".gt" || how == ".hi") return !less && a != b;
  if (how == ".ge" || how == ".hs") return !less;
  if (how == ".eq") return a == b;
  if (how == ".ne") return a != b;
  return std::nullopt;
}

std::optional<int64_t> choose(const Words&, const int64_t* v, int, bool) { return v[2] ? v[0] : v[1]; }

std::optional<int64_t> keep(const Words&, const int64_t* v, int, bool) { return v[0]; }

// An argument's reading is signed where the instruction's type is; the result of a lane is narrowed to it again.
struct Known {
  std::string_view opcode;
  size_t operands;
  Lane lane;
};
constexpr Known kKnown[] = {
    {"and", 2, logic},
    {"or", 2, logic},
    {"xor", 2, logic},
    {"shr", 2, shift_right},
    {"shl", 2, shift_left},
    {"div", 2, divide},
    {"rem", 2, divide},
    {"mul", 2, multiply_high},
    {"bfe", 3, extract},
    {"bfi", 4, insert},
    {"lop3", 4, lop3},
    {"min", 2, smaller_or_larger},
    {"setp", 2, compare},
    {"selp", 3, choose},
    {"max", 2, smaller_or_larger},
    {"mad", 3, multiply_add_high},
    {"cvt", 1, keep},
};

const Known* known_of(const Words& words) {
  auto found =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.opcode == words.opcode(); });
  if (found == std::end(kKnown) || isa::is_float(words.type) || words.has(".sat")) return nullptr;
  return found;
}

}  // namespace

bool lane_operation_known(std::string_view words) { return known_of(Words(words)) != nullptr; }

std::optional<std::array<int64_t, 32>> lane_operation(std::string_view text,
                                                      const std::vector<std::array<int64_t, 32>>& operands) {
  const Words words(text);
  const auto* known = known_of(words);
  if (!known || operands.size() != known->operands || text.find('#') != std::string_view::npos) return std::nullopt;
  // Of a conversion the first type is the result's.
  auto type = words.type;
  if (known->opcode == "cvt") {
    for (auto word : words.all)
      if (auto named = isa::type_named(word); named && word.starts_with('.')) {
        type = *named;
        break;
      }
    if (isa::is_float(type)) return std::nullopt;
  }
  const int bits = words.type == isa::Type::pred ? 1 : isa::bits_of(type);
  const bool is_signed = isa::is_signed(type);
  std::array<int64_t, 32> result{};
  for (size_t lane = 0; lane < result.size(); ++lane) {
    int64_t v[4] = {};
    for (size_t i = 0; i < operands.size(); ++i)
      v[i] = known->opcode == "selp" && i == 2 ? operands[i][lane] : narrowed(operands[i][lane], bits, is_signed);
    auto value = known->lane(words, v, bits, is_signed);
    if (!value) return std::nullopt;
    // A comparison's result is a predicate, whatever was compared.
    result[lane] = known->opcode == "setp" ? *value : narrowed(*value, bits, is_signed || !isa::is_integer(type));
  }
  return result;
}

}  // namespace ptxlab::analysis
