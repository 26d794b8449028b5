#include "task/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "task/cuda_scan.h"
#include "task/draft_text.h"
#include "task/host_expression.h"

namespace ptxlab::task {
namespace {

constexpr size_t kMaxSource = size_t{8} << 20;

struct TypeRow {
  std::string_view cuda, type;
  int count;  // elements of a vector type
};
constexpr TypeRow kTypes[] = {
    {"float", "f32", 1},
    {"double", "f64", 1},
    {"half", "f16", 1},
    {"__half", "f16", 1},
    {"__nv_bfloat16", "bf16", 1},
    {"nv_bfloat16", "bf16", 1},
    {"__nv_fp8_e4m3", "e4m3", 1},
    {"__nv_fp8_e5m2", "e5m2", 1},
    {"int", "s32", 1},
    {"int32_t", "s32", 1},
    {"signed int", "s32", 1},
    {"unsigned", "u32", 1},
    {"unsigned int", "u32", 1},
    {"uint32_t", "u32", 1},
    {"uint", "u32", 1},
    {"long", "s64", 1},
    {"long int", "s64", 1},
    {"long long", "s64", 1},
    {"long long int", "s64", 1},
    {"int64_t", "s64", 1},
    {"ptrdiff_t", "s64", 1},
    {"unsigned long", "u64", 1},
    {"unsigned long long", "u64", 1},
    {"unsigned long long int", "u64", 1},
    {"uint64_t", "u64", 1},
    {"size_t", "u64", 1},
    {"std::size_t", "u64", 1},
    {"short", "s16", 1},
    {"int16_t", "s16", 1},
    {"unsigned short", "u16", 1},
    {"uint16_t", "u16", 1},
    {"char", "s8", 1},
    {"signed char", "s8", 1},
    {"int8_t", "s8", 1},
    {"unsigned char", "u8", 1},
    {"uint8_t", "u8", 1},
    {"bool", "u8", 1},
    {"float2", "f32", 2},
    {"float4", "f32", 4},
    {"double2", "f64", 2},
    {"half2", "f16", 2},
    {"__half2", "f16", 2},
    {"__nv_bfloat162", "bf16", 2},
    {"nv_bfloat162", "bf16", 2},
    {"int2", "s32", 2},
    {"int4", "s32", 4},
    {"uint2", "u32", 2},
    {"uint4", "u32", 4},
};

bool identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}
bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Drafter {
 public:
  Drafter(const std::filesystem::path& kernel, CudaScan scan, const ptx::Module* compiled)
      : file_(kernel), scan_(std::move(scan)), compiled_(compiled) {}

  Draft run() {
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
    blocks(launches);
    // Every launch's integers are named before any expression is turned, since grids speak of them all.
    for (const CudaLaunch& launch : launches) integers(launch);
    for (const CudaLaunch& launch : launches) add(launch);
    return finish();
  }

 private:
  void open(std::string text) {
    if (std::find(open_.begin(), open_.end(), text) == open_.end()) open_.push_back(std::move(text));
  }

  const CudaKernel* kernel_named(std::string_view name) const {
    for (const CudaKernel& kernel : scan_.kernels)
      if (kernel.name == name) return &kernel;
    return nullptr;
  }

  // The type without aliases, and how many elements one of it holds.
  std::pair<std::string, int> type_of(std::string word) const {
    for (int depth = 0; depth < 8; ++depth) {
      for (const TypeRow& row : kTypes)
        if (row.cuda == word) return {std::string(row.type), row.count};
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

  // Names that the block leans on are constants of the launch, not sizes of the problem.
  void blocks(const std::vector<CudaLaunch>& launches) {
    for (const CudaLaunch& launch : launches) {
      for (const std::string& dim : launch.block) {
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

  bool looks_fixed(const std::string& name) const {
    const bool constant_style = name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1]));
    const bool shouted = name.size() > 1 && std::none_of(name.begin(), name.end(), [](char c) {
                           return std::islower(static_cast<unsigned char>(c));
                         });
    return fixed_.count(name) || constant_style || shouted;
  }

  // What a host name stands for in a plan.
  std::optional<std::string> meaning(std::string_view name_view) {
    const std::string name(name_view);
    if (auto it = params_of_host_.find(name); it != params_of_host_.end()) return it->second;
    if (std::find(params_.begin(), params_.end(), name) != params_.end()) return name;
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

  std::optional<std::string> expression(std::string_view host) {
    const std::vector<std::string> before = params_;
    auto text = plan_expression(host, [this](std::string_view name) { return meaning(name); });
    if (!text) params_ = before;  // nothing came of it
    return text;
  }

  void param(const std::string& name, const std::string& host_text) {
    if (std::find(params_.begin(), params_.end(), name) != params_.end()) return;
    params_.push_back(name);
    const auto value = host_value(host_text, [this](std::string_view word) -> std::optional<std::string> {
      const auto it = scan_.constants.find(std::string(word));
      return it == scan_.constants.end() ? std::nullopt : std::optional<std::string>(it->second);
    });
    if (value && *value > 0 && *value < (1LL << 40)) sizes_[name] = *value;
  }

  // Integer scalars are what sizes are called by.
  void integers(const CudaLaunch& launch) {
    const CudaKernel& kernel = *kernel_named(launch.kernel);
    bind_template(kernel, launch);
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      const CudaParameter& parameter = kernel.parameters[i];
      const std::string type = scalar_type(kernel, i);
      if (parameter.pointers > 0 || type.empty() || !integer_type(type) || parameter.name.empty()) continue;
      const std::string host = i < launch.arguments.size() ? launch.arguments[i] : "";
      if (identifier(host)) {
        if (params_of_host_.count(host)) continue;
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

  const ptx::Function* entry_of(const CudaKernel& kernel) const {
    return compiled_ ? compiled_->entry(kernel.name) : nullptr;
  }

  // A scalar's type by its name, else by its .param.
  std::string scalar_type(const CudaKernel& kernel, size_t i) const {
    const auto [type, count] = type_of(kernel.parameters[i].type);
    if (count == 1 && !type.empty()) return type;
    const ptx::Function* entry = entry_of(kernel);
    if (!entry || i >= entry->parameters.size() || !entry->parameters[i].dims.empty()) return "";
    return std::string(isa::name_of(entry->parameters[i].type));
  }

  // What T of a template stands for in this launch.
  void bind_template(const CudaKernel& kernel, const CudaLaunch& launch) {
    template_types_.clear();
    for (size_t i = 0; i < std::min(kernel.template_parameters.size(), launch.template_arguments.size()); ++i)
      template_types_[kernel.template_parameters[i]] = launch.template_arguments[i];
  }

  void add(const CudaLaunch& launch) {
    const CudaKernel& kernel = *kernel_named(launch.kernel);
    bind_template(kernel, launch);
    DraftLaunch result;
    result.entry = kernel.name;
    compiled_remarks(kernel, result);
    if (launch.in_loop)
      remark(result, fmt::format("line {}: the launch stands in a loop of the host; here it runs once", launch.line));
    for (size_t i = 0; i < kernel.parameters.size(); ++i) result.arguments.push_back(argument(kernel, i, launch));
    result.block = dims(launch.block, "block", result, "256");
    const std::string rows = params_.empty() ? "1"
                                             : fmt::format("ceildiv({}, {})", params_.back(),
                                                           digits(result.block[0]) ? result.block[0] : "256");
    result.grid = dims(launch.grid, "grid", result, rows);
    if (!launch.shared.empty()) {
      if (auto text = expression_with_sizeof(launch.shared)) {
        const auto number = host_value(*text, [](std::string_view) { return std::nullopt; });
        result.shared = number ? std::to_string(*number) : *text;
      } else {
        remark(result, fmt::format("dynamic shared memory is `{}` on the host: write its bytes as an expression",
                                   launch.shared));
      }
    }
    launches_.push_back(std::move(result));
  }

  std::optional<std::string> expression_with_sizeof(std::string text) {
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

  void remark(DraftLaunch& launch, std::string text) {
    launch.remarks.push_back(text);
    open(std::move(text));
  }

  void compiled_remarks(const CudaKernel& kernel, DraftLaunch& result) {
    if (kernel.is_template)
      remark(result, fmt::format("line {}: `{}` is a template: instantiate it in the .cu (template __global__ void "
                                 "{}<...>(...);) and name that entry here",
                                 kernel.line, kernel.name, kernel.name));
    if (kernel.is_static)
      remark(result, fmt::format("line {}: `{}` is static: without it the compiler may drop the kernel", kernel.line,
                                 kernel.name));
    if (!compiled_) return;
    const ptx::Function* entry = entry_of(kernel);
    if (!entry)
      return remark(
          result,
          fmt::format("the compiled PTX has no single entry `{}`: it is not instantiated, or overloaded", kernel.name));
    if (entry->parameters.size() != kernel.parameters.size())
      remark(result, fmt::format("`{}` has {} parameters in the PTX and {} in the source", kernel.name,
                                 entry->parameters.size(), kernel.parameters.size()));
  }

  std::vector<std::string> dims(const std::vector<std::string>& host, const char* what, DraftLaunch& result,
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
    if (values.empty()) {
      remark(result, fmt::format("no launch of `{}` was found: its {} is a guess", result.entry, what));
      values.push_back(guess);
    }
    return values;
  }

  // The name of the task's argument that the launch's argument i is.
  std::string argument(const CudaKernel& kernel, size_t i, const CudaLaunch& launch) {
    const CudaParameter& parameter = kernel.parameters[i];
    const std::string host = i < launch.arguments.size() ? launch.arguments[i] : "";
    if (parameter.pointers > 0) {
      const std::string name = pointer(parameter, i, host);
      if (!kernel_params_.count(name))
        for (const CudaParameter& other : kernel.parameters)
          if (other.pointers == 0 && inner_.count(other.name)) kernel_params_[name].push_back(other.name);
      return name;
    }
    std::string name = parameter.name.empty() ? fmt::format("arg{}", i) : parameter.name;
    const std::string type = scalar_type(kernel, i);
    if (DraftArgument* known = named(name); known && known->kind == "scalar" && (known->type == type || type.empty()))
      return name;
    name = fresh(name);
    DraftArgument scalar{name, "scalar", type, "", {}, {}};
    if (type.empty()) {
      scalar.type = "u32";
      note(scalar, fmt::format("the type `{}` of `{}` is not known here (structures by value are not read yet)",
                               parameter.type, name));
    }
    if (integer_type(scalar.type)) {
      const auto value = host.empty() || identifier(host) ? std::nullopt : expression(host);
      const bool own = std::find(params_.begin(), params_.end(), parameter.name) != params_.end();
      scalar.value = own ? fmt::format("\"{}\"", parameter.name) : fmt::format("\"{}\"", value.value_or("1"));
      if (!own && !value) note(scalar, fmt::format("the value of `{}` is not known", name));
    } else {
      scalar.value = float_value(host);
      if (scalar.value.empty()) {
        scalar.value = "1.0";
        note(scalar, host.empty() ? fmt::format("the value of `{}` is not known", name)
                                  : fmt::format("`{}` is `{}` on the host: write its value or a formula", name, host));
      }
    }
    arguments_.push_back(std::move(scalar));
    return name;
  }

  std::string float_value(std::string host) const {
    if (auto it = scan_.constants.find(host); it != scan_.constants.end()) host = it->second;
    while (!host.empty() && (host.back() == 'f' || host.back() == 'F')) host.pop_back();
    host.erase(std::remove(host.begin(), host.end(), ' '), host.end());
    char* end = nullptr;
    const double value = std::strtod(host.c_str(), &end);
    if (host.empty() || end != host.c_str() + host.size() || !std::isfinite(value)) return "";
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }

  void note(DraftArgument& argument, std::string text) {
    argument.remarks.push_back(text);
    open(std::move(text));
  }

  DraftArgument* named(std::string_view name) {
    for (DraftArgument& argument : arguments_)
      if (argument.name == name) return &argument;
    return nullptr;
  }
  std::string fresh(const std::string& name) {
    std::string candidate = name;
    for (int i = 2; named(candidate); ++i) candidate = fmt::format("{}_{}", name, i);
    return candidate;
  }

  std::string pointer(const CudaParameter& parameter, size_t i, const std::string& host) {
    if (host == "nullptr" || host == "NULL" || host == "0") return "null";
    // The same host pointer in two launches is one buffer.
    if (auto it = buffer_of_host_.find(host); identifier(host) && it != buffer_of_host_.end()) {
      DraftArgument& known = *named(it->second);
      if (known.kind == "in" && parameter.written) known.kind = "inout";
      if (known.kind == "out" && !parameter.written)
        note(known, fmt::format(
                        "`{}` passes from launch to launch: if nobody reads it afterwards, make it scratch in the plan",
                        known.name));
      return known.name;
    }
    std::string name = parameter.name.empty() ? fmt::format("arg{}", i) : parameter.name;
    if (std::find(params_.begin(), params_.end(), name) != params_.end()) name += "_buffer";
    DraftArgument buffer;
    buffer.name = fresh(name);
    const auto [type, count] = type_of(parameter.type);
    buffer.type = type.empty() ? "f32" : type;
    if (type.empty())
      note(buffer,
           fmt::format("the element type `{}` of `{}` is not known here: f32 is a guess", parameter.type, buffer.name));
    buffer.kind = parameter.constant || (parameter.read && !parameter.written && !parameter.passed_on) ? "in"
                  : parameter.written && parameter.read                                                ? "inout"
                                                                                                       : "out";
    if (!parameter.constant && !parameter.written)
      note(buffer,
           buffer.kind == "in"
               ? fmt::format("`{}` is not const and only read, as far as this can see", buffer.name)
               : fmt::format("how `{}` is used could not be seen: out is a guess, it may be inout or in", buffer.name));
    if (parameter.pointers > 1)
      note(buffer, fmt::format("`{}` is a pointer to pointers: such tasks are not read yet", buffer.name));
    shape(buffer, host, count);
    if (identifier(host)) buffer_of_host_[host] = buffer.name;
    arguments_.push_back(buffer);
    return buffer.name;
  }

  void shape(DraftArgument& buffer, const std::string& host, int count) {
    const auto allocation = scan_.allocations.find(host);
    std::optional<std::string> text;
    if (allocation != scan_.allocations.end()) text = expression(allocation->second);
    if (text) {
      // A product of names is a shape.
      std::string word;
      bool product = true;
      std::vector<std::string> factors;
      for (char c : *text + "*") {
        if (c == '*') {
          product = product && identifier(word);
          factors.push_back(word);
          word.clear();
        } else if (c != ' ') {
          word += c;
        }
      }
      buffer.shape = product ? factors : std::vector<std::string>{*text};
    } else {
      shapeless_.insert(buffer.name);
    }
    if (count > 1) buffer.shape.push_back(std::to_string(count));
  }

  Draft finish() {
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
      note(argument, fmt::format("no cudaMalloc of `{}` was found: its shape is a guess", argument.name));
    }
    if (params_.empty()) open("no integer parameter was found that could be a size");
    const bool output = std::any_of(arguments_.begin(), arguments_.end(), [](const DraftArgument& argument) {
      return argument.kind == "out" || argument.kind == "inout";
    });
    if (!output) open("no output was found among the kernel's pointers");
    DraftParts parts{file_, compiled_, params_, inner_, sizes_, std::move(arguments_), std::move(launches_)};
    Draft draft;
    draft.task = task_text(parts);
    draft.plan = plan_text(parts);
    draft.open = std::move(open_);
    return draft;
  }

  std::filesystem::path file_;
  CudaScan scan_;
  const ptx::Module* compiled_;
  std::vector<std::string> params_;
  std::map<std::string, std::string> params_of_host_;              // host name: param
  std::map<std::string, std::string> buffer_of_host_;              // host pointer: argument
  std::map<std::string, std::string> template_types_;              // of the launch at hand
  std::map<std::string, long long> sizes_;                         // a param's value in the program
  std::set<std::string> inner_;                                    // params that the kernel is called with
  std::map<std::string, std::vector<std::string>> kernel_params_;  // a buffer's name: params of the kernel that has it
  std::set<std::string> fixed_, shapeless_;
  std::vector<DraftArgument> arguments_;
  std::vector<DraftLaunch> launches_;
  std::vector<std::string> open_;
};

base::Finding no_kernel(const std::filesystem::path& kernel, std::string message, const char* code = "TASK0020") {
  base::Finding finding;
  finding.code = code;
  finding.place.file = kernel.string();
  finding.message = std::move(message);
  return finding;
}

}  // namespace

base::Result<Draft> draft_from_cuda(const std::filesystem::path& kernel, std::string_view source,
                                    const ptx::Module* compiled) {
  if (source.size() > kMaxSource)
    return no_kernel(kernel, fmt::format("a source of {} bytes; at most {} are scanned", source.size(), kMaxSource),
                     "TASK0021");
  CudaScan scan = scan_cuda(source);
  if (scan.kernels.empty()) return no_kernel(kernel, "the source defines no __global__ kernel");
  return Drafter(kernel, std::move(scan), compiled).run();
}

base::Result<Draft> draft_from_ptx(const std::filesystem::path& kernel, const ptx::Module& module) {
  CudaScan scan;
  for (const ptx::Function& function : module.functions) {
    if (!function.entry || !function.has_body) continue;
    CudaKernel entry;
    entry.name = function.name;
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      // In PTX a 64-bit parameter may be an address or a number; addresses are the more frequent by far.
      const ptx::Variable& variable = function.parameters[i];
      CudaParameter parameter;
      parameter.name = fmt::format("p{}", i);
      const bool address = variable.dims.empty() && isa::bits_of(variable.type) == 64 && !isa::is_float(variable.type);
      parameter.pointers = address ? 1 : 0;
      parameter.type = address ? "?" : "";
      entry.parameters.push_back(std::move(parameter));
    }
    scan.kernels.push_back(std::move(entry));
  }
  if (scan.kernels.empty()) return no_kernel(kernel, "the module has no entry");
  return Drafter(kernel, std::move(scan), &module).run();
}

}  // namespace ptxlab::task
