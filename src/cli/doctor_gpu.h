// ptxlab doctor --gpu: does the GPU do what is asked of it, and how fast is it at best (gpu/probe.h)?
#pragma once
#include <string>

namespace ptxlab::cli {

// Of every GPU that `word` names (gpu_option.h), the first one where it is empty. The command's exit code: 3 where one is not there or
// gives a wrong answer.
int doctor_gpu(const std::string& word, bool json);

}  // namespace ptxlab::cli
