// A folder for one test: its name is unique, so that two runs on one machine do not collide, and
// the destructor removes it with its content. Only for tests and benchmarks; commands use
// app/train/scratch_folder.hpp.
//
//   const TemporaryFolder folder;                    // TMPDIR/nereus-test-XXXXXX
//   load_cluster(folder.write("two.toml", text));    // the path of a file with the text
//   save_plan(folder / "best.plan", plan);
//
// It does not use std::filesystem to create and remove folders (for the reason, see
// base/remove_tree.hpp).
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "base/remove_tree.hpp"

namespace nereus {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(usual_parent()) {}
  explicit TemporaryFolder(const std::string& parent) : path_(parent + "/nereus-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "a folder in " + parent);
  }
  ~TemporaryFolder() { remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Returns the file's path. Creates the folders in its name.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::string path = *this / name;
    if (name.find('/') != std::string::npos)
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  std::string read(const std::string& name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Number of files and folders, without those in subfolders.
  std::ptrdiff_t num_entries() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  static std::string usual_parent() {
    const char* told = getenv("TMPDIR");
    return told != nullptr && *told != '\0' ? told : "/tmp";
  }

  std::string path_;
};

}  // namespace nereus
