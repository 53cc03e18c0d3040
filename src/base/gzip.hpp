// Whole texts to and from gzip (RFC 1952), by zlib.
//
//   write_file("step.json.gz", gzip(text));
//   std::string text = gunzip(bytes);              // throws Errors ("gzip.broken")
//   gunzip_if_zipped(bytes);                       // as it is where it is not zipped
#pragma once

#include <string>
#include <string_view>

namespace nereus {

// `level` 1 (quick) to 9 (small). No time stamp: the same text gives the same bytes.
std::string gzip(std::string_view text, int level = 4);
// Of one or several members. Throws where the bytes are no gzip, end early, or hold more than
// `most` bytes.
std::string gunzip(std::string_view bytes, std::size_t most = std::size_t{1} << 30);
std::string gunzip_if_zipped(std::string bytes);

}  // namespace nereus
