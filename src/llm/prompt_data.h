// What a prompt's template may show, under the names that it uses (prompts/README.md lists them).
#pragma once
#include <kainjow/mustache.hpp>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::llm {

// Everything but the earlier attempts. Errors: PTX0xxx, PLAN00xx of the baseline; LLM0031 the ask is about no earlier attempt.
base::Result<kainjow::mustache::data> prompt_data(const record::Brief& brief, const record::Ask& ask);

// Indices of the attempts, the most telling first: right ones by what was measured, then by their estimate, then failures from the
// newest back.
std::vector<size_t> most_telling(const std::vector<record::Earlier>& earlier);

// Puts these attempts in, in their order, and how many were left out, but for the one that the ask is about.
void add_earlier(kainjow::mustache::data& values, const record::Brief& brief, const record::Ask& ask,
                 const std::vector<size_t>& shown);

// The attempt that the ask is about, if it is about one.
void add_focus(kainjow::mustache::data& values, const record::Brief& brief, const record::Ask& ask);

}  // namespace ptxlab::llm
