// nvcc, ptxas and nvdisasm as found on this machine, run under limits and cached by content.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "isa/target.h"

namespace ptxlab::toolchain {

struct Tool {
  std::filesystem::path path;
  std::string version;                 // "13.0.88"
  isa::PtxVersion ptx_version = 0;     // ptxas: the newest PTX ISA it takes
};

struct Toolchain {
  std::optional<Tool> ptxas, nvcc, nvdisasm;
  std::vector<std::string> searched;   // where it looked, for doctor
};

// Looks at PTXLAB_CUDA (a folder with bin/), PATH, /usr/local/cuda, then the private folder that tools/setup fills.
const Toolchain& installed();

// What ptxas says of one entry.
struct Resources {
  std::string entry;
  int registers = 0;
  int spill_stores = 0, spill_loads = 0;   // bytes
  int stack = 0;                           // bytes
  int shared = 0;                          // static bytes
  int barriers = 0;
  uint64_t code_bytes = 0;
  int max_threads = 0;                     // from .maxntid, 0 unknown
};

struct Assembled {
  std::string cubin;
  std::vector<Resources> entries;
  base::Findings findings;                 // warnings of ptxas
  bool cached = false;
  const Resources* entry(std::string_view name) const;
};

struct AssembleOptions {
  isa::Target target;
  int optimise = 3;
  bool fmad = true;
  std::optional<int> max_registers;
};

// Errors: ASM0001 no ptxas (severity note: the gate is skipped), ASM0002 ptxas refuses (one finding an error, with line),
// ASM0003 ptxas crashed, ASM0004 out of time, ASM0005 out of memory.
base::Result<Assembled> assemble(std::string_view ptx, std::string_view file, const AssembleOptions& options);

struct CompileOptions {
  isa::Target target;
  std::vector<std::string> flags;          // -fmad=false, -I ..., -D ...
  bool line_info = true;
};
// CUDA C++ to PTX by nvcc -O3. Errors: CUC0001 no nvcc, CUC0002 does not compile (nvcc's messages), CUC0003 limits.
base::Result<std::string> compile_to_ptx(const std::filesystem::path& source, const CompileOptions& options);

// SHA-256 over what the hardware executes for one entry: .text.*, .nv.info.*, .nv.constant*, .nv.shared* by name (debug
// and note sections apart). Two candidates with the same digest are the same kernel. Error: ASM0010 not a cubin.
base::Result<std::string> code_digest(std::string_view cubin, std::string_view entry);

struct Occupancy {
  int ctas = 0;              // resident CTAs an SM
  int warps = 0;
  double fraction = 0;       // of the SM's warps
  std::string limited_by;    // registers, shared memory, threads, CTAs
};
Occupancy occupancy(const isa::Target& target, int threads, int registers, int shared_bytes);

}  // namespace ptxlab::toolchain
