// The engine's front: a module's variables and decoded entries, kept from launch to launch.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "simt/engine.h"
#include "simt/machine.h"
#include "simt/random_rounding.h"

namespace ptxlab::simt {
namespace {

bool in_device_memory(const ptx::Variable& v) {
  return (v.space == isa::Space::global || v.space == isa::Space::constant) && v.opaque.empty() &&
         v.linkage != ptx::Linkage::external;
}

// Two passes: all variables have addresses before any initialiser names one.
void make_variables(const ptx::Module& module, Variables& variables) {
  variables.allocation.assign(module.variables.size(), -1);
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& v = module.variables[i];
    if (!in_device_memory(v)) continue;
    variables.allocation[i] = static_cast<int64_t>(variables.memory.allocate(
        v.name, v.bytes(), launch::ResolvedBuffer::Init::zero, v.space == isa::Space::global));
  }
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& v = module.variables[i];
    if (variables.allocation[i] < 0 || !v.init) continue;
    Allocation& to = variables.memory.allocation(static_cast<size_t>(variables.allocation[i]));
    auto size = static_cast<uint64_t>(isa::bytes_of(v.type));
    uint64_t at = 0;
    for (const auto& element : v.init->elements) {
      uint64_t bits = element.bits;
      for (size_t k = 0; k < module.variables.size() && !element.symbol.empty(); ++k)
        if (module.variables[k].name == element.symbol && variables.allocation[k] >= 0)
          bits = variables.memory.allocation(static_cast<size_t>(variables.allocation[k])).address +
                 static_cast<uint64_t>(element.offset);
      if (!element.symbol.empty() && module.function(element.symbol)) bits = code_address(module, element.symbol);
      if (element.mask) bits = (bits & element.mask) >> __builtin_ctzll(element.mask);
      if (at + size <= to.bytes) std::memcpy(to.data.data() + at, &bits, std::min<uint64_t>(size, 8));
      at += size;
    }
  }
}

class SimtProgram : public Program {
 public:
  explicit SimtProgram(const ptx::Module& module) : module_(module) {}

  base::Findings load(std::span<const std::string> entries) {
    base::Findings unsupported;
    uint64_t bytes = 0;
    for (const ptx::Variable& v : module_.variables)
      if (in_device_memory(v)) bytes += std::min<uint64_t>(v.bytes(), uint64_t{1} << 40);
    if (bytes > RunOptions{}.memory_budget) {
      base::Finding finding;
      finding.code = "RUN0020";
      finding.message =
          fmt::format("the module's variables take {} bytes: more than the engine's memory budget", bytes);
      return {finding};
    }
    make_variables(module_, variables_);
    std::set<const ptx::Function*> wanted;
    for (const auto& name : entries) wanted.insert(module_.entry(name));
    for (const ptx::Function& function : module_.functions)
      if (function.entry && function.has_body && (entries.empty() || wanted.count(&function)))
        images_[function.name] = decode(module_, function, variables_, unsupported);
    std::set<std::pair<uint32_t, std::string>> seen;  // functions that several entries call
    std::erase_if(unsupported, [&](const base::Finding& f) { return !seen.insert({f.place.line, f.message}).second; });
    return unsupported;
  }

  base::Findings set_variable(std::string_view name, std::span<const uint8_t> bytes) override {
    for (size_t i = 0; i < module_.variables.size(); ++i) {
      if (module_.variables[i].name != name || variables_.allocation[i] < 0) continue;
      Allocation& to = variables_.memory.allocation(static_cast<size_t>(variables_.allocation[i]));
      if (bytes.size() > to.bytes) break;
      std::copy(bytes.begin(), bytes.end(), to.data.begin());
      return {};
    }
    base::Finding finding;
    finding.code = "RUN0029";
    finding.message = fmt::format("'{}' has no variable '{}' that holds {} bytes", module_.file, name, bytes.size());
    return {finding};
  }

  RunReport run(const launch::ResolvedLaunch& launch, std::span<const size_t> buffers, Memory& memory,
                const RunOptions& options, std::span<Observer* const> observers) override {
    const ptx::Function* entry = module_.entry(launch.entry);
    auto image = entry ? images_.find(entry->name) : images_.end();
    if (options.random_rounding && image != images_.end())
      return run_rounding(*entry, launch, buffers, memory, options, observers);
    if (image == images_.end()) {
      RunReport report;
      base::Finding finding;
      finding.code = "RUN0002";
      finding.message = fmt::format("there is no entry '{}' in '{}'", launch.entry, module_.file);
      report.findings.push_back(std::move(finding));
      return report;
    }
    return Machine(*image->second, variables_, launch, buffers, memory, options, observers).run();
  }

 private:
  RunReport run_rounding(const ptx::Function& entry, const launch::ResolvedLaunch& launch,
                         std::span<const size_t> buffers, Memory& memory, const RunOptions& options,
                         std::span<Observer* const> observers) {
    std::unique_ptr<Image>& image = rounding_images_[entry.name];
    if (!image) {
      base::Findings none;  // whatever the engine lacks was said at load
      image = decode(module_, entry, variables_, none);
      round_randomly(*image);
    }
    RandomRoundingScope scope(options.seed + ++rounding_runs_);
    RunReport report = Machine(*image, variables_, launch, buffers, memory, options, observers).run();
    report.inexact = scope.inexact();
    return report;
  }

  const ptx::Module& module_;
  Variables variables_;
  std::map<std::string, std::unique_ptr<Image>> images_;
  std::map<std::string, std::unique_ptr<Image>> rounding_images_;  // made when first wanted
  uint64_t rounding_runs_ = 0;                                     // a launch among several draws numbers of its own
};

class SimtEngine : public Engine {
 public:
  std::string_view name() const override { return "simt"; }
  base::Result<std::unique_ptr<Program>> load(const ptx::Module& module,
                                              std::span<const std::string> entries) override {
    auto program = std::make_unique<SimtProgram>(module);
    base::Findings findings = program->load(entries);
    if (!findings.empty()) return findings;
    return base::Result<std::unique_ptr<Program>>(std::move(program));
  }
};

}  // namespace

base::Findings set_symbols(Program& program, const launch::ResolvedPlan& plan, std::span<const size_t> buffers,
                           const Memory& memory) {
  base::Findings findings;
  for (const launch::ResolvedSymbol& symbol : plan.symbols) {
    if (!symbol.tensor_maps.empty()) {
      findings.push_back({"RUN0001",
                          base::Severity::error,
                          {},
                          fmt::format("tensor maps are not executed by this engine: symbol `{}`", symbol.name),
                          "",
                          {}});
      continue;
    }
    std::vector<uint8_t> value = symbol.value;
    if (symbol.buffer != launch::ResolvedSymbol::kNoBuffer) {
      const Bytes& data = memory.allocation(buffers[symbol.buffer]).data;
      const auto from = data.begin() + static_cast<ptrdiff_t>(symbol.addend);
      value.assign(from, from + static_cast<ptrdiff_t>(symbol.bytes));
    }
    for (const launch::Relocation& relocation : symbol.pointers) {
      const uint64_t address = memory.allocation(buffers[relocation.buffer]).address + relocation.addend;
      std::memcpy(value.data() + relocation.offset, &address, sizeof address);
    }
    base::Findings wrong = program.set_variable(symbol.name, value);
    findings.insert(findings.end(), wrong.begin(), wrong.end());
  }
  return findings;
}

std::unique_ptr<Engine> make_simt_engine() { return std::make_unique<SimtEngine>(); }

}  // namespace ptxlab::simt
