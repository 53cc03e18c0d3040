#include "data/token_layout.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::data {

namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 56;  // sums stay far from overflow

// The name is shown to people: anything but plain characters would spoil a terminal.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, name.find('\0')));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

[[noreturn]] void broken(const char* code, std::string message, const std::string& path,
                         std::string hint = {}) {
  throw_input_error(code, std::move(message), {path}, std::move(hint));
}

}  // namespace

std::string_view to_string(TokenFormat format) {
  switch (format) {
    case TokenFormat::kNereus:
      return "nereus";
    case TokenFormat::kNanoGpt:
      return "nanogpt";
    case TokenFormat::kMegatron:
      return "megatron";
  }
  return "";
}

std::uint64_t load_number(const char* from, int num_bytes) {
  std::uint64_t number = 0;
  for (int i = num_bytes; i-- > 0;) number = number << 8 | static_cast<unsigned char>(from[i]);
  return number;
}

void store_number(char* to, std::uint64_t number, int num_bytes) {
  for (int i = 0; i < num_bytes; ++i, number >>= 8) to[i] = static_cast<char>(number & 0xFF);
}

std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TokenLayout nereus_layout(std::string_view bytes, const std::string& path) {
  if (!bytes.starts_with(kNereusMagic))
    broken("data.format", "not a token file: it does not start with NEREUSTK", path);
  if (bytes.size() < kTokenHeaderBytes)
    broken("data.truncated",
           fmt::format("the token file ends after {} bytes, within its header of {}", bytes.size(),
                       kTokenHeaderBytes),
           path);
  const auto field = [&](std::size_t offset, int size) {
    return load_number(bytes.data() + offset, size);
  };
  if (field(124, 4) != checksum(0, bytes.substr(0, 124)))
    broken("data.header", "the header of the token file is damaged: its checksum differs", path,
           "make it again with nereus data prepare");
  if (field(8, 4) != kTokenSchemaVersion)
    broken("data.version",
           fmt::format("the token file has schema version {}, this program reads {}", field(8, 4),
                       kTokenSchemaVersion),
           path, "make it again with nereus data prepare");
  TokenLayout layout;
  TokenFileInfo& info = layout.info;
  info.path = path;
  info.format = TokenFormat::kNereus;
  info.token_bytes = static_cast<int>(field(12, 4));
  info.vocabulary = static_cast<std::int64_t>(field(16, 8));
  info.num_tokens = static_cast<std::int64_t>(field(24, 8));
  info.num_documents = static_cast<std::int64_t>(field(32, 8));
  info.text_bytes = static_cast<std::int64_t>(field(40, 8));
  if (field(48, 8) != ~std::uint64_t{0}) info.end_of_text = static_cast<std::int64_t>(field(48, 8));
  layout.content_checksum = static_cast<std::uint32_t>(field(56, 4));
  info.tokenizer = printable(bytes.substr(60, kTokenizerNameBytes));

  const bool known_width = info.token_bytes == 1 || info.token_bytes == 2 || info.token_bytes == 4;
  const bool sensible =
      known_width && info.vocabulary > 0 &&
      info.vocabulary <= std::int64_t{1} << (8 * info.token_bytes) && info.num_tokens >= 0 &&
      info.num_tokens <= kMostTokens && info.num_documents >= 0 &&
      info.num_documents <= kMostTokens && info.text_bytes >= 0 &&
      (!info.end_of_text || (*info.end_of_text >= 0 && *info.end_of_text < info.vocabulary));
  if (!sensible)
    broken("data.header", "the header of the token file states impossible sizes", path);
  const auto token_bytes = static_cast<std::uint64_t>(info.num_tokens * info.token_bytes);
  layout.document_starts_byte = (kTokenHeaderBytes + token_bytes + 7) / 8 * 8;
  const std::uint64_t whole =
      layout.document_starts_byte + 8 * static_cast<std::uint64_t>(info.num_documents);
  if (bytes.size() != whole)
    broken("data.truncated",
           fmt::format("the token file has {} bytes, its header says {}", bytes.size(), whole),
           path, "copy it again, or make it again with nereus data prepare");
  layout.extents = {{0, kTokenHeaderBytes}};
  return layout;
}

TokenLayout nanogpt_layout(std::string_view bytes, const std::string& path) {
  if (bytes.size() % 2 != 0)
    broken("data.truncated",
           fmt::format("{} no whole number of 16-bit tokens",
                       counted(bytes.size(), "byte is", "bytes are")),
           path,
           "a .bin file without an .idx beside it is read as nanoGPT's: 16-bit tokens and nothing "
           "else");
  TokenLayout layout;
  layout.info = {.path = path,
                 .format = TokenFormat::kNanoGpt,
                 .num_tokens = static_cast<std::int64_t>(bytes.size() / 2),
                 .token_bytes = 2};
  layout.extents = {{0, 0}};
  return layout;
}

std::optional<std::int64_t> vocabulary_in_pickle(std::string_view pickle) {
  constexpr std::string_view kKey = "vocab_size";
  std::size_t at = pickle.find(kKey);
  if (at == std::string_view::npos) return {};
  at += kKey.size();
  const auto number = [&](int num_bytes) -> std::optional<std::int64_t> {
    if (pickle.size() - at < static_cast<std::size_t>(num_bytes)) return {};
    const auto value = static_cast<std::int64_t>(load_number(pickle.data() + at, num_bytes));
    if (value <= 0 || value > std::int64_t{1} << 31) return {};
    return value;
  };
  while (at < pickle.size()) {
    switch (pickle[at++]) {
      case '\x94':  // MEMOIZE
        continue;
      case 'q':  // BINPUT and its index
        ++at;
        continue;
      case 'r':  // LONG_BINPUT and its index
        at += 4;
        continue;
      case 'K':  // BININT1
        return number(1);
      case 'M':  // BININT2
        return number(2);
      case 'J':  // BININT
        return number(4);
      default:
        return {};
    }
  }
  return {};
}

}  // namespace nereus::data
