#include "task/mangled.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace ptxlab::task {

std::vector<CudaParameter> parameters_of_mangled(const std::string& name) {
  std::vector<CudaParameter> parameters;
  if (name.rfind("_Z", 0) != 0) return parameters;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !text) return parameters;
  const std::string whole(text.get());
  if (whole.empty() || whole.back() != ')') return parameters;
  // The last pair of parentheses at the outermost level.
  int depth = 0;
  size_t open = whole.size();
  for (size_t i = whole.size(); i-- > 0;) {
    depth += (whole[i] == ')') - (whole[i] == '(');
    if (depth == 0) {
      open = i;
      break;
    }
  }
  std::string one;
  depth = 0;
  for (size_t i = open + 1; i < whole.size(); ++i) {
    const char c = whole[i];
    if ((c == ',' && depth == 0) || i + 1 == whole.size()) {
      CudaParameter parameter;
      for (size_t star = one.find('*'); star != std::string::npos; star = one.find('*', star + 1)) ++parameter.pointers;
      one.erase(std::remove(one.begin(), one.end(), '*'), one.end());
      for (const std::string_view word : {" const", "const "})
        for (size_t at = one.find(word); at != std::string::npos; at = one.find(word)) {
          parameter.constant = parameter.pointers > 0;
          one.erase(at, word.size());
        }
      while (!one.empty() && one.front() == ' ') one.erase(0, 1);
      while (!one.empty() && one.back() == ' ') one.pop_back();
      parameter.type = one;
      if (!one.empty()) parameters.push_back(std::move(parameter));
      one.clear();
      continue;
    }
    depth += (c == '<' || c == '(') - (c == '>' || c == ')');
    one += c;
  }
  return parameters;
}

std::string element_word(isa::Type type) {
  switch (type) {
    case isa::Type::f32: return "float";
    case isa::Type::f64: return "double";
    case isa::Type::f16: return "half";
    case isa::Type::bf16: return "__nv_bfloat16";
    case isa::Type::u8: return "uint8_t";
    case isa::Type::s8: return "int8_t";
    case isa::Type::u16: return "uint16_t";
    case isa::Type::s16: return "int16_t";
    case isa::Type::u32: return "unsigned";
    case isa::Type::s32: return "int";
    case isa::Type::u64: return "uint64_t";
    case isa::Type::s64: return "int64_t";
    default: return "?";  // bits alone say nothing of their meaning
  }
}

isa::Type usual_meaning(isa::Type type) {
  if (type == isa::Type::none) return isa::Type::f32;
  if (isa::info(type).kind != isa::Kind::bits) return type;
  switch (isa::bits_of(type)) {
    case 8: return isa::Type::u8;
    case 16: return isa::Type::f16;
    case 64: return isa::Type::f64;
    default: return isa::Type::f32;
  }
}

}  // namespace ptxlab::task
