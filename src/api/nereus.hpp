// Nereus as a library: what the command line does, called from a program.
//
//   #include <nereus/nereus.hpp>            // find_package(nereus), link nereus::nereus
//   const nereus::Result r = nereus::call("plan", R"({"model": "llama3-8b",
//                                                     "cluster": "4xdgx-h100"})");
//   if (r.ok()) use(r.answer);              // the JSON that `nereus plan --format json` prints
//
// A request is one JSON object; schema() says which members it may have, and which the answer has.
// Nothing is printed, no file is written that the request does not name, and nothing is thrown for
// a wrong request. Calls are made one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus {

struct Result {
  int exit_code = 0;   // 0 done, 2 wrong request, 3 nothing feasible, 4 environment, 5 a worker
                       // failed, 10 stopped early, 1 a bug
  std::string answer;  // JSON, one object; empty where there is none
  std::string error;   // JSON: {code, message, where, hints, more}; empty where there is none
  std::vector<std::string> notes;

  bool ok() const { return exit_code == 0; }
};

// What one may want to know of long work, and whether it is still wanted.
struct Watch {
  // What is counted ("candidates"), how many of how many (0: not known), the best so far in words.
  std::function<void(const std::string& what, double done, double total, const std::string& best)>
      progress;
  std::function<bool()> stop;  // true ends the work with what it has: exit code 10
};

Result call(std::string_view verb, std::string_view request, const Watch& watch = {});

std::vector<std::string> verbs();
// JSON Schema of a verb's request, or with "answer" of its answer; empty where there is none.
std::string schema(std::string_view verb, std::string_view what = "request");

}  // namespace nereus
