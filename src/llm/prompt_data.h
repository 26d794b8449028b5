// What a prompt's template may show, under the names that it uses (prompts/README.md lists them).
#pragma once
#include <kainjow/mustache.hpp>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::llm {

// Everything but the earlier attempts. Errors: PTX0xxx, PLAN00xx of the baseline.
base::Result<kainjow::mustache::data> prompt_data(const record::Brief& brief);

// Indices of the attempts, the most telling first: right ones by their estimate, then failures from the newest back.
std::vector<size_t> most_telling(const std::vector<record::Earlier>& earlier);

// Puts these attempts in, in their order, and how many were left out.
void add_earlier(kainjow::mustache::data& values, const record::Brief& brief, const std::vector<size_t>& shown);

}  // namespace ptxlab::llm
