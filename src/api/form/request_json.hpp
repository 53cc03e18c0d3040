// A verb's request in JSON: one object, a member for each field that is given. --micro-batch 4 is
// {"micro_batch": 4}, an argument PLAN is {"plan": "best.plan"}, words after "--" are "command".
//
//   fill(*command, R"({"model": "llama3-8b", "tp": [1, 2, 4], "deadline": 3600})"_json);
//   request_json(*command);           // the same object again, in the order of the fields
//   request_schema(*command);         // JSON Schema, draft 2020-12
//
// Values reach the same targets through the same checks as the words of a command line: what one
// refuses the other refuses, with the same code. Quantities are text with a unit or numbers in SI
// units; lists are arrays or text ("1,2,4", "2..64*2"); pairs are an object or "NAME=VALUE".
#pragma once

#include "api/form/command.hpp"
#include "api/form/json.hpp"

namespace nereus::api {

// Throws one Errors with everything that is wrong; where.file is the field's name.
void fill(Command& command, const Json& request);

Json request_json(const Command& command);
Json request_schema(const Command& command);

}  // namespace nereus::api
