#include "search/explore/study_file.hpp"

#include <gtest/gtest.h>

#include "base/base_testing.hpp"
#include "search/explore/explore_testing.hpp"

namespace nereus::explore::study_file_test {
namespace {

// Codes of all that is wrong with a study.
std::vector<std::string> wrong(const std::string& text) {
  return testing::codes_of([&] { (void)study_of(text); });
}

std::string with_axes(const std::string& axes, const std::string& rest = {}) {
  return "[workload]\nmodel = \"gpt2\"\n[cluster]\nbase = \"2xdgx-a100-80\"\n[axes]\n" + axes +
         "\n" + rest;
}

TEST(StudyFile, NumbersPointsLikeDigits) {
  const Study study = study_of(small_study());
  EXPECT_EQ(study.num_points(), 6);
  for (std::int64_t p = 0; p < study.num_points(); ++p) {
    const Coordinates at = coordinates(study, p);
    EXPECT_EQ(point_at(study, at), p);
    EXPECT_EQ(at.axes[0], p / 3);
    EXPECT_EQ(at.axes[1], p % 3);
  }
  const auto cluster = cluster_at(study, coordinates(study, 5));
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->num_devices(), 16);
  EXPECT_DOUBLE_EQ(cluster->groups[0].node.network.value,
                   2 * study.machines[0].cluster.groups[0].node.network.value);
}

TEST(StudyFile, ReadsRangesOfQuantities) {
  const Study study = study_of(with_axes(
      "network_bandwidth = \"10 GB/s..80 GB/s*2\"\nmemory = \"40 GiB..100 GiB+20 GiB\"\nnodes = "
      "\"1..5\""));
  ASSERT_EQ(study.axes.size(), 3U);
  EXPECT_EQ(study.axes[0].values.size(), 4U);
  EXPECT_DOUBLE_EQ(study.axes[0].values[3].value, 80e9);
  EXPECT_EQ(study.axes[1].values.size(), 4U);
  EXPECT_DOUBLE_EQ(study.axes[1].values[3].value, 100 * kGiB);
  EXPECT_EQ(study.axes[2].values.size(), 5U);
}

TEST(StudyFile, ModelsShapeIsAnAxis) {
  const Study study = study_of(R"(
[workload]
model = "gpt2"
flops = "1e6 ZFLOP"
[workload.shape]
layers = [6, 12]
hidden = [768, 1000]
[cluster]
base = "1xdgx-a100-80"
)");
  ASSERT_EQ(study.variants.size(), 4U);
  // 1,000 is not divisible by 12 heads: such a model cannot be built, which is an answer.
  EXPECT_TRUE(study.variants[0].unbuildable.empty());
  EXPECT_FALSE(study.variants[1].unbuildable.empty());
  // The same compute for every shape.
  const double flops = study.variants[0].samples * study.variants[0].model.training_flops();
  EXPECT_NEAR(flops, 1e27, 1e18);
  EXPECT_NEAR(study.variants[2].samples * study.variants[2].model.training_flops(), flops, 1e18);
  EXPECT_GT(study.variants[0].samples, study.variants[2].samples);
}

TEST(StudyFile, SaysAllThatIsWrong) {
  using Codes = std::vector<std::string>;
  EXPECT_EQ(wrong(with_axes("netwrk_bandwidth = \"10 GB/s\"")), Codes{"explore.unknown-axis"});
  EXPECT_EQ(wrong(with_axes("nodes = []")), Codes{"explore.empty-axis"});
  EXPECT_EQ(wrong(with_axes("nodes = \"8..4\"")), Codes{"explore.empty-axis"});
  EXPECT_EQ(wrong(with_axes("nodes = \"4..8*1\"")), Codes{"explore.bad-range"});
  EXPECT_EQ(wrong(with_axes("nodes = [0, 1.5]")),
            (Codes{"explore.bad-value", "explore.bad-value"}));
  EXPECT_EQ(wrong(with_axes("network_bandwidth = 10")), Codes{"explore.bad-value"});
  EXPECT_EQ(wrong(with_axes("network_bandwidth = \"10 GB\"")), Codes{"explore.bad-value"});
  EXPECT_EQ(wrong(with_axes("nodes = [1]\ndevices = [8]")), Codes{"explore.contradiction"});
  EXPECT_EQ(wrong(with_axes("expanded_bandwidth = [\"1 TB/s\"]")), Codes{"explore.no-effect"});
  EXPECT_EQ(wrong(with_axes("expanded_memory = [\"1 TB\"]")), Codes{"explore.no-bandwidth"});
  EXPECT_EQ(wrong(with_axes("nodes = [4]", "[constraints]\ndevices = 16")),
            Codes{"explore.contradiction"});
  EXPECT_EQ(wrong(with_axes("nodes = [4]", "[strategy]\nspace = \"mp-dp\"\npp = [2]")),
            Codes{"explore.contradiction"});
  EXPECT_EQ(wrong(with_axes("nodes = [4]", "[strategy]\nmax_tp = 4\ntp = [8]")),
            Codes{"explore.contradiction"});
  EXPECT_EQ(wrong("goals = [\"money\"]\n" + with_axes("nodes = [4]")), Codes{"explore.no-price"});
  EXPECT_EQ(wrong(with_axes("nodes = [4]", "[prices]\nmemory = \"$4 per GB\"")),
            Codes{"explore.no-lifetime"});
  EXPECT_EQ(wrong(with_axes("nodes = [4]", "[prices]\nmemory = \"$4/h\"")),
            Codes{"explore.bad-price"});
  EXPECT_EQ(wrong("[workload]\nmodel = \"gpt2\"\ntokens = 1e9\nsteps = 3\n[cluster]\nbase = "
                  "\"1xdgx-a100-80\""),
            Codes{"explore.job-twice"});
  // All at once.
  EXPECT_EQ(wrong(with_axes("nods = [1]\nmemory = []", "[strategy]\nzero = 7")),
            (Codes{"explore.unknown-axis", "explore.empty-axis", "explore.bad-value"}));
}

TEST(StudyFile, DevicesThatFillNoNodeAreNoCluster) {
  const Study study = study_of(with_axes("devices = [8, 12]"));
  EXPECT_TRUE(cluster_at(study, coordinates(study, 0)).has_value());
  EXPECT_FALSE(cluster_at(study, coordinates(study, 1)).has_value());
}

}  // namespace
}  // namespace nereus::explore::study_file_test
