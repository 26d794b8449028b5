#include "checkers/order_dependence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <string>

namespace ptxlab::checkers {
namespace {

constexpr std::string_view kOrder = "CHK0007";

bool is_defined(const Outcome& outcome, uint64_t at, uint64_t bytes) {
  if (outcome.defined.empty()) return true;
  const auto element = outcome.defined.subspan(at, bytes);
  return std::all_of(element.begin(), element.end(), [](uint8_t d) { return d == 0xff; });
}

std::string hexadecimal(std::span<const uint8_t> bytes) {
  std::string out = "0x";
  for (size_t i = std::min<size_t>(bytes.size(), 16); i-- > 0;) out += fmt::format("{:02x}", bytes[i]);
  return out;
}

}  // namespace

std::optional<base::Finding> order_dependence(std::string_view output, const Outcome& one, const Outcome& other,
                                              uint64_t element_bytes) {
  assert(element_bytes > 0);
  uint64_t count = 0, first = 0;
  const uint64_t bytes = std::min(one.bytes.size(), other.bytes.size()) / element_bytes * element_bytes;
  for (uint64_t at = 0; at < bytes; at += element_bytes) {
    const auto a = one.bytes.subspan(at, element_bytes), b = other.bytes.subspan(at, element_bytes);
    const bool defined = is_defined(one, at, element_bytes), defined_there = is_defined(other, at, element_bytes);
    if (defined == defined_there && (!defined || std::equal(a.begin(), a.end(), b.begin()))) continue;
    if (count++ == 0) first = at;
  }
  if (count == 0) return std::nullopt;
  base::Finding finding;
  finding.code = kOrder;
  finding.severity = base::Severity::warning;
  finding.message = fmt::format(
      "the result depends on the order in which warps and CTAs run: {} of {} elements of '{}' differ between two "
      "orders; "
      "element {} is {} and {}",
      count, bytes / element_bytes, output, first / element_bytes, hexadecimal(one.bytes.subspan(first, element_bytes)),
      hexadecimal(other.bytes.subspan(first, element_bytes)));
  finding.hint =
      "floating-point atomics add in any order and differ in the last bits; anything else is a race or a missing "
      "bar.warp.sync";
  return finding;
}

}  // namespace ptxlab::checkers
