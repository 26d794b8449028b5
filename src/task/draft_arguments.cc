// Arguments of drafts: buffers and their shapes, scalars, structs, records, what fills variables, and the lines that make
// templates' kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "task/drafter.h"
#include "task/host_expression.h"
#include "task/mangled.h"
#include "task/ptx_uses.h"

namespace ptxlab::task {

std::vector<HostLoop> Drafter::loops_of(const CudaLaunch& launch) const {
  const auto found = declared_.loops.find(launch.token);
  return found == declared_.loops.end() ? std::vector<HostLoop>{} : found->second;
}

bool Drafter::mentions_loop(const std::string& host) const {
  std::string word;
  for (char c : host + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (loop_variables_.count(word)) return true;
    word.clear();
  }
  return false;
}

void Drafter::loops(const CudaLaunch& launch, DraftLaunch& result) {
  swaps_.clear();
  for (const HostLoop& loop : loops_of(launch)) {
    auto count = loop.variable.empty() ? std::nullopt : expression(loop.count);
    if (!count) {
      remark(result, fmt::format("line {}: the launch stands in a loop of the host that does not count from 0 to "
                                 "something known: here it runs once",
                                 loop.line));
      continue;
    }
    result.loops.emplace_back(loop.variable, *count);
    for (const auto& swap : loop.swaps) {
      swaps_[swap.first] = {loop.variable, swap.second};
      swaps_[swap.second] = {loop.variable, swap.first};
      remark(result, fmt::format("line {}: `{}` and `{}` change places from round to round: which of them holds the "
                                 "result depends on how many there are",
                                 loop.line, swap.first, swap.second));
    }
  }
}

void Drafter::instantiate(const CudaKernel& kernel, const CudaLaunch& launch, DraftLaunch& result) {
  std::string arguments, parameters;
  std::map<std::string, std::string> meant;
  for (size_t i = 0; i < kernel.template_parameters.size(); ++i) {
    std::string word = i < launch.template_arguments.size() ? launch.template_arguments[i] : "";
    const bool type = i < kernel.template_types.size() && kernel.template_types[i];
    // A name that the host's own template or function has is no argument out here.
    const bool free = identifier(word) && type_of(word).first.empty() && !scan_.constants.count(word) &&
                      !declared_.structs.count(word) && word != "true" && word != "false";
    if (word.empty() || free) {
      const std::string guess = type ? "float" : "256";
      remark(result, fmt::format("line {}: what `{}` of the template `{}` stands for could not be seen: {} is a guess",
                                 kernel.line, kernel.template_parameters[i], kernel.name, guess));
      word = guess;
    }
    meant[kernel.template_parameters[i]] = word;
    arguments += (arguments.empty() ? "" : ", ") + word;
  }
  for (const CudaParameter& parameter : kernel.parameters) {
    std::string type;
    std::string word;
    for (char c : parameter.type + " ") {  // T, and T within a longer type
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      type += meant.count(word) ? meant[word] : word;
      word.clear();
      type += c;
    }
    type.pop_back();
    parameters += fmt::format("{}{}{}{}", parameters.empty() ? "" : ", ",
                              parameter.constant && parameter.pointers > 0 ? "const " : "", type,
                              std::string(static_cast<size_t>(parameter.pointers), '*'));
  }
  std::string line =
      fmt::format("template __global__ void {}{}<{}>({});", kernel.scope, kernel.name, arguments, parameters);
  if (std::find(instantiate_.begin(), instantiate_.end(), line) == instantiate_.end())
    instantiate_.push_back(std::move(line));
  for (const auto& [name, word] : meant) template_types_[name] = word;
}

void Drafter::symbols() {
  for (const SymbolCopy& copy : declared_.copies) {
    const auto variable = declared_.variables.find(copy.variable);
    if (std::any_of(symbols_.begin(), symbols_.end(), [&](const auto& one) { return one.first == copy.variable; }))
      continue;
    std::string source = copy.source;
    if (!source.empty() && source[0] == '&') source.erase(0, 1);
    const bool known = variable != declared_.variables.end();
    const auto [type, count] = known ? type_of(variable->second.declared.type) : std::pair<std::string, int>{"", 1};
    const bool array = known && !variable->second.declared.dims.empty();
    if (known && !array && integer_type(type.empty() ? "f32" : type)) {
      if (auto value = expression(source)) {
        symbols_.emplace_back(copy.variable, *value);
        continue;
      }
    }
    DraftArgument made;
    made.name = fresh(copy.variable);
    made.type = type.empty() ? "f32" : type;
    if (known && !array && !integer_type(made.type)) {
      made.kind = "scalar";
      made.value = float_value(source);
      if (made.value.empty()) {
        made.value = "1.0";
        note(made, fmt::format("line {}: the value of `{}` is not known", copy.line, copy.variable));
      }
    } else {
      made.kind = "in";
      for (const std::string& dim : known ? variable->second.declared.dims : std::vector<std::string>{}) {
        const auto number = constant_value(dim);
        auto text = number ? std::optional<std::string>(std::to_string(*number)) : expression_with_sizeof(dim);
        made.shape.push_back(text.value_or("1"));
        if (!text) note(made, fmt::format("the size `{}` of `{}` is not known", dim, copy.variable));
      }
      if (made.shape.empty()) made.shape = {"1"};
      if (count > 1) made.shape.push_back(std::to_string(count));
      if (!known || type.empty())
        note(made, fmt::format("line {}: what `{}` holds is not known here: f32 is a guess", copy.line, copy.variable));
    }
    symbols_.emplace_back(copy.variable, made.name);
    arguments_.push_back(std::move(made));
  }
}

std::string Drafter::argument(const CudaKernel& kernel, size_t i, const CudaLaunch& launch) {
  const CudaParameter& parameter = kernel.parameters[i];
  const std::string host = i < launch.arguments.size() ? launch.arguments[i] : "";
  if (parameter.hidden) return "null";
  if (parameter.pointers > 0) {
    const std::string name = pointer(told_by_accesses(kernel, i), i, host);
    if (!kernel_params_.count(name))
      for (const CudaParameter& other : kernel.parameters)
        if (other.pointers == 0 && inner_.count(other.name)) kernel_params_[name].push_back(other.name);
    return name;
  }
  std::string name = parameter.name.empty() ? fmt::format("arg{}", i) : parameter.name;
  if (parameter.type == "cudaTextureObject_t" || parameter.type == "cudaSurfaceObject_t")
    open(fmt::format("`{}` is a texture or surface: neither tasks nor the engine know them yet", name));
  const std::string type = scalar_type(kernel, i);
  if (type.empty() && declared_.structs.count(parameter.type)) return structure(parameter, name);
  if (mentions_loop(host))
    if (auto value = expression(host)) return *value;
  if (DraftArgument* known = named(name); known && known->kind == "scalar" && (known->type == type || type.empty()))
    return name;
  name = fresh(name);
  DraftArgument scalar{name, "scalar", type, "", {}, {}};
  if (type.empty()) {
    scalar.type = "u32";
    note(scalar, fmt::format("the type `{}` of `{}` is not known here: u32 is a guess", parameter.type, name));
  }
  if (integer_type(scalar.type)) {
    const auto value = host == "true"     ? std::optional<std::string>("1")
                       : host == "false"  ? std::optional<std::string>("0")
                       : host.empty()     ? std::nullopt
                       : identifier(host) ? derived(host)
                                          : expression(host);
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

std::optional<std::string> Drafter::derived(const std::string& host) {
  const auto constant = scan_.constants.find(host);
  if (constant == scan_.constants.end() || identifier(constant->second)) return std::nullopt;
  if (host_value(constant->second, [](std::string_view) { return std::nullopt; })) return std::nullopt;
  return expression(constant->second);
}

CudaParameter Drafter::told_by_accesses(const CudaKernel& kernel, size_t i) const {
  CudaParameter parameter = kernel.parameters[i];
  const ptx::Function* entry = entry_of(kernel);
  if (!entry || i >= entry->parameters.size() || entry->parameters.size() != kernel.parameters.size()) return parameter;
  if (!type_of(parameter.type).first.empty() || declared_.structs.count(parameter.type)) return parameter;
  const isa::Type element = uses_of_parameters(*entry)[i].element;
  if (isa::is_float(element)) {
    parameter.type = element_word(element);
  } else if (isa::bits_of(element) == 16) {  // halves of all kinds are loaded as integers
    parameter.type = element_word(isa::Type::f16);
    parameter.guessed = true;
  }
  return parameter;
}

std::string Drafter::structure(const CudaParameter& parameter, const std::string& wanted) {
  if (const DraftArgument* known = named(wanted); known && known->kind == "struct") return wanted;
  DraftArgument made;
  made.name = fresh(wanted);
  made.kind = "struct";
  note(made, fmt::format("`{}` is a `{}`: check the values of its fields", made.name, parameter.type));
  for (const CudaField& field : declared_.structs.at(parameter.type)) {
    DraftField part;
    part.name = field.name;
    if (field.pointers > 0) {
      CudaParameter pointed;
      pointed.name = field.name;
      pointed.type = field.type;
      pointed.pointers = field.pointers;
      pointed.constant = field.constant;
      pointed.read = true;
      pointed.written = !field.constant;
      part.pointer = pointer(pointed, 0, "");
    } else {
      const auto [type, count] = type_of(field.type);
      part.type = type.empty() ? "b32" : type;
      part.count = count * count_of(field.dims);
      if (type.empty()) note(made, fmt::format("the type `{}` of its field `{}` is not known", field.type, field.name));
      const bool size = integer_type(part.type) && part.count == 1;
      if (size) param(field.name, "");
      part.value = size ? fmt::format("\"{}\"", field.name) : integer_type(part.type) ? "1" : "1.0";
    }
    made.fields.push_back(std::move(part));
  }
  const std::string name = made.name;
  arguments_.push_back(std::move(made));
  return name;
}

std::optional<long long> Drafter::constant_value(const std::string& host) const {
  return host_value(host, [this](std::string_view word) -> std::optional<std::string> {
    const auto it = scan_.constants.find(std::string(word));
    return it == scan_.constants.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
}

long long Drafter::count_of(const std::vector<std::string>& dims) {
  long long count = 1;
  for (const std::string& dim : dims) count *= std::clamp(constant_value(dim).value_or(1), 1LL, 4096LL);
  return std::min(count, 4096LL);
}

void Drafter::record(DraftArgument& buffer, const std::vector<CudaField>& fields) {
  buffer.type = "record";
  uint64_t at = 0, alignment = 1;
  const auto pad_to = [&](uint64_t unit) {
    if (at % unit == 0) return;
    const auto bytes = static_cast<long long>(unit - at % unit);
    buffer.fields.push_back({fmt::format("pad{}", buffer.fields.size()), "u8", bytes, "", ""});
    at += static_cast<uint64_t>(bytes);
    if (buffer.kind != "in") note(buffer, fmt::format("`{}` has padding, which a kernel need not write", buffer.name));
  };
  for (const CudaField& field : fields) {
    auto [type, count] = type_of(field.type);
    if (type.empty() || field.pointers > 0) {
      note(buffer, fmt::format("the type of the field `{}` of `{}` is not known here: b32 is a guess", field.name,
                               buffer.name));
      type = field.pointers > 0 ? "b64" : "b32";
    }
    const auto known = isa::type_named(type);
    const auto unit = static_cast<uint64_t>(known ? isa::bytes_of(*known) : 4);
    pad_to(unit);
    alignment = std::max(alignment, unit);
    const long long elements = count * count_of(field.dims);
    buffer.fields.push_back({field.name, type, elements, "", ""});
    at += unit * static_cast<uint64_t>(elements);
  }
  pad_to(alignment);
}

std::string Drafter::float_value(std::string host) const {
  if (auto it = scan_.constants.find(host); it != scan_.constants.end()) host = it->second;
  while (!host.empty() && (host.back() == 'f' || host.back() == 'F')) host.pop_back();
  host.erase(std::remove(host.begin(), host.end(), ' '), host.end());
  char* end = nullptr;
  const double value = std::strtod(host.c_str(), &end);
  if (host.empty() || end != host.c_str() + host.size() || !std::isfinite(value)) return "";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void Drafter::note(DraftArgument& argument, std::string text) {
  argument.remarks.push_back(text);
  open(std::move(text));
}

DraftArgument* Drafter::named(std::string_view name) {
  for (DraftArgument& argument : arguments_)
    if (argument.name == name) return &argument;
  return nullptr;
}

std::string Drafter::fresh(const std::string& name) {
  std::string candidate = name;
  for (int i = 2; named(candidate); ++i) candidate = fmt::format("{}_{}", name, i);
  return candidate;
}

std::string Drafter::pointer(const CudaParameter& parameter, size_t i, const std::string& host) {
  if (host == "nullptr" || host == "NULL" || host == "0") return "null";
  // Two that change places: the one in even rounds, the other in odd ones.
  if (auto swap = swaps_.find(host); swap != swaps_.end()) {
    const auto [variable, other] = swap->second;
    swaps_.erase(swap);
    const auto back = swaps_.find(other);
    std::optional<std::pair<std::string, std::string>> kept;
    if (back != swaps_.end()) {
      kept = back->second;
      swaps_.erase(back);
    }
    CudaParameter both = parameter;
    both.constant = false;
    both.read = both.written = true;
    const std::string own = pointer(both, i, host);
    CudaParameter second = both;
    second.name = other;
    const std::string theirs = pointer(second, i, other);
    swaps_[host] = {variable, other};
    if (kept) swaps_[other] = *kept;
    return fmt::format("pick({} % 2, {}, {})", variable, own, theirs);
  }
  // The same host pointer in two launches is one buffer.
  if (auto it = buffer_of_host_.find(host); identifier(host) && it != buffer_of_host_.end()) {
    DraftArgument& known = *named(it->second);
    if (known.kind == "in" && parameter.written) known.kind = "inout";
    if (known.kind == "out" && !parameter.written)
      note(known,
           fmt::format("`{}` passes from launch to launch: if nobody reads it afterwards, make it scratch in the plan",
                       known.name));
    return known.name;
  }
  std::string name = parameter.name.empty() ? fmt::format("arg{}", i) : parameter.name;
  if (std::find(params_.begin(), params_.end(), name) != params_.end()) name += "_buffer";
  DraftArgument buffer;
  buffer.name = fresh(name);
  const auto [type, count] = type_of(parameter.type);
  buffer.type = type.empty() ? "f32" : type;
  const auto fields = declared_.structs.find(parameter.type);
  if (type.empty() && fields == declared_.structs.end())
    note(buffer,
         fmt::format("the element type `{}` of `{}` is not known here: f32 is a guess", parameter.type, buffer.name));
  if (parameter.guessed)
    note(buffer,
         fmt::format("what `{}` holds is not told by the compiled kernel: {} is a guess", buffer.name, buffer.type));
  buffer.kind = parameter.constant || (parameter.read && !parameter.written && !parameter.passed_on) ? "in"
                : parameter.written && parameter.read                                                ? "inout"
                                                                                                     : "out";
  if (!parameter.constant && !parameter.written)
    note(buffer,
         buffer.kind == "in"
             ? fmt::format("`{}` is not const and only read, as far as this can see", buffer.name)
             : fmt::format("how `{}` is used could not be seen: out is a guess, it may be inout or in", buffer.name));
  if (type.empty() && fields != declared_.structs.end()) record(buffer, fields->second);
  if (parameter.pointers > 1)
    note(buffer, fmt::format("`{}` is a pointer to pointers: such tasks are not read yet", buffer.name));
  shape(buffer, host, count);
  if (identifier(host)) buffer_of_host_[host] = buffer.name;
  arguments_.push_back(buffer);
  return buffer.name;
}

void Drafter::shape(DraftArgument& buffer, const std::string& host, int count) {
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

}  // namespace ptxlab::task
