// What tests of data/ share: a folder of their own, and files in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "data/token_layout.hpp"

namespace nereus::data::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nereus-data-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }

  // The file's path.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::size_t num_files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

inline void append_number(std::string& bytes, std::uint64_t number, int num_bytes) {
  char buffer[8];
  store_number(buffer, number, num_bytes);
  bytes.append(buffer, static_cast<std::size_t>(num_bytes));
}

struct MegatronFiles {
  std::string bin;
  std::string idx;
};

// As Megatron-LM's own writer lays them out, with `gap` bytes that belong to no sequence before
// each; one document a sequence.
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
