#include "checkpoint/folder_lock.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::checkpoint::folder_lock_test {
namespace {

TEST(FolderLock, OneAtATime) {
  const TemporaryFolder folder;
  const std::string place = folder / "run/deeper";
  std::optional<FolderLock> first(place);
  try {
    const FolderLock second(place);
    FAIL() << "two at once";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "checkpoint.running");
    EXPECT_EQ(errors.list().front().kind, ErrorKind::kEnvironment);
  }
  const FolderLock other(folder / "other");
  first.reset();
  const FolderLock third(place);
}

TEST(FolderLock, AFolderThatCannotBe) {
  try {
    const FolderLock lock("/proc/nothing/run");
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "checkpoint.write");
  }
}

}  // namespace
}  // namespace nereus::checkpoint::folder_lock_test
