// What a question shows of a kernel: its structure, what ptxas makes of it, its times, where the work is.
#pragma once
#include <kainjow/mustache.hpp>
#include <map>
#include <optional>
#include <string>

#include "launch/plan.h"
#include "ptx/module.h"
#include "record/record.h"

namespace ptxlab::llm {

using LineMap = std::map<uint32_t, uint32_t>;

// Each entry that the plan launches.
void add_kernels(kainjow::mustache::data& values, const record::Brief& brief, const ptx::Module& module,
                 const launch::Plan& plan);
void add_resources(kainjow::mustache::data& values, const record::Brief& brief, const launch::Plan& plan);
// Measured ones of the baseline where an earlier attempt was timed against it; else its estimate, said to be one.
void add_times(kainjow::mustache::data& values, const record::Brief& brief);
// The lines of `text` that cost most; `lines` leads from the profile's lines to those of the text, empty: they are the same.
void add_hot_lines(kainjow::mustache::data& values, const std::optional<record::LineProfile>& profile,
                   const std::string& text, const LineMap& lines);

}  // namespace ptxlab::llm
