// Token files, read as they are: the project's own, nanoGPT's and Megatron-LM's
// (data/token_layout.hpp has the formats). The file is mapped, not read; any number of threads may
// read tokens.
//
//   const TokenFile file = TokenFile::open("text.tokens");      // throws Errors
//   std::vector<std::int64_t> tokens(1025);
//   file.read(first, tokens);
//
// Which format: "NEREUSTK" at the start; else Megatron's where PREFIX.idx lies beside PREFIX.bin
// (either, or PREFIX alone, may be named); else a name that ends in .bin is nanoGPT's.
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

  // Tokens first, first + 1, ...; all must lie within the file.
  void read(std::int64_t first, std::span<std::int64_t> tokens) const;

  // The largest token there is: reads the whole file. -1 where it is empty.
  std::int64_t largest_token() const;

  // The first token of a document of a nereus file.
  std::int64_t document_start(std::int64_t document) const;

  // Whether tokens and documents are what was written: reads the whole file. Formats without a
  // checksum are taken as they are.
  bool intact() const;

 private:
  MappedFile file_;
  TokenLayout layout_;
};

// All that keeps a model of so many tokens from being trained on the file in samples of
// seq + 1 tokens: data.vocabulary (a token the model has no embedding for), data.too-short. Where
// the file does not state its vocabulary all tokens are looked at.
void check_tokens(const TokenFile& file, std::int64_t model_vocabulary, std::int64_t seq);

}  // namespace nereus::data
