// A verb's request in JSON: one object with a member per given field. --micro-batch 4 is
// {"micro_batch": 4}, an argument PLAN is {"plan": "best.plan"}, words after "--" are "command".
//
//   fill(*command, R"({"model": "llama3-8b", "tp": [1, 2, 4], "deadline": 3600})"_json);
//   request_json(*command);           // the same object again, in the order of the fields
//   request_schema(*command);         // JSON Schema, draft 2020-12
//
// Values reach the same targets through the same checks as the words of a command line: both refuse
// the same values, with the same error codes. Quantities are text with a unit or numbers in SI
// units. Lists are arrays or text ("1,2,4", "2..64*2"). Pairs are an object or "NAME=VALUE".
#pragma once

#include "api/form/command.hpp"
#include "api/form/json.hpp"

namespace nereus::api {

// Throws one Errors with everything that is wrong; where.file is the field's name.
void fill(Command& command, const Json& request);

Json request_json(const Command& command);
Json request_schema(const Command& command);

}  // namespace nereus::api
