#include "toolchain/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "toolchain/tool_finding.h"
#include "toolchain/toolchain.h"

namespace ptxlab::toolchain {
namespace {

constexpr uint32_t kSymbolTable = 2, kRelocationsWithAddend = 4, kNoBits = 8;
constexpr uint16_t kCudaMachine = 190;

// Attributes of .nv.info that are looked at here, named as in the output of NVIDIA's own cuobjdump. All but the two of
// threads begin with the index of a symbol, which depends on what else is in the module.
enum InfoAttribute : uint8_t {
  kMaxThreads = 0x05,
  kParamCbank = 0x0a,
  kReqntid = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kMaxStackSize = 0x23,
  kRegCount = 0x2f,
};

base::Finding not_a_cubin(std::string why) {
  return tool_finding("ASM0010", base::Severity::error, "not a cubin: " + why, "", "");
}

// The integer at `at`, or nothing beyond the end.
template <class T>
std::optional<T> number(std::string_view bytes, uint64_t at) {
  static_assert(std::endian::native == std::endian::little);
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// The zero-terminated text at `at` of a string table.
std::string_view text_at(std::string_view table, uint64_t at) {
  if (at >= table.size()) return {};
  table.remove_prefix(at);
  return table.substr(0, table.find('\0'));
}

}  // namespace

base::Result<Cubin> Cubin::read(std::string_view bytes) {
  if (bytes.size() < 64 || bytes.substr(0, 4) !=
                               "\x7f"
                               "ELF")
    return not_a_cubin("no ELF header");
  if (bytes[4] != 2 || bytes[5] != 1) return not_a_cubin("not a 64-bit little-endian ELF file");
  if (*number<uint16_t>(bytes, 18) != kCudaMachine) return not_a_cubin("made for another machine than a GPU");
  uint64_t table = *number<uint64_t>(bytes, 40);
  uint64_t entry_size = *number<uint16_t>(bytes, 58), count = *number<uint16_t>(bytes, 60),
           names = *number<uint16_t>(bytes, 62);
  if (entry_size < 64 || table > bytes.size() || count * entry_size > bytes.size() - table || names >= count) {
    return not_a_cubin("its section table lies outside the file");
  }
  uint64_t programs = *number<uint64_t>(bytes, 32);
  uint64_t programs_size = uint64_t{*number<uint16_t>(bytes, 54)} * *number<uint16_t>(bytes, 56);
  if (programs > bytes.size() || programs_size > bytes.size() - programs) return not_a_cubin("it is cut off");
  Cubin cubin;
  std::vector<uint32_t> name_offsets;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = table + i * entry_size;
    Section section;
    name_offsets.push_back(*number<uint32_t>(bytes, at));
    section.type = *number<uint32_t>(bytes, at + 4);
    section.flags = *number<uint64_t>(bytes, at + 8);
    uint64_t offset = *number<uint64_t>(bytes, at + 24);
    section.size = *number<uint64_t>(bytes, at + 32);
    section.link = *number<uint32_t>(bytes, at + 40);
    section.info = *number<uint32_t>(bytes, at + 44);
    section.align = *number<uint64_t>(bytes, at + 48);
    if (section.type != kNoBits && section.type != 0) {
      if (offset > bytes.size() || section.size > bytes.size() - offset) {
        return not_a_cubin(fmt::format("section {} lies outside the file", i));
      }
      section.data = bytes.substr(offset, section.size);
    }
    cubin.sections_.push_back(section);
  }
  for (uint64_t i = 0; i < count; ++i) cubin.sections_[i].name = text_at(cubin.sections_[names].data, name_offsets[i]);
  for (const Section& section : cubin.sections_) {
    if (section.type != kSymbolTable) continue;
    std::string_view strings = section.link < count ? cubin.sections_[section.link].data : std::string_view{};
    for (uint64_t at = 0; at + 24 <= section.data.size(); at += 24) {
      Symbol symbol;
      symbol.name = text_at(strings, *number<uint32_t>(section.data, at));
      symbol.info = *number<uint8_t>(section.data, at + 4);
      symbol.other = *number<uint8_t>(section.data, at + 5);
      symbol.section = *number<uint16_t>(section.data, at + 6);
      symbol.value = *number<uint64_t>(section.data, at + 8);
      symbol.size = *number<uint64_t>(section.data, at + 16);
      cubin.symbols_.push_back(symbol);
    }
  }
  return cubin;
}

const Cubin::Section* Cubin::section(std::string_view name) const {
  auto at = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return at == sections_.end() ? nullptr : &*at;
}

std::vector<std::string_view> Cubin::entries() const {
  std::vector<std::string_view> names;
  for (const Symbol& symbol : symbols_) {
    if (symbol.entry()) names.push_back(symbol.name);
  }
  return names;
}

base::Result<std::vector<Cubin::Attribute>> Cubin::attributes(const Section& section) {
  constexpr uint8_t kSized =
      4;  // format: two bytes of length, then the data; all others hold two bytes or fewer in place
  std::vector<Attribute> all;
  std::string_view data = section.data;
  for (uint64_t at = 0; at < data.size();) {
    if (data.size() - at < 4) return not_a_cubin(fmt::format("{} ends inside an attribute", section.name));
    Attribute attribute{static_cast<uint8_t>(data[at]), static_cast<uint8_t>(data[at + 1]), data.substr(at + 2, 2)};
    at += 4;
    if (attribute.format == kSized) {
      uint64_t size = *number<uint16_t>(attribute.data, 0);
      if (size > data.size() - at) return not_a_cubin(fmt::format("{} ends inside an attribute", section.name));
      attribute.data = data.substr(at, size);
      at += size;
    }
    all.push_back(attribute);
  }
  return all;
}

uint64_t Cubin::code_bytes(std::string_view entry) const {
  const Section* text = section(fmt::format(".text.{}", entry));
  return text ? text->size : 0;
}

int Cubin::max_threads(std::string_view entry) const {
  const Section* info = section(fmt::format(".nv.info.{}", entry));
  if (!info) return 0;
  auto all = attributes(*info);
  if (!all) return 0;
  for (const Attribute& attribute : *all) {
    if ((attribute.name != kMaxThreads && attribute.name != kReqntid) || attribute.data.size() < 12) continue;
    uint64_t product = 1;
    for (int i = 0; i < 3; ++i) product *= std::min<uint64_t>(*number<uint32_t>(attribute.data, 4 * i), 1024);
    return static_cast<int>(std::min<uint64_t>(product, 1024));
  }
  return 0;
}

namespace {

// What a digest is made of: parts with a name and a length each, so that no two different lists give the same text.
class Parts {
 public:
  void add(std::string_view name, std::string_view data) {
    text_ += fmt::format("{}:{}:{}:", name.size(), name, data.size());
    text_ += data;
  }
  std::string digest() const { return base::sha256(text_); }

