// Decoding in two steps: image.cc finds and lays out what an entry needs, decode.cc turns each function into ops.
#pragma once
#include <map>
#include <string_view>

#include "simt/step.h"

namespace ptxlab::simt {

void decode_function(const ptx::Module& module, Image& image, Code& code, const Variables& variables,
                     const std::map<const ptx::Function*, Code*>& codes, base::Findings& unsupported);

const StepBinding* find(const StepBinding* table, std::string_view opcode);

// Finds the handler of a form; false where none executes it.
bool bind(const isa::Form& form, const Modifiers& modifiers, Op& op);

}  // namespace ptxlab::simt
