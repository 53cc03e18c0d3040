#include "data/page_cache.hpp"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "base/temporary_folder.hpp"
#include "data/mapped_data.hpp"

namespace nereus::data::page_cache_test {
namespace {

// Files there are pages and nothing else: nothing can evict them.
bool is_memory(const std::string& folder) {
  struct statfs about = {};
  EXPECT_EQ(::statfs(folder.c_str(), &about), 0);
  return about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC;
}

TEST(PageCache, WhatWasEvictedComesFromStorage) {
  const TemporaryFolder folder;
  constexpr std::int64_t kSize = 4 << 20;
  const std::string path = folder.write("x", std::string(kSize, 'x'));
  const auto touch = [&] {  // bytes that reading it brings in
    const std::int64_t before = bytes_from_storage();
    const MappedFile file = map_file(path);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kSize; i += 512) sum += file.text()[i];
    EXPECT_EQ(sum, 'x' * (kSize / 512));
    return bytes_from_storage() - before;
  };
  EXPECT_FALSE(evict(path + "-of-nobody"));
  if (bytes_from_storage() < 0) GTEST_SKIP() << "the kernel does not count";
  ASSERT_TRUE(evict(path));
  const std::int64_t cold = touch();
  const std::int64_t warm = touch();
  if (is_memory(folder.path())) {
    EXPECT_EQ(cold, 0);
  } else {
    EXPECT_GE(cold, kSize);
  }
  EXPECT_LT(warm, kSize / 16);  // somebody else may read with this process's name
}

}  // namespace
}  // namespace nereus::data::page_cache_test
