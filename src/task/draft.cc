#include "task/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ptx/hints.h"
#include "task/cuda_declarations.h"
#include "task/cuda_scan.h"
#include "task/cuda_types.h"
#include "task/drafter.h"
#include "task/host_expression.h"
#include "task/mangled.h"
#include "task/ptx_uses.h"

namespace ptxlab::task {
namespace {

constexpr size_t kMaxSource = size_t{8} << 20;

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

Drafter::Drafter(const std::filesystem::path& kernel, CudaScan scan, CudaDeclarations declared,
                 const ptx::Module* compiled, bool keep_lines)
    : file_(kernel),
      scan_(std::move(scan)),
      declared_(std::move(declared)),
      compiled_(compiled),
      keep_lines_(keep_lines) {
  // A loop's variable is no constant, though it starts as one.
  for (const auto& [token, loops] : declared_.loops)
    for (const HostLoop& loop : loops) scan_.constants.erase(loop.variable);
}

Draft Drafter::run() {
  std::vector<CudaLaunch> launches;
  for (const CudaLaunch& launch : scan_.launches)
    if (kernel_named(launch.kernel)) launches.push_back(launch);
  if (launches.empty()) {
    CudaLaunch made;
    made.kernel = scan_.kernels.front().name;
    if (scan_.kernels.size() > 1)
      open(fmt::format("the file has {} kernels and no <<<...>>> launch: this draft takes `{}`", scan_.kernels.size(),
                       made.kernel));
    launches.push_back(std::move(made));
  }
  for (const CudaLaunch& launch : launches)
    for (const HostLoop& loop : loops_of(launch))
      if (!loop.variable.empty()) loop_variables_.insert(loop.variable);
  blocks(launches);
  // Every launch's integers are named before any expression is turned, since grids speak of them all.
  for (const CudaLaunch& launch : launches) integers(launch);
  for (const CudaLaunch& launch : launches) add(launch);
  symbols();
  return finish();
}

void Drafter::open(std::string text) {
  if (std::find(open_.begin(), open_.end(), text) == open_.end()) open_.push_back(std::move(text));
}

const CudaKernel* Drafter::kernel_named(std::string_view name) const {
  for (const CudaKernel& kernel : scan_.kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

std::pair<std::string, int> Drafter::type_of(std::string word) const {
  for (int depth = 0; depth < 8; ++depth) {
    if (const CudaType known = cuda_type(word); !known.type.empty()) return {std::string(known.type), known.count};
    if (auto bound = template_types_.find(word); bound != template_types_.end()) {
      word = bound->second;
      continue;
    }
    const auto alias = scan_.aliases.find(word);
    if (alias == scan_.aliases.end()) break;
    word = alias->second;
  }
  return {"", 1};
}

void Drafter::blocks(const std::vector<CudaLaunch>& launches) {
  for (const CudaLaunch& launch : launches) {
    std::vector<std::string> words = launch.block;
    words.insert(words.end(), launch.template_arguments.begin(), launch.template_arguments.end());
    for (const std::string& dim : words) {
      std::string word;
      for (char c : dim + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
          word += c;
          continue;
        }
        if (identifier(word) && scan_.constants.count(word)) fixed_.insert(word);
        word.clear();
      }
    }
  }
}

bool Drafter::looks_fixed(const std::string& name) const {
  const bool constant_style = name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1]));
  const bool shouted = name.size() > 1 && std::none_of(name.begin(), name.end(), [](char c) {
                         return std::islower(static_cast<unsigned char>(c));
                       });
  return fixed_.count(name) || constant_style || shouted;
}

std::optional<std::string> Drafter::meaning(std::string_view name_view) {
  const std::string name(name_view);
  if (auto it = params_of_host_.find(name); it != params_of_host_.end()) return it->second;
  if (std::find(params_.begin(), params_.end(), name) != params_.end()) return name;
  if (loop_variables_.count(name)) return name;
  const auto constant = scan_.constants.find(name);
  if (constant == scan_.constants.end()) {
    if (!identifier(name)) return std::nullopt;
    param(name, {});
    return name;
  }
  const bool number = host_value(constant->second, [](std::string_view) { return std::nullopt; }).has_value();
  if (!number || looks_fixed(name)) return constant->second;
  param(name, constant->second);  // const int m = 256: a size, of which the program has one
  return name;
}

