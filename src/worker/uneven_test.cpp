// Mixed devices: each rank computes and keeps a different share. For any division, the losses are
// those of one rank.
#include <gtest/gtest.h>

#include <array>

#include "base/temporary_folder.hpp"
#include "worker/uneven_testing.hpp"

namespace nereus::worker {
namespace {

using plan::Gather;
using testing::UnevenPlan;

constexpr int kUnevenBatch = 8;
constexpr int kUnevenSteps = 20;

const testing::Outcome& one_rank(const model::Model& model, double clip = 0) {
  static std::map<std::pair<std::string, double>, testing::Outcome> known;
  const auto [at, is_new] = known.try_emplace({model.name, clip}, testing::Outcome{});
  if (is_new) {
    plan::Degrees alone;
    alone.global_batch = kUnevenBatch;
    alone.precision = cluster::Precision::kFp64;
    job::Job job = testing::make_job(model, alone);
    job.training.clip = clip;
    at->second = testing::run_job(job, kUnevenSteps, testing::reader_of(model), "shared");
  }
  return at->second;
}

void expect_losses_of_one_rank(const model::Model& model, const UnevenPlan& uneven,
                               double clip = 0) {
  const testing::Outcome& expected = one_rank(model, clip);
  job::Job job = testing::uneven_job(model, uneven, kUnevenBatch);
  job.training.clip = clip;
  ASSERT_EQ(testing::complaints(job), "");
  const testing::Outcome got =
      testing::run_job(job, kUnevenSteps, testing::reader_of(model), "shared");
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
  // The same, with all micro-batches passing a layer before the next, and with kept activations
  // offloaded to host memory.
  const auto layered = [&](const std::string& name, std::size_t of, double offload) {
    UnevenPlan plan = list[of];
    plan.name = name;
    plan.gather = Gather::kPerPass;
    plan.offload = offload;
    if (offload > 0) plan.recompute = plan::Recompute::kFull;
    list.push_back(plan);
  };
  const auto number_of = [&](const std::string& name) {
    std::size_t i = 0;
    while (list[i].name != name) ++i;
    return i;
  };
  layered("layered_mixed", number_of("mixed_zero3"), 0);
  layered("layered_apart", number_of("apart_zero3"), 0);
  layered("layered_apart_zero2", number_of("apart_zero2"), 0);
  layered("layered_stages", number_of("stages_that_keep_for_each_other"), 0);
  layered("layered_one_rank_then_three", number_of("one_rank_then_three"), 0);
  layered("layered_mixed_offload", number_of("mixed_zero3"), 1);
  layered("layered_stages_half_offload", number_of("stages_that_keep_for_each_other"), 0.5);
  UnevenPlan offload = list[number_of("stages_3_1_2")];
  offload.name = "offload_1f1b";
  offload.offload = 1;
  offload.recompute = plan::Recompute::kFull;
  list.push_back(offload);
  return list;
}

class Uneven : public ::testing::TestWithParam<UnevenPlan> {};

TEST_P(Uneven, Gpt) { expect_losses_of_one_rank(testing::small_gpt(), GetParam()); }
TEST_P(Uneven, Llama) { expect_losses_of_one_rank(testing::small_llama(), GetParam()); }
TEST_P(Uneven, Bert) { expect_losses_of_one_rank(testing::small_bert(), GetParam()); }
// The norm counts every weight once, whichever ranks keep it.
TEST_P(Uneven, ClippedGpt) { expect_losses_of_one_rank(testing::small_gpt(), GetParam(), 0.5); }

// Ten steps, a checkpoint, and the other ten from there; the checkpoint goes on under other plans.
TEST_P(Uneven, Resumed) {
  const model::Model model = testing::small_gpt();
  const TemporaryFolder folder;
  job::Job job = testing::uneven_job(model, GetParam(), kUnevenBatch);
  job.checkpoint.folder = folder.path();
  testing::run_job(job, kUnevenSteps / 2, testing::reader_of(model), "shared");
  plan::Degrees alone;
  alone.global_batch = kUnevenBatch;
  alone.precision = cluster::Precision::kFp64;
  job.checkpoint.folder.clear();
  for (job::Job next : {job, testing::make_job(model, alone)}) {
    next.checkpoint.resume = folder.path();
    const testing::Outcome got =
        testing::run_job(next, kUnevenSteps, testing::reader_of(model), "shared");
    ASSERT_EQ(got.losses.size(), static_cast<std::size_t>(kUnevenSteps / 2));
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      EXPECT_NEAR(got.losses[i] / one_rank(model).losses[i + kUnevenSteps / 2], 1, 1e-9) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, Uneven, ::testing::ValuesIn(plans()),
                         [](const auto& param_info) { return param_info.param.name; });

// One step on every rank, then a look at each.
void after_one_step(const job::Job& job, const std::function<void(int, Executor&)>& prepare,
                    const std::function<void(int, Executor&)>& look) {
  const int num_ranks = testing::ranks_of(job);
  const ReadBatch read = testing::reader_of(job.plan.model);
  auto comms = open_local_comms("shared", num_ranks, std::chrono::seconds(60));
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (int rank = 0; rank < num_ranks; ++rank)
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      Executor executor(job, *comms[rank], read);
      prepare(rank, executor);
      executor.run(0);
      const std::lock_guard lock(mutex);
      look(rank, executor);
    });
  for (std::thread& thread : threads) thread.join();
}

// Bytes that rank 0 gathers and scatters in a step, by number of micro-batches.
Traffic traffic_of(Gather gather, int num_micro_batches) {
  const int size = 4 / num_micro_batches;
  const UnevenPlan plan{"",
                        {{6,
                          {{0, size, num_micro_batches, 0}, {1, size, num_micro_batches, 4}},
                          {{0, 0.3}, {1, 0.7}}}},
                        3,
                        gather};
  Traffic traffic;
  after_one_step(
      testing::uneven_job(testing::small_llama(), plan, kUnevenBatch), [](int, Executor&) {},
      [&](int rank, Executor& executor) {
        if (rank == 0) traffic = executor.traffic();
      });
  return traffic;
}

TEST(Layered, GathersDoNotGrowWithMicroBatches) {
  if (testing::on_gpu()) GTEST_SKIP() << "counted on CPUs";
  const Traffic once = traffic_of(Gather::kPerPass, 1);
  EXPECT_EQ(once, traffic_of(Gather::kPerPass, 2));
  EXPECT_EQ(once, traffic_of(Gather::kPerPass, 4));
  // Six layers: five in the forward pass, all in the backward pass.
  EXPECT_EQ(once.num_gathers, 11);
  const Traffic one = traffic_of(Gather::kPerMicroBatch, 1);
  const Traffic four = traffic_of(Gather::kPerMicroBatch, 4);
  EXPECT_EQ(four.gathered, 4 * one.gathered);
  EXPECT_EQ(four.scattered, 4 * once.scattered);
  EXPECT_LT(once.gathered, one.gathered);  // the last layer's two passes are one
}

// On the device between layers: (1 - share) of the inputs of all layers but the first, plus one
// input and one gradient in transfer of the offloaded ones.
TEST(Layered, OffloadLeavesTheRestOnTheDevice) {
  if (testing::on_gpu()) GTEST_SKIP() << "counted on CPUs";
  const model::Model model = testing::small_gpt();
  const model::TransformerShape& shape = *model.transformer;
  for (const double share : {0.0, 0.5, 1.0}) {
    const UnevenPlan plan{"",
                          {{6, {{0, 2, 4, 0}}, {{0, 1.0}}}},
                          0,
                          Gather::kPerPass,
                          plan::Recompute::kFull,
                          plan::Schedule::k1f1b,
                          share};
    std::int64_t most = 0, on_host = 0;
    after_one_step(
        testing::uneven_job(model, plan, kUnevenBatch),
        [&](int, Executor& executor) { executor.most_kept = &most; },
        [&](int, Executor& executor) { on_host = executor.host_store().host_bytes(); });
    const double one = 2.0 * shape.seq * shape.hidden * 8;
    const double all = 4.0 * (model.num_layers() - 1) * one;
    const double expected = (1 - share) * all + 2 * share * one;
    EXPECT_NEAR(static_cast<double>(most) / expected, 1, 0.1) << "share " << share;
    EXPECT_NEAR(static_cast<double>(on_host), share * all, 0.1 * all) << "share " << share;
  }
}

TEST(UnevenCollectives, BothFormsGiveTheSameBits) {
  const std::vector<std::vector<Range>> cases = {
      {{0, 600}, {600, 900}, {900, 1000}},  // 0.6, 0.3, 0.1
      {{0, 0}, {0, 1000}, {1000, 1000}},    // all on one
      {{10, 11}, {500, 998}, {11, 500}},    // in any order, with gaps
  };
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16})
    for (const std::vector<Range>& ranges : cases) {
      auto comms = open_local_comms("shared", 3, std::chrono::seconds(60));
      std::vector<std::thread> threads;
      std::array<bool, 3> gathered{}, scattered{};
      for (std::size_t rank = 0; rank < 3; ++rank)
        threads.emplace_back([&, rank] {
          const auto group = comms[rank]->group({0, 1, 2});
          const at::Tensor values =
              (at::arange(1000, at::kDouble) * 0.37 + static_cast<double>(rank)).sin().to(type);
          at::Tensor exact = values.clone(), padded = values.clone();
          all_gather(*group, exact, ranges, Form::kExact)->wait();
          all_gather(*group, padded, ranges, Form::kPadded)->wait();
          gathered[rank] = at::equal(exact, padded);
          exact = values.clone(), padded = values.clone();
          reduce_scatter(*group, exact, ranges, Form::kExact)->wait();
          reduce_scatter(*group, padded, ranges, Form::kPadded)->wait();
          const Range& own = ranges[rank];
          scattered[rank] = at::equal(exact.narrow(0, own.begin, own.size()),
                                      padded.narrow(0, own.begin, own.size()));
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(gathered, (std::array<bool, 3>{true, true, true}));
      EXPECT_EQ(scattered, (std::array<bool, 3>{true, true, true}));
    }
}

TEST(UnevenCollectives, FormFollowsTheMeasuredTable) {
  const auto pieces = [](std::int64_t a, std::int64_t b) {
    return std::vector<Range>{{0, a}, {a, a + b}};
  };
  constexpr std::int64_t kMillion = 1 << 20;
  EXPECT_EQ(choose_form("gloo", pieces(60 * kMillion, 68 * kMillion), 1), Form::kExact);
  EXPECT_EQ(choose_form("nccl", pieces(60 * kMillion, 68 * kMillion), 1), Form::kPadded);
  EXPECT_EQ(choose_form("nccl", pieces(20 * kMillion, 108 * kMillion), 1), Form::kExact);
  EXPECT_EQ(choose_form("nccl", pieces(60 * 1024, 68 * 1024), 1), Form::kExact);
  EXPECT_EQ(choose_form("nccl", pieces(64 * kMillion, 64 * kMillion), 1), Form::kExact);
  EXPECT_EQ(choose_form("nccl", pieces(0, 0), 1), Form::kExact);
}

TEST(UnevenRefusal, OffloadNeedsFullRecompute) {
  const UnevenPlan plan{"",
                        {{6, {{0, 2, 4, 0}}, {{0, 1.0}}}},
                        0,
                        Gather::kPerPass,
                        plan::Recompute::kNone,
                        plan::Schedule::k1f1b,
                        0.5};
  job::Job job = testing::uneven_job(testing::small_gpt(), plan, kUnevenBatch);
  ASSERT_EQ(cannot_run(job.plan).size(), 1u);
  EXPECT_EQ(cannot_run(job.plan).front().code, "train.offload");
  plan::Replicas& r = job.plan.placement.runs[0].replicas[0];
  r.recompute = plan::Recompute::kFull;
  EXPECT_TRUE(cannot_run(job.plan).empty());
  r.offload_tier = plan::Tier::kNvme;
  EXPECT_EQ(cannot_run(job.plan).front().code, "train.offload");
}

TEST(UnevenRefusal, SaysWhatIsKeptInOtherWays) {
  UnevenPlan uneven{"", {{6, {{0, 1, 4, 0}, {1, 1, 4, 4}}, {{0, 0.5}, {1, 0.5}}}}, 3};
  job::Job job = testing::uneven_job(testing::small_gpt(), uneven, kUnevenBatch);
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
