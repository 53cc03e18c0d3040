#include "cost/pipeline_time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "cost/cost_testing.hpp"

namespace nereus::cost::pipeline_time_test {
namespace {

using plan::Schedule;

double total(const std::vector<StagePace>& stages, double interleave) {
  const PipelineTime time = pipeline_time(stages, {Schedule::kInterleaved, 1, interleave});
  return stages[time.slowest].all + time.bubble;
}

// --- bubble -------------------------------------------------------------------------------------

TEST(Pipeline, EqualStagesIdleForPMinusOneMicroBatches) {
  // Four stages of 2 s, eight micro-batches: 16 s of work, bubble 3 x 2 s = (p - 1) / m of it.
  const PipelineTime time =
      pipeline_time(std::vector<StagePace>{{2, 16, 4}}, {Schedule::k1f1b, 4, 1});
  EXPECT_DOUBLE_EQ(time.bubble, 6);
  EXPECT_DOUBLE_EQ(time.bubble / 16, 3.0 / 8);
}

TEST(Pipeline, VirtualStagesDivideTheBubble) {
  EXPECT_DOUBLE_EQ(
      pipeline_time(std::vector<StagePace>{{2, 16, 4}}, {Schedule::kInterleaved, 4, 2}).bubble, 3);
  EXPECT_DOUBLE_EQ(
      pipeline_time(std::vector<StagePace>{{2, 16, 4}}, {Schedule::kInterleaved, 4, 3}).bubble, 2);
}

TEST(Pipeline, ChunksThatAreLeftHideReductions) {
  // Four ranks, four chunks of 0.5 s, eight micro-batches of 2 s: after a rank's last chunk three
  // chunks of four micro-batches are left.
  const PipelineShape shape{Schedule::kInterleaved, 4, 4};
  const PipelineTime time = pipeline_time(std::vector<StagePace>{{2, 16, 4}}, shape);
  EXPECT_DOUBLE_EQ(time.own, 15.5);
  EXPECT_DOUBLE_EQ(later_chunks(shape, time.own, 8), 3 * 4 * 0.5);
  EXPECT_EQ(later_chunks({Schedule::k1f1b, 4, 1}, 14, 8), 0);
}

TEST(Pipeline, TheSlowestStageSetsThePace) {
  // 1 s, 3 s and 2 s, four micro-batches: 12 s on the second, and 1 + 2 to fill and drain.
  const std::vector<StagePace> stages{{1, 4}, {3, 12}, {2, 8}};
  EXPECT_EQ(pipeline_time(stages, {Schedule::k1f1b, 1, 1}).slowest, 1);
  EXPECT_DOUBLE_EQ(total(stages, 1), 15);
}

TEST(Pipeline, OneMicroBatchPassesAllStages) {
  const std::vector<StagePace> stages{{1, 1}, {3, 3}, {2, 2}};
  EXPECT_EQ(pipeline_time(stages, {Schedule::k1f1b, 1, 1}).slowest, 1);
  EXPECT_DOUBLE_EQ(total(stages, 1), 6);
}

TEST(Pipeline, StagesMayCutTheBatchDifferently) {
  // The first stage: 4 micro-batches of 3 s; the second: 12 of 1 s. Either one that decides starts
  // after, or ends before, one micro-batch of the other: 12 + 3.
  EXPECT_DOUBLE_EQ(total({{3, 12}, {1, 12}}, 1), 15);
}

RC_GTEST_PROP(Pipeline, IsNoShorterThanItsPartsAndNoLongerThanTheirSum, ()) {
  const int m = *rc::gen::inRange(1, 20);
  const double interleave = *rc::gen::inRange(1, 4);
  std::vector<StagePace> stages;
  double most = 0;
  double sum = 0;
  for (int i = *rc::gen::inRange(1, 9); i > 0; --i) {
    const double one = testing::between(0.1, 5);
    stages.push_back({one, m * one, *rc::gen::inRange(1, 4)});
    most = std::max(most, m * one);
    sum += m * one * stages.back().count;
  }
  RC_ASSERT(total(stages, interleave) >= most * (1 - 1e-12));
  RC_ASSERT(total(stages, interleave) <= sum * (1 + 1e-12));
}

// --- activations in flight ----------------------------------------------------------------------

TEST(Pipeline, GpipeHoldsEveryMicroBatch) {
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kGpipe, 4, 1}, 0, 32), 32);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kGpipe, 4, 1}, 3, 32), 32);
}

