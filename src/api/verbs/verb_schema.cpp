#include "api/form/exit_codes.hpp"
#include "api/form/request_json.hpp"
#include "api/verbs/verbs.hpp"

namespace nereus::api {

Verb schema_verb(Caller& caller) {
  struct Request {
    std::string verb;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>("schema", "the JSON Schema of a verb's request");
  command->argument("VERB", request->verb, "any verb but api", verb_names());
  command->about(
      "Says which fields a request of nereus api and of the library may have, of what kind, and "
      "what they mean.");
  command->example("nereus schema plan", "what can be asked of the planner");
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
