// Listings of the table: JSON for other programs and the Python bindings, markdown for `doctor --isa` and the docs.
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "isa/table.h"

namespace ptxlab::isa {

// {"schema": "ptxlab.isa/1", "rows": [{"opcode", "syntax", "section", "slots", "operands", "gate", "effects"}]}
nlohmann::json table_json();

// The row's syntax as the manual prints it: without the annotations of row_text.h.
std::string manual_syntax(const Row& row);

// A table a section: opcode, syntax, gate, and where `state` is given what it says of the row ("executed", "parsed").
std::string table_markdown(const std::function<std::string_view(const Row&)>& state = {});

}  // namespace ptxlab::isa
