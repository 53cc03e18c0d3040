#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/verbs/schemas.hpp"
#include "api/verbs/verbs.hpp"

namespace nereus::api {

Verb schema_verb(Caller& caller) {
  struct Request {
    std::string verb;
    std::string what;
  };
  auto request = std::make_shared<Request>();
  auto command =
      std::make_unique<Command>("schema", "the JSON Schema of a verb's request or answer");
  command->argument("VERB", request->verb, "any verb but api", verb_names());
  command->optional_argument("WHAT", request->what,
                             "request (if not given) or answer, as --format json prints it",
                             schema_kinds());
  command->about(
      "Says which fields a request of nereus api and of the library may have, or which fields an "
      "answer has: of what kind they are, in which unit, and what they mean. Of a verb with "
      "several kinds of answers the schema has one of each, with a title.");
  command->example("nereus schema plan", "what can be asked of the planner");
  command->example("nereus schema plan answer", "what it answers");
  command->run = [&caller, request] {
    const std::string kind = request->what.empty() ? schema_kinds().front() : request->what;
    const std::optional<std::string> text = schema_text(request->verb, kind);
    if (!text)
      throw_input_error("schema.no-answer",
                        fmt::format("nereus {} has no answer in JSON", request->verb), {},
                        fmt::format("nereus schema {}", request->verb));
    caller.answer({.json = *text, .text = *text}, {});
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
