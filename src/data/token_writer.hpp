// Writes the project's token file (format: data/token_layout.hpp) piece by piece; memory does not
// grow with the file. The file appears atomically: it is written under another name in the same
// folder, and renamed when it is complete and on disk. The same tokens give the same bytes.
//
//   TokenWriter writer("text.tokens",
//                      {.vocabulary = 257, .tokenizer = "bytes", .end_of_text = 256});
//   writer.add(tokens);                    // any number of times
//   writer.end_document();
//   writer.finish(text_bytes);             // without it, no file is left
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace nereus::data {

struct TokenWriterOptions {
  std::int64_t vocabulary = 0;  // every token must be below it; it decides the bytes per token
  std::string tokenizer = {};   // at most 63 bytes are kept
  std::optional<std::int64_t> end_of_text = {};  // only recorded; the caller adds these tokens
};

class TokenWriter {
 public:
  TokenWriter(const std::string& path, TokenWriterOptions options);  // throws Errors
  ~TokenWriter();
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;

  void add(std::span<const std::uint32_t> tokens);
  void end_document();  // ends the current document, which may be empty
  void finish(std::int64_t text_bytes);

  std::int64_t num_tokens() const { return num_tokens_; }
  std::int64_t num_documents() const { return num_documents_; }
  std::int64_t file_bytes() const;  // of the finished file

 private:
  void put(int file, std::string& buffer, bool all);
  void put_tokens(bool all);
  void close_and_forget();

  std::string path_;       // as the user named it
  std::string temporary_;  // the file that is being written
  TokenWriterOptions options_;
  int token_bytes_ = 4;
  int file_ = -1;
  int starts_file_ = -1;  // document starts; an unnamed file
  std::string buffer_;
  std::string starts_buffer_;
  std::uint32_t checksum_ = 0;
  std::int64_t num_tokens_ = 0;
  std::int64_t num_documents_ = 0;
  std::int64_t document_start_ = 0;
};

}  // namespace nereus::data
