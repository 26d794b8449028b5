// Opcodes as NVIDIA's "CUDA binary utilities" lists them for Ampere, Hopper and Blackwell. What no list knows is `other`, never a guess.
#include "toolchain/sass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "toolchain/cache.h"
#include "toolchain/tool_finding.h"

namespace ptxlab::toolchain {
namespace {

struct Family {
  SassClass part;
  std::string_view opcodes;  // separated by blanks
};
constexpr Family kFamilies[] = {
    {SassClass::fp32, "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSET FSETP FSWZADD"},
    {SassClass::fp16,
     "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2 HMNMX2 BMNMX2 VHMNMX HFMA HADD HMUL"},
    {SassClass::fp64, "DADD DFMA DMUL DSETP DMNMX DSET"},
    {SassClass::tensor,
     "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA"},
    {SassClass::integer,
     "IABS IADD IADD3 IADD32I IADD64 IDP IDP4A IMAD IMAD32I IMNMX IMUL IMUL32I ISCADD ISCADD32I ISET ISETP LEA LOP "
     "LOP3 LOP32I "
     "POPC SHF SHL SHR BREV BMSK FLO VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 SGXT IDE XMAD BFE BFI"},
    {SassClass::special, "MUFU"},
    {SassClass::conversion, "F2F F2I F2FP F2IP I2F I2I I2FP I2IP FRND"},
    {SassClass::move, "MOV MOV32I MOVM PRMT SEL FSEL SHFL CS2R S2R CS2UR R2UR R2B B2R GETLMEMBASE"},
    {SassClass::predicate, "PLOP3 PSETP P2R R2P VOTE VOTEU MATCH REDUX CREDUX LEPC"},
    {SassClass::global, "LD LDG ST STG LDGMC CCTL QSPC TEX TLD TLD4 TMML TXD TXQ SULD SUST SURED SUATOM"},
    {SassClass::shared, "LDS STS LDSM STSM STAS LDT STT LDTM STTM"},
    {SassClass::local, "LDL STL CCTLL"},
    {SassClass::constant, "LDC LDCU ULDC"},
    {SassClass::atomic, "ATOM ATOMG ATOMS RED REDG REDS REDAS UREDGR ATOMGMMX"},
    {SassClass::bulk,
     "LDGSTS UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UTCCP UTCSHIFT STGBULK"},
    {SassClass::control,
     "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSSY BSYNC BREAK BMOV BPT KILL YIELD NANOSLEEP RPCMOV ELECT PREEXIT "
     "ACQBULK "
     "ENDCOLLECTIVE WARPSYNC_ALL BRA_U SETLMEMBASE SETCTAID PMTRIG CSMTEST UVIRTCOUNT SSY SYNC RTT"},
    {SassClass::barrier,
     "BAR UBAR WARPSYNC SYNCS DEPBAR LDGDEPBAR ARRIVES WARPGROUP WARPGROUPSET MEMBAR FENCE ERRBAR CGAERRBAR "
     "UCGABAR_ARV "
     "UCGABAR_WAIT UCGABAR_SET UCGABAR_GET UTCBAR UTCATOMSWS USETMAXREG SETMAXREG UMEMSETS CCTLT"},
};

const std::unordered_map<std::string_view, SassClass>& known_opcodes() {
  static const auto known = [] {
    std::unordered_map<std::string_view, SassClass> made;
    for (const Family& family : kFamilies) {
      std::string_view rest = family.opcodes;
      while (!rest.empty()) {
        size_t end = std::min(rest.find(' '), rest.size());
        made.emplace(rest.substr(0, end), family.part);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return made;
  }();
  return known;
}

struct Line {
  uint64_t address = 0;
  std::string_view opcode;    // IMAD.WIDE.U32
  std::string_view operands;  // R8, R3, UR8, R4
  std::string_view base() const { return opcode.substr(0, opcode.find('.')); }
  bool has(std::string_view modifier) const {
    for (size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', at + 1)) {
      if (opcode.substr(at + 1, opcode.find('.', at + 1) - at - 1) == modifier) return true;
    }
    return false;
  }
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == ';')) text.remove_suffix(1);
  return text;
}

// "/*0090*/  @P0 BRA `(.L_x_1) ;"
std::optional<Line> instruction(std::string_view text) {
  text = trimmed(text);
  if (text.substr(0, 2) != "/*") return std::nullopt;
  size_t close = text.find("*/");
  if (close == std::string_view::npos || close > 12) return std::nullopt;
  Line line;
  for (char c : text.substr(2, close - 2)) {
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    line.address = line.address * 16 + static_cast<uint64_t>(digit);
  }
  text = text.substr(close + 2);
  text = trimmed(text.substr(0, text.find("/*")));  // an encoding behind it
  if (!text.empty() && text.front() == '{') text = trimmed(text.substr(1));
  if (!text.empty() && text.front() == '@') text = trimmed(text.substr(std::min(text.find(' '), text.size())));
  if (text.empty() || text.front() < 'A' || text.front() > 'Z') return std::nullopt;
  size_t end = std::min(text.find(' '), text.size());
  line.opcode = text.substr(0, end);
  line.operands = trimmed(text.substr(end));
  return line;
}

// A register or a constant brought in by an arithmetic pipe, or half of one widened.
std::optional<SassClass> in_disguise(const Line& line) {
  std::string_view base = line.base();
  if (base == "IMAD" && line.has("MOV")) return SassClass::move;
  bool of_nothing = line.operands.find("-RZ, RZ,") != std::string_view::npos;
  if (base == "HFMA2" && of_nothing) return SassClass::move;
  if (base == "HADD2" && line.has("F32")) return SassClass::conversion;
  return std::nullopt;
}

SassClass class_of(const Line& line) {
  if (auto found = in_disguise(line)) return *found;
  std::string_view base = line.base();
  auto known = known_opcodes().find(base);
  if (known != known_opcodes().end()) return known->second;
  // The scalar datapath repeats the others' names behind a U.
  if (base.size() > 2 && base.front() == 'U') {
    if (base == "UP2UR" || base == "UR2UP" || base == "UCLEA" || base == "USEL" || base == "UPRMT")
      return SassClass::uniform;
    if (known_opcodes().count(base.substr(1))) return SassClass::uniform;
  }
  if (base == "S2UR" || base == "UMOV") return SassClass::uniform;
  return SassClass::other;
}

int width_of(const Line& line) {
  constexpr std::pair<std::string_view, int> kWidths[] = {
      {"256", 256}, {"128", 128}, {"64", 64}, {"U16", 16}, {"S16", 16}, {"16", 16}, {"U8", 8}, {"S8", 8}, {"8", 8}};
  for (const auto& [word, bits] : kWidths) {
    if (line.has(word)) return bits;
  }
  return 32;
}

void count_access(const Line& line, bool in_loop, SassFacts& facts) {
  std::string_view base = line.base();
  if (base == "LDG" || base == "LD" || base == "LDGMC") ++facts.global_loads[width_of(line)];
  if (base == "STG" || base == "ST") ++facts.global_stores[width_of(line)];
  if (base == "LDS") ++facts.shared_loads[width_of(line)];
  if (base == "STS") ++facts.shared_stores[width_of(line)];
  if (base == "LDSM") ++facts.matrix_loads;
  if (base == "LDL") ++facts.local_loads;
  if (base == "STL") ++facts.local_stores;
  if ((base == "LDL" || base == "STL") && in_loop) ++facts.local_in_loops;
  if (base == "LDGSTS") ++facts.async_copies;
  if (base == "UBLKCP" || base == "UBLKRED") ++facts.bulk_copies;
  if (base == "UTMALDG" || base == "UTMASTG" || base == "UTMAREDG") ++facts.tensor_copies;
  if (base == "CALL") ++facts.calls;
}

// One .text section: its instructions, and where its labels stand.
struct Section {
  std::string name;
  std::vector<Line> lines;
  std::map<std::string, uint64_t, std::less<>> labels;
};

// Where a branch goes: "`(.L_x_2)", or an address.
std::optional<uint64_t> destination(const Line& line, const Section& section) {
  std::string_view base = line.base();
  if (base != "BRA" && base != "JMP") return std::nullopt;
  size_t open = line.operands.find("`(");
  if (open == std::string_view::npos) return std::nullopt;
  size_t close = line.operands.find(')', open);
  auto label = section.labels.find(line.operands.substr(open + 2, close - open - 2));
  if (label == section.labels.end()) return std::nullopt;
  return label->second;
}

SassFacts facts_of(const Section& section) {
  SassFacts facts;
  facts.entry = section.name;
  std::vector<std::pair<uint64_t, uint64_t>> loops;
  uint64_t trap = UINT64_MAX;  // the branch to itself behind the last instruction, and the padding after it
  for (const Line& line : section.lines) {
    auto to = destination(line, section);
    if (!to || *to > line.address) continue;
    if (*to == line.address) {
      trap = std::min(trap, line.address);
    } else {
      loops.emplace_back(*to, line.address);
    }
  }
  facts.loops = loops.size();
  for (const Line& line : section.lines) {
    if (line.base() == "NOP" || line.address == trap) continue;
    bool in_loop = std::any_of(loops.begin(), loops.end(), [&](const auto& loop) {
      return loop.first <= line.address && line.address <= loop.second;
    });
    ++facts.instructions;
    facts.in_loops += in_loop;
    SassClass part = class_of(line);
    ++facts.mix[part];
    if (part == SassClass::tensor) ++facts.matrix[std::string(line.opcode)];
    count_access(line, in_loop, facts);
  }
  return facts;
}

bool any_product(const SassFacts& facts, bool (*wanted)(std::string_view)) {
  return std::any_of(facts.matrix.begin(), facts.matrix.end(), [&](const auto& item) {
    return wanted(std::string_view(item.first).substr(0, item.first.find('.')));
  });
}

std::string widths(const char* what, const SassFacts::Widths& accesses) {
  if (accesses.empty()) return "";
  std::vector<std::string> all;
  for (auto at = accesses.rbegin(); at != accesses.rend(); ++at)
    all.push_back(fmt::format("{} x {}", at->second, at->first));
  return fmt::format("{} {} bits", what, fmt::join(all, ", "));
}

// The listing without its blanks: what is kept in the cache.
std::string squeezed(std::string_view listing) {
  std::string text;
  while (!listing.empty()) {
    size_t end = std::min(listing.find('\n'), listing.size());
    std::string_view line = trimmed(listing.substr(0, end));
    listing.remove_prefix(std::min(end + 1, listing.size()));
    if (!line.empty()) text.append(line).push_back('\n');
  }
  return text;
}

base::Finding trouble(std::string message) {
  return tool_finding("ASM0013", base::Severity::error, std::move(message), "no facts about the machine code", "");
}

}  // namespace

std::string_view name_of(SassClass part) {
  switch (part) {
    case SassClass::fp32: return "fp32";
    case SassClass::fp16: return "fp16";
    case SassClass::fp64: return "fp64";
    case SassClass::tensor: return "tensor";
    case SassClass::integer: return "integer";
    case SassClass::special: return "special";
    case SassClass::conversion: return "conversion";
    case SassClass::move: return "move";
    case SassClass::predicate: return "predicate";
    case SassClass::global: return "global";
    case SassClass::shared: return "shared";
    case SassClass::local: return "local";
    case SassClass::constant: return "constant";
    case SassClass::atomic: return "atomic";
    case SassClass::bulk: return "bulk";
    case SassClass::uniform: return "uniform";
    case SassClass::control: return "control";
    case SassClass::barrier: return "barrier";
    case SassClass::other: return "other";
  }
  return "";
}

std::optional<SassClass> sass_class_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(SassClass::other); ++i) {
    if (name_of(static_cast<SassClass>(i)) == name) return static_cast<SassClass>(i);
  }
  return std::nullopt;
}

