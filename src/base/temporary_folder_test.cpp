#include "base/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace nereus::temporary_folder_test {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFolder, IsNewEachTimeAndHoldsWhatIsWritten) {
  const TemporaryFolder one, other;
  EXPECT_NE(one.path(), other.path());
  EXPECT_EQ(one.write("a", "1"), one.path() + "/a");
  EXPECT_EQ(one.write("deep/er/b", std::string_view("2\0\n", 3)), one / "deep/er/b");
  EXPECT_EQ(one.read("a"), "1");
  EXPECT_EQ(one.read("deep/er/b"), std::string("2\0\n", 3));
  EXPECT_EQ(one.num_entries(), 2);
  EXPECT_EQ(other.num_entries(), 0);
}

TEST(TemporaryFolder, GoesWithAllItHoldsAndNoMore) {
  const TemporaryFolder outside;
  std::optional<TemporaryFolder> folder(std::in_place, outside.path());
  const std::string path = folder->path();
  EXPECT_EQ(fs::path(path).parent_path(), outside.path());
  outside.write("kept/file", "");
  folder->write("deep/file", "");
  fs::create_directory_symlink(outside / "kept", *folder / "link");
  folder.reset();
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(outside / "kept/file")) << "a link was followed";
}

TEST(TemporaryFolder, WhereNoneCanBeMadeIsAnError) {
  EXPECT_THROW(TemporaryFolder("/proc"), std::system_error);
}

TEST(RemoveTree, WhatIsNotThereIsFine) {
  const TemporaryFolder folder;
  EXPECT_EQ(remove_tree(folder / "none"), 0);
  EXPECT_EQ(remove_tree(folder.write("file", "")), 0);
  EXPECT_EQ(folder.num_entries(), 0);
  EXPECT_NE(remove_tree("/proc/self/status"), 0);
}

}  // namespace
}  // namespace nereus::temporary_folder_test
