// What the time gate measured, as JSON: the member "timing" of ptxlab.verdict/1.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "record/record.h"

namespace ptxlab::record {

nlohmann::json to_json(const Timing& timing);
base::Result<Timing> timing_from_json(const nlohmann::json& json);  // REC0001

}  // namespace ptxlab::record
