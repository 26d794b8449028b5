// CUDA's names of types as the task format has them.
#pragma once
#include <string>
#include <string_view>

namespace ptxlab::task {

struct CudaType {
  std::string_view type;  // "f32"; empty where the name is not known
  int count = 1;          // elements of a vector type
};
CudaType cuda_type(std::string_view name);

}  // namespace ptxlab::task
