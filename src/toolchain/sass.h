// What the machine code of a kernel is made of, from nvdisasm's listing of its cubin: what PTX asks for and what the hardware is
// given are two things (ptxas drops, narrows, merges, spills), and only this says what is there.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {

// By what part of the machine they keep busy, and in what sense.
enum class SassClass : uint8_t {
  fp32,
  fp16,
  fp64,
  tensor,   // HMMA, IMMA, DMMA ..., wgmma (HGMMA ...), tcgen05 (UTCHMMA ...)
  integer,  // arithmetic, logic, comparisons, addresses
  special,  // MUFU: rcp, rsqrt, sin, ex2 ...
  conversion,
  move,  // copies, selections, permutations, shuffles
  predicate,
  global,
  shared,
  local,  // spills, and arrays that are indexed
  constant,
  atomic,
  bulk,     // asynchronous copies: LDGSTS, TMA (UTMALDG, UBLKCP ...)
  uniform,  // the scalar datapath
  control,
  barrier,  // barriers, fences, waits
  other,
};
std::string_view name_of(SassClass part);
std::optional<SassClass> sass_class_named(std::string_view name);

// Of one entry, functions that it calls included where ptxas put them into it. Counts are of instructions as they stand in the code.
struct SassFacts {
  using Widths = std::map<int, uint64_t>;  // bits of one thread's access, and how many instructions
  std::string entry;
  uint64_t instructions = 0;  // without padding
  uint64_t in_loops = 0;      // of these
  uint64_t loops = 0;         // branches back
  uint64_t calls = 0;         // of functions, and of the slow paths of division, square root ...
  std::map<SassClass, uint64_t> mix;
  Widths global_loads, global_stores, shared_loads, shared_stores;  // generic accesses count as global
  uint64_t local_loads = 0, local_stores = 0, local_in_loops = 0;
  uint64_t async_copies = 0;               // LDGSTS: cp.async
  uint64_t bulk_copies = 0;                // UBLKCP and the like: cp.async.bulk
  uint64_t tensor_copies = 0;              // UTMALDG, UTMASTG ...: cp.async.bulk.tensor
  uint64_t matrix_loads = 0;               // LDSM: ldmatrix
  std::map<std::string, uint64_t> matrix;  // products by mnemonic: HMMA.16816.F32.BF16, HGMMA.64x256x16.F32.BF16
  bool warpgroup_products() const;         // wgmma
  bool warp_products() const;              // mma.sync
  bool tensor_memory_products() const;     // tcgen05
  friend bool operator==(const SassFacts&, const SassFacts&) = default;
};

// Of a listing as `nvdisasm -c` prints it; one for each .text section, in order.
std::vector<SassFacts> read_sass(std::string_view listing);

struct DisassembleOptions {
  std::chrono::milliseconds wall{60'000};
  std::filesystem::path cache;  // empty: cache_home()/sass
};
// Cached by content. Error: ASM0013, nvdisasm does not take it, with why.
base::Result<std::vector<SassFacts>> sass_facts(const Tool& nvdisasm, std::string_view cubin,
                                                const DisassembleOptions& options = {});

// "268 instructions, 57 of them in 2 loops: integer 61, fp32 40 ..."; "global loads 4 x 128 bits, 2 x 16 bits; ...".
std::vector<std::string> sass_lines(const SassFacts& facts);

}  // namespace ptxlab::toolchain
