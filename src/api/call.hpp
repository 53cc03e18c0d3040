// One verb, called by a program: a request in JSON goes in, an answer in JSON comes out. It prints
// nothing and writes no file that the request does not name.
//
//   Reply reply = call("predict", {{"model", "llama3-8b"}, {"cluster", "4xdgx-h100"}});
//   reply.answer["step_s"];                     // as `nereus predict --format json` prints it
//   reply.errors;                               // why there is none
//
// Whatever goes wrong is in the reply. Calls from several threads at once are not supported.
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
  std::function<bool()> stop = {};  // asked now and then by long work: end with what you have
  std::function<void(std::string_view)> say = {};  // words of work that goes on, a line each
};

struct Reply {
  int exit_code = 0;               // api/form/exit_codes.hpp
  Json answer = nullptr;           // null where there is none
  std::vector<Error> errors = {};  // with an answer: what went wrong all the same
  std::vector<std::string> notes = {};
};

Reply call(std::string_view verb, const Json& request, const CallOptions& options = {});

// {"code": ..., "message": ..., "where": "best.plan:3:7" or null, "hints": [...]}
Json error_json(const Error& error);
// The first with the others as "more"; null of none.
Json errors_json(const std::vector<Error>& errors);

}  // namespace nereus::api
