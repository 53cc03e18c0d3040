// `nereus api`: reads requests and writes answers as lines of JSON, many in one process.
//
//   {"id": 1, "verb": "predict", "request": {"model": "gpt2", "cluster": "1xdgx-h100"}}
//   {"id": 1, "answer": {...}}                     or {"id": 1, "error": {...}}
//   {"id": 2, "verb": "predict", "requests": {"model": "gpt2", "tp": [1, 2]}, "fields": ["step_s"]}
//   {"id": 2, "answers": {"step_s": [0.1, null]}, "errors": {"1": {...}}}
//   {"cancel": 2}
//
// Requests are answered one at a time, in order. While one runs, lines {"id", "progress"} and
// {"id", "say"} may come. A cancelled request that is running ends with what it has so far; one
// that is still waiting ends with the error api.cancelled. "exit_code" is present if it is not 0,
// "notes" if there are any. With "requests", each array holds one value per request; a value that
// is not an array applies to all requests. Without "fields" the answers are complete.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nereus::api {

using ReadLine = std::function<bool(std::string& line)>;  // false at the end of the input
using WriteLine = std::function<void(std::string_view line)>;

// A separate thread reads, so that requests can be cancelled. Returns when all requests are
// answered. If `write` throws, that thread is left running until `read` returns.
void answer_lines(const ReadLine& read, const WriteLine& write);

}  // namespace nereus::api
