// Reads a cubin: a 64-bit little-endian ELF file whose sections are named for the kernel that they belong to. Every
// offset is checked, since the file comes from a program that we do not trust to have finished writing it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ptxlab::toolchain {

class Cubin {
 public:
  struct Section {
    std::string_view name;
    uint32_t type = 0, link = 0, info = 0;
    uint64_t flags = 0, size = 0, align = 0;
    std::string_view data;  // empty for sections without bytes in the file (.nv.shared.*)
  };
  struct Symbol {
    std::string_view name;
    uint8_t info = 0, other = 0;
    uint16_t section = 0;
    uint64_t value = 0, size = 0;
    bool entry() const { return (other & 0x10) != 0; }  // STO_CUDA_ENTRY
  };
  // One attribute of a .nv.info section: a format byte, an attribute byte, and data.
  struct Attribute {
    uint8_t format = 0, name = 0;
    std::string_view data;
  };

  // The views point into `bytes`, which must outlive the object. Error: ASM0010.
  static base::Result<Cubin> read(std::string_view bytes);

  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const Section* section(std::string_view name) const;
  std::vector<std::string_view> entries() const;
  // Error: ASM0010, attributes that run over their section's end.
  static base::Result<std::vector<Attribute>> attributes(const Section& section);
  uint64_t code_bytes(std::string_view entry) const;
  // The product of .maxntid or .reqntid as the entry's attributes hold it; 0 where none.
  int max_threads(std::string_view entry) const;

 private:
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

}  // namespace ptxlab::toolchain
