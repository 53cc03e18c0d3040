// A text that was read from a file, kept so that later errors can show its lines.
//
// Values store a position and share the source; a line is only extracted when an Error is made. So
// values are small, and a file with one very long line is cheap.
//
//   auto source = make_source(text, "cluster.toml");    // throws Errors if it is not UTF-8 text
//   throw_input_error("spec.syntax", "...", where_in(*source, 3, 7));
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace nereus::spec {

struct Source {
  std::string file;  // as the user named it
  std::string text;  // without a byte order mark
};
using SourcePtr = std::shared_ptr<const Source>;

// Removes a byte order mark, and checks that the text is UTF-8 without control characters except
// tab and line ends, which no format we read allows. Otherwise it is "spec.unreadable": a binary or
// damaged file.
SourcePtr make_source(std::string_view text, const std::string& file);

// The place with its line, cut to about 160 characters around the column.
Where where_in(const Source& source, int line, int column);

// Reads the whole file. A missing file ("spec.no-file", with the nearest name in its folder), a
// folder ("spec.is-directory") or an unreadable file ("spec.unreadable") is an Error.
std::string read_text_file(const std::string& path);

}  // namespace nereus::spec
