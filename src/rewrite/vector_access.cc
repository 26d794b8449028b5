#include "rewrite/vector_access.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/registers.h"

namespace ptxlab::rewrite {
namespace {

using analysis::kNone;

constexpr int kWidestAccess = 16;  // bytes: ld.v4.b32
constexpr int kMostLanes = 4;      // .v8 does not exist for narrow types

// How many lanes one access takes, and how many of them share a 32-bit register.
struct Chunk {
  int lanes = 1;
  int packed = 1;
};

int lane_bytes(const ElementAccess& access) { return static_cast<int>(access.bytes / access.lanes); }

Chunk chunk_of(const ElementAccess& access, int width, const ptx::Function& function) {
  int bytes = lane_bytes(access);
  int lanes = std::min(width * static_cast<int>(access.lanes), kWidestAccess / bytes);
  if (lanes <= kMostLanes) return {lanes, 1};
  int bits = isa::bits_of(value_type(access, function));
  if (bytes == 2 && bits == 16) return {lanes, 2};
  if (bytes == 1 && (bits == 16 || bits == 32)) return {lanes, 4};
  return {kMostLanes, 1};
}

std::string braces(const std::vector<std::string>& names) {
  std::string text = "{";
  for (size_t i = 0; i < names.size(); ++i) text.append(i ? ", " : "").append(names[i]);
  return text + "}";
}

// The instruction's words with another vector length, and another type where elements are packed.
std::string words_of(const ptx::Instruction& instruction, int count, bool packed) {
  std::string text;
  for (const auto& word : instruction.words) {
    if (word == ".v2" || word == ".v4") continue;
    if (isa::type_named(word))
      text += (count > 1 ? fmt::format(".v{}", count) : "") + (packed ? ".b32" : word);
    else
      text += word;
  }
  return text;
}

// Four bytes in a word: each into a register of its own, with the sign that the load had.
void unpack_bytes(const std::string& word, const uint32_t* elements, bool is_signed, Editor& e) {
  for (int i = 0; i < 4; ++i) {
    bool narrow = isa::bits_of(e.type(elements[i])) == 16;
    auto byte = narrow ? e.name(e.fresh(isa::Type::b32)) : e.name(elements[i]);
    e.emit(is_signed ? "bfe.s32" : "bfe.u32", {byte, word, std::to_string(8 * i), "8"});
    if (narrow) e.emit("cvt.u16.u32", {e.name(elements[i]), byte});
  }
}

void pack_bytes(const std::string& word, const uint32_t* elements, Editor& e) {
  for (int i = 0; i < 4; ++i) {
    auto byte = e.name(elements[i]);
    if (isa::bits_of(e.type(elements[i])) == 16) {
      byte = e.name(e.fresh(isa::Type::b32));
      e.emit("cvt.u32.u16", {byte, e.name(elements[i])});
    }
    if (i == 0)
      e.emit("and.b32", {word, byte, "255"});
    else
      e.emit("bfi.b32", {word, byte, word, std::to_string(8 * i), "8"});
  }
}

}  // namespace

isa::Type value_type(const ElementAccess& access, const ptx::Function& function) {
  if (access.value_regs[0] != kNone) return function.registers[access.value_regs[0]].type;
  return access.bytes == 8 ? isa::Type::b64 : access.bytes == 4 ? isa::Type::b32 : isa::Type::b16;
}

int chunk_bytes(const ElementAccess& access, int width, const ptx::Function& function) {
  return chunk_of(access, width, function).lanes * lane_bytes(access);
}

void vector_access(const ElementAccess& access, const ptx::Function& function, int width, uint32_t address,
                   const std::vector<uint32_t>& elements, Editor& e) {
  auto chunk = chunk_of(access, width, function);
  const auto& original = *function.body[access.statement].instruction();
  bool is_signed = isa::is_signed(analysis::type_word(original));
  for (size_t first = 0; first < elements.size(); first += static_cast<size_t>(chunk.lanes)) {
    int64_t offset = access.offset + static_cast<int64_t>(first) * lane_bytes(access);
    auto where = offset ? fmt::format("[{}+{}]", e.name(address), offset) : fmt::format("[{}]", e.name(address));
    std::vector<std::string> names;
    for (int i = 0; i < chunk.lanes; i += chunk.packed)
      names.push_back(e.name(chunk.packed > 1 ? e.fresh(isa::Type::b32) : elements[first + static_cast<size_t>(i)]));
    auto each_word = [&](auto&& work) {
      for (size_t w = 0; chunk.packed > 1 && w < names.size(); ++w)
        work(names[w], &elements[first + w * static_cast<size_t>(chunk.packed)]);
    };
    auto halves = [&](const uint32_t* pair) { return braces({e.name(pair[0]), e.name(pair[1])}); };
    auto value = names.size() > 1 ? braces(names) : names[0];
    auto operands = access.store ? std::vector{where, value} : std::vector{value, where};
    // A cache policy stands behind.
    if (original.operands.size() > 2) operands.push_back(e.name(original.operands[2].id));
    auto spelt = words_of(original, static_cast<int>(names.size()), chunk.packed > 1);
    if (access.store)
      each_word([&](const std::string& word, const uint32_t* parts) {
        if (chunk.packed == 2)
          e.emit("mov.b32", {word, halves(parts)});
        else
          pack_bytes(word, parts, e);
      });
    e.emit(spelt, std::move(operands));
    if (!access.store)
      each_word([&](const std::string& word, const uint32_t* parts) {
        if (chunk.packed == 2)
          e.emit("mov.b32", {halves(parts), word});
        else
          unpack_bytes(word, parts, is_signed, e);
      });
  }
}

}  // namespace ptxlab::rewrite
