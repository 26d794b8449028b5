// What a mangled name tells of an entry's parameters, and what its accesses tell where there is none.
#pragma once
#include <string>
#include <vector>

#include "isa/type.h"
#include "task/cuda_scan.h"

namespace ptxlab::task {

// "float const*, __half*, int" of a mangled name; empty where there is none.
std::vector<CudaParameter> parameters_of_mangled(const std::string& name);

// What most kernels keep in elements that are only known as so many bits.
isa::Type usual_meaning(isa::Type type);

// CUDA's word for an element that instructions load as `type`; "?" where they do not tell.
std::string element_word(isa::Type type);

}  // namespace ptxlab::task
