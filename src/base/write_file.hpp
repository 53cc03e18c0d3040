// Writes files atomically: to a temporary file next to the target, flushed to disk, then renamed
// over it.
//
//   write_file("plan.json", text);   // throws Errors; the old file stays on any failure
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nereus {

void write_file(const std::string& path, std::string_view text);

// Writes text that need not fit into memory: `fill` gets a sink for the pieces.
using TextSink = std::function<void(std::string_view)>;
void write_file(const std::string& path, const std::function<void(const TextSink&)>& fill);

}  // namespace nereus
