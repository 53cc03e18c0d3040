#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace nereus::parallel_test {
namespace {

TEST(ParallelFor, CallsTheBodyOnceForEveryIndex) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    std::vector<int> calls(count, 0);
    parallel_for(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, Nests) {
  std::atomic<int> calls = 0;
  parallel_for(10, [&](std::size_t) { parallel_for(10, [&](std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 100);
}

TEST(ParallelFor, HandsOnAnException) {
  EXPECT_THROW(parallel_for(100,
                            [](std::size_t i) {
                              if (i == 57) throw std::runtime_error("57");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace nereus::parallel_test
