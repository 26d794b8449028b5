#include "analysis/similarity.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ptxlab::analysis {
namespace {

constexpr uint64_t kPrime = 0x100000001b3, kStart = 0xcbf29ce484222325;

uint64_t mixed(uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * kPrime;
  return hash;
}

// What kind of operand it is, and what it is made of; not which.
uint64_t mixed(uint64_t hash, const ptx::Operand& operand) {
  hash = (hash ^ (static_cast<uint64_t>(operand.kind) + 1)) * kPrime;
  for (const auto& element : operand.elements) hash = mixed(hash, element);
  return (hash ^ 0xff) * kPrime;
}

// Spreads the bits, so that the smallest of a window is any of them.
uint64_t spread(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

std::vector<uint64_t> instructions_of(const ptx::Function& function) {
  std::vector<uint64_t> hashes;
  for (const auto& statement : function.body) {
    const ptx::Instruction* instruction = statement.instruction();
    if (!instruction) continue;
    uint64_t hash = (kStart ^ static_cast<uint64_t>(instruction->guard.has_value())) * kPrime;
    for (const auto& word : instruction->words) hash = mixed(hash, word);
    for (const auto& operand : instruction->operands) hash = mixed(hash, operand);
    hashes.push_back(hash);
  }
  return hashes;
}

}  // namespace

Fingerprints fingerprints(const ptx::Module& module) {
  Fingerprints made;
  for (const ptx::Function& function : module.functions) {
    const std::vector<uint64_t> hashes = instructions_of(function);
    if (hashes.size() < kSequence) continue;
    std::vector<uint64_t> sequences;
    for (size_t i = 0; i + kSequence <= hashes.size(); ++i) {
      uint64_t hash = kStart;
      for (size_t k = 0; k < kSequence; ++k) hash = (hash ^ hashes[i + k]) * kPrime;
      sequences.push_back(spread(hash));
    }
    const size_t window = std::min(kWindow, sequences.size());
    for (size_t i = 0; i + window <= sequences.size(); ++i)
      made.push_back(*std::min_element(sequences.begin() + static_cast<ptrdiff_t>(i),
                                       sequences.begin() + static_cast<ptrdiff_t>(i + window)));
  }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

Fingerprints except(const Fingerprints& all, const Fingerprints& without) {
  Fingerprints left;
  std::set_difference(all.begin(), all.end(), without.begin(), without.end(), std::back_inserter(left));
  return left;
}

double share_of(const Fingerprints& part, const Fingerprints& whole) {
  if (part.empty()) return 0;
  Fingerprints common;
  std::set_intersection(part.begin(), part.end(), whole.begin(), whole.end(), std::back_inserter(common));
  return static_cast<double>(common.size()) / static_cast<double>(part.size());
}

}  // namespace ptxlab::analysis
