// JSON Schemas, draft 2020-12: of requests from the fields of the verb's command, of answers from
// data/schema/VERB.json, which is part of the program. tests/long/schema.sh checks the answers of
// all tests against them.
//
//   schema_text("predict", "answer");   // "{\n  \"$schema\": ..."
//   schema_text("agent", "answer");     // nothing: an agent has no answer
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::api {

std::vector<std::string> schema_kinds();  // "request", "answer"

// Empty if there is no such verb or kind, or if the verb has no answer.
std::optional<std::string> schema_text(std::string_view verb, std::string_view kind);

}  // namespace nereus::api