std::optional<std::string> Drafter::expression(std::string_view host) {
  const std::vector<std::string> before = params_;
  auto text = plan_expression(host, [this](std::string_view name) { return meaning(name); });
  if (!text) params_ = before;  // nothing came of it
  return text;
}

void Drafter::param(const std::string& name, const std::string& host_text) {
  if (std::find(params_.begin(), params_.end(), name) != params_.end()) return;
  params_.push_back(name);
  const auto value = host_value(host_text, [this](std::string_view word) -> std::optional<std::string> {
    const auto it = scan_.constants.find(std::string(word));
    return it == scan_.constants.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
  if (value && *value > 0 && *value < (1LL << 40)) sizes_[name] = *value;
}

void Drafter::integers(const CudaLaunch& launch) {
  const CudaKernel& kernel = *kernel_named(launch.kernel);
  bind_template(kernel, launch);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const CudaParameter& parameter = kernel.parameters[i];
    const std::string type = scalar_type(kernel, i);
    if (parameter.pointers > 0 || type.empty() || !integer_type(type) || parameter.name.empty()) continue;
    const std::string host = i < launch.arguments.size() ? launch.arguments[i] : "";
    // These go to the plan as they are.
    if (mentions_loop(host) || host == "true" || host == "false") continue;
    if (identifier(host)) {
      if (params_of_host_.count(host) || derived(host)) continue;
      params_of_host_[host] = parameter.name;
      inner_.insert(parameter.name);
      const auto constant = scan_.constants.find(host);
      param(parameter.name, constant == scan_.constants.end() ? "" : constant->second);
    } else {
      inner_.insert(parameter.name);
      param(parameter.name, host);
    }
  }
}

const ptx::Function* Drafter::entry_of(const CudaKernel& kernel) const {
  if (!compiled_) return nullptr;
  const ptx::Function* single = compiled_->entry(kernel.name);
  return single ? single : compiled_->entry(exact_);
}

std::string Drafter::scalar_type(const CudaKernel& kernel, size_t i) const {
  const auto [type, count] = type_of(kernel.parameters[i].type);
  if (count == 1 && !type.empty()) return type;
  const ptx::Function* entry = entry_of(kernel);
  if (!entry || i >= entry->parameters.size() || !entry->parameters[i].dims.empty()) return "";
  return std::string(isa::name_of(entry->parameters[i].type));
}

namespace {

// Cooperative groups find their workspace in %envreg1 and %envreg2.
bool waits_for_the_grid(const ptx::Function& entry) {
  for (const ptx::Statement& statement : entry.body)
    if (const ptx::Instruction* instruction = statement.instruction())
      for (const ptx::Operand& operand : instruction->operands)
        if (operand.kind == ptx::Operand::Kind::special && operand.name.find("envreg") != std::string::npos)
          return true;
  return false;
}

}  // namespace

bool Drafter::from_source() const { return file_.extension() != ".ptx"; }

std::string Drafter::no_launch(const std::string& entry) const {
  return from_source() ? fmt::format("no launch of `{}` was found", entry)
                       : fmt::format("how `{}` is launched is not in the PTX", entry);
}

void Drafter::bind_template(const CudaKernel& kernel, const CudaLaunch& launch) {
  exact_ = kernel.name;
  if (!launch.template_arguments.empty()) exact_ += fmt::format("<{}>", fmt::join(launch.template_arguments, ", "));
  template_types_.clear();
  for (size_t i = 0; i < std::min(kernel.template_parameters.size(), launch.template_arguments.size()); ++i)
    template_types_[kernel.template_parameters[i]] = launch.template_arguments[i];
}

void Drafter::add(const CudaLaunch& launch) {
  const CudaKernel& kernel = *kernel_named(launch.kernel);
  bind_template(kernel, launch);
  DraftLaunch result;
  result.entry = kernel.name;
  result.cooperative = launch.cooperative;
  if (compiled_ && !compiled_->entry(kernel.name) && compiled_->entry(exact_)) {
    result.entry = exact_;
    for (const DraftLaunch& other : launches_)
      if (other.entry != exact_ && other.entry.substr(0, other.entry.find('<')) == kernel.name)
        remark(result, fmt::format("`{}` and `{}` are one template: where they are alternatives, keep the one you mean",
                                   other.entry, exact_));
  }
  compiled_remarks(kernel, launch, result);
  loops(launch, result);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) result.arguments.push_back(argument(kernel, i, launch));
  result.block = dims(launch.block, "block", result, "256");
  const std::string rows = params_.empty() ? "1"
                                           : fmt::format("ceildiv({}, {})", params_.back(),
                                                         digits(result.block[0]) ? result.block[0] : "256");
  result.grid = dims(launch.grid, "grid", result, rows);
  if (!launch.shared.empty()) {
    std::string host = launch.shared;
    for (int depth = 0; depth < 4 && identifier(host) && scan_.constants.count(host); ++depth)
      host = scan_.constants.at(host);
    if (auto text = expression_with_sizeof(host)) {
      const auto number = host_value(*text, [](std::string_view) { return std::nullopt; });
      result.shared = number ? std::to_string(*number) : *text;
    } else {
      remark(result,
             fmt::format("dynamic shared memory is `{}` on the host: write its bytes as an expression", launch.shared));
    }
  }
  launches_.push_back(std::move(result));
}

