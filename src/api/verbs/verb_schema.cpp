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
      std::make_unique<Command>("schema", "print the JSON Schema of a verb's request or answer");
  command->argument("VERB", request->verb, "any verb but api", verb_names());
  command->optional_argument("WHAT", request->what,
                             "request (if not given) or answer, as --format json prints it",
                             schema_kinds());
  command->about(
      "Prints the fields that a request to nereus api or to the library may have, or those of an "
      "answer, with their types, units and meanings. If a verb has several kinds of answers, the "
      "schema has one for each, with a title.");
  command->example("nereus schema plan", "the fields of a request to the planner");
  command->example("nereus schema plan answer", "the fields of its answer");
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
