// `nereus api`: requests as lines of JSON, answers as lines of JSON, many in one process.
//
//   {"id": 1, "verb": "predict", "request": {"model": "gpt2", "cluster": "1xdgx-h100"}}
//   {"id": 1, "answer": {...}}                     or {"id": 1, "error": {...}}
//   {"id": 2, "verb": "predict", "requests": {"model": "gpt2", "tp": [1, 2]}, "fields": ["step_s"]}
//   {"id": 2, "answers": {"step_s": [0.1, null]}, "errors": {"1": {...}}}
//   {"cancel": 2}
//
// Requests are answered one at a time in their order; on the way come {"id", "progress"} and
// {"id", "say"}. A cancelled request that runs ends with what it has, one that waits with the error
// api.cancelled. "exit_code" is there where it is not 0, "notes" where there are some. By columns
// each array holds one value for each request; any other value is that of all of them. Without
// "fields" the answers are whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nereus::api {

using ReadLine = std::function<bool(std::string& line)>;  // false at the end of the input
using WriteLine = std::function<void(std::string_view line)>;

// Reads on a thread of its own, so that a request can be cancelled; returns when all are answered.
// Where `write` throws, that thread is left behind until `read` returns.
void answer_lines(const ReadLine& read, const WriteLine& write);

}  // namespace nereus::api
