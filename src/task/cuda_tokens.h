// CUDA C++ as tokens: what a scanner of signatures and launches needs. Comments, strings and preprocessor lines are
// recognised, so that nothing inside them is taken for code; <<< and >>> are tokens of their own.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::task {

struct CudaToken {
  enum class Kind : uint8_t { word, number, text, mark } kind = Kind::mark;  // text: a string or character literal
  std::string_view spelling;
  uint32_t line = 0;
  bool is(std::string_view what) const { return spelling == what; }
  bool word() const { return kind == Kind::word; }
};

struct CudaDefine {
  std::string_view name, value;  // #define NAME VALUE, without parameters
};

struct CudaTokens {
  std::vector<CudaToken> tokens;
  std::vector<CudaDefine> defines;
};

// Views into `source`, which must outlive them. Takes anything: what it does not know becomes one-character marks.
CudaTokens tokenize_cuda(std::string_view source);

}  // namespace ptxlab::task