std::optional<std::string> Drafter::expression_with_sizeof(std::string text) {
  for (size_t at = text.find("sizeof"); at != std::string::npos; at = text.find("sizeof")) {
    const size_t from = text.find('(', at), to = text.find(')', at);
    if (from == std::string::npos || to == std::string::npos) return std::nullopt;
    std::string word = text.substr(from + 1, to - from - 1);
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    const auto [type, count] = type_of(word);
    const auto known = isa::type_named(type);
    if (type.empty() || !known) return std::nullopt;
    text.replace(at, to + 1 - at, std::to_string(isa::bytes_of(*known) * count));
  }
  return expression(text);
}

void Drafter::remark(DraftLaunch& launch, std::string text) {
  launch.remarks.push_back(text);
  open(std::move(text));
}

void Drafter::compiled_remarks(const CudaKernel& kernel, const CudaLaunch& launch, DraftLaunch& result) {
  const bool there = compiled_ && entry_of(kernel);
  if (kernel.is_template && (!there || keep_lines_)) instantiate(kernel, launch, result);
  if (kernel.is_static && !there)
    remark(result, fmt::format("line {}: `{}` is static: where nothing in the file launches it, the compiler drops it",
                               kernel.line, kernel.name));
  if (!compiled_) return;
  const ptx::Function* entry = entry_of(kernel);
  if (!entry && kernel.is_template) return;  // the line under [compile] makes it
  if (!entry)
    return remark(
        result,
        fmt::format("the compiled PTX has no single entry `{}`: it is not instantiated, or overloaded", kernel.name));
  if (waits_for_the_grid(*entry))
    remark(result,
           "the kernel waits for the whole grid by way of cooperative groups, which need memory that a driver "
           "gives: on this engine it traps");
  const bool called = !launch.block.empty();
  for (const ptx::Variable& variable : compiled_->variables) {
    if (called || variable.space != isa::Space::shared || variable.linkage != ptx::Linkage::external) continue;
    remark(result,
           fmt::format("`{}` is shared memory whose bytes the launch gives: write them as `shared`", variable.name));
  }
  if (entry->parameters.size() != kernel.parameters.size())
    remark(result, fmt::format("`{}` has {} parameters in the PTX and {} in the source", kernel.name,
                               entry->parameters.size(), kernel.parameters.size()));
}

std::vector<std::string> Drafter::dims(const std::vector<std::string>& host, const char* what, DraftLaunch& result,
                                       const std::string& guess) {
  std::vector<std::string> values;
  for (const std::string& text : host) {
    auto value = expression(text);
    if (!value) {
      remark(result, fmt::format("the {} is `{}` on the host: write it over the params", what, text));
      value = guess;
    }
    // What is a number is written as one.
    if (auto number = host_value(*value, [](std::string_view) { return std::nullopt; }))
      value = std::to_string(*number);
    values.push_back(std::move(*value));
  }
  while (values.size() > 1 && values.back() == "1") values.pop_back();
  if (const ptx::Function* entry = compiled_ ? compiled_->entry(result.entry) : nullptr;
      values.empty() && entry && what == std::string_view("block")) {
    const std::vector<uint32_t> required = entry->directive(".reqntid"), most = entry->directive(".maxntid");
    for (uint32_t number : required.empty() ? most : required) values.push_back(std::to_string(number));
    while (values.size() > 1 && values.back() == "1") values.pop_back();
    if (required.empty() && !most.empty())
      remark(result, fmt::format("{}: its block is all that .maxntid allows", no_launch(result.entry)));
  }
  if (values.empty()) {
    remark(result, fmt::format("{}: its {} is a guess", no_launch(result.entry), what));
    values.push_back(guess);
  }
  return values;
}

