// nvcc, ptxas and nvdisasm as found on this machine, run under limits and cached by content.
#pragma once
#include <chrono>
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
  std::string version;              // "13.0.88"
  isa::PtxVersion ptx_version = 0;  // ptxas: the newest PTX ISA it takes
};

struct Toolchain {
  std::optional<Tool> ptxas, nvcc, nvdisasm;
  std::vector<std::string> searched;  // where it looked, for doctor
};

// Looks at PTXLAB_CUDA (a folder with bin/; "none" hides every tool), PATH, /usr/local/cuda and /usr/local/cuda-*, then
// the private folder that tools/setup fills. Found once a process; where in detail: find_tools.h.
const Toolchain& installed();

// Every ptxas of this machine, each version once: installed().ptxas first, then the newest before older ones. Beside the
// places above, the private folder keeps the versions that `tools/setup --witnesses` fetches.
const std::vector<Tool>& installed_ptxas();
// One of `among` by its version ("13.5.37", or a beginning that ends at a dot: "13.5"), else the executable of that path.
// Errors: ASM0011 no such version (says which there are), ASM0012 the file does not answer as a ptxas.
base::Result<Tool> ptxas_named(std::string_view text, const std::vector<Tool>& among);

// The newest PTX ISA of a CUDA release, by the number of cuDriverGetVersion (13000: 13.0): what a driver that supports this
// release compiles by itself. 0: not known. Source: the release notes of the PTX ISA manual.
isa::PtxVersion ptx_of_cuda(int cuda_version);

// What ptxas says of one entry.
struct Resources {
  std::string entry;
  int registers = 0;
  int spill_stores = 0, spill_loads = 0;  // bytes
  int stack = 0;                          // bytes
  int shared = 0;                         // static bytes
  int barriers = 0;
  uint64_t code_bytes = 0;
  int max_threads = 0;  // from .maxntid or .reqntid, 0 unknown
};

struct Assembled {
  std::string cubin;
  std::vector<Resources> entries;
  base::Findings findings;  // warnings of ptxas
  bool cached = false;
  const Resources* entry(std::string_view name) const;
};

struct AssembleOptions {
  isa::Target target;
  int optimise = 3;  // 0 for what nvcc -G wrote: ptxas takes it in no other way
  bool fmad = true;
  std::optional<int> max_registers;
  std::chrono::milliseconds wall{60'000};
  uint64_t memory = uint64_t{4} << 30;  // bytes of address space
  std::filesystem::path cache;          // empty: cache_home()/ptxas
};

// Errors: ASM0001 no ptxas (the gate is skipped), ASM0002 ptxas refuses (one finding an error, with
// line), ASM0003 ptxas crashed, ASM0004 out of time, ASM0005 out of memory or output, ASM0006 trouble of this machine
// (ptxas did not start, was killed from outside, or said yes and wrote nothing): never the text's fault.
base::Result<Assembled> assemble(std::string_view ptx, std::string_view file, const AssembleOptions& options);
// The same with a given ptxas instead of the installed one.
base::Result<Assembled> assemble(const Tool& ptxas, std::string_view ptx, std::string_view file,
                                 const AssembleOptions& options);

struct CompileOptions {
  isa::Target target;
  std::vector<std::string> flags;  // -fmad=false, -I ..., -D ...
  bool line_info = true;
  std::chrono::milliseconds wall{300'000};
  std::vector<std::string> appended;  // lines behind the source: explicit instantiations, a use of a static kernel
  // For a source that anybody wrote: it may have read itself, what lies below nvcc's own folder or below one of `readable`, and
  // headers of the system that those lead to. Else nothing of what nvcc says or made is shown.
  bool only_own_files = false;
  std::vector<std::filesystem::path> readable;
};
// CUDA C++ to PTX by nvcc -O3. Errors: CUC0001 no nvcc, CUC0002 does not compile (nvcc's messages), CUC0003 limits or
// crash, CUC0004 trouble of this machine, CUC0005 it reads a file that is not its own.
base::Result<std::string> compile_to_ptx(const std::filesystem::path& source, const CompileOptions& options);
base::Result<std::string> compile_to_ptx(const Tool& nvcc, const std::filesystem::path& source,
                                         const CompileOptions& options);

// SHA-256 over what the hardware executes for one entry: its code, attributes, constants, shared memory, and everything
// that belongs to the module as a whole (debug, notes and other entries apart). Two candidates with the same digest are
// the same kernel. Errors: ASM0010 not a cubin, or it has no such entry.
base::Result<std::string> code_digest(std::string_view cubin, std::string_view entry);

struct Occupancy {
  int ctas = 0;  // resident CTAs an SM
  int warps = 0;
  double fraction = 0;     // of the SM's warps
  std::string limited_by;  // registers, shared memory, threads, CTAs
};
// `shared_bytes`: static and dynamic together, without what the system reserves. 0 CTAs where one does not fit at all.
Occupancy occupancy(const isa::Target& target, int threads, int registers, int shared_bytes);

}  // namespace ptxlab::toolchain
