#include "task/ptx_uses.h"

#include <algorithm>
#include <map>

namespace ptxlab::task {
namespace {

using ptx::Operand;
using Set = std::set<uint32_t>;

// What may be in a register: addresses made from parameters, and values loaded through them.
struct Source {
  Set based, loaded;
  bool add(const Source& other) {
    const size_t before = based.size() + loaded.size();
    based.insert(other.based.begin(), other.based.end());
    loaded.insert(other.loaded.begin(), other.loaded.end());
    return based.size() + loaded.size() > before;
  }
};

bool memory_space(const ptx::Instruction& instruction, std::string_view space) {
  return std::find(instruction.words.begin(), instruction.words.end(), space) != instruction.words.end();
}

class Uses {
 public:
  explicit Uses(const ptx::Function& entry) : entry_(entry), sources_(entry.registers.size()) {
    uses_.resize(entry.parameters.size());
  }

  std::vector<PtxUse> run() {
    for (int round = 0; round < 20 && pass(); ++round) {
    }
    for (const ptx::Statement& statement : entry_.body)
      if (const ptx::Instruction* instruction = statement.instruction()) note(*instruction);
    judge_pairs();
    for (const ptx::Statement& statement : entry_.body)
      if (const ptx::Instruction* instruction = statement.instruction()) tell_bits(*instruction);
    return std::move(uses_);
  }

 private:
  std::optional<uint32_t> parameter_named(std::string_view name) const {
    for (uint32_t i = 0; i < entry_.parameters.size(); ++i)
      if (entry_.parameters[i].name == name) return i;
    return std::nullopt;
  }

  // Of a register, a vector's elements, or an address and its base.
  Source of(const Operand& operand) const {
    Source source;
    if (operand.kind == Operand::Kind::reg && operand.id < sources_.size()) source.add(sources_[operand.id]);
    for (const Operand& element : operand.elements) source.add(of(element));
    return source;
  }
  template <class F>
  void each_register(const Operand& operand, F&& visit) const {
    if (operand.kind == Operand::Kind::reg && operand.id < sources_.size()) visit(operand.id);
    for (const Operand& element : operand.elements) each_register(element, visit);
  }
  // The parameter that ld.param reads.
  std::optional<uint32_t> parameter_of(const Operand& operand) const {
    if (operand.kind == Operand::Kind::symbol) return parameter_named(operand.name);
    for (const Operand& element : operand.elements)
      if (auto found = parameter_of(element)) return found;
    return std::nullopt;
  }

  bool pass() {
    bool changed = false;
    for (const ptx::Statement& statement : entry_.body) {
      const ptx::Instruction* in = statement.instruction();
      if (!in || in->words.empty() || in->operands.size() < 2) continue;
      const std::string& opcode = in->words[0];
      if (opcode == "st" || opcode == "red" || opcode == "setp" || opcode == "cp") continue;
      const bool matrix = opcode == "wmma" && in->words.size() > 1;
      if (matrix && in->words[1] == ".store") continue;
      Source source;
      if (opcode == "ld" && memory_space(*in, ".param")) {
        auto parameter = parameter_of(in->operands[1]);
        if (parameter && wide(in->operands[0])) source.based.insert(*parameter);
      } else if (opcode == "ld" || opcode == "ldu" || opcode == "atom" || (matrix && in->words[1] == ".load")) {
        source.loaded = of(in->operands[1]).based;
      } else {
        for (size_t i = 1; i < in->operands.size(); ++i) source.add(of(in->operands[i]));
      }
      each_register(in->operands[0], [&](uint32_t reg) { changed |= sources_[reg].add(source); });
    }
    return changed;
  }

  bool wide(const Operand& operand) const {
    bool result = false;
    each_register(operand, [&](uint32_t reg) { result |= isa::bits_of(entry_.registers[reg].type) == 64; });
    return result;
  }

