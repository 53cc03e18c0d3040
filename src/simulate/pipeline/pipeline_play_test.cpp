#include "simulate/pipeline/pipeline_play.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "cost/pipeline_time.hpp"

namespace nereus::simulate::pipeline_play_test {
namespace {

using plan::Schedule;

PlayedPipeline run(Schedule schedule, PipelineSize size, Picoseconds f, Picoseconds b,
                   Picoseconds w) {
  return play(make_order(schedule, size), size, equal_times(size, {f, b, w}));
}

// Depths and numbers of micro-batches that every schedule takes.
template <class F>
void for_each_size(F&& check) {
  for (const int p : {2, 3, 4, 6, 8})
    for (const int m : {2 * p, 2 * p + 2, 3 * p, 4 * p, 7 * p}) check(p, m);
}

// --- the published bubbles and activations, exactly ----------------------------------------------

TEST(Play, GpipeWaitsForPMinusOneAndHoldsEverything) {
  for_each_size([](int p, int m) {
    const PlayedPipeline played = run(Schedule::kGpipe, {p, 1, m}, 5, 4, 3);
    EXPECT_EQ(played.bubble(), (p - 1) * (5 + 7));
    EXPECT_EQ(played.peak(), m);
  });
}

TEST(Play, OneForwardOneBackwardHoldsWhatIsBehindIt) {
  for_each_size([](int p, int m) {
    const PlayedPipeline played = run(Schedule::k1f1b, {p, 1, m}, 5, 4, 3);
    EXPECT_EQ(played.bubble(), (p - 1) * (5 + 7));
    for (int rank = 0; rank < p; ++rank) EXPECT_EQ(played.ranks[rank].peak, p - rank);
  });
}

TEST(Play, InterleavingDividesTheBubble) {
  for (const int p : {2, 3, 4, 8})
    for (const int v : {2, 3, 4})
      for (const int rounds : {2, 3, 5}) {
        // F and B of a chunk: a v-th of the stage's.
        const PlayedPipeline played = run(Schedule::kInterleaved, {p, v, rounds * p}, 5, 4, 3);
        EXPECT_EQ(played.bubble(), (p - 1) * (5 + 7));
        for (int rank = 0; rank < p; ++rank)
          EXPECT_EQ(played.ranks[rank].peak, 2 * (p - rank - 1) + (v - 1) * p + 1);
      }
}

TEST(Play, LoopedBreadthFirstHoldsEverything) {
  for (const int p : {2, 4, 8})
    for (const int v : {1, 2, 3}) {
      const int m = 3 * p;
      const PlayedPipeline played = run(Schedule::kLoopedBfs, {p, v, m}, 5, 4, 3);
      EXPECT_EQ(played.bubble(), (p - 1) * (5 + 7));
      EXPECT_EQ(played.peak(), m * v);  // chunks, each a v-th of a stage
    }
}

TEST(Play, ZeroBubbleH1WaitsAThirdAsLong) {
  for_each_size([](int p, int m) {
    const PlayedPipeline played = run(Schedule::kZbH1, {p, 1, m}, 1, 1, 1);
    EXPECT_EQ(played.bubble(), p - 1);  // (p - 1) (F + B - 2 W) with B = 2
    EXPECT_EQ(played.peak(), p);
  });
}

TEST(Play, ZeroBubbleH2HoldsTwiceAsMuchAndNeverWaits) {
  for_each_size([](int p, int m) {
    const PlayedPipeline played = run(Schedule::kZbH2, {p, 1, m}, 7, 7, 7);
    EXPECT_EQ(played.bubble(), 0);
    EXPECT_EQ(played.peak(), 2 * p);
  });
}

TEST(Play, ZeroBubbleVHoldsAsMuchAs1F1BAndNeverWaits) {
  for_each_size([](int p, int m) {
    const PlayedPipeline played = run(Schedule::kZbV, {p, 2, m}, 7, 7, 7);
    EXPECT_EQ(played.bubble(), 0);
    EXPECT_EQ(played.peak(), 2 * p);  // chunks of half a stage
  });
}

TEST(Play, DualPipeWaitsForHalfOfTheStages) {
  for (const int p : {2, 4, 6, 8, 10})
    for (const int m : {2 * p, 2 * p + 2, 4 * p})
      for (const auto& [f, w] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{3, 1}}) {
        const PlayedPipeline played = run(Schedule::kDualPipe, {p, 1, m}, f, f, w);
        const int b = f + w;
        EXPECT_EQ(played.bubble(), (p / 2 - 1) * (f + b + b - 3 * w)) << p << " " << m;
        EXPECT_EQ(played.peak(), p + 1);
      }
}

// --- against the closed form ---------------------------------------------------------------------

// Equal stages, nothing sent: what cost/pipeline_time.hpp says, to the picosecond.
RC_GTEST_PROP(Play, EqualsTheClosedFormOnEqualStages, ()) {
  const Schedule schedule = *rc::gen::element(
      Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved, Schedule::kLoopedBfs,
      Schedule::kZbH1, Schedule::kZbH2, Schedule::kZbV, Schedule::kDualPipe);
  PipelineSize size;
  size.depth = 2 * *rc::gen::inRange(1, 6);
  const bool many = schedule == Schedule::kInterleaved || schedule == Schedule::kLoopedBfs;
  size.chunks = schedule == Schedule::kZbV ? 2 : many ? *rc::gen::inRange(1, 4) : 1;
  size.micro_batches = size.depth * *rc::gen::inRange(2, 6);
  const bool split = schedule >= Schedule::kZbH1;
  const Picoseconds f = *rc::gen::inRange(1, 1000);
  // The zero-bubble rows hold for equal thirds, DualPipe's for F = B.
  const Picoseconds b = split ? f : *rc::gen::inRange(1, 1000);
  const Picoseconds w = schedule == Schedule::kDualPipe ? *rc::gen::inRange<Picoseconds>(1, f + 1)
                        : split                         ? f
                                                        : *rc::gen::inRange(1, 1000);
  const PlayedPipeline played = run(schedule, size, f, b, w);

  const bool dual = schedule == Schedule::kDualPipe;
  const double one = static_cast<double>((f + b + w) * size.chunks) * (dual ? 2 : 1);
  const double rounds = size.micro_batches / (dual ? 2.0 : 1.0);
  const cost::PipelineShape shape{schedule, dual ? size.depth / 2 : size.depth,
                                  dual ? 2.0 : size.chunks};
  const double passes = static_cast<double>((f + b) * size.chunks) * (dual ? 2 : 1);
  const double backward = static_cast<double>(b * size.chunks) * (dual ? 2 : 1);
  const std::vector<cost::StagePace> stages{{one, rounds * one, shape.depth, passes, backward}};
  RC_ASSERT(std::abs(static_cast<double>(played.bubble()) -
                     cost::pipeline_time(stages, shape).bubble) < 1e-6);
  const double in_flight = cost::in_flight(shape, 0, rounds) * (dual ? 2 : size.chunks);
  RC_ASSERT(std::abs(played.peak() - in_flight) < 1e-9);
}

// Whatever the times: a rank's work fits between its first and last pass, and the end is at least
// the longest chain and at least the busiest rank.
RC_GTEST_PROP(Play, IsNoShorterThanItsChainsAndItsRanks, ()) {
  const Schedule schedule =
      *rc::gen::element(Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved, Schedule::kZbH1,
                        Schedule::kZbV, Schedule::kDualPipe);
  PipelineSize size{2 * *rc::gen::inRange(1, 4), 1, 0};
  if (schedule == Schedule::kZbV) size.chunks = 2;
  if (schedule == Schedule::kInterleaved) size.chunks = *rc::gen::inRange(1, 4);
  size.micro_batches = size.depth * *rc::gen::inRange(2, 5);
  PassTimes times;
  Picoseconds chain = 0;
  for (int s = 0; s < size.num_stages(); ++s) {
    times.stages.push_back({*rc::gen::inRange(1, 100), *rc::gen::inRange(1, 100),
                            *rc::gen::inRange(1, 100), *rc::gen::inRange(0, 50),
                            *rc::gen::inRange(0, 50)});
    chain += times.stages.back().forward + times.stages.back().input;
  }
  const Order order = make_order(schedule, size);
  const PlayedPipeline played = play(order, size, times);
  RC_ASSERT(played.end >= chain);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const PlayedRank& own = played.ranks[rank];
    RC_ASSERT(own.ops.size() == order[rank].size());
    RC_ASSERT(own.idle() >= 0);
    RC_ASSERT(played.end >= own.busy);
    for (std::size_t i = 1; i < own.ops.size(); ++i)
      RC_ASSERT(own.ops[i].start >= own.ops[i - 1].end);
  }
}