bool SassFacts::warpgroup_products() const {
  return any_product(*this, [](std::string_view base) { return base.size() > 4 && base.substr(1) == "GMMA"; });
}
bool SassFacts::tensor_memory_products() const {
  return any_product(*this, [](std::string_view base) { return base.substr(0, 3) == "UTC"; });
}
bool SassFacts::warp_products() const {
  return any_product(*this, [](std::string_view base) { return base.size() == 4 && base.substr(1) == "MMA"; });
}

std::vector<SassFacts> read_sass(std::string_view listing) {
  std::vector<SassFacts> all;
  std::optional<Section> section;
  uint64_t next = 0;  // the address of what follows
  auto close = [&] {
    if (section) all.push_back(facts_of(*section));
    section.reset();
    next = 0;
  };
  constexpr std::string_view kText = ".text.";
  while (!listing.empty()) {
    size_t end = std::min(listing.find('\n'), listing.size());
    std::string_view text = trimmed(listing.substr(0, end));
    listing.remove_prefix(std::min(end + 1, listing.size()));
    if (text.substr(0, 8) == ".section" && text.size() > 8 &&
        (text[8] == '\t' || text[8] == ' ')) {  // not .sectioninfo
      close();
      std::string_view name = trimmed(text.substr(8));
      name = name.substr(0, name.find(','));
      if (name.substr(0, kText.size()) == kText) section.emplace().name = name.substr(kText.size());
    } else if (section && !text.empty()) {
      if (auto line = instruction(text)) {
        section->lines.push_back(*line);
        next = line->address + 16;
      } else if (text.back() == ':') {
        section->labels.emplace(text.substr(0, text.size() - 1), next);
      }
    }
  }
  close();
  return all;
}

