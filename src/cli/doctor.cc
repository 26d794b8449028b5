// ptxlab doctor: what this machine has, what it lacks, and what follows from that, in terms of what a user wants to do.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/doctor_gpu.h"
#include "cli/files.h"
#include "cli/output.h"
#include "isa/table.h"
#include "simt/engine.h"
#include "task/reference_program.h"
#include "toolchain/toolchain.h"

namespace ptxlab::cli {
namespace {

struct Row {
  std::string name;
  std::string path;  // empty: not there
  std::string version;
  std::string follows;  // what is impossible without it
};

std::string ptx_version(isa::PtxVersion version) { return fmt::format("{}.{}", version / 10, version % 10); }

Row tool(std::string name, const std::optional<toolchain::Tool>& found, std::string follows) {
  Row row{std::move(name), "", "", std::move(follows)};
  if (!found) return row;
  row.path = found->path.string();
  row.version = found->version;
  if (found->ptx_version) row.version += fmt::format(", PTX ISA up to {}", ptx_version(found->ptx_version));
  return row;
}

// The host compiler: nvcc needs one, and so do references of tasks.
Row host_compiler() {
  size_t made = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(task::portable_references(), error), end; !error && at != end;
       at.increment(error))
    ++made;
  Row row{
      "g++", "", "",
      made ? fmt::format("the oracles of {} references are here as programs; other tasks with a reference.cc cannot be "
                         "judged, and nvcc cannot compile",
                         made)
           : "tasks with a reference.cc cannot be judged, and nvcc cannot compile"};
  base::Command command;
  command.argv = {"sh", "-c", "command -v g++ && g++ -dumpfullversion"};
  command.limits.wall = std::chrono::seconds(10);
  auto outcome = base::run(command);
  size_t end = outcome.output.find('\n');
  if (!outcome.ok() || end == std::string::npos) return row;
  row.path = outcome.output.substr(0, end);
  row.version = outcome.output.substr(end + 1);
  while (!row.version.empty() && row.version.back() == '\n') row.version.pop_back();
  return row;
}

std::vector<Row> tools() {
  const auto& found = toolchain::installed();
  return {
      tool("ptxas", found.ptxas,
           "the assemble gate is skipped: no registers, spills, occupancy, no proof that ptxas takes it"),
      tool("nvcc", found.nvcc,
           "a .cu cannot be compiled: optimize and judge take .ptx, and tasks keep their committed baseline"),
      tool("nvdisasm", found.nvdisasm, "no facts about machine code"),
      host_compiler(),
  };
}

std::string processor() {
#if defined(__x86_64__)
  std::string text = "x86-64";
  if (__builtin_cpu_supports("avx2")) text += ", AVX2";
  if (__builtin_cpu_supports("avx512f")) text += ", AVX-512";
  return text;
#else
  return "not x86-64";
#endif
}

bool gpu_there() { return access("/dev/nvidiactl", F_OK) == 0; }

// The newest PTX that the driver compiles by itself, from the CUDA version that it says it supports. Loads the library and asks
// it for a number; the GPU is not touched. Nothing where there is no driver.
struct Driver {
  int cuda = 0;  // 13000: 13.0
  isa::PtxVersion ptx = 0;
};
std::optional<Driver> driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  auto ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
  Driver found;
  bool ok = ask && ask(&found.cuda) == 0;
  dlclose(library);
  if (!ok) return std::nullopt;
  found.ptx = toolchain::ptx_of_cuda(found.cuda);
  return found;
}

std::string driver_text(const Driver& found) {
  std::string text = fmt::format("supports CUDA {}.{}", found.cuda / 1000, found.cuda % 1000 / 10);
  return found.ptx ? text + fmt::format(", takes PTX ISA up to {}, and cubins of newer ptxas", ptx_version(found.ptx))
                   : text;
}

std::string gpu_line() {
  return gpu_there() ? "an NVIDIA GPU is there: candidates are executed on it too; the gate time is skipped, speed is "
                       "estimated and says so"
                     : "none; it is not needed: the gates execute and time are skipped, speed is estimated and says so";
}

