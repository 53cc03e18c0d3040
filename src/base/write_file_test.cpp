#include "base/write_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::write_file_test {
namespace {

namespace fs = std::filesystem;

struct WriteFile : ::testing::Test {
  std::string code(const std::string& path) {
    try {
      write_file(path, "x");
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return "";
  }
  TemporaryFolder folder;
};

TEST_F(WriteFile, ReplacesAndLeavesNothingElse) {
  const std::string path = folder / "plan.json";
  write_file(path, "old and longer");
  write_file(path, "new");
  EXPECT_EQ(folder.read("plan.json"), "new");
  EXPECT_EQ(folder.num_entries(), 1);
}

TEST_F(WriteFile, KeepsTheModeOfWhatItReplaces) {
  const std::string path = folder / "secret";
  write_file(path, "a");
  fs::permissions(path, fs::perms(0600));
  write_file(path, "b");
  struct stat status {};
  stat(path.c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(WriteFile, NamesWrongPaths) {
  EXPECT_EQ(code(folder.path()), "output.path");
  EXPECT_EQ(code(folder / "none/x"), "output.path");
  EXPECT_EQ(code("/dev/null"), "");
  EXPECT_EQ(code("/dev/full"), "output.write");
  EXPECT_EQ(folder.num_entries(), 0);
}

}  // namespace
}  // namespace nereus::write_file_test
