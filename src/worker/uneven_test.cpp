// Mixed devices: who computes how much and who keeps how much are decided rank by rank. Whatever
// the division, the losses are those of one rank.
#include <gtest/gtest.h>

#include <filesystem>

#include "worker/uneven_testing.hpp"

namespace nereus::worker {
namespace {

using plan::Gather;
using testing::UnevenPlan;

constexpr int kGlobalBatch = 8;
constexpr int kSteps = 20;

const testing::Outcome& one_rank(const model::Model& model, double clip = 0) {
  static std::map<std::pair<std::string, double>, testing::Outcome> known;
  const auto [at, is_new] = known.try_emplace({model.name, clip}, testing::Outcome{});
  if (is_new) {
    plan::Degrees alone;
    alone.global_batch = kGlobalBatch;
    alone.precision = cluster::Precision::kFp64;
    job::Job job = testing::make_job(model, alone);
    job.training.clip = clip;
    at->second = testing::run_job(job, kSteps, testing::reader_of(model), "shared");
  }
  return at->second;
}

void expect_losses_of_one_rank(const model::Model& model, const UnevenPlan& uneven,
                               double clip = 0) {
  const testing::Outcome& expected = one_rank(model, clip);
  job::Job job = testing::uneven_job(model, uneven, kGlobalBatch);
  job.training.clip = clip;
  ASSERT_EQ(testing::complaints(job), "");
  const testing::Outcome got = testing::run_job(job, kSteps, testing::reader_of(model), "shared");
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, 1e-9) << "step " << i;
  for (std::size_t i = 0; clip > 0 && i < got.norms.size(); ++i)
    EXPECT_NEAR(got.norms[i] / expected.norms[i], 1, 1e-9) << "step " << i;
}

std::vector<UnevenPlan> plans() {
  // Samples 5/2/1 in micro-batches of other sizes and numbers, state 0.6/0.3/0.1.
  const testing::PlannedStage mixed{
      6, {{0, 2, 3, 0, 0, 1}, {1, 1, 2, 5}, {2, 1, 1, 7}}, {{0, 0.6}, {1, 0.3}, {2, 0.1}}};
  // Rank 1 stores and does not compute, rank 2 computes and does not store.
  const testing::PlannedStage apart{
      6, {{0, 1, 5, 0}, {2, 3, 1, 5}}, {{0, 0.45}, {1, 0.35}, {3, 0.2}}};
  const testing::PlannedStage on_one{6, {{0, 2, 2, 0}, {1, 4, 1, 4}}, {{2, 1.0}}};
  std::vector<UnevenPlan> list;
  for (const int zero : {0, 1, 2, 3}) {
    list.push_back({"mixed_zero" + std::to_string(zero), {mixed}, zero});
    if (zero > 0) list.push_back({"apart_zero" + std::to_string(zero), {apart}, zero});
  }
  list.push_back({"all_state_elsewhere", {on_one}, 3});
  list.push_back(
      {"stages_3_1_2", {{3, {{0, 1, 8, 0}}}, {1, {{1, 1, 8, 0}}}, {2, {{2, 1, 8, 0}}}}, 0});
  list.push_back({"two_ranks_then_one",
                  {{4, {{0, 1, 4, 0, 2}, {1, 1, 4, 1, 2}}, {{0, 0.7}, {1, 0.3}}},
                   {2, {{2, 1, 8, 0}}, {{2, 1.0}}}},
                  1});
  list.push_back(
      {"one_rank_then_three",
       {{2, {{0, 2, 4, 0}}, {{0, 1.0}}},
        {4, {{1, 1, 2, 0, 4}, {2, 2, 2, 1, 4}, {3, 1, 2, 3, 4}}, {{1, 0.2}, {2, 0.5}, {3, 0.3}}}},
       1});
  // A micro-batch of one stage is several of the other, both ways.
  list.push_back({"small_then_large_micro_batches", {{3, {{0, 1, 8, 0}}}, {3, {{1, 4, 2, 0}}}}, 0});
  list.push_back({"large_then_small_micro_batches", {{3, {{0, 4, 2, 0}}}, {3, {{1, 1, 8, 0}}}}, 0});
  // Rank 2 computes the second stage and stores of both; rank 0 the other way round.
  list.push_back({"stages_that_keep_for_each_other",
                  {{3, {{0, 1, 4, 0, 2}, {1, 1, 4, 1, 2}}, {{0, 0.3}, {1, 0.1}, {2, 0.6}}},
                   {3, {{2, 2, 4, 0}}, {{2, 0.5}, {0, 0.5}}}},
                  3});
  return list;
}

class Uneven : public ::testing::TestWithParam<UnevenPlan> {};

TEST_P(Uneven, Gpt) { expect_losses_of_one_rank(testing::small_gpt(), GetParam()); }
TEST_P(Uneven, Llama) { expect_losses_of_one_rank(testing::small_llama(), GetParam()); }
TEST_P(Uneven, Bert) { expect_losses_of_one_rank(testing::small_bert(), GetParam()); }
// The norm counts every weight once, whoever keeps it.
TEST_P(Uneven, ClippedGpt) { expect_losses_of_one_rank(testing::small_gpt(), GetParam(), 0.5); }

// Ten steps, a checkpoint, and the other ten from there; the checkpoint goes on under other plans.
TEST_P(Uneven, Resumed) {
  const model::Model model = testing::small_gpt();
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("nereus-uneven-" + std::to_string(getpid()) + "-" + GetParam().name);
  std::filesystem::remove_all(folder);
  job::Job job = testing::uneven_job(model, GetParam(), kGlobalBatch);
  job.checkpoint.folder = folder;
  testing::run_job(job, kSteps / 2, testing::reader_of(model), "shared");
  plan::Degrees alone;
  alone.global_batch = kGlobalBatch;
  alone.precision = cluster::Precision::kFp64;
  job.checkpoint.folder.clear();
  for (job::Job next : {job, testing::make_job(model, alone)}) {
    next.checkpoint.resume = folder;
    const testing::Outcome got =
        testing::run_job(next, kSteps, testing::reader_of(model), "shared");
    ASSERT_EQ(got.losses.size(), static_cast<std::size_t>(kSteps / 2));
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i] / one_rank(model).losses[i + kSteps / 2], 1, 1e-9) << i;
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Plans, Uneven, ::testing::ValuesIn(plans()),
                         [](const auto& param_info) { return param_info.param.name; });

TEST(UnevenRefusal, SaysWhatIsKeptInOtherWays) {
  UnevenPlan uneven{"", {{6, {{0, 1, 4, 0}, {1, 1, 4, 4}}, {{0, 0.5}, {1, 0.5}}}}, 3};
  job::Job job = testing::uneven_job(testing::small_gpt(), uneven, kGlobalBatch);
  EXPECT_EQ(testing::complaints(job), "");
  for (plan::StateShare& share :
       job.plan.placement.runs[0].state) {  // the optimizer's, in 1/4 : 3/4
    if (share.kind != plan::StateKind::kOptimizer) continue;
    (share.begin == 0 ? share.end : share.begin) = plan::kStateUnits / 4;
  }
  const std::vector<Error> errors = cannot_run(job.plan);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, "train.state");
  EXPECT_EQ(errors[0].message,
            "run 0 (layers 0 to 5) divides weights in other ways than the optimizer's state");
}

}  // namespace
}  // namespace nereus::worker
