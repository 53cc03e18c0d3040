#include "api/nereus.hpp"

#include "api/call.hpp"
#include "api/form/exit_codes.hpp"
#include "api/verbs/schemas.hpp"
#include "api/verbs/verbs.hpp"

namespace nereus {

Result call(std::string_view verb, std::string_view request, const Watch& watch) {
  Result result;
  const api::Json json = api::Json::parse(request, nullptr, false);
  if (json.is_discarded()) {
    result.exit_code = api::kBadInput;
    result.error = api::error_json({"api.bad-json", "the request is not valid JSON"}).dump();
    return result;
  }
  api::CallOptions options;
  options.stop = watch.stop;
  if (watch.progress)
    options.progress = [&watch](const app::Progress& p) {
      watch.progress(p.what, p.done, p.total, p.best);
    };
  api::Reply reply = api::call(verb, json, options);
  constexpr auto kReplace = api::Json::error_handler_t::replace;
  result.exit_code = reply.exit_code;
  if (!reply.answer.is_null()) result.answer = reply.answer.dump(-1, ' ', false, kReplace);
  if (!reply.errors.empty())
    result.error = api::errors_json(reply.errors).dump(-1, ' ', false, kReplace);
  result.notes = std::move(reply.notes);
  return result;
}

std::vector<std::string> verbs() { return api::verb_names(); }

std::string schema(std::string_view verb, std::string_view what) {
  return api::schema_text(verb, what).value_or("");
}

}  // namespace nereus
