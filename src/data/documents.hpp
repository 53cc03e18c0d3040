// Reads text files as documents, in pieces: memory does not grow with the size of a file or
// document.
//
//   read_documents({"a.txt", "b.txt"}, {.rule = DocumentRule::kFile}, sink);
//
// A rule defines what a document is:
//   file        every file is a document
//   line        every line is a document, without its end ("\n" or "\r\n"); empty lines are skipped
//   jsonl       every line is a JSON object whose member "text" is a document
//   separator   lines up to a line that equals the separator (empty separator: blank lines)
// Empty documents are skipped. A line must fit into memory.
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
  std::string separator = {};  // for kSeparator
};

// Receives documents: text() any number of times, then end().
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual void text(std::string_view piece) = 0;
  virtual void end() = 0;
  // Called with the bytes of the input that were read; returning false ends the reading.
  virtual bool go_on(std::int64_t bytes_read) = 0;
};

// Returns false if the sink ended the reading. Before reading, throws Errors that list all
// unreadable files.
bool read_documents(const std::vector<std::string>& files, const DocumentOptions& options,
                    DocumentSink& sink);

// The total size of all files. Throws Errors that list all unreadable ones.
std::int64_t total_bytes(const std::vector<std::string>& files);

// Offset of the first byte of a text that is not UTF-8, or npos. More text may follow unless
// `last`. Sets `whole` to the bytes up to the last complete character.
std::size_t find_bad_utf8(std::string_view text, bool last, std::size_t& whole);

}  // namespace nereus::data
