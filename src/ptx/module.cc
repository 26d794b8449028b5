#include "ptx/module.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace ptxlab::ptx {
namespace {

// "void ns::scale<float>(float*, int)" to "ns::scale<float>": the return type and the parameters go.
std::string_view bare(std::string_view demangled) {
  int depth = 0;
  size_t begin = 0, end = demangled.size();
  for (size_t i = 0; i < demangled.size(); ++i) {
    char c = demangled[i];
    if (c == '<')
      ++depth;
    else if (c == '>')
      --depth;
    else if (c == ' ' && depth == 0)
      begin = i + 1;
    else if (c == '(' && depth == 0) {
      if (demangled.substr(i).starts_with("(anonymous namespace)")) {
        i += 20;
        continue;
      }
      end = i;
      break;
    }
  }
  return demangled.substr(begin, end - begin);
}

std::string_view without_template_arguments(std::string_view name) {
  if (!name.ends_with('>')) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    depth += (name[i] == '>') - (name[i] == '<');
    if (depth == 0) return name.substr(0, i);
  }
  return name;
}

std::string_view last_component(std::string_view name) {
  auto colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

bool unmangles_to(const std::string& mangled, std::string_view name) {
  if (!mangled.starts_with("_Z")) return false;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                              std::free);
  if (status != 0 || !text) return false;
  std::string_view full = bare(text.get());
  std::string_view plain = without_template_arguments(full);
  const std::string_view last = last_component(plain);
  const std::string_view last_full = full.substr(static_cast<size_t>(last.data() - full.data()));
  return name == full || name == plain || name == last || name == last_full;
}

}  // namespace

uint64_t Variable::bytes() const {
  uint64_t total = static_cast<uint64_t>(isa::bytes_of(type)) * static_cast<uint64_t>(vector);
  if (!opaque.empty()) total = 8;
  for (size_t i = 0; i < dims.size(); ++i) {
    uint64_t dim = dims[i];
    if (i == 0 && dim == 0 && init) {  // [] takes its size from the initialiser
      uint64_t row = static_cast<uint64_t>(vector);
      for (size_t j = 1; j < dims.size(); ++j) row *= dims[j];
      dim = row ? (init->elements.size() + row - 1) / row : 0;
    }
    if (__builtin_mul_overflow(total, dim, &total)) return UINT64_MAX;
  }
  return total;
}

uint32_t Variable::alignment() const {
  if (align) return align;
  auto natural = static_cast<uint32_t>(isa::bytes_of(type) * vector);
  return natural ? natural : 8;
}

std::vector<uint32_t> Function::directive(std::string_view directive_name) const {
  std::vector<uint32_t> numbers;
  for (std::string_view text : directives) {
    if (!text.starts_with(directive_name)) continue;
    text.remove_prefix(directive_name.size());
    if (!text.empty() && text[0] != ' ' && text[0] != '\t' && text[0] != '\n' && text[0] != '\r') continue;
    for (size_t i = 0; i < text.size();) {
      if (text[i] < '0' || text[i] > '9') {
        ++i;
        continue;
      }
      char* end = nullptr;
      std::string number(text.substr(i, text.find_first_of(" \t\r\n,", i) - i));
      numbers.push_back(static_cast<uint32_t>(std::strtoul(number.c_str(), &end, 0)));
      i += number.size();
    }
  }
  return numbers;
}

const Function* Module::function(std::string_view name) const {
  const Function* declared = nullptr;
  for (const auto& each : functions) {
    if (each.name != name) continue;
    if (each.has_body) return &each;
    declared = &each;
  }
  return declared;
}

const Variable* Module::variable(std::string_view name) const {
  const Variable* found = nullptr;
  for (const auto& each : variables) {
    if (each.name == name) return &each;
    if (!unmangles_to(each.name, name)) continue;
    if (found) return nullptr;  // not unique
    found = &each;
  }
  return found;
}

const Function* Module::entry(std::string_view name) const {
  const Function* found = nullptr;
  for (const auto& each : functions) {
    if (!each.entry || !each.has_body) continue;
    if (each.name == name) return &each;
    if (!name.empty() && !unmangles_to(each.name, name)) continue;
    if (found) return nullptr;  // not unique
    found = &each;
  }
  return found;
}

}  // namespace ptxlab::ptx
