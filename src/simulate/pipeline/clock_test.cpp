// Compares schedule/clock.hpp with the simulation of this folder: two implementations of one model.
#include "schedule/clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cost/pipeline_time.hpp"
#include "predict/predict_testing.hpp"
#include "schedule/bounds.hpp"
#include "schedule/clock_program.hpp"
#include "simulate/network/network_play.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate::clock_test {
namespace {

using cost::testing::between;
using plan::Schedule;

struct Drawn {
  Schedule schedule = Schedule::k1f1b;
  PipelineSize size;
  std::vector<schedule::StageSeconds> stages;
  double ends = 0;
  bool staggered() const { return cost::splits_backward(schedule); }
};

// Stages alike, alike but for a few, or all different; messages of any length, or none.
Drawn any_drawn() {
  Drawn out;
  out.schedule = *rc::gen::element(Schedule::kGpipe, Schedule::k1f1b, Schedule::kInterleaved,
                                   Schedule::kInterleaved, Schedule::kLoopedBfs, Schedule::kZbH1,
                                   Schedule::kZbH2, Schedule::kZbV, Schedule::kDualPipe);
  PipelineSize& size = out.size;
  size.depth = *rc::gen::inRange(2, 9);
  if (out.schedule == Schedule::kDualPipe) size.depth += size.depth % 2;
  if (out.schedule == Schedule::kInterleaved || out.schedule == Schedule::kLoopedBfs)
    size.chunks = *rc::gen::inRange(1, 5);
  if (out.schedule == Schedule::kZbV) size.chunks = 2;
  const int rounds = *rc::gen::element(1, 2, 3, 5, 8, 20, 40);
  size.micro_batches = rounds * size.depth;
  if (out.staggered()) size.micro_batches += size.depth;
  const bool rounded = out.schedule == Schedule::kInterleaved && size.chunks > 1;
  const bool even = out.schedule == Schedule::kDualPipe;
  if (!rounded && !even) size.micro_batches += *rc::gen::inRange(0, size.depth);
  const double spread = *rc::gen::element(0.0, 0.0, 0.01, 0.3, 2.0);
  const double message = *rc::gen::element(0.0, 0.05, 0.5);
  const double hidden = *rc::gen::element(0.0, 0.5, 1.0);
  const bool few = *rc::gen::arbitrary<bool>();
  for (int s = 0; s < size.num_stages(); ++s) {
    const bool differs = !few || s == 0 || s + 1 == size.num_stages();
    schedule::StageSeconds own{1, 1, 1};
    if (differs) {
      own.forward += between(0, spread);
      own.input += between(0, spread);
      own.weight += between(0, spread);
    }
    const double send = message * (differs ? between(0.5, 1.5) : 1);
    own.send = own.send_alone = hidden * send;
    if (s + 1 < size.depth) own.send_alone = send;
    if (s > 0) {
      const double back = out.stages.back().send / std::max(hidden, 1e-300);
      own.send_back = own.send_back_alone = out.stages.back().send;
      if (s < size.depth) own.send_back_alone = hidden > 0 ? back : send;
    }
    out.stages.push_back(own);
  }
  out.ends = hidden * message;
  return out;
}

schedule::PipelineClose played(const Drawn& drawn) {
  PassTimes times;
  times.blocking = true;
  times.ends = picoseconds(drawn.ends);
  for (const schedule::StageSeconds& s : drawn.stages) {
    StageTimes own;
    own.forward = picoseconds(s.forward);
    own.input = picoseconds(s.input);
    own.weight = picoseconds(s.weight);
    own.send = picoseconds(s.send);
    own.send_back = picoseconds(s.send_back);
    own.send_alone = picoseconds(s.send_alone);
    own.send_back_alone = picoseconds(s.send_back_alone);
    times.stages.push_back(own);
  }
  const Order order = make_order(drawn.schedule, drawn.size);
  const PlayedPipeline play_of = play(order, drawn.size, times, nullptr);
  schedule::PipelineClose out;
  if (!drawn.staggered()) {
    out.last_back.resize(drawn.stages.size());
    out.busy_after.resize(drawn.stages.size());
  }
  for (std::size_t r = 0; r < order.size(); ++r) {
    const PlayedRank& rank = play_of.ranks[r];
    out.end.push_back(static_cast<double>(rank.end() - (drawn.staggered() ? rank.start() : 0)) *
                      1e-12);
    if (drawn.staggered()) continue;
    double busy = 0;
    for (std::size_t i = order[r].size(); i-- > 0;) {
      busy += static_cast<double>(rank.ops[i].end - rank.ops[i].start) * 1e-12;
      const auto stage = static_cast<std::size_t>(order[r][i].stage);
      if (order[r][i].pass != Pass::kBackward || out.busy_after[stage] > 0) continue;
      out.last_back[stage] = static_cast<double>(rank.ops[i].start) * 1e-12;
      out.busy_after[stage] = busy;
    }
  }
  return out;
}

void expect_same(const std::vector<double>& told, const std::vector<double>& expected,
                 double tolerance = 1e-9) {
  RC_ASSERT(told.size() == expected.size());
  for (std::size_t i = 0; i < told.size(); ++i)
    RC_ASSERT(std::abs(told[i] - expected[i]) <= tolerance * expected[i]);
}

RC_GTEST_PROP(Clock, SaysWhatThePlayerPlays, ()) {
  schedule::Clock clock;
  schedule::PipelineClose close;
  for (int i = 0; i < 20; ++i) {
    const Drawn drawn = any_drawn();
    const schedule::PipelineClose expected = played(drawn);
    clock.play(drawn.schedule, drawn.size, {drawn.stages, drawn.ends}, drawn.staggered(), close);
    RC_LOG() << to_string(drawn.schedule) << " " << drawn.size.depth << " x " << drawn.size.chunks
             << ", " << drawn.size.micro_batches << ": " << close.longest() << " "
             << expected.longest() << "\n";
    expect_same(close.end, expected.end);
    expect_same(close.last_back, expected.last_back);
    expect_same(close.busy_after, expected.busy_after);
  }
}

// Compares waves, closed forms and skipped rounds with a walk over every pass.
RC_GTEST_PROP(Clock, SaysWhatAWalkOverAllPassesDoes, ()) {
  schedule::Clock clock;
  schedule::PipelineClose close, expected;
  for (int i = 0; i < 20; ++i) {
    const Drawn drawn = any_drawn();
    const schedule::PipelineSeconds times{drawn.stages, drawn.ends};
    schedule::ClockProgram walk(drawn.schedule, drawn.size, false);
    RC_ASSERT(walk.play(times, drawn.size.micro_batches, drawn.staggered(), expected));
    clock.play(drawn.schedule, drawn.size, times, drawn.staggered(), close);
    RC_LOG() << to_string(drawn.schedule) << " " << drawn.size.depth << " x " << drawn.size.chunks
             << ", " << drawn.size.micro_batches << "\n";
    expect_same(close.end, expected.end, 1e-12);
    expect_same(close.last_back, expected.last_back, 1e-12);
    expect_same(close.busy_after, expected.busy_after, 1e-12);
  }
}

// Fewer micro-batches than ranks, which 1F1B and GPipe can have.
RC_GTEST_PROP(Clock, KnowsFewMicroBatches, ()) {
  Drawn drawn = any_drawn();
  drawn.schedule = *rc::gen::element(Schedule::kGpipe, Schedule::k1f1b);
  drawn.size.chunks = 1;
  drawn.size.micro_batches = *rc::gen::inRange(1, drawn.size.depth + 1);
  drawn.stages.resize(static_cast<std::size_t>(drawn.size.depth));
  const schedule::PipelineSeconds times{drawn.stages, drawn.ends};
  schedule::PipelineClose close, expected;
  schedule::ClockProgram walk(drawn.schedule, drawn.size, false);
  RC_ASSERT(walk.play(times, drawn.size.micro_batches, false, expected));
  schedule::Clock().play(drawn.schedule, drawn.size, times, false, close);
  expect_same(close.end, expected.end, 1e-12);
  expect_same(close.last_back, expected.last_back, 1e-12);
  std::vector<double> room;
  const auto bounds = schedule::bound_play(drawn.schedule, drawn.size, times, room);
  RC_ASSERT(bounds.least <= close.longest() * (1 + 1e-12));
  RC_ASSERT(bounds.most >= close.longest() * (1 - 1e-12));
}

RC_GTEST_PROP(Clock, LiesWithinItsBounds, ()) {
  const Drawn drawn = any_drawn();
  RC_PRE(!drawn.staggered());
  const schedule::PipelineSeconds times{drawn.stages, drawn.ends};
  schedule::PipelineClose close;
  schedule::Clock().play(drawn.schedule, drawn.size, times, false, close);
  std::vector<double> room;
  const auto bounds = schedule::bound_play(drawn.schedule, drawn.size, times, room);
  RC_LOG() << to_string(drawn.schedule) << " " << drawn.size.depth << " x " << drawn.size.chunks
           << ", " << drawn.size.micro_batches << ": " << bounds.least << " <= " << close.longest()
           << " <= " << bounds.most << "\n";
  RC_ASSERT(bounds.least <= close.longest() * (1 + 1e-12));
  RC_ASSERT(bounds.most >= close.longest() * (1 - 1e-12));
  const auto last = drawn.stages.size() - static_cast<std::size_t>(drawn.size.depth);
  RC_ASSERT(bounds.least_first <= (close.last_back[last] + close.busy_after[last]) * (1 + 1e-12));
}

// The bounds say all there is to say of equal stages.
RC_GTEST_PROP(Clock, MeetsBothBoundsWhereStagesAreEqual, ()) {
  Drawn drawn = any_drawn();
  RC_PRE(!drawn.staggered());
  for (schedule::StageSeconds& own : drawn.stages) own = {1, 1.5, 0.5};
  const schedule::PipelineSeconds times{drawn.stages, 0};
  std::vector<double> room;
  const auto bounds = schedule::bound_play(drawn.schedule, drawn.size, times, room);
  const double passes = drawn.size.micro_batches * drawn.size.chunks + drawn.size.depth - 1.0;
  RC_ASSERT(std::abs(bounds.least - 3 * passes) <= 1e-12 * bounds.least);
  RC_ASSERT(std::abs(bounds.most - 3 * passes) <= 1e-12 * bounds.most);
}

RC_GTEST_PROP(Clock, LongerPassesAndMessagesNeverEndEarlier, ()) {
  schedule::Clock clock;
  Drawn drawn = any_drawn();
  const auto seconds = [&] {
    schedule::PipelineClose close;
    clock.play(drawn.schedule, drawn.size, {drawn.stages, drawn.ends}, drawn.staggered(), close);
    return close.longest();
  };
  const double before = seconds();
  for (schedule::StageSeconds& own : drawn.stages)
    for (double* part : {&own.forward, &own.input, &own.weight})
      if (*rc::gen::inRange(0, 3) == 0) *part *= between(1, 2);
  RC_ASSERT(seconds() >= before * (1 - 1e-12));
}

}  // namespace
}  // namespace nereus::simulate::clock_test