base::Result<std::vector<SassFacts>> sass_facts(const Tool& nvdisasm, std::string_view cubin,
                                                const DisassembleOptions& options) {
  Cache cache(options.cache.empty() ? base::cache_home() / "sass" : options.cache);
  std::string key =
      base::sha256(fmt::format("sass/1\n{}\n{}\n", nvdisasm.path.string(), nvdisasm.version) + std::string(cubin));
  if (auto stored = cache.get(key)) return read_sass(*stored);
  base::TemporaryFolder folder("ptxlab-nvdisasm");
  if (auto failed = base::write_file(folder.path() / "input.cubin", cubin); !failed.empty())
    return trouble("no place for nvdisasm's input: " + failed[0].message);
  base::Command command;
  // Dataflow analysis only names labels for indirect branches, and takes longer than all else.
  command.argv = {nvdisasm.path.string(), "-c", "-ndf", "input.cubin"};
  command.cwd = folder.path();
  command.limits.wall = options.wall;
  command.limits.address_space = uint64_t{4} << 30;
  command.limits.output = uint64_t{256} << 20;
  command.limits.network = false;
  base::Outcome outcome = base::run(command);
  if (!outcome.ok())
    return trouble(fmt::format("nvdisasm {}: {}", base::describe(outcome), outcome.errors.substr(0, 300)));
  std::string listing = squeezed(outcome.output);
  cache.put(key, listing);
  return read_sass(listing);
}

