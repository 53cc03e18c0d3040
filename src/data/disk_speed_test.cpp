#include "data/disk_speed.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "data/page_cache.hpp"
#include "data/prepare_speed.hpp"

namespace nereus::data::disk_speed_test {
namespace {

TEST(DiskSpeed, ReadsTheWholeFileEachTime) {
  const TemporaryFolder folder;
  const std::string path = folder / "noise";
  constexpr double kBytes = 3 * 1024 * 1024 + 17;
  write_noise(path, kBytes);
  EXPECT_EQ(static_cast<double>(std::filesystem::file_size(path)), kBytes);
  for (const bool cold : {true, false}) {
    const ReadTimes times = read_file_times(path, 3, cold);
    EXPECT_EQ(times.seconds.size(), 3u);
    EXPECT_EQ(times.bytes, kBytes);
    EXPECT_EQ(times.bytes_read, 3 * kBytes);
    for (const double seconds : times.seconds) EXPECT_GT(seconds, 0);
  }
}

// Evicted files come from the disk, others do not; if files are only in memory, neither does.
TEST(DiskSpeed, ColdReadsLoadAndWarmOnesDoNot) {
  const TemporaryFolder folder;
  const std::string path = folder / "noise";
  constexpr double kBytes = 4 << 20;
  write_noise(path, kBytes);
  const ReadTimes cold = read_file_times(path, 2, true);
  const ReadTimes warm = read_file_times(path, 2, false);
  EXPECT_LT(warm.bytes_loaded, 0.1 * warm.bytes_read);
  if (bytes_from_storage() < 0) GTEST_SKIP() << "the system does not count what is loaded";
  struct statfs about = {};
  ASSERT_EQ(::statfs(folder.path().c_str(), &about), 0);
  if (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC) {
    EXPECT_EQ(cold.bytes_loaded, 0) << "its files are in memory";
  } else {
    EXPECT_GE(cold.bytes_loaded, 0.9 * cold.bytes_read);
  }
}

TEST(DiskSpeed, SaysWhatCannotBeRead) {
  try {
    read_file_times("no-such-folder/file", 1, true);
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "measure.file");
  }
}

TEST(PrepareSpeed, MadeUpSamplesAreReal) {
  const TemporaryFolder folder;
  const PrepareTimes tokens = prepare_times(*made_up_tokens(folder.path()), 2, 0.001);
  const PrepareTimes pictures = prepare_times(*made_up_pictures(folder.path()), 2, 0.001);
  ASSERT_EQ(tokens.seconds_per_sample.size(), 2u);
  // A picture is scaled, some thousand times the work of copying a kilobyte of tokens.
  EXPECT_GT(pictures.seconds_per_sample[0], tokens.seconds_per_sample[0]);
}

}  // namespace
}  // namespace nereus::data::disk_speed_test