 private:
  std::string text_;
};

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

// ".text.k" is of "k", ".nv.constant0.k" too; ".nv.constant3" and ".nv.global.init" are the module's.
std::string_view owner_of(std::string_view section, const std::vector<std::string_view>& entries) {
  for (std::string_view entry : entries) {
    if (section.size() > entry.size() && section.substr(section.size() - entry.size()) == entry &&
        section[section.size() - entry.size() - 1] == '.') {
      // Where one entry's name ends another's (".x.y" and "y") the longer one owns the section.
      std::string_view best = entry;
      for (std::string_view other : entries) {
        if (other.size() > best.size() && section.size() > other.size() &&
            section.substr(section.size() - other.size()) == other &&
            section[section.size() - other.size() - 1] == '.') {
          best = other;
        }
      }
      return best;
    }
  }
  return {};
}

// Tables that hold names, places of other sections, or what only debuggers read.
bool bookkeeping(const Cubin::Section& section) {
  static constexpr std::string_view kStarts[] = {".debug",      ".nv_debug",     ".rel.debug",
                                                 ".rela.debug", ".rel.nv_debug", ".rela.nv_debug",
                                                 ".note",       ".nv.callgraph", ".rel.nv.callgraph"};
  if (section.type == 0 || section.type == kSymbolTable || section.type == 3) return true;
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view s) { return starts_with(section.name, s); });
}

