#include "app/plan/plan_burst.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace nereus::app::plan_burst_test {
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

// If all-reduces overlap, the front is not proven, but with all counts it is as good as with some.
TEST(PlanBurst, AllCountsAreNotBehindPowersOfTwo) {
  struct Case {
    const char *model, *cluster;
    int batch;
  };
  for (const Case& own : {Case{"vgg16", "2xdgx-a100-80", 32}, Case{"vgg16", "4xdgx-a100-80", 64},
                          Case{"gpt2", "2xdgx-a100-80", 32}, Case{"gpt2", "4xdgx-a100-80", 64},
                          Case{"resnet50", "4xdgx-a100-80", 64}}) {
    PlanRequest request;
    request.model = {own.model};
    request.cluster = {own.cluster};
    request.choices.global_batch = own.batch;
    BurstOptions powers;
    powers.powers_of_two = true;
    const burst::Front all = plan_burst(request, {}).front;
    for (const burst::BurstPlan& some : plan_burst(request, powers).front.plans)
      EXPECT_TRUE(std::any_of(all.plans.begin(), all.plans.end(),
                              [&](const burst::BurstPlan& p) {
                                return p.seconds <= some.seconds * (1 + 1e-9) &&
                                       p.rank_seconds <= some.rank_seconds * (1 + 1e-9);
                              }))
          << own.model << " on " << own.cluster << ": " << some.seconds << " s, "
          << some.rank_seconds;
  }
}

// The number behind `before` in the answer's notes.
int number_in_notes(const BurstAnswer& answer, const std::string& before) {
  for (const std::string& note : answer.notes)
    if (const std::size_t at = note.find(before); at != std::string::npos) {
      std::string digits;
      for (const char c : note.substr(at + before.size())) {
        if (c >= '0' && c <= '9') digits += c;
        if (c == ' ') break;
      }
      return std::stoi(digits);
    }
  return 0;
}

// What is reported to fit does fit, and with one more sample per rank or one node fewer it does
// not.
TEST(PlanBurst, WhatWouldFitFits) {
  PlanRequest request;
  request.model = {"gpt2"};
  request.cluster = {"1xdgx-a100-80"};
  request.choices.global_batch = 4096;
  const BurstAnswer none = plan_burst(request, {});
  EXPECT_TRUE(none.front.plans.empty());
  const int batch = number_in_notes(none, "--global-batch ");
  const int nodes = number_in_notes(none, "or ");
  ASSERT_GT(batch, 8);
  ASSERT_GT(nodes, 1);
  const auto fits = [&](int samples, int num_nodes) {
    request.cluster = {std::to_string(num_nodes) + "xdgx-a100-80"};
    request.choices.global_batch = samples;
    const BurstAnswer answer = plan_burst(request, {});
    return !answer.rows.empty() && answer.rows.front().predicted.prediction.fits;
  };
  EXPECT_TRUE(fits(batch, 1));
  EXPECT_FALSE(fits(batch + 8, 1));
  EXPECT_TRUE(fits(4096, nodes));
  EXPECT_FALSE(fits(4096, nodes - 1));
}

}  // namespace
}  // namespace nereus::app::plan_burst_test
