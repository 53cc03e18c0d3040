#include "api/verbs/schemas.hpp"

#include "api/form/request_json.hpp"
#include "api/verbs/verbs.hpp"
#include "base/embedded.hpp"

namespace nereus::api {

std::vector<std::string> schema_kinds() { return {"request", "answer"}; }

std::optional<std::string> schema_text(std::string_view verb, std::string_view kind) {
  if (kind == "answer") {
    const auto text = find_embedded("schema/" + std::string(verb) + ".json");
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }
  Nobody nobody;
  const Verb command = kind == "request" ? make_verb(verb, nobody) : nullptr;
  if (command == nullptr) return std::nullopt;
  return request_schema(*command).dump(2) + "\n";
}

}  // namespace nereus::api