  void note(const ptx::Instruction& in) {
    for (const Operand& operand : in.operands)
      if (auto parameter = parameter_of(operand)) uses_[*parameter].named = true;
    if (in.words.empty() || in.operands.empty()) return;
    const std::string& opcode = in.words[0];
    if (opcode == "setp" && in.operands.size() == 3) {
      for (uint32_t parameter : of(in.operands[1]).based)
        if (sources_of_constant(in.operands[2])) uses_[parameter].null_checked = true;
    }
    const bool matrix = opcode == "wmma" && in.words.size() > 1;
    const bool copy = opcode == "cp" && memory_space(in, ".async") && !memory_space(in, ".bulk");  // to shared memory
    const bool load = opcode == "ld" || opcode == "ldu" || copy || (matrix && in.words[1] == ".load");
    const bool store = opcode == "st" || (matrix && in.words[1] == ".store");
    const bool atomic = opcode == "atom" || opcode == "red";
    if (!load && !store && !atomic) return;
    if (memory_space(in, ".param") || (memory_space(in, ".shared") && !copy) || memory_space(in, ".local")) return;
    const size_t address = opcode == "atom" || load ? 1 : 0;
    if (address >= in.operands.size()) return;
    const Source source = of(in.operands[address]);
    for (uint32_t parameter : source.based) {
      PtxUse& use = uses_[parameter];
      use.address = true;
      use.read |= load || atomic;
      use.written |= store || atomic;
      element(in, use);
      // A store's value, or what a load brings.
      for (size_t i = 0; i < in.operands.size() && !atomic; ++i)
        if (i != address)
          each_register(in.operands[i], [&](uint32_t reg) { (load ? carriers_ : stored_)[reg].insert(parameter); });
      if (load) pair(in.operands[address], parameter);
    }
    for (uint32_t from : source.loaded)
      for (uint32_t to : source.based)
        if (from != to) uses_[from].indexes.insert(to);
  }

  // What ld.b32 brings and st.b32 takes is told by the arithmetic around it.
  void tell_bits(const ptx::Instruction& in) {
    if (!in.form.row || in.operands.size() < 2) return;
    const std::string& opcode = in.words[0];
    if (opcode == "ld" || opcode == "st" || opcode == "mma" || opcode == "wmma" || opcode == "atom") return;
    std::vector<isa::Type> types;
    for (const std::string& word : in.words)
      if (auto type = isa::type_named(std::string_view(word).substr(word.empty() ? 0 : 1))) types.push_back(*type);
    if (types.empty()) return;
    for (size_t i = 1; i < in.operands.size(); ++i)
      each_register(in.operands[i], [&](uint32_t reg) { tell(carriers_[reg], types.back()); });
    each_register(in.operands[0], [&](uint32_t reg) { tell(stored_[reg], types.front()); });
  }
  void tell(const Set& parameters, isa::Type type) {
    if (!isa::is_float(type) && !isa::is_integer(type)) return;
    for (uint32_t parameter : parameters) {
      isa::Type& element = uses_[parameter].element;
      const bool bits = isa::info(element).kind == isa::Kind::bits;
      if (bits && isa::bits_of(type) == isa::bits_of(element)) element = isa::info(type).element;
    }
  }

  static bool sources_of_constant(const Operand& operand) {
    return operand.kind == Operand::Kind::integer && operand.bits == 0;
  }

  static void element(const ptx::Instruction& in, PtxUse& use) {
    if (!in.form.row) return;
    for (auto word = in.words.rbegin(); word != in.words.rend(); ++word) {
      const auto type = isa::type_named(std::string_view(*word).substr(word->empty() ? 0 : 1));
      if (!type) continue;
      if (use.element == isa::Type::none) use.element = *type;
      if (use.element != *type) use.element = isa::Type::b8;  // several
      return;
    }
  }

  // Two loads at one base, an element apart.
  void pair(const Operand& address, uint32_t parameter) {
    std::optional<uint32_t> base;
    each_register(address, [&](uint32_t reg) { base = reg; });
    if (!base) return;
    offsets_[{*base, parameter}].insert(address.offset);
  }
  // More than two are an unrolled loop.
  void judge_pairs() {
    for (PtxUse& use : uses_) use.neighbours = false;
    std::set<uint32_t> many;
    for (const auto& [key, offsets] : offsets_) {
      if (offsets.size() > 2) many.insert(key.second);
      if (offsets.size() != 2) continue;
      const int64_t step = *offsets.rbegin() - *offsets.begin();
      uses_[key.second].neighbours |= step == 4 || step == 8;
    }
    for (uint32_t parameter : many) uses_[parameter].neighbours = false;
  }

  const ptx::Function& entry_;
  std::vector<Source> sources_;
  std::vector<PtxUse> uses_;
  std::map<std::pair<uint32_t, uint32_t>, std::set<int64_t>> offsets_;
  std::map<uint32_t, Set> carriers_, stored_;  // registers that loads fill and stores empty: through which parameters
};

}  // namespace

std::vector<PtxUse> uses_of_parameters(const ptx::Function& entry) { return Uses(entry).run(); }

}  // namespace ptxlab::task