nlohmann::json as_json(const std::vector<Row>& rows) {
  nlohmann::json list = nlohmann::json::object();
  for (const auto& row : rows) {
    list[row.name] = row.path.empty() ? nlohmann::json{{"found", false}, {"follows", row.follows}}
                                      : nlohmann::json{{"found", true}, {"path", row.path}, {"version", row.version}};
  }
  nlohmann::json assemblers = nlohmann::json::array();
  for (const auto& tool : toolchain::installed_ptxas()) {
    assemblers.push_back(
        {{"version", tool.version}, {"path", tool.path.string()}, {"newest_ptx", ptx_version(tool.ptx_version)}});
  }
  nlohmann::json driver_json;
  if (auto found = driver()) {
    driver_json = {{"cuda", fmt::format("{}.{}", found->cuda / 1000, found->cuda % 1000 / 10)}};
    if (found->ptx) driver_json["newest_ptx"] = ptx_version(found->ptx);
  }
  return {{"schema", "ptxlab.doctor/1"}, {"version", PTXLAB_VERSION},
          {"root", root().string()},     {"cores", base::core_count()},
          {"processor", processor()},    {"gpu", {{"found", gpu_there()}, {"used", gpu_there()}}},
          {"tools", std::move(list)},    {"ptxas", std::move(assemblers)},
          {"driver", driver_json},       {"searched", toolchain::installed().searched}};
}

// The versions beside the preferred one: for newer PTX, and as witnesses.
std::string further_ptxas() {
  std::string text;
  const auto& all = toolchain::installed_ptxas();
  for (size_t i = 1; i < all.size(); ++i) {
    text += fmt::format("{:<10} {}, PTX ISA up to {} ({}): for newer PTX, --ptxas and --witness\n", "", all[i].version,
                        ptx_version(all[i].ptx_version), all[i].path.string());
  }
  return text;
}

std::string as_text(const std::vector<Row>& rows) {
  std::string text = fmt::format("ptxlab {} in {}\n\n", PTXLAB_VERSION, root().string());
  text += fmt::format("{:<10} {} cores, {}\n", "processor", base::core_count(), processor());
  text += fmt::format("{:<10} {}\n", "gpu", gpu_line());
  bool missing = false;
  for (const auto& row : rows) {
    missing = missing || row.path.empty();
    text += row.path.empty() ? fmt::format("{:<10} not found: {}\n", row.name, row.follows)
                             : fmt::format("{:<10} {} ({})\n", row.name, row.version, row.path);
    if (row.name == "ptxas") text += further_ptxas();
  }
  if (auto found = driver()) text += fmt::format("{:<10} {}\n", "driver", driver_text(*found));
  if (missing) {
    const auto& searched = toolchain::installed().searched;
    text += searched.empty() ? "\nlooked nowhere: PTXLAB_CUDA says none\n" : "\nlooked in:\n";
    for (const auto& place : searched) text += "  " + place + "\n";
    text += bundled()
                ? "PTXLAB_CUDA=FOLDER names a toolkit, a folder with bin/ptxas (docs/install.md: On another machine)\n"
                : "'tools/setup --again' fetches what is missing; PTXLAB_CUDA=FOLDER names a toolkit\n";
  }
  return text;
}

// --- doctor --isa --------------------------------------------------------------------------------------------------------

// The instruction table as this version has it: every row is parsed and verified, those with a handler are executed too.
nlohmann::json isa_json() {
  auto executed = simt::executed_rows();
  nlohmann::json list = nlohmann::json::array();
  for (const auto& row : isa::rows()) {
    list.push_back({{"opcode", row.opcode},
                    {"syntax", row.syntax},
                    {"section", row.section},
                    {"parsed", true},
                    {"executed", static_cast<bool>(executed.at(row.id))}});
  }
  return {{"schema", "ptxlab.isa/1"}, {"rows", std::move(list)}};
}

std::string isa_text() {
  auto executed = simt::executed_rows();
  std::string text;
  size_t runs = 0;
  for (const auto& row : isa::rows()) {
    bool can = executed.at(row.id);
    runs += can;
    text += fmt::format("{}  {}\n", can ? "executed" : "parsed  ", row.syntax);
  }
  return text + fmt::format("{} opcodes, {} rows parsed and verified, {} of them executed\n", isa::opcodes().size(),
                            isa::rows().size(), runs);
}

}  // namespace

int doctor(Words words) {
  bool json = false, isa_table = false, gpu = false;
  std::string gpus;
  Options options("doctor", "What is there on this machine, what is missing, and what follows.",
                  "ptxlab doctor\nptxlab doctor --isa --json\nptxlab doctor --gpu");
  options.flag("--json", json, "Print one JSON object (ptxlab.doctor/1, ptxlab.isa/1, ptxlab.gpu/1)");
  options.flag("--isa", isa_table, "List the instruction table: what is parsed, and what the engine executes");
  options.optional_value("--gpu", "LIST", gpu, gpus,
                         "Run kernels with known answers on a GPU, and measure what it can do at best");
  if (auto code = options.parse(words)) return *code;
  if (gpu) return doctor_gpu(gpus, json);
  if (isa_table) {
    if (json) {
      print_json(isa_json());
    } else {
      print(isa_text());
    }
    return kExitDone;
  }
  auto rows = tools();
  if (json) {
    print_json(as_json(rows));
  } else {
    print(as_text(rows));
  }
  return kExitDone;
}

}  // namespace ptxlab::cli
