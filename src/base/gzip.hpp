// Compresses and decompresses whole texts with gzip (RFC 1952), using zlib.
//
//   write_file("step.json.gz", gzip(text));
//   std::string text = gunzip(bytes);              // throws Errors ("gzip.broken")
//   gunzip_if_zipped(bytes);                       // unchanged if it is not gzip
#pragma once

#include <string>
#include <string_view>

namespace nereus {

// `level` is 1 (fast) to 9 (small). Without a time stamp: the same text gives the same bytes.
std::string gzip(std::string_view text, int level = 4);
// Decompresses one or several members. Throws if the bytes are not gzip, are truncated, or hold
// more than `most` bytes.
std::string gunzip(std::string_view bytes, std::size_t most = std::size_t{1} << 30);
std::string gunzip_if_zipped(std::string bytes);

}  // namespace nereus
