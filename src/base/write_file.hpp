// Files that are there whole or not at all: written beside the target, flushed to disk, then
// renamed over it.
//
//   write_file("plan.json", text);   // throws Errors; the old file stays on any failure
#pragma once

#include <string>
#include <string_view>

namespace nereus {

void write_file(const std::string& path, std::string_view text);

}  // namespace nereus