// --- orders that cannot be -----------------------------------------------------------------------

std::string code_of_failure(const Order& order, const PipelineSize& size) {
  try {
    play(order, size, equal_times(size, {1, 1, 1}));
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "";
}

TEST(Play, AnOrderThatWaitsForItselfIsAnError) {
  const PipelineSize size{2, 1, 2};
  Order order = schedule::one_f_one_b_order(size);
  std::swap(order[0].front(), order[0].back());  // the last backward pass first
  EXPECT_EQ(code_of_failure(order, size), "simulate.order-cycle");
}

TEST(Play, MissingAndRepeatedPassesAreErrors) {
  const PipelineSize size{2, 1, 2};
  Order order = schedule::gpipe_order(size);
  order[1].pop_back();
  EXPECT_EQ(code_of_failure(order, size), "simulate.order-pass");
  order = schedule::gpipe_order(size);
  order[1].push_back(order[1].front());
  EXPECT_EQ(code_of_failure(order, size), "simulate.order-pass");
  order = schedule::gpipe_order(size);
  order[0][0].stage = 9;
  EXPECT_EQ(code_of_failure(order, size), "simulate.order-pass");
}

TEST(Play, TransfersDelayOnlyWhatCrossesRanks) {
  // Two stages, one micro-batch: F0, send, F1, B1, send back, B0.
  const PipelineSize size{2, 1, 1};
  const PassTimes times = equal_times(size, {10, 10, 10, 3, 4});
  EXPECT_EQ(play(schedule::one_f_one_b_order(size), size, times).end, 10 + 3 + 10 + 20 + 4 + 20);
  // The V turns round on the last rank: nothing is sent there.
  const PipelineSize v{1, 2, 2};
  EXPECT_EQ(play(zb_v_order(v), v, equal_times(v, {10, 10, 10, 3, 4})).bubble(), 0);
}

}  // namespace
}  // namespace nereus::simulate::pipeline_play_test
