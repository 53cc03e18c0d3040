// The position of tokens in the bytes of a token file, with one function per format. These
// functions do not access files, so that they can be tested with any bytes.
//
// nereus (one file, little-endian, written by data/token_writer.hpp):
//
//   offset  bytes  what
//        0      8  "NEREUSTK"
//        8      4  schema version, 1
//       12      4  bytes of a token: 1, 2 or 4 (unsigned)
//       16      8  vocabulary: every token is below it
//       24      8  tokens
//       32      8  documents
//       40      8  bytes of text they were made of
//       48      8  token that ends a document; 2^64 - 1 = none
//       56      4  CRC-32 of the tokens and document starts
//       60     64  the tokenizer's name, filled with zeros
//      124      4  CRC-32 of the 124 bytes above
//      128      -  tokens, then zeros up to a multiple of 8
//        -  8 * documents  the first token of each document
//
// nanogpt: only 16-bit little-endian tokens (github.com/karpathy/nanoGPT, data/*/prepare.py). The
// vocabulary is in meta.pkl in the same folder, if there is one.
//
// megatron: tokens are in PREFIX.bin. PREFIX.idx has: "MMIDIDX\0\0", version 1 (8 bytes), kind of
// number (1 byte), number of sequences and of entries of the document index (8 bytes each), then
// the length of each sequence (4 bytes), its offset in PREFIX.bin (8 bytes), and the first sequence
// of each document followed by the number of sequences (8 bytes each); possibly one more byte per
// sequence (github.com/NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::data {

enum class TokenFormat { kNereus, kNanoGpt, kMegatron };
std::string_view to_string(TokenFormat format);

inline constexpr std::string_view kNereusMagic = "NEREUSTK";
inline constexpr std::uint32_t kTokenSchemaVersion = 1;
inline constexpr std::size_t kTokenHeaderBytes = 128;
inline constexpr std::size_t kTokenizerNameBytes = 64;
inline constexpr std::string_view kMegatronMagic{"MMIDIDX\0\0", 9};

// Facts that a file states about itself.
struct TokenFileInfo {
  std::string path;
  TokenFormat format = TokenFormat::kNereus;
  std::int64_t num_tokens = 0;
  std::int64_t num_documents = 0;  // 0 = not stated
  std::int64_t vocabulary = 0;     // every token is below it; 0 = not stated
  int token_bytes = 2;
  std::int64_t text_bytes = 0;                   // 0 = not stated
  std::optional<std::int64_t> end_of_text = {};  // the token after each document
  std::string tokenizer = {};                    // empty = not stated
  bool operator==(const TokenFileInfo&) const = default;
};

// Consecutive tokens first, first + 1, ... from a byte on.
struct TokenExtent {
  std::int64_t first = 0;
  std::uint64_t byte = 0;
  bool operator==(const TokenExtent&) const = default;
};

struct TokenLayout {
  TokenFileInfo info;
  std::vector<TokenExtent> extents;  // by first token; one, unless Megatron's sequences have gaps
  std::uint64_t document_starts_byte = 0;  // only nereus
  std::uint32_t content_checksum = 0;      // only nereus
};

// `bytes` is the whole file. These functions throw Errors: data.format, data.version,
// data.truncated, data.header.
TokenLayout nereus_layout(std::string_view bytes, const std::string& path);
TokenLayout nanogpt_layout(std::string_view bytes, const std::string& path);
TokenLayout megatron_layout(std::string_view index, std::uint64_t bin_bytes,
                            const std::string& path, const std::string& index_path);

// The vocabulary in nanoGPT's meta.pkl: the number after the key "vocab_size". The pickle is not
// executed; only forms that pickle's protocols 2 to 5 write are understood, and others give
// nothing.
std::optional<std::int64_t> vocabulary_in_pickle(std::string_view pickle);

// CRC-32 (zlib's) over parts: start with 0 and pass on the result.
std::uint32_t checksum(std::uint32_t so_far, std::string_view bytes);

// Little-endian numbers at any address, for any byte order of the machine.
std::uint64_t load_number(const char* from, int num_bytes);
void store_number(char* to, std::uint64_t number, int num_bytes);

}  // namespace nereus::data
