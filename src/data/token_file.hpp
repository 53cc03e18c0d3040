// Reads token files in three formats: the project's, nanoGPT's and Megatron-LM's
// (data/token_layout.hpp describes them). The file is mapped, not read; any number of threads may
// read tokens.
//
//   const TokenFile file = TokenFile::open("text.tokens");      // throws Errors
//   std::vector<std::int64_t> tokens(1025);
//   file.read(first, tokens);
//
// The format is the project's if the file starts with "NEREUSTK". Otherwise it is Megatron's if
// PREFIX.idx is next to PREFIX.bin (either file, or PREFIX, may be given). Otherwise a name that
// ends in .bin is nanoGPT's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/mapped_data.hpp"
#include "data/token_layout.hpp"

namespace nereus::data {

class TokenFile {
 public:
  static TokenFile open(const std::string& path);

  const TokenFileInfo& info() const { return layout_.info; }

  // Reads tokens first, first + 1, ...; all must be within the file.
  void read(std::int64_t first, std::span<std::int64_t> tokens) const;

  // The largest token: reads the whole file. -1 if it is empty.
  std::int64_t largest_token() const;

  // The first token of a document in a nereus file.
  std::int64_t document_start(std::int64_t document) const;

  // Whether the checksums are right: reads the whole file. True for formats without a checksum.
  bool intact() const;

 private:
  MappedFile file_;
  TokenLayout layout_;
};

// Throws everything that prevents a model with that vocabulary from training on the file with
// samples of seq + 1 tokens: data.vocabulary (a token without an embedding), data.too-short. If the
// file does not state its vocabulary, all tokens are checked.
void check_tokens(const TokenFile& file, std::int64_t model_vocabulary, std::int64_t seq);

}  // namespace nereus::data
