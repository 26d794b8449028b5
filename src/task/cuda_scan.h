// What a .cu says about its kernels without being compiled: signatures, <<<...>>> launches, and the host's allocations
// and constants that they lean on. Tolerant: what it cannot make out it leaves out, and a draft then asks.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptxlab::task {

struct CudaParameter {
  std::string name;  // may be empty
  std::string type;  // as written without const, __restrict__ and the name: "float", "unsigned int", "__nv_bfloat16"
  int pointers = 0;  // how many * (or []) there are
  bool constant = false;               // const float*: what is pointed to is not written
  bool read = false, written = false;  // uses of its elements in the body
  bool hidden = false;                 // a compiler's own, which its launcher leaves null
  bool guessed = false;                // its type is a guess
  bool passed_on = false;              // used as a whole: copied to another pointer, handed to a function
};

struct CudaKernel {
  std::string name;
  std::string scope;  // "ops::detail::", of the named namespaces around it
  std::vector<CudaParameter> parameters;
  bool is_template = false, is_static = false;
  std::vector<std::string> template_parameters;  // "T", "N"; in order
  std::vector<bool> template_types;              // beside them: a type, else a value
  uint32_t line = 0;
};

struct CudaLaunch {
  std::string kernel;
  std::vector<std::string> template_arguments;  // kernel<float, 4><<<...>>>
  std::vector<std::string> grid,
      block;           // 1 to 3 expressions each, as on the host, names of the host's constants resolved
  std::string shared;  // "" where none
  std::vector<std::string> arguments;  // as on the host
  uint32_t line = 0;
  size_t token = 0;      // of its <<<, in tokenize_cuda's order
  bool in_loop = false;  // stands in a for or while of the host
  bool cooperative = false;
};

struct CudaScan {
  std::vector<CudaKernel> kernels;                 // with a body, in order
  std::vector<CudaLaunch> launches;                // in order
  std::map<std::string, std::string> allocations;  // host pointer: its elements, as an expression ("m * n")
  std::map<std::string, std::string> constants;    // names with an initial value: "n" is "1 << 20"
  std::map<std::string, std::string> aliases;      // using and typedef: "bf16" is "__nv_bfloat16"
};

CudaScan scan_cuda(std::string_view source);

}  // namespace ptxlab::task
