#include "app/plan_burst.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace nereus::app {
namespace {

// Whoever adds machines has a plan that is as fast as before, on those that were there.
TEST(PlanBurst, MoreMachinesAreNeverSlower) {
  for (const char* model : {"vgg16", "resnet50", "inception-v3"}) {
    double before = std::numeric_limits<double>::infinity();
    for (const int nodes : {1, 2, 4, 16}) {
      PlanRequest request;
      request.model = {model};
      request.cluster = {std::to_string(nodes) + "xdgx-a100-80"};
      request.choices.global_batch = 64;
      const BurstAnswer answer = plan_burst(request, {});
      ASSERT_FALSE(answer.front.plans.empty());
      const double seconds = answer.front.plans.front().seconds;
      EXPECT_LE(seconds, before * (1 + 1e-12)) << model << nodes;
      before = seconds;
    }
  }
}

}  // namespace
}  // namespace nereus::app
