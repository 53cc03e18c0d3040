// Converts text files to a token file: reads documents (data/documents.hpp), tokenizes them
// (data/tokenizer.hpp), and writes the project's format (data/token_writer.hpp). Memory does not
// grow with the text. The same input gives the same bytes.
//
//   const Prepared done = prepare_tokens({"a.txt"}, {}, *make_byte_tokenizer(), "a.tokens", {});
//
// The tokenizer's end-of-text token follows each document, if it has one. An existing output file
// stays until the new one is complete.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/documents.hpp"
#include "data/tokenizer.hpp"

namespace nereus::data {

struct Prepared {
  bool complete = true;  // false: stopped, and nothing was written
  std::int64_t num_tokens = 0;
  std::int64_t num_documents = 0;
  std::int64_t text_bytes = 0;  // of the documents
  std::int64_t file_bytes = 0;  // of the token file
};

struct PrepareHooks {
  std::function<bool()> stop = {};                               // polled
  std::function<void(double done, double total)> progress = {};  // bytes of the input
};

// Throws Errors: unreadable files, text that is not UTF-8 for a tokenizer that needs it
// (data.utf8), no text at all (data.empty), an output that cannot be written.
Prepared prepare_tokens(const std::vector<std::string>& files, const DocumentOptions& documents,
                        Tokenizer& tokenizer, const std::string& output, const PrepareHooks& hooks);

}  // namespace nereus::data