TEST(Pipeline, OneForwardOneBackwardHoldsAsManyAsStagesFollow) {
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_DOUBLE_EQ(in_flight({Schedule::k1f1b, 4, 1}, stage, 32), 4 - stage);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::k1f1b, 4, 1}, 0, 2), 2);  // there are only two
}

TEST(Pipeline, InterleavedHoldsAFewMore) {
  // p (1 + (p - 1) / (p v)) on the first stage: 4 (1 + 3/8) = 5.5 micro-batches' worth.
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kInterleaved, 4, 2}, 0, 32), 5.5);
  // On the last: (v - 1) p + 1 = 5 chunks of a half.
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kInterleaved, 4, 2}, 3, 32), 2.5);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kInterleaved, 4, 1}, 0, 32), 4);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kInterleaved, 4, 2}, 0, 4), 4);
}

TEST(Pipeline, OneStageHoldsOne) {
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kGpipe, 1, 1}, 0, 32), 1);
}

TEST(Pipeline, ZeroBubbleSchedulesHoldMore) {
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kLoopedBfs, 4, 2}, 1, 32), 32);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kZbH1, 4, 1}, 0, 32), 4);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kZbH2, 4, 1}, 0, 32), 8);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kZbV, 4, 2}, 3, 32), 4);
  // Two pairs of four stages: p + 1 = 5 micro-batches over both of a rank's stages.
  EXPECT_DOUBLE_EQ(2 * in_flight({Schedule::kDualPipe, 2, 2}, 0, 32), 5);
}

TEST(Pipeline, VarunaHoldsThreeForEveryStageBehind) {
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kVaruna, 4, 1}, 0, 32), 9);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kVaruna, 4, 1}, 2, 32), 3);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kVaruna, 4, 1}, 3, 32), 1);
  EXPECT_DOUBLE_EQ(in_flight({Schedule::kVaruna, 4, 1}, 0, 5), 5);
}

// --- recompute ----------------------------------------------------------------------------------

TEST(Pipeline, VarunaRecomputesWhileOthersGoBack) {
  // Four stages of 1 + 2 s, all but the last with 1 s of recompute, 16 micro-batches: 4 x 3 s once,
  // 15 x 4 s more (data/varuna/schedule_facts.csv: 72).
  const std::vector<StagePace> stages{{4, 64, 3, 3, 0}, {3, 48, 1, 3, 0}};
  const PipelineTime time = pipeline_time(stages, {Schedule::kVaruna, 4, 1});
  EXPECT_EQ(time.slowest, 0);
  EXPECT_DOUBLE_EQ(64 + time.bubble, 72);
}

RC_GTEST_PROP(Pipeline, VarunaIsNoShorterThanItsPartsAndRises, ()) {
  const int m = *rc::gen::inRange(1, 20);
  const auto total_of = [&](const std::vector<StagePace>& stages) {
    const PipelineTime time = pipeline_time(stages, {Schedule::kVaruna, 4, 1});
    return stages[time.slowest].all + time.bubble;
  };
  std::vector<StagePace> stages;
  double most = 0;
  for (int i = *rc::gen::inRange(1, 9); i > 0; --i) {
    const double once = testing::between(0.1, 5);
    const double one = once + testing::between(0, 3);
    stages.push_back({one, m * one, *rc::gen::inRange(1, 4), once, 0});
    most = std::max(most, m * one);
  }
  const double before = total_of(stages);
  RC_ASSERT(before >= most * (1 - 1e-12));
  // More recompute, or more of the rest, of any stage.
  const double more = testing::between(0, 2);
  StagePace& some = stages[*rc::gen::inRange(0, static_cast<int>(stages.size()))];
  some.one += more;
  some.all += m * more;
  if (*rc::gen::arbitrary<bool>()) some.passes += more;
  RC_ASSERT(total_of(stages) >= before * (1 - 1e-12));
}

// --- zero bubble --------------------------------------------------------------------------------

// Stages of F, B and W seconds, m micro-batches.
double bubble_of(Schedule schedule, int depth, double f, double b, double w, int m) {
  const double one = f + b + w;
  return pipeline_time(std::vector<StagePace>{{one, m * one, depth, f + b, b}},
                       {schedule, depth, schedule == Schedule::kZbV ? 2.0 : 1.0})
      .bubble;
}

