#include "app/recommend/recommend.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::app::recommend_test {
namespace {

RecommendRequest some_request() {
  RecommendRequest request;
  request.model.model = "resnet50";
  request.offers = {"p4d.24xlarge", "g5.12xlarge"};
  request.counts = {1, 2, 4};
  request.mixes = false;
  request.date = "2026-11-16";
  return request;
}

TEST(Recommend, ATargetsBatchIsTheBestOfAll) {
  RecommendRequest request = some_request();
  request.samples_to_target = "44e6:500";
  const RecommendAnswer together = recommend(request);
  ASSERT_FALSE(together.options.empty());
  EXPECT_EQ(together.global_batch, 0);
  // Every batch by itself.
  std::vector<RecommendOption> each;
  for (const int batch : batches_of(*together.target)) {
    request.global_batch = batch;
    const RecommendAnswer one = recommend(request);
    EXPECT_EQ(one.global_batch, batch);
    EXPECT_EQ(one.steps, std::ceil(44e6 * (1 + batch / 500.0) / batch));
    each.insert(each.end(), one.options.begin(), one.options.end());
  }
  for (const RecommendOption& o : together.options) {
    double least = rent::kNever;
    for (const RecommendOption& other : each)
      if (other.offer == o.offer && other.spot == o.spot) least = std::min(least, other.usd);
    EXPECT_DOUBLE_EQ(o.usd, least) << o.offer;
    EXPECT_GT(o.global_batch, 1);
    EXPECT_LT(o.global_batch, 2048);
  }
}

TEST(Recommend, ATargetIsThatOfTheModelOrAnError) {
  RecommendRequest request = some_request();
  request.samples_to_target = "auto";
  EXPECT_EQ(recommend(request).target->name, "resnet");
  EXPECT_TRUE(recommend(request).notes.empty());
  request.samples_to_target = "bert";
  EXPECT_EQ(recommend(request).notes.size(), 1u);  // it is another model's
  request.model.model = "vgg16";
  request.samples_to_target = "auto";
  EXPECT_THROW(recommend(request), Errors);
  request.samples_to_target = "resnet";
  request.samples = 1e6;
  EXPECT_THROW(recommend(request), Errors);
}

// Two offers of which the slow one is nearly free: no number of one kind does it for less in time.
constexpr const char* kCheapHelp =
    "provider,instance,gpu_model,gpu_count,gpu_mem_gb_each,intra_node_interconnect,"
    "interconnect_GBps_per_gpu_one_way,network_gbps,vcpus,ram_gib,ondemand_usd_h,spot_usd_h_median,"
    "spot_usd_h_min,spot_usd_h_max,region,price_date,price_source,network_source,notes,device,"
    "device_source,rdma_gbps,rdma_kind\n"
    "AWS,g5.48xlarge,A10G,8,24,PCIe 4 (no NVLink),31,100,192,768,0.3,,,,r,2026-08-22,x,x,,,,,\n"
    "AWS,p4d.24xlarge,A100,8,40,NVLink 3 + NVSwitch,300,400,96,1152,22,,,,r,2026-08-22,x,x,,,,,\n";

TEST(Recommend, AMixThatIsCheaperInTimeIsWhatBruteForceFinds) {
  const TemporaryFolder folder;
  RecommendRequest request;
  request.model.model = "bert-large";
  request.offers_file = folder.write("offers.csv", kCheapHelp);
  request.counts = {1, 2};
  request.date = "2026-11-16";
  request.samples = 1e8;
  request.global_batch = 1024;
  request.deadline_hours = 21;
  const RecommendAnswer answer = recommend(request);
  ASSERT_FALSE(answer.options.empty());
  ASSERT_EQ(answer.options[0].mix.size(), 2u);

  double least = rent::kNever;
  for (const int slow : {1, 2})
    for (const int quick : {1, 2}) {
      PlanRequest one;
      one.model = request.model;
      one.cluster.cluster = fmt::format("{}xp4d.24xlarge+{}xg5.48xlarge", quick, slow);
      one.choices.global_batch = 1024;
      const double step = plan(one).plans.at(0).prediction.step;
      const double hours = request.start_seconds / 3600 + answer.steps * step / 3600;
      if (hours <= 21) least = std::min(least, hours * (quick * 22 + slow * 0.3));
    }
  EXPECT_NEAR(answer.options[0].usd, least, 1e-6 * least);
  EXPECT_LT(answer.options[0].hours, 21);
  request.mixes = false;
  const RecommendAnswer single = recommend(request);
  EXPECT_GT(single.options.at(0).usd, answer.options[0].usd);
  EXPECT_EQ(single.options.size() + 1, answer.options.size());
}

}  // namespace
}  // namespace nereus::app::recommend_test
