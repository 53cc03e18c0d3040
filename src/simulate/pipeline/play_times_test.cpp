// How long passes and messages take: sends that hold up or queue, first and last micro-batches,
// recompute, jitter. A second implementation says when everything happens.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate::play_times_test {
namespace {

using plan::Schedule;

Picoseconds sum_of(const auto& values) {
  return std::accumulate(values.begin(), values.end(), Picoseconds{0});
}

// Starts at 0 everywhere and moves passes later until nothing moves: the longest chains.
class Oracle {
 public:
  Oracle(const Order& order, const PipelineSize& size, const PassTimes& times, const Draws* draws)
      : order_(order), size_(size), times_(times), draws_(draws) {
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      for (const PipelineOp& op : order[rank]) rank_of_[{op.stage, op.micro_batch}] = rank;
  }

  std::vector<std::vector<PlayedOp>> run() {
    std::vector<std::vector<PlayedOp>> all;
    while (true) {
      std::vector<std::vector<PlayedOp>> now;
      for (std::size_t rank = 0; rank < order_.size(); ++rank) now.push_back(play_rank(rank));
      if (now == all) return all;
      all = now;
    }
  }

 private:
  using Key = std::tuple<bool, int, int>;  // forward?, stage, micro-batch

  const StageTimes& times(const PipelineOp& op) const {
    const bool last = !times_.last.empty() && op.micro_batch + 1 == size_.micro_batches;
    return last ? times_.last.at(static_cast<std::size_t>(op.stage))
                : times_.stages.at(static_cast<std::size_t>(op.stage));
  }

  Picoseconds length(std::size_t rank, const PipelineOp& op) const {
    const StageTimes& own = times(op);
    Picoseconds t = own.recompute;
    if (op.pass == Pass::kForward) t = own.forward;
    if (op.pass == Pass::kBackward) t = own.input + own.weight;
    if (op.pass == Pass::kInput) t = own.input;
    if (op.pass == Pass::kWeight) t = own.weight;
    return draws_ ? draws_->compute(static_cast<int>(rank), draw_key(op), t) : t;
  }

  std::vector<PlayedOp> play_rank(std::size_t rank) {
    const std::vector<PipelineOp>& own = order_[rank];
    int first = -1;
    int last = -1;
    for (const PipelineOp& op : own) {
      if (op.pass == Pass::kForward && first < 0) first = op.micro_batch;
      if (op.pass == Pass::kBackward || op.pass == Pass::kInput) last = op.micro_batch;
    }
    std::vector<PlayedOp> out;
    Picoseconds free = 0;
    std::vector<Picoseconds> wires[2];
    for (auto& free_at : wires) free_at.resize(static_cast<std::size_t>(times_.at_once));
    for (std::size_t i = 0; i < own.size();) {
      const std::size_t n = own[i].with_next ? 2 : 1;
      Picoseconds start = free;
      for (std::size_t k = i; k < i + n; ++k) {
        const PipelineOp& op = own[k];
        if (op.pass == Pass::kForward && op.stage > 0)
          start = std::max(start, there_[{true, op.stage - 1, op.micro_batch}]);
        if ((op.pass == Pass::kBackward || op.pass == Pass::kInput) &&
            op.stage + 1 < size_.num_stages())
          start = std::max(start, there_[{false, op.stage + 1, op.micro_batch}]);
      }
      Picoseconds end = start;
      for (std::size_t k = i; k < i + n; ++k) {
        out.push_back({end, end + length(rank, own[k])});
        end = out.back().end;
      }
      free = end;
      for (std::size_t k = i; k < i + n; ++k) {
        const PipelineOp& op = own[k];
        if (op.pass == Pass::kWeight || op.pass == Pass::kRecompute) continue;
        const bool forward = op.pass == Pass::kForward;
        const int to = forward ? op.stage + 1 : op.stage - 1;
        Picoseconds& at = there_[{forward, op.stage, op.micro_batch}];
        at = end;
        if (to < 0 || to == size_.num_stages() || rank_of_[{to, op.micro_batch}] == rank) continue;
        const StageTimes& t = times(op);
        Picoseconds send = forward ? t.send : t.send_back;
        if (forward && op.micro_batch == first && t.send_alone >= 0) send = t.send_alone;
        if (!forward && op.micro_batch == last && t.send_back_alone >= 0) send = t.send_back_alone;
        if (draws_) send = draws_->link(draw_key(op), send);
        Picoseconds& wire = *std::min_element(wires[forward].begin(), wires[forward].end());
        wire = std::max(wire, end) + send;
        at = wire;
        if (times_.blocking) free = std::max(free, at);
      }
      i += n;
    }
    return out;
  }

