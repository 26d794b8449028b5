// The JSON forms of the loop's words. Each object names its schema and version; what is read is checked, and a wrong or
// missing key is a finding (REC0001) that says which. Texts are kept as they are: a candidate's that is not UTF-8 stands as
// {"base64": "..."}; elsewhere such bytes are replaced when a value is printed (base::print_json).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "record/proposer.h"
#include "record/record.h"

namespace ptxlab::record {

nlohmann::json to_json(const Candidate& candidate);  // ptxlab.candidate/1
// The text, or {"base64": "..."} where it is not UTF-8.
nlohmann::json text_json(const std::string& text);
nlohmann::json to_json(const toolchain::Resources& resources);
nlohmann::json to_json(const toolchain::SassFacts& facts);
nlohmann::json to_json(const Constraints& constraints);
nlohmann::json to_json(const Estimate& estimate);
nlohmann::json to_json(const Verdict& verdict);  // ptxlab.verdict/1
nlohmann::json to_json(const Ask& ask);
nlohmann::json to_json(const Brief& brief);      // ptxlab.brief/1; the task by name, version and file
nlohmann::json to_json(const Attempt& attempt);  // ptxlab.attempt/1
// "dollars" is null where the price of some of it is unknown.
nlohmann::json to_json(const Usage& usage);
base::Result<Usage> usage_from_json(const nlohmann::json& json);

base::Result<Candidate> candidate_from_json(const nlohmann::json& json);
base::Result<Verdict> verdict_from_json(const nlohmann::json& json);
// `task` is the one that the brief names, which the caller has read; REC0002 where it is another or another version.
base::Result<Brief> brief_from_json(const nlohmann::json& json, const task::Task& task);
base::Result<Attempt> attempt_from_json(const nlohmann::json& json);

// The same from text: REC0003 where it is not JSON at all.
base::Result<Candidate> read_candidate(std::string_view text);
base::Result<Verdict> read_verdict(std::string_view text);
base::Result<Attempt> read_attempt(std::string_view text);

}  // namespace ptxlab::record
