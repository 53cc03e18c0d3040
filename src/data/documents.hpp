// Text files as documents, in pieces: memory does not grow with a file or a document.
//
//   read_documents({"a.txt", "b.txt"}, {.rule = DocumentRule::kFile}, sink);
//
// What a document is, is stated by a rule:
//   file        every file is one
//   line        every line is one, without its end ("\n" or "\r\n"); empty lines are none
//   jsonl       every line is a JSON object whose member "text" is one
//   separator   lines up to one that equals the separator (an empty one: blank lines part them)
// Documents without a byte are left out. A line must fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::data {

enum class DocumentRule { kFile, kLine, kJsonLines, kSeparator };

struct DocumentOptions {
  DocumentRule rule = DocumentRule::kFile;
  std::string separator = {};  // of kSeparator
};

// Takes documents: text() any number of times, then end().
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void end() = 0;
  // Bytes of the input that were read; false ends the reading.
  virtual bool go_on(std::int64_t bytes_read) = 0;
};

// False where the sink ended it. Throws Errors: all files that cannot be read, before the first is.
bool read_documents(const std::vector<std::string>& files, const DocumentOptions& options,
                    DocumentSink& sink);

// The bytes of all files together. Throws Errors with every file that is none.
std::int64_t total_bytes(const std::vector<std::string>& files);

// Offset of the first byte that is no UTF-8 in a text of which more may follow (`last` = none
// does), or npos. `whole` is set to the bytes up to the last character that is complete.
std::size_t find_bad_utf8(std::string_view text, bool last, std::size_t& whole);

}  // namespace nereus::data