// The symbol's name without that of the entry: "" for `entry` itself, ".nv.constant0." for its section.
std::string_view symbol_name(const Cubin& cubin, uint64_t index, std::string_view entry) {
  if (index >= cubin.symbols().size()) return "?";
  std::string_view name = cubin.symbols()[index].name;
  if (name == entry) return "";
  size_t own = name.size() > entry.size() ? name.size() - entry.size() : 0;
  return own > 0 && name.substr(own) == entry && name[own - 1] == '.' ? name.substr(0, own) : name;
}

// Attributes with symbol indices replaced by names. Of the module's own .nv.info only what is said of `entry` counts.
base::Findings add_info(Parts& parts, const Cubin& cubin, const Cubin::Section& section, std::string_view entry,
                        bool of_module) {
  auto all = Cubin::attributes(section);
  if (!all) return all.findings();
  // The order of the module's attributes follows its entries.
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& attribute : *all) {
    bool by_symbol =
        attribute.format == 4 && attribute.data.size() >= 4 &&
        (attribute.name == kParamCbank || attribute.name == kFrameSize || attribute.name == kMinStackSize ||
         attribute.name == kMaxStackSize || attribute.name == kRegCount);
    std::string head = fmt::format("{}.{}", attribute.format, attribute.name);
    if (!by_symbol) {
      lines.emplace_back(head, attribute.data);
      continue;
    }
    std::string_view symbol = symbol_name(cubin, *number<uint32_t>(attribute.data, 0), entry);
    bool other_entry = !symbol.empty() && of_module &&
                       std::any_of(cubin.symbols().begin(), cubin.symbols().end(),
                                   [&](const Cubin::Symbol& s) { return s.entry() && s.name == symbol; });
    if (!other_entry) lines.emplace_back(fmt::format("{}.{}", head, symbol), attribute.data.substr(4));
  }
  if (of_module) std::sort(lines.begin(), lines.end());
  for (const auto& [name, data] : lines) parts.add(name, data);
  return {};
}

void add_relocations(Parts& parts, const Cubin& cubin, const Cubin::Section& section, std::string_view entry) {
  uint64_t step = section.type == kRelocationsWithAddend ? 24 : 16;
  for (uint64_t at = 0; at + step <= section.data.size(); at += step) {
    uint64_t info = *number<uint64_t>(section.data, at + 8);
    std::string line(section.data.substr(at, step));
    line.replace(8, 8, fmt::format("{}", info & 0xffffffff));
    const uint64_t index = info >> 32;
    uint64_t value = index < cubin.symbols().size() ? cubin.symbols()[index].value : 0;
    parts.add(symbol_name(cubin, index, entry), line + fmt::format("@{}", value));
  }
}

}  // namespace

base::Result<std::string> code_digest(std::string_view bytes, std::string_view entry) {
  auto cubin = Cubin::read(bytes);
  if (!cubin) return cubin.findings();
  auto entries = cubin->entries();
  if (std::find(entries.begin(), entries.end(), entry) == entries.end()) {
    return not_a_cubin(fmt::format("it has no entry '{}'", entry));
  }
  std::vector<const Cubin::Section*> counted;
  for (const auto& section : cubin->sections()) {
    std::string_view owner = owner_of(section.name, entries);
    if (!bookkeeping(section) && (owner.empty() || owner == entry)) counted.push_back(&section);
  }
  std::sort(counted.begin(), counted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  Parts parts;
  for (const auto* section : counted) {
    // The entry's own name is left out: the same kernel under another name is the same kernel.
    std::string_view name = section->name;
    bool own = owner_of(name, entries) == entry;
    if (own) name.remove_suffix(entry.size());
    bool info = starts_with(section->name, ".nv.info");
    // The size counts for sections without bytes; that of the attributes depends on the other entries.
    parts.add(name, fmt::format("{} {} {} {}", own, section->flags, section->align, info ? 0 : section->size));
    if (info) {
      auto findings = add_info(parts, *cubin, *section, entry, section->name == ".nv.info");
      if (!findings.empty()) return findings;
    } else if (section->type == kRelocationsWithAddend || section->type == 9) {
      add_relocations(parts, *cubin, *section, entry);
    } else {
      parts.add("bytes", section->data);
    }
  }
  return parts.digest();
}

}  // namespace ptxlab::toolchain
