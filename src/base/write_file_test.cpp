#include "base/write_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace nereus {
namespace {

namespace fs = std::filesystem;

struct WriteFile : ::testing::Test {
  WriteFile() {
    std::string pattern = (fs::temp_directory_path() / "nereus-XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~WriteFile() override { fs::remove_all(folder); }

  std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string code(const std::string& path) {
    try {
      write_file(path, "x");
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return "";
  }
  fs::path folder;
};

TEST_F(WriteFile, ReplacesAndLeavesNothingElse) {
  const fs::path path = folder / "plan.json";
  write_file(path.string(), "old and longer");
  write_file(path.string(), "new");
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(WriteFile, KeepsTheModeOfWhatItReplaces) {
  const fs::path path = folder / "secret";
  write_file(path.string(), "a");
  fs::permissions(path, fs::perms(0600));
  write_file(path.string(), "b");
  struct stat status {};
  stat(path.c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(WriteFile, NamesWrongPaths) {
  EXPECT_EQ(code(folder.string()), "output.path");
  EXPECT_EQ(code((folder / "none" / "x").string()), "output.path");
  EXPECT_EQ(code("/dev/null"), "");
  EXPECT_EQ(code("/dev/full"), "output.write");
  EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace nereus
