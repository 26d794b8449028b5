// The rules, each defined in the file that bears its name.
#pragma once
#include "rewrite/rule.h"

namespace ptxlab::rewrite {

const Rule* vectorise_rule();
const Rule* contract_rule();
const Rule* readonly_rule();
const Rule* unswitch_rule();
const Rule* unroll_rule();
const Rule* promote_rule();
const Rule* invariant_rule();
const Rule* address_rule();
const Rule* narrow_rule();
const Rule* cse_rule();
const Rule* dead_rule();
const Rule* cache_rule();
const Rule* block_rule();
const Rule* registers_rule();

}  // namespace ptxlab::rewrite
