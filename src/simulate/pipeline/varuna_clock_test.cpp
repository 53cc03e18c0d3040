// schedule/varuna_clock.hpp against the player of this folder: two implementations of one rule.
#include "schedule/varuna_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "predict/predict_testing.hpp"
#include "schedule/bounds.hpp"
#include "simulate/network/network_play.hpp"
#include "simulate/pipeline/varuna.hpp"

namespace nereus::simulate::varuna_clock_test {
namespace {

using cost::testing::between;

TEST(VarunaClock, KnowsTheOrder) {
  for (int p = 2; p <= 12; ++p)
    for (int m = 1; m <= 5 * p; ++m) {
      const PipelineSize size{p, 1, m};
      const Order order = schedule::varuna_order(size);
      for (int r = 0; r < p; ++r) {
        int forwards = 0;
        int backs = 0;
        for (const PipelineOp& op : order[r]) {
          if (op.pass == Pass::kForward) ++forwards;
          if (op.pass != Pass::kBackward) continue;
          ASSERT_EQ(forwards, schedule::forwards_before(size, r, backs)) << p << " " << m;
          ASSERT_EQ(op.micro_batch, backs++);
        }
      }
    }
}

struct Drawn {
  PipelineSize size;
  std::vector<schedule::StageSeconds> stages;
};

// Stages alike, alike but for the ends, or all different; messages shorter and longer than passes.
Drawn any_drawn() {
  Drawn out;
  out.size.depth = *rc::gen::inRange(2, 13);
  out.size.micro_batches =
      *rc::gen::element(1, 2, 3, 5, 8, 20, 60) * out.size.depth - *rc::gen::inRange(0, 2);
  const double spread = *rc::gen::element(0.0, 0.0, 0.01, 0.3, 2.0);
  const double message = *rc::gen::element(0.0, 0.05, 0.5, 5.0);
  const double backward = *rc::gen::element(1.0, 2.0, 2.7);
  const double again = *rc::gen::element(0.5, 1.0);
  const bool few = *rc::gen::arbitrary<bool>();
  for (int s = 0; s < out.size.depth; ++s) {
    const bool last = s + 1 == out.size.depth;
    const bool differs = !few || s == 0 || last;
    schedule::StageSeconds own;
    own.forward = 1 + (differs ? between(0, spread) : 0);
    own.input = backward * (1 + (differs ? between(0, spread) : 0));
    own.recompute = last ? 0 : again * own.forward;
    own.send = own.send_alone = last ? 0 : message * (differs ? between(0.5, 1.5) : 1);
    if (s > 0) own.send_back = own.send_back_alone = out.stages.back().send;
    out.stages.push_back(own);
  }
  return out;
}

PassTimes times_of(const Drawn& drawn) {
  PassTimes times;
  for (const schedule::StageSeconds& s : drawn.stages)
    times.stages.push_back({picoseconds(s.forward), picoseconds(s.input), picoseconds(s.weight),
                            picoseconds(s.send), picoseconds(s.send_back),
                            picoseconds(s.recompute)});
  return times;
}

// Also by a clock that has played others before.
RC_GTEST_PROP(VarunaClock, SaysWhatThePlayerPlays, ()) {
  schedule::Clock clock;
  for (int i = 0; i < 3; ++i) {
    const Drawn drawn = any_drawn();
    VarunaPlayer player(drawn.size, RecomputeStart::kEarly, PullAhead::kWithinPeak);
    const PlayedVaruna& step = player.play(times_of(drawn));
    schedule::PipelineClose close;
    clock.play(plan::Schedule::kVaruna, drawn.size, {drawn.stages, 0}, false, close);
    RC_ASSERT(close.end.size() == drawn.stages.size());
    for (std::size_t r = 0; r < close.end.size(); ++r) {
      const PlayedOp& last = step.played.ranks[r].ops.back();
      const double start = static_cast<double>(last.start) * 1e-12;
      const double end = static_cast<double>(last.end) * 1e-12;
      RC_ASSERT(std::abs(close.end[r] - end) <= 1e-9 * end);
      RC_ASSERT(std::abs(close.last_back[r] - start) <= 1e-9 * end);
      RC_ASSERT(std::abs(close.busy_after[r] - (end - start)) <= 1e-9 * end);
    }
  }
}

RC_GTEST_PROP(VarunaClock, IsNotBelowItsBound, ()) {
  const Drawn drawn = any_drawn();
  schedule::Clock clock;
  schedule::PipelineClose close;
  clock.play(plan::Schedule::kVaruna, drawn.size, {drawn.stages, 0}, false, close);
  std::vector<double> room;
  const schedule::PlayBounds bounds =
      schedule::bound_play(plan::Schedule::kVaruna, drawn.size, {drawn.stages, 0}, room);
  RC_ASSERT(bounds.least <= close.longest() * (1 + 1e-12));
  RC_ASSERT(bounds.least_first <= close.end.front() * (1 + 1e-12));
}

}  // namespace
}  // namespace nereus::simulate::varuna_clock_test