std::vector<std::string> sass_lines(const SassFacts& facts) {
  std::vector<std::pair<SassClass, uint64_t>> mix(facts.mix.begin(), facts.mix.end());
  std::stable_sort(mix.begin(), mix.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string first = fmt::format("{} instructions", facts.instructions);
  if (facts.loops > 0)
    first += fmt::format(", {} of them in {} loop{}", facts.in_loops, facts.loops, facts.loops == 1 ? "" : "s");
  first += ':';
  for (const auto& [part, count] : mix) first += fmt::format(" {} {},", name_of(part), count);
  first.pop_back();
  std::vector<std::string> parts;
  for (std::string text : {widths("global loads", facts.global_loads), widths("global stores", facts.global_stores),
                           widths("shared loads", facts.shared_loads), widths("shared stores", facts.shared_stores)})
    if (!text.empty()) parts.push_back(std::move(text));
  auto add = [&](uint64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} x {}", count, what));
  };
  add(facts.matrix_loads, "ldmatrix");
  add(facts.async_copies, "cp.async");
  add(facts.bulk_copies, "cp.async.bulk");
  add(facts.tensor_copies, "TMA");
  if (facts.local_loads + facts.local_stores > 0)
    parts.push_back(fmt::format("local memory: {} loads, {} stores{}", facts.local_loads, facts.local_stores,
                                facts.local_in_loops ? fmt::format(" ({} in loops)", facts.local_in_loops) : ""));
  for (const auto& [mnemonic, count] : facts.matrix) parts.push_back(fmt::format("{} x {}", count, mnemonic));
  add(facts.calls, "call");
  std::vector<std::string> lines{std::move(first)};
  if (!parts.empty()) lines.push_back(fmt::format("{}", fmt::join(parts, "; ")));
  return lines;
}

}  // namespace ptxlab::toolchain
