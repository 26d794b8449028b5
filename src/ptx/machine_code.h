// For tests: what ptxas of this machine makes of a text, and whether two texts become the same machine code.
#pragma once
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"

namespace ptxlab::ptx {

// nvcc or ptxas of this machine, or "".
inline std::string tool(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* cuda = std::getenv("PTXLAB_CUDA")) folders.push_back(fs::path(cuda) / "bin");
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const auto& folder : folders)
    if (fs::exists(folder / name)) return (folder / name).string();
  return "";
}

// The sections of a cubin by name, without those that hold line numbers or the compiler's command line.
inline std::map<std::string, std::string> code_sections(const std::string& elf) {
  std::map<std::string, std::string> sections;
  auto number = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    if (at + bytes <= elf.size()) std::memcpy(&value, elf.data() + at, bytes);
    return value;
  };
  uint64_t table = number(0x28, 8), size = number(0x3a, 2), count = number(0x3c, 2), names = number(0x3e, 2);
  uint64_t name_offset = number(table + names * size + 0x18, 8);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t header = table + i * size;
    std::string name = elf.c_str() + name_offset + number(header, 4);
    if (name.starts_with(".nv_debug") || name.starts_with(".debug") || name.starts_with(".rel.debug") ||
        name.starts_with(".rela.debug") || name.starts_with(".rel.nv_debug") || name == ".note.nv.tkinfo" ||
        name == ".note.nv.cuinfo" ||  // which .target the text named
        name == ".shstrtab" || name == ".strtab" || name == ".symtab")
      continue;
    bool empty = number(header + 4, 4) == 8;  // no bits in the file
    std::string content = empty ? std::to_string(number(header + 0x20, 8))
                                : elf.substr(number(header + 0x18, 8), number(header + 0x20, 8));
    sections[name + "#" + std::to_string(sections.count(name))] += content;
  }
  return sections;
}

struct Assembled {
  bool ok = false;
  std::string errors;
  std::map<std::string, std::string> sections;
};

inline Assembled assemble(const std::string& ptxas, const std::string& text, const std::string& target, bool debug) {
  base::TemporaryFolder folder("ptx-test");
  auto input = folder.path() / "a.ptx", output = folder.path() / "a.cubin";
  if (!base::write_file(input, text).empty()) return {false, "cannot write " + input.string(), {}};
  base::Command command{{ptxas, "-arch=" + target, input.string(), "-o", output.string()}, "", {}, {}, {}};
  if (debug) command.argv.push_back("-g");
  auto outcome = base::run(command);
  Assembled made{outcome.ok(), outcome.output + outcome.errors, {}};
  if (!made.ok) return made;
  auto elf = base::read_file(output);
  if (elf.ok()) made.sections = code_sections(*elf);
  return made;
}

}  // namespace ptxlab::ptx
