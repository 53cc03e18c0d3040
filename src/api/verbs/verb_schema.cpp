#include "api/form/exit_codes.hpp"
#include "api/form/request_json.hpp"
#include "api/verbs/verbs.hpp"

namespace nereus::api {

Verb schema_verb(Caller& caller) {
  struct Request {
    std::string verb;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>("schema", "print the JSON Schema of a verb's request");
  command->argument("VERB", request->verb, "any verb but api", verb_names());
  command->about(
      "Prints the fields that a request to nereus api or to the library may have, with their "
      "types and meanings.");
  command->example("nereus schema plan", "the fields of a request to the planner");
  command->run = [&caller, request] {
    Nobody nobody;
    const Verb verb = make_verb(request->verb, nobody);
    const std::string json = request_schema(*verb).dump(2) + "\n";
    caller.answer({.json = json, .text = json}, {});
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