Draft Drafter::finish() {
  std::stable_partition(params_.begin(), params_.end(),
                        [this](const std::string& name) { return !inner_.count(name); });
  for (DraftArgument& argument : arguments_) {
    if (!shapeless_.count(argument.name)) continue;
    // The first two sizes that its kernel is called with.
    std::vector<std::string> guess = kernel_params_[argument.name];
    if (guess.empty()) guess = params_;
    if (guess.empty()) guess = {"1"};
    if (guess.size() > 2) guess.resize(2);
    guess.insert(guess.end(), argument.shape.begin(), argument.shape.end());
    argument.shape = std::move(guess);
    note(argument, from_source() ? fmt::format("no cudaMalloc of `{}` was found: its shape is a guess", argument.name)
                                 : fmt::format("the shape of `{}` is a guess", argument.name));
  }
  if (params_.empty()) open("no integer parameter was found that could be a size");
  const bool output = std::any_of(arguments_.begin(), arguments_.end(), [](const DraftArgument& argument) {
    return argument.kind == "out" || argument.kind == "inout";
  });
  if (!output) open("no output was found among the kernel's pointers");
  DraftParts parts{file_,
                   compiled_,
                   params_,
                   inner_,
                   sizes_,
                   std::move(arguments_),
                   std::move(launches_),
                   std::move(symbols_),
                   std::move(instantiate_)};
  apply_compiled_uses(parts, open_);
  Draft draft;
  draft.instantiate = parts.instantiate;
  draft.task = task_text(parts);
  draft.plan = plan_text(parts);
  draft.open = std::move(open_);
  return draft;
}

namespace {

base::Finding no_kernel(const std::filesystem::path& kernel, std::string message, const char* code = "TASK0020") {
  return base::error_in(kernel.string(), code, std::move(message));
}

}  // namespace

base::Result<Draft> draft_from_cuda(const std::filesystem::path& kernel, std::string_view source,
                                    const ptx::Module* compiled, bool with_lines) {
  if (source.size() > kMaxSource)
    return no_kernel(kernel, fmt::format("a source of {} bytes; at most {} are scanned", source.size(), kMaxSource),
                     "TASK0021");
  CudaScan scan = scan_cuda(source);
  if (scan.kernels.empty()) return no_kernel(kernel, "the source defines no __global__ kernel");
  return Drafter(kernel, std::move(scan), scan_declarations(source), compiled, with_lines).run();
}

base::Result<Draft> draft_from_ptx(const std::filesystem::path& kernel, const ptx::Module& module) {
  CudaScan scan;
  for (const ptx::Function& function : module.functions) {
    if (!function.entry || !function.has_body) continue;
    CudaKernel entry;
    entry.name = function.name;
    const std::vector<CudaParameter> named = parameters_of_mangled(function.name);
    const std::vector<PtxUse> uses = uses_of_parameters(function);
    const size_t own = function.parameters.size() - ptx::hidden_parameters(function);
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const ptx::Variable& variable = function.parameters[i];
      CudaParameter parameter;
      if (named.size() == function.parameters.size()) {
        parameter = named[i];
      } else {
        // Without a mangled name what is used as an address is one, and its accesses tell the element.
        const bool wide = variable.dims.empty() && isa::bits_of(variable.type) == 64 && !isa::is_float(variable.type);
        parameter.pointers = wide && (uses[i].address || variable.ptr_space) ? 1 : 0;
        parameter.guessed = !isa::is_float(uses[i].element) && !isa::is_integer(uses[i].element);
        if (parameter.pointers > 0) parameter.type = element_word(usual_meaning(uses[i].element));
      }
      parameter.name = fmt::format("p{}", i);
      parameter.hidden = i >= own;
      parameter.read = uses[i].read;
      parameter.written = uses[i].written;
      entry.parameters.push_back(std::move(parameter));
    }
    scan.kernels.push_back(std::move(entry));
  }
  if (scan.kernels.empty()) return no_kernel(kernel, "the module has no entry");
  return Drafter(kernel, std::move(scan), {}, &module, false).run();
}

}  // namespace ptxlab::task