  const Order& order_;
  const PipelineSize& size_;
  const PassTimes& times_;
  const Draws* draws_;
  std::map<std::pair<int, int>, std::size_t> rank_of_;
  std::map<Key, Picoseconds> there_;
};

StageTimes any_times() {
  StageTimes t{*rc::gen::inRange(1, 100), *rc::gen::inRange(1, 100), *rc::gen::inRange(0, 100),
               *rc::gen::inRange(0, 150), *rc::gen::inRange(0, 150), *rc::gen::inRange(0, 100)};
  if (*rc::gen::arbitrary<bool>()) t.send_alone = *rc::gen::inRange(0, 150);
  if (*rc::gen::arbitrary<bool>()) t.send_back_alone = *rc::gen::inRange(0, 150);
  return t;
}

RC_GTEST_PROP(PlayTimes, AgreesWithTheLongestChains, ()) {
  const Schedule schedule =
      *rc::gen::element(Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved, Schedule::kZbH1,
                        Schedule::kZbV, Schedule::kDualPipe);
  PipelineSize size{2 * *rc::gen::inRange(1, 4), 1, 0};
  if (schedule == Schedule::kZbV) size.chunks = 2;
  if (schedule == Schedule::kInterleaved) size.chunks = *rc::gen::inRange(1, 4);
  size.micro_batches = size.depth * *rc::gen::inRange(2, 5);
  PassTimes times;
  for (int s = 0; s < size.num_stages(); ++s) times.stages.push_back(any_times());
  if (*rc::gen::arbitrary<bool>())
    for (int s = 0; s < size.num_stages(); ++s) times.last.push_back(any_times());
  times.blocking = *rc::gen::arbitrary<bool>();
  times.at_once = *rc::gen::inRange(1, 5);
  Order order = make_order(schedule, size);
  if (schedule == Schedule::kGpipe || schedule == Schedule::k1f1b)
    order = schedule::with_recompute(order, size, false);
  const Jitter jitter{.compute = {Distribution::Kind::kLogNormal, 0, 0, 0.3},
                      .link = {Distribution::Kind::kDelay, 0.5},
                      .slow = {{1, 1.5}},
                      .seed = *rc::gen::arbitrary<std::uint64_t>()};
  const Draws draws(jitter, 3, 1);
  const Draws* source = *rc::gen::arbitrary<bool>() ? &draws : nullptr;

  PipelinePlayer player(order, size);
  player.play(equal_times(size, {7, 7, 7, 7, 7}));  // leaves nothing behind
  const PlayedPipeline& played = player.play(times, source);
  const auto expected = Oracle(order, size, times, source).run();
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const PlayedRank& own = played.ranks[rank];
    RC_ASSERT(own.ops == expected[rank]);
    RC_ASSERT(sum_of(own.busy_in) == own.busy);
    RC_ASSERT(own.busy + sum_of(own.waited) == own.end());
    if (!times.blocking) RC_ASSERT(own.waited[static_cast<std::size_t>(WaitCause::kOwnSend)] == 0);
  }
}

TEST(PlayTimes, BlockingSendsAreTheClosedForm) {
  // (m + p - 1) (F + B) + 2 (p - 1) c + 2 (m - 1) c, less one c: a step ends with the last pass of
  // stage 0, which sends nothing.
  for (const int p : {3, 4, 8})
    for (const int m : {p, 2 * p, 5 * p}) {
      const PipelineSize size{p, 1, m};
      PassTimes times = equal_times(size, {10, 12, 8, 3, 3});
      times.blocking = true;
      EXPECT_EQ(play(schedule::one_f_one_b_order(size), size, times).end,
                (m + p - 1) * 30 + 2 * (p - 1) * 3 + 2 * (m - 1) * 3 - 3)
          << p << " x " << m;
    }
}

