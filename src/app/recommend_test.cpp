#include "app/recommend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace nereus::app {
namespace {

RecommendRequest some_request() {
  RecommendRequest request;
  request.model.model = "resnet50";
  request.offers = {"p4d.24xlarge", "g5.12xlarge"};
  request.counts = {1, 2, 4};
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

}  // namespace
}  // namespace nereus::app
