// Two kernels whose time is a straight line of a number that a launch is given: `stream` is bound by memory (it copies so many
// groups of four floats, something added), `fma` by arithmetic (every thread makes a chain of so many multiply-adds). One arm
// with a little more work is a difference that is known.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/contest.h"

namespace ptxlab::judge {

enum class CalibrationKernel : uint8_t { stream, fma };
inline constexpr std::array kCalibrationKernels = {CalibrationKernel::stream, CalibrationKernel::fma};
std::string_view name_of(CalibrationKernel kernel);

// The module that holds both, in old PTX that every driver takes.
std::string_view calibration_ptx();

// Work for about so many microseconds on a large GPU: where a search begins. Never 0.
uint32_t first_guess(CalibrationKernel kernel, double us);

// A contest of the kernel with itself, `a` and `b` being the work of each arm. `code` is the module, assembled or not.
gpu::Contest calibration_contest(CalibrationKernel kernel, const std::string& code, uint32_t a, uint32_t b,
                                 uint64_t seed);

}  // namespace ptxlab::judge
