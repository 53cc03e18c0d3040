// Varuna's rule as ranks run it: if a gradient is late, forward passes go first, and nothing else
// changes.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

using schedule::Pass;
using schedule::PipelineOp;
using timeline::SliceKind;

constexpr int kDepth = 4, kNumMicroBatches = 8;

job::Job varuna_job(int tp) {
  plan::Degrees d;
  d.tp = tp;
  d.pp = kDepth;
  d.global_batch = kNumMicroBatches;
  d.precision = cluster::Precision::kFp64;
  d.schedule = plan::Schedule::kVaruna;
  d.recompute = plan::Recompute::kFull;
  return testing::make_job(testing::small_gpt(), d);
}

struct Ran {
  testing::Outcome outcome;
  std::vector<std::vector<PipelineOp>> planned, order;  // by rank, of one step
};

thread_local int this_rank = -1;

// With the last stage's ranks that much later in every micro-batch.
Ran run_delayed(const job::Job& job, const std::string& backend, std::chrono::milliseconds delay,
                int num_steps = 1) {
  const auto num_ranks = static_cast<std::size_t>(testing::ranks_of(job));
  Ran ran;
  ran.planned.resize(num_ranks);
  ran.order.resize(num_ranks);
  std::vector<std::vector<Done>> slices(num_ranks);
  const auto prepare = [&](int rank, Executor& executor) {
    this_rank = rank;
    executor.slices = &slices[rank];
    ran.planned[rank] = executor.rank_plan().order;
  };
  const int first_of_last = static_cast<int>(num_ranks) - static_cast<int>(num_ranks) / kDepth;
  const ReadBatch read = [&, inner = testing::reader_of(job.plan.model)](
                             std::int64_t step, std::int64_t first, std::int64_t count) {
    if (this_rank >= first_of_last) std::this_thread::sleep_for(delay);
    return inner(step, first, count);
  };
  ran.outcome = testing::run_job(job, num_steps, read, backend, prepare);
  for (std::size_t rank = 0; rank < num_ranks; ++rank)
    for (const Done& done : slices[rank]) {
      const Pass pass = done.kind == SliceKind::kForward    ? Pass::kForward
                        : done.kind == SliceKind::kBackward ? Pass::kBackward
                                                            : Pass::kRecompute;
      if (pass != Pass::kRecompute || done.kind == SliceKind::kRecompute)
        ran.order[rank].push_back({pass, done.stage, done.micro_batch});
    }
  return ran;
}

std::vector<PipelineOp> without_forward(const std::vector<PipelineOp>& order) {
  std::vector<PipelineOp> rest;
  for (const PipelineOp& op : order)
    if (op.pass != Pass::kForward) rest.push_back(op);
  return rest;
}

int peak(const std::vector<PipelineOp>& order) {
  int held = 0, most = 0;
  for (const PipelineOp& op : order) {
    if (op.pass == Pass::kForward) most = std::max(most, ++held);
    if (op.pass == Pass::kBackward) --held;
  }
  return most;
}

void expect_only_forwards_moved(const Ran& ran) {
  for (std::size_t rank = 0; rank < ran.order.size(); ++rank) {
    EXPECT_EQ(ran.order[rank].size(), ran.planned[rank].size());
    EXPECT_EQ(without_forward(ran.order[rank]), without_forward(ran.planned[rank])) << rank;
    EXPECT_LE(peak(ran.order[rank]), peak(ran.planned[rank])) << rank;
  }
}

class Varuna : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, Varuna, ::testing::Values("gloo", "shared"),
                         [](const auto& which) { return which.param; });

// Rank 0 has its samples whenever it wants; rank 2 must see that a message came.
TEST_P(Varuna, LateGradientsLetForwardPassesGoFirst) {
  const Ran ran = run_delayed(varuna_job(1), GetParam(), std::chrono::milliseconds(30));
  expect_only_forwards_moved(ran);
  EXPECT_NE(ran.order[2], ran.planned[2]);
  EXPECT_EQ(ran.order[kDepth - 1], ran.planned[kDepth - 1]);  // it never recomputes
}

TEST(VarunaLosses, AreThoseOfOneRankAndToTheBitThoseWithoutDelay) {
  const job::Job job = varuna_job(1);
  job::Job alone = job;
  plan::Degrees one = *job.plan.degrees;
  one.pp = 1;
  one.schedule = plan::Schedule::k1f1b;
  alone = testing::make_job(job.plan.model, one);
  const auto delayed = run_delayed(job, "shared", std::chrono::milliseconds(10), 5).outcome;
  const auto prompt = run_delayed(job, "shared", std::chrono::milliseconds(0), 5).outcome;
  const auto expected = testing::run_job(alone, 5, testing::reader_of(job.plan.model)).losses;
  EXPECT_EQ(delayed.losses, prompt.losses);
  ASSERT_EQ(delayed.losses.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(delayed.losses[i] / expected[i], 1, 1e-9) << "step " << i;
}

// Collectives inside their passes would never meet if ranks of a team chose differently.
TEST(VarunaTeams, ChooseTogether) {
  const Ran ran = run_delayed(varuna_job(2), "shared", std::chrono::milliseconds(30));
  expect_only_forwards_moved(ran);
  for (std::size_t rank = 0; rank < ran.order.size(); rank += 2) {
    ASSERT_EQ(ran.order[rank].size(), ran.order[rank + 1].size());
    EXPECT_EQ(ran.order[rank], ran.order[rank + 1]);
  }
  EXPECT_NE(ran.order[4], ran.planned[4]);
}

}  // namespace
}  // namespace nereus::worker
