// Shared by the tests of data/: files as written by other tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_layout.hpp"

namespace nereus::data::testing {

inline void append_number(std::string& bytes, std::uint64_t number, int num_bytes) {
  char buffer[8];
  store_number(buffer, number, num_bytes);
  bytes.append(buffer, static_cast<std::size_t>(num_bytes));
}

struct MegatronFiles {
  std::string bin;
  std::string idx;
};

// Files in the layout of Megatron-LM's writer, with `gap` unused bytes before each sequence; one
// document per sequence.
inline MegatronFiles megatron_files(const std::vector<std::vector<std::uint64_t>>& sequences,
                                    unsigned kind, int token_bytes, int gap = 0) {
  MegatronFiles files;
  std::string lengths, offsets, documents;
  append_number(documents, 0, 8);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    files.bin.append(static_cast<std::size_t>(gap), '\xEE');
    append_number(lengths, sequences[i].size(), 4);
    append_number(offsets, files.bin.size(), 8);
    append_number(documents, i + 1, 8);
    for (const std::uint64_t token : sequences[i]) append_number(files.bin, token, token_bytes);
  }
  files.idx = kMegatronMagic;
  append_number(files.idx, 1, 8);
  append_number(files.idx, kind, 1);
  append_number(files.idx, sequences.size(), 8);
  append_number(files.idx, sequences.size() + 1, 8);
  files.idx += lengths + offsets + documents;
  return files;
}

}  // namespace nereus::data::testing