TEST(PlayTimes, MessagesOfOneSenderQueue) {
  // A wire four times slower than the passes: the last of m messages arrives F + 4 m F after the
  // start, and its receiver waits for it.
  const PipelineSize size{2, 1, 8};
  const PlayedPipeline played =
      play(schedule::gpipe_order(size), size, equal_times(size, {10, 5, 5, 40, 0}));
  EXPECT_EQ(played.ranks[1].ops[7].start, 10 + 8 * 40);
  EXPECT_EQ(played.ranks[1].waited[static_cast<std::size_t>(WaitCause::kInput)], 10 + 40 + 7 * 30);
  EXPECT_EQ(played.events, 2 * 32 + 16);
  PassTimes four = equal_times(size, {10, 5, 5, 40, 0});
  four.at_once = 4;
  EXPECT_EQ(play(schedule::gpipe_order(size), size, four).ranks[1].ops[7].start, 8 * 10 + 40);
}

TEST(PlayTimes, FirstAndLastMessagesMayTakeLonger) {
  const PipelineSize size{3, 1, 6};
  StageTimes each{10, 10, 10, 0, 0};
  const Picoseconds before =
      play(schedule::one_f_one_b_order(size), size, equal_times(size, each)).end;
  each.send_alone = 4;
  each.send_back_alone = 5;
  EXPECT_EQ(play(schedule::one_f_one_b_order(size), size, equal_times(size, each)).end,
            before + 2 * 4 + 2 * 5);
}

TEST(PlayTimes, TheLastMicroBatchMayBeSmaller) {
  const PipelineSize size{1, 1, 4};
  PassTimes times = equal_times(size, {10, 10, 10});
  times.last = {{5, 5, 5}};
  EXPECT_EQ(play(schedule::one_f_one_b_order(size), size, times).end, 3 * 30 + 15);
}

TEST(PlayTimes, RecomputeNeedNotWaitForTheGradient) {
  // Stage 0: F, then R while stage 1 works, then B.
  const PipelineSize size{2, 1, 1};
  const Order order = {{{Pass::kForward, 0, 0}, {Pass::kRecompute, 0, 0}, {Pass::kBackward, 0, 0}},
                       {{Pass::kForward, 1, 0}, {Pass::kBackward, 1, 0}}};
  const PassTimes times = equal_times(size, {10, 10, 10, 0, 0, 10});
  EXPECT_EQ(play(order, size, times).end, 10 + 10 + 20 + 20);
  PipelinePlayer waits(order, size, RecomputeStart::kWithGradient);
  const PlayedPipeline& played = waits.play(times);
  EXPECT_EQ(played.end, 10 + 10 + 20 + 10 + 20);
  EXPECT_EQ(played.ranks[0].busy_in[static_cast<std::size_t>(Pass::kRecompute)], 10);
  EXPECT_EQ(played.ranks[0].waited[static_cast<std::size_t>(WaitCause::kGradient)], 30);
}

TEST(PlayTimes, ASlowRankSlowsItsStageAlone) {
  const PipelineSize size{4, 1, 8};
  const Jitter jitter{.slow = {{4 + 2, 2.0}}};
  const Draws first(jitter, 0, 0, 0);
  const Draws second(jitter, 0, 1, 4);
  const PassTimes times = equal_times(size, {10, 10, 10});
  const PlayedPipeline plain = play(schedule::one_f_one_b_order(size), size, times);
  EXPECT_EQ(play(schedule::one_f_one_b_order(size), size, times, &first).end, plain.end);
  const PlayedPipeline slow = play(schedule::one_f_one_b_order(size), size, times, &second);
  EXPECT_EQ(slow.ranks[2].busy, 2 * plain.ranks[2].busy);
  EXPECT_EQ(slow.ranks[1].busy, plain.ranks[1].busy);
  // More than its work, no more than the closed form: its stages once and it seven times more.
  EXPECT_GT(slow.end, 8 * 60);
  EXPECT_LE(slow.end, 3 * 30 + 60 + 7 * 60);
}

}  // namespace
}  // namespace nereus::simulate::play_times_test
