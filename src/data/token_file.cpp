#include "data/token_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::data {

namespace {

constexpr std::int64_t kTokensAtOnce = 1 << 16;

bool exists(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code);
}

std::string without_ending(const std::string& path, std::string_view ending) {
  return path.ends_with(ending) ? path.substr(0, path.size() - ending.size()) : std::string();
}

// Megatron's PREFIX for a path with .bin, .idx or neither; empty if it is not such a file.
std::string megatron_prefix(const std::string& path) {
  if (const std::string prefix = without_ending(path, ".idx"); !prefix.empty()) return prefix;
  if (const std::string prefix = without_ending(path, ".bin"); !prefix.empty())
    return exists(prefix + ".idx") ? prefix : std::string();
  if (!exists(path) && exists(path + ".idx")) return path;
  return {};
}

template <class Word>
void widen(const char* from, std::span<std::int64_t> to) {
  for (std::int64_t& token : to) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));  // Megatron's need not be aligned
    if constexpr (std::endian::native == std::endian::big)
      word = static_cast<Word>(load_number(from, sizeof(Word)));
    token = static_cast<std::int64_t>(word);
    from += sizeof(Word);
  }
}

}  // namespace

TokenFile TokenFile::open(const std::string& path) {
  TokenFile file;
  if (const std::string prefix = megatron_prefix(path); !prefix.empty()) {
    const MappedFile index = map_file(prefix + ".idx");
    file.file_ = map_file(prefix + ".bin");
    file.layout_ =
        megatron_layout(index.text(), file.file_.text().size(), prefix + ".bin", prefix + ".idx");
    return file;
  }
  file.file_ = map_file(path);
  const std::string_view bytes = file.file_.text();
  if (bytes.starts_with(kNereusMagic)) {
    file.layout_ = nereus_layout(bytes, path);
    return file;
  }
  if (!path.ends_with(".bin"))
    throw_input_error("data.format", "not a token file", {path},
                      "nereus data prepare makes one of text; files of nanoGPT end in .bin, those "
                      "of Megatron-LM in .bin and .idx");
  file.layout_ = nanogpt_layout(bytes, path);
  const std::string meta = (std::filesystem::path(path).parent_path() / "meta.pkl").string();
  if (exists(meta))
    file.layout_.info.vocabulary = vocabulary_in_pickle(map_file(meta).text()).value_or(0);
  return file;
}

void TokenFile::read(std::int64_t first, std::span<std::int64_t> tokens) const {
  const auto size = static_cast<std::int64_t>(tokens.size());
  NEREUS_CHECK(first >= 0 && size <= info().num_tokens && first <= info().num_tokens - size,
               "tokens beyond the end of the file");
  if (tokens.empty()) return;
  const auto width = static_cast<std::uint64_t>(info().token_bytes);
  auto extent = std::upper_bound(
      layout_.extents.begin(), layout_.extents.end(), first,
      [](std::int64_t token, const TokenExtent& candidate) { return token < candidate.first; });
  --extent;
  while (!tokens.empty()) {
    const auto next = extent + 1;
    const std::int64_t end = next == layout_.extents.end() ? info().num_tokens : next->first;
    const auto here = static_cast<std::size_t>(
        std::min<std::int64_t>(end - first, static_cast<std::int64_t>(tokens.size())));
    const char* from = file_.text().data() + extent->byte +
                       static_cast<std::uint64_t>(first - extent->first) * width;
    switch (width) {
      case 1:
        widen<std::uint8_t>(from, tokens.first(here));
        break;
      case 2:
        widen<std::uint16_t>(from, tokens.first(here));
        break;
      case 4:
        widen<std::uint32_t>(from, tokens.first(here));
        break;
      default:
        widen<std::uint64_t>(from, tokens.first(here));
    }
    first += static_cast<std::int64_t>(here);
    tokens = tokens.subspan(here);
    extent = next;
  }
}

std::int64_t TokenFile::largest_token() const {
  std::uint64_t largest = 0;
  std::vector<std::int64_t> tokens;
  for (std::int64_t first = 0; first < info().num_tokens; first += kTokensAtOnce) {
    tokens.resize(static_cast<std::size_t>(std::min(kTokensAtOnce, info().num_tokens - first)));
    read(first, tokens);
    for (const std::int64_t token : tokens)
      largest = std::max(largest, static_cast<std::uint64_t>(token));
  }
  if (info().num_tokens == 0) return -1;
  // Negative numbers of Megatron's int64 count as the largest.
  return static_cast<std::int64_t>(std::min(largest, ~std::uint64_t{0} >> 1));
}

std::int64_t TokenFile::document_start(std::int64_t document) const {
  NEREUS_CHECK(
      info().format == TokenFormat::kNereus && document >= 0 && document < info().num_documents,
      "no such document");
  return static_cast<std::int64_t>(load_number(
      file_.text().data() + layout_.document_starts_byte + 8 * static_cast<std::uint64_t>(document),
      8));
}

bool TokenFile::intact() const {
  if (info().format != TokenFormat::kNereus) return true;
  return checksum(0, file_.text().substr(kTokenHeaderBytes)) == layout_.content_checksum;
}

void check_tokens(const TokenFile& file, std::int64_t model_vocabulary, std::int64_t seq) {
  const TokenFileInfo& info = file.info();
  ErrorList errors;
  if (info.num_tokens < seq + 1)
    errors.add("data.too-short",
               fmt::format("the file has {}, one sample of sequence {} needs {}",
                           counted(info.num_tokens, "token"), seq, seq + 1),
               {info.path}, "a shorter --seq, or more text");
  // A stated vocabulary may be larger than what is used, so only then all tokens are read.
  if (info.vocabulary == 0 || info.vocabulary > model_vocabulary) {
    const std::int64_t largest = file.largest_token();
    if (largest >= model_vocabulary)
      errors.add("data.vocabulary",
                 fmt::format("the file holds token {}, the model's vocabulary is {}", largest,
                             model_vocabulary),
                 {info.path},
                 info.vocabulary > 0
                     ? fmt::format("--set model.vocab={}, or another tokenizer", info.vocabulary)
                     : "the model's vocabulary must be that of the tokenizer");
  }
  errors.throw_if_any();
}

}  // namespace nereus::data
