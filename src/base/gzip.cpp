#include "base/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.hpp"

namespace nereus {

namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window; 16 asks zlib for gzip's header
constexpr std::size_t kChunk = std::size_t{1} << 20;

Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));  // NOLINT: zlib does not write it
}

// Runs `step` (deflate or inflate) until it wants more room or is done; returns zlib's code.
template <class Step>
int fill(z_stream& stream, std::string& out, Step step) {
  const std::size_t before = out.size();
  out.resize(before + kChunk);
  stream.next_out = bytes_of(out.data() + before);
  stream.avail_out = static_cast<uInt>(kChunk);
  const int code = step(stream);
  out.resize(before + kChunk - stream.avail_out);
  return code;
}

// zlib counts in 32 bits.
void feed(z_stream& stream, std::string_view& rest) {
  if (stream.avail_in > 0) return;
  const std::size_t part = std::min<std::size_t>(rest.size(), std::size_t{1} << 30);
  stream.next_in = bytes_of(rest.data());
  stream.avail_in = static_cast<uInt>(part);
  rest.remove_prefix(part);
}

}  // namespace

std::string gzip(std::string_view text, int level) {
  z_stream stream{};
  NEREUS_CHECK(deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib takes these settings");
  std::string out;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    feed(stream, text);
    code = fill(stream, out,
                [&](z_stream& s) { return deflate(&s, text.empty() ? Z_FINISH : Z_NO_FLUSH); });
    NEREUS_CHECK(code == Z_OK || code == Z_STREAM_END, "deflate has room and input");
  }
  deflateEnd(&stream);
  return out;
}

std::string gunzip(std::string_view bytes, std::size_t most) {
  z_stream stream{};
  NEREUS_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "zlib takes these settings");
  std::string out;
  std::string fault;
  while (true) {
    feed(stream, bytes);
    const int code = fill(stream, out, [](z_stream& s) { return inflate(&s, Z_NO_FLUSH); });
    if (out.size() > most) {
      fault = fmt::format("it holds more than {} bytes", most);
    } else if (code == Z_STREAM_END) {
      feed(stream, bytes);
      if (stream.avail_in == 0) break;
      inflateReset(&stream);  // another member follows
    } else if (code == Z_BUF_ERROR) {
      fault = "it ends early";
    } else if (code != Z_OK) {
      fault = stream.msg != nullptr ? stream.msg : "it is no gzip";
    }
    if (!fault.empty()) break;
  }
  inflateEnd(&stream);
  if (!fault.empty())
    throw_input_error("gzip.broken", fmt::format("cannot unzip: {}", fault), {},
                      "a file as gzip writes it");
  return out;
}

std::string gunzip_if_zipped(std::string bytes) {
  return bytes.starts_with("\x1f\x8b") ? gunzip(bytes) : bytes;
}

}  // namespace nereus
