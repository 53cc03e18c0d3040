// Nereus as a library: what the command line does, called from a program.
//
//   #include <nereus/nereus.hpp>            // find_package(nereus), link nereus::nereus
//   const nereus::Result r = nereus::call("plan", R"({"model": "llama3-8b",
//                                                     "cluster": "4xdgx-h100"})");
//   if (r.ok()) use(r.answer);              // the JSON that `nereus plan --format json` prints
//
// A request is one JSON object; schema() lists the members that it may have, and those of the
// answer. A call prints nothing, writes only files that the request names, and throws nothing for a
// wrong request. Make one call at a time: concurrent calls are not supported.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus {

struct Result {
  int exit_code = 0;   // 0 done, 2 wrong request, 3 nothing feasible, 4 environment, 5 a worker
                       // failed, 10 stopped early, 1 a bug
  std::string answer;  // JSON, one object; empty if there is none
  std::string error;   // JSON: {code, message, where, hints, more}; empty if there is none
  std::vector<std::string> notes;

  bool ok() const { return exit_code == 0; }
};

// Receives the progress of long work, and may stop it.
struct Watch {
  // The kind of thing counted ("candidates"), how many are done, how many in total (0: unknown),
  // and a text about the best so far.
  std::function<void(const std::string& what, double done, double total, const std::string& best)>
      progress;
  // Returns true to stop the work, which then returns what it has: exit code 10.
  std::function<bool()> stop;
};

Result call(std::string_view verb, std::string_view request, const Watch& watch = {});

std::vector<std::string> verbs();
// JSON Schema of a verb's request, or of its answer if `what` is "answer"; empty if there is none.
std::string schema(std::string_view verb, std::string_view what = "request");

}  // namespace nereus
