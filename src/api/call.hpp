// Calls one verb from a program: takes a request in JSON and returns an answer in JSON. A call
// prints nothing and writes only files that the request names.
//
//   Reply reply = call("predict", {{"model", "llama3-8b"}, {"cluster", "4xdgx-h100"}});
//   reply.answer["step_s"];                     // as `nereus predict --format json` prints it
//   reply.errors;                               // why there is none
//
// All errors are in the reply. Calls from several threads at once are not supported.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/form/request_json.hpp"
#include "app/progress.hpp"
#include "base/error.hpp"

namespace nereus::api {

struct CallOptions {
  app::ProgressSink progress = {};
  // Polled by long work; true: stop and return what was found so far.
  std::function<bool()> stop = {};
  // Receives the text output of long work, one line per call.
  std::function<void(std::string_view)> say = {};
};

struct Reply {
  int exit_code = 0;               // api/form/exit_codes.hpp
  Json answer = nullptr;           // null if there is none
  std::vector<Error> errors = {};  // with an answer: errors that did not prevent it
  std::vector<std::string> notes = {};
};

Reply call(std::string_view verb, const Json& request, const CallOptions& options = {});

// {"code": ..., "message": ..., "where": "best.plan:3:7" or null, "hints": [...]}
Json error_json(const Error& error);
// The first error, with the others in "more"; null if there are none.
Json errors_json(const std::vector<Error>& errors);

}  // namespace nereus::api
