// What else a .cu says without being compiled: its structs, its variables in device memory and what the host copies into them,
// and the host loops around a launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::task {

struct CudaField {
  std::string type, name;
  int pointers = 0;
  bool constant = false;          // what it points to is not written
  std::vector<std::string> dims;  // as written
};

struct CudaVariable {
  CudaField declared;
  bool constant = false;  // __constant__, else __device__
};

// cudaMemcpyToSymbol(variable, source, ...)
struct SymbolCopy {
  std::string variable, source;
  uint32_t line = 0;
};

// for (int t = 0; t < steps; ++t): counts from 0, where `count` is known.
struct HostLoop {
  std::string variable, count;                             // empty: a loop of another form
  std::vector<std::pair<std::string, std::string>> swaps;  // pointers that change places at its end
  uint32_t line = 0;
};

struct CudaDeclarations {
  std::map<std::string, std::vector<CudaField>> structs;
  std::map<std::string, CudaVariable> variables;
  std::vector<SymbolCopy> copies;
  // The loops around the launch whose <<< is token `token` of tokenize_cuda, outermost first.
  std::map<size_t, std::vector<HostLoop>> loops;
};

CudaDeclarations scan_declarations(std::string_view source);

}  // namespace ptxlab::task
