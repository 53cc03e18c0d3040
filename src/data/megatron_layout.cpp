#include <fmt/format.h>

#include <limits>

#include "base/error.hpp"
#include "base/format.hpp"
#include "data/token_layout.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kHeadBytes = 9 + 8 + 1 + 8 + 8;

[[noreturn]] void broken(const char* code, std::string message, const std::string& path,
                         std::string hint = {}) {
  throw_input_error(code, std::move(message), {path}, std::move(hint));
}

// Bytes per token for this code of a number type; 0 if it is not one for tokens. Signed types are
// read as unsigned: a negative token is then far above any vocabulary.
int bytes_of_kind(unsigned code) {
  switch (code) {
    case 1:
    case 2:
      return 1;  // uint8, int8
    case 3:
    case 8:
      return 2;  // int16, uint16
    case 4:
      return 4;  // int32
    case 5:
      return 8;  // int64
    default:
      return 0;  // 6, 7: floating-point numbers
  }
}

}  // namespace

TokenLayout megatron_layout(std::string_view index, std::uint64_t bin_bytes,
                            const std::string& path, const std::string& index_path) {
  if (!index.starts_with(kMegatronMagic))
    broken("data.format", "not an index of Megatron-LM: it does not start with MMIDIDX", index_path,
           "indices older than MMIDIDX (TNTIDX) are not read");
  if (index.size() < kHeadBytes)
    broken("data.truncated", fmt::format("the index ends after {} bytes", index.size()),
           index_path);
  const std::uint64_t version = load_number(index.data() + 9, 8);
  if (version != 1)
    broken("data.version", fmt::format("the index has version {}, 1 is read", version), index_path);
  const auto kind = static_cast<unsigned char>(index[17]);
  TokenLayout layout;
  TokenFileInfo& info = layout.info;
  info.path = path;
  info.format = TokenFormat::kMegatron;
  info.token_bytes = bytes_of_kind(kind);
  if (info.token_bytes == 0)
    broken("data.format",
           fmt::format("the index says that tokens are of kind {}; whole numbers are 1 to 5 and 8",
                       kind),
           index_path);
  const std::uint64_t sequences = load_number(index.data() + 18, 8);
  const std::uint64_t entries = load_number(index.data() + 26, 8);
  // Divisions first: the counts may be anything.
  const std::uint64_t room = index.size() - kHeadBytes;
  if (sequences > room / 12 || entries > (room - 12 * sequences) / 8)
    broken("data.truncated",
           fmt::format("the index has {} bytes, too few for {} and {}", index.size(),
                       counted(sequences, "sequence"), counted(entries, "document")),
           index_path);
  const std::uint64_t rest = room - 12 * sequences - 8 * entries;
  if (rest != 0 && rest != sequences)
    broken("data.format",
           fmt::format("{} the end of the index", counted(rest, "byte follows", "bytes follow")),
           index_path);

  const char* const lengths = index.data() + kHeadBytes;
  const char* const offsets = lengths + 4 * sequences;
  const char* const documents = offsets + 8 * sequences;
  const auto width = static_cast<std::uint64_t>(info.token_bytes);
  std::uint64_t next_byte = 0;  // where the extent would go on
  for (std::uint64_t i = 0; i < sequences; ++i) {
    const std::uint64_t length = load_number(lengths + 4 * i, 4);
    const std::uint64_t byte = load_number(offsets + 8 * i, 8);
    if (length > std::numeric_limits<std::int32_t>::max())
      broken("data.format", fmt::format("sequence {} has a negative length", i), index_path);
    if (byte > bin_bytes || length > (bin_bytes - byte) / width)
      broken("data.truncated",
             fmt::format("sequence {} ends at byte {}, the .bin file has {}", i,
                         byte + length * width, bin_bytes),
             path, "the .bin and .idx files must be of the same data, and complete");
    if (layout.extents.empty() || byte != next_byte)
      layout.extents.push_back({info.num_tokens, byte});
    next_byte = byte + length * width;
    info.num_tokens += static_cast<std::int64_t>(length);
  }
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t first = load_number(documents + 8 * i, 8);
    if (first < before || first > sequences)
      broken("data.format", fmt::format("entry {} of the document index is out of order", i),
             index_path);
    before = first;
  }
  if (entries > 0) info.num_documents = static_cast<std::int64_t>(entries) - 1;
  return layout;
}

}  // namespace nereus::data
