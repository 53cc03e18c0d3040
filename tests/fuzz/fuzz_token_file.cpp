// Any bytes are a token file or are refused; what a layout says lies within the bytes. The first
// byte chooses the format; of Megatron's files the bytes are the index, and the tokens' size is
// taken from them as well.
#include "data/token_layout.hpp"
#include "fuzz.hpp"

namespace {

using namespace nereus;

// Every token of every extent, in bytes that are there.
void check_layout(const data::TokenLayout& layout, std::uint64_t num_bytes) {
  const auto width = static_cast<std::uint64_t>(layout.info.token_bytes);
  NEREUS_CHECK(width == 1 || width == 2 || width == 4 || width == 8, "tokens of an odd size");
  NEREUS_CHECK(layout.info.num_tokens >= 0 && layout.info.vocabulary >= 0, "a count below zero");
  for (std::size_t i = 0; i < layout.extents.size(); ++i) {
    const std::int64_t end =
        i + 1 < layout.extents.size() ? layout.extents[i + 1].first : layout.info.num_tokens;
    NEREUS_CHECK(end >= layout.extents[i].first, "extents out of order");
    const auto count = static_cast<std::uint64_t>(end - layout.extents[i].first);
    NEREUS_CHECK(layout.extents[i].byte <= num_bytes, "an extent beyond the end");
    NEREUS_CHECK(count <= (num_bytes - layout.extents[i].byte) / width, "tokens beyond the end");
  }
  NEREUS_CHECK(!layout.extents.empty() || layout.info.num_tokens == 0, "tokens that lie nowhere");
}

}  // namespace

NEREUS_FUZZER(token_file)(const std::uint8_t* bytes, std::size_t size) {
  return nereus::fuzz(bytes, size, [](std::string_view text) {
    if (text.empty()) return;
    const auto kind = static_cast<unsigned char>(text[0]);
    text.remove_prefix(1);
    if (kind % 4 == 0) {
      check_layout(data::nereus_layout(text, "a.tokens"), text.size());
    } else if (kind % 4 == 1) {
      // The header's checksum keeps a fuzzer out: put the right one there.
      std::string mended(text);
      if (mended.size() >= data::kTokenHeaderBytes)
        data::store_number(mended.data() + 124,
                           data::checksum(0, std::string_view(mended).substr(0, 124)), 4);
      check_layout(data::nereus_layout(mended, "a.tokens"), mended.size());
    } else if (kind % 4 == 2) {
      const std::uint64_t bin_bytes = std::uint64_t{kind} << (kind % 32);
      check_layout(data::megatron_layout(text, bin_bytes, "a.bin", "a.idx"), bin_bytes);
    } else {
      check_layout(data::nanogpt_layout(text, "a.bin"), text.size());
      data::vocabulary_in_pickle(text);
    }
  });
}
