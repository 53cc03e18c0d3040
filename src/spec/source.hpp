// A text that was read from a file, kept so that a later complaint can show the line it is about.
//
// Values hold a position and share the source; the line is cut out only when an Error is made. That
// keeps a value small and a file of one very long line cheap.
//
//   auto source = make_source(text, "cluster.toml");    // throws Errors where it is no UTF-8 text
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

// Drops a byte order mark and makes sure that the text is UTF-8 without control characters other
// than tab and line ends, which no format we read allows. Anything else is "spec.unreadable": a
// binary or broken file.
SourcePtr make_source(std::string_view text, const std::string& file);

// The place with its line, of which at most about 160 characters around the column are kept.
Where where_in(const Source& source, int line, int column);

// The whole file as bytes. A missing file ("spec.no-file", with the nearest name in its directory),
// a directory
// ("spec.is-directory") or an unreadable file ("spec.unreadable") is an Error.
std::string read_text_file(const std::string& path);

}  // namespace nereus::spec
