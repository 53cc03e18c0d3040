#include "profile/layer_times.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/units.hpp"

namespace nereus::profile::layer_times_test {
namespace {

constexpr const char* kTimes =
    R"({"gpt": {"l4": {"512": {"float16": [[2, 1], [4, 3], [2.5, 5.5], [7, 11]]}},
                "t4": {"512": {"float16": [[2, 1], [4, 3]], "float32": [3, 1]}}}})";
constexpr const char* kMemory =
    R"({"lab": {"gpt": {"parameters": 1000, "profiled_compute_memory": {"float16": [1, 2, 4]}}}})";

TEST(LayerTimes, PointsThenTheLine) {
  const LayerProfile p = read_cephalo_profile(kTimes, "t", kMemory, "m");
  const LayerTimes& t = p.times_of("gpt", "l4", 512, "float16");
  EXPECT_DOUBLE_EQ(t.forward.at(1), 2.5e-3);
  EXPECT_DOUBLE_EQ(t.forward.at(2), 5.5e-3);
  EXPECT_TRUE(t.forward.is_measured(2));
  EXPECT_FALSE(t.forward.is_measured(3));
  EXPECT_DOUBLE_EQ(t.forward.at(3), 7e-3);
  EXPECT_DOUBLE_EQ(p.times_of("gpt", "t4", 512, "float16").backward.at(1), 7e-3);
  ASSERT_EQ(p.left_out.size(), 1u) << "a line for both passes together";
  const Curve& bytes = p.memory_of("lab", "gpt", "float16").bytes;
  EXPECT_DOUBLE_EQ(bytes.at(3), 4 * kGiB);
  EXPECT_DOUBLE_EQ(bytes.at(5), 7 * kGiB) << "1.5 GiB a sample, as over its points";
}

TEST(LayerTimes, WhatIsMissingNamesTheNearest) {
  const LayerProfile p = read_cephalo_profile(kTimes, "t", kMemory, "m");
  try {
    p.times_of("gpt", "l40", 512, "float16");
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].code, "profile.missing");
    EXPECT_NE(errors.list()[0].hint.find("gpt on l4,"), std::string::npos);
  }
}

TEST(LayerTimes, ImpossibleNumbersAreRefusedAllAtOnce) {
  const std::string bad =
      R"({"gpt": {"l4": {"x": {"float16": [[2, 1], [4, 3], [0, -5.5], [1e30, null]]}}}, "b": 3})";
  try {
    read_cephalo_profile(bad, "t", R"({"lab": {"gpt": {"parameters": 0}}})", "m");
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().size(), 7u);
  }
}

TEST(LayerTimes, NoiseIsRaisedAndCounted) {
  const Repaired r = monotone({{1, 3, 2, 2.5, 4}, 1, 0});
  EXPECT_EQ(r.curve.points, (std::vector<double>{1, 3, 3, 3, 4}));
  EXPECT_EQ(r.raised, 2);
  EXPECT_EQ(monotone(r.curve).raised, 0);
}

}  // namespace
}  // namespace nereus::profile::layer_times_test