TEST(Pipeline, WeightGradientsFillTheBubble) {
  // Qi 2023: (p - 1) (F + B - W) for H1, (p - 1) (F + B - 2 W) for H2.
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbH1, 8, 1, 1, 1, 32), 7);
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbH1, 8, 2, 3, 1, 32), 7 * 4);
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbH2, 8, 1, 1, 1, 32), 0);
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbH2, 8, 2, 3, 1, 32), 7 * 3);
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbV, 8, 1, 1, 1, 32), 0);
  // Never below nothing, however long the weight gradients take.
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kZbH2, 8, 1, 1, 5, 32), 0);
}

TEST(Pipeline, DualPipeWaitsForHalfOfTheStages) {
  // p = 8 stages of F = 1, B = 2, W = 1, so four pairs of twice that: (p / 2 - 1) (F + 2 B - W).
  EXPECT_DOUBLE_EQ(bubble_of(Schedule::kDualPipe, 4, 2, 4, 2, 16), 3 * (1 + 2 * 2 - 1));
}

TEST(Pipeline, ALongStageHidesWhatTheOthersWaitFor) {
  // Three stages of (1, 1, 1) and one of (4, 4, 4), sixteen micro-batches. The long one is busy
  // throughout: its own weight gradients are longer than what it waits for.
  const std::vector<StagePace> stages{{3, 48, 3, 2, 1}, {12, 192, 1, 8, 4}};
  const PipelineTime time = pipeline_time(stages, {Schedule::kZbH2, 4, 1});
  EXPECT_EQ(time.slowest, 1);
  EXPECT_DOUBLE_EQ(time.bubble, 0);
}

// --- transfers ----------------------------------------------------------------------------------

TEST(Pipeline, MessagesHoldTheirSendersUp) {
  Parameters p;
  p.pipeline_overlap = 0.5;
  TransferLoad load;
  load.once = 1;
  load.crossings = 3;
  load.num_micro_batches = 9;
  const PipelineShape shape{Schedule::kInterleaved, 4, 2};
  // Four equal ranks of two virtual stages: 9 x 4 messages but the last, half of each hidden.
  std::vector<StagePace> stages{{2, 18, 4}};
  add_sends(stages[0], {2, 2, 4}, load, shape, p);
  EXPECT_DOUBLE_EQ(stages[0].sends, 17.5);
  EXPECT_DOUBLE_EQ(pipeline_time(stages, shape).sends, 17.5);
  EXPECT_DOUBLE_EQ(pipeline_time(stages, shape).bubble, 3);
  EXPECT_DOUBLE_EQ(crossing_seconds(load), 6);
  EXPECT_DOUBLE_EQ(stall_seconds(load, shape, p), 0);
  p.transfer_stall = 0.1;
  p.transfer_stall_devices = 64;
  load.num_ranks = 64;
  // Four stalls for each of 9 micro-batches and 0.3 of the depth.
  EXPECT_DOUBLE_EQ(stall_seconds(load, shape, p), 0.1 * 4 * (9 + 1.2));
}

TEST(Pipeline, PhasesHaveTheirOwnSlowestStage) {
  // Two stages, five micro-batches of 3 s, one blocked for 4 s forward, the other for 4 s backward.
  // One after the other in GPipe: 6 to fill, then 4 x 1 + 4 and 4 x 2 + 4.
  std::vector<StagePace> stages{{3, 15}, {3, 15}};
  stages[0].sends = stages[0].sends_forward = 4;
  stages[1].sends = stages[1].sends_back = 4;
  const PipelineTime gpipe = pipeline_time(stages, {Schedule::kGpipe, 2, 1});
  EXPECT_DOUBLE_EQ(15 + gpipe.bubble + gpipe.sends, 6 + 8 + 12);
  const PipelineTime other = pipeline_time(stages, {Schedule::k1f1b, 2, 1});
  EXPECT_DOUBLE_EQ(15 + other.bubble + other.sends, 6 + 12 + 4);
}

TEST(Pipeline, TensorRanksSendTheirShareAndGatherTheRest) {
  Fabric fabric;
  fabric.link = 100;
  fabric.network = 10;
  fabric.domain = 8;
  const Wire one{fabric, {1, 1}};
  const Wire four{fabric, {4, 4}};
  EXPECT_DOUBLE_EQ(transfer_seconds(fabric, true, 400, one, 0.5), 4 + 0.5);
  EXPECT_DOUBLE_EQ(transfer_seconds(fabric, false, 400, one, 0), 40);
  // A quarter over the network, then three quarters round the ring inside.
  EXPECT_DOUBLE_EQ(transfer_seconds(fabric, false, 400, four, 0), 10 + 3);
}

}  // namespace
}  // namespace nereus::cost::pipeline_time_test
