#include "simulate/pipeline/varuna.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "spec/csv.hpp"
#include "tests/source_dir.hpp"

namespace nereus::simulate::varuna_play_test {
namespace {

std::string text_of(const std::vector<PipelineOp>& ops) {
  std::string out;
  for (const PipelineOp& op : ops)
    out += (out.empty() ? "" : " ") + std::string(1, letter_of(op.pass)) +
           std::to_string(op.micro_batch);
  return out;
}

TEST(Varuna, GivesTheReleasedExample) {
  const Order order = schedule::varuna_order({4, 1, 5});
  EXPECT_EQ(text_of(order[3]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  EXPECT_EQ(text_of(order[2]), "F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 F4 R3 B3 R4 B4");
  for (const std::size_t rank : {0, 1})
    EXPECT_EQ(text_of(order[rank]), "F0 F1 F2 F3 F4 R0 B0 R1 B1 R2 B2 R3 B3 R4 B4");
}

// The lengths and peaks of data/varuna/schedule_facts.csv, all of them, exactly.
TEST(Varuna, GivesTheLengthsOfTheReleasedLists) {
  const spec::Csv csv = spec::read_csv(source_dir() + "/data/varuna/schedule_facts.csv");
  EXPECT_EQ(csv.rows.size(), 60u);
  for (const spec::CsvRow& row : csv.rows) {
    const auto number = [&](const char* column) {
      return std::stoi(csv.cell(row, csv.find(column)));
    };
    const PipelineSize size{number("stages"), 1, number("microbatches")};
    const std::string& schedule = csv.cell(row, csv.find("schedule"));
    Order order = schedule::varuna_order(size);
    if (schedule == "gpipe-recompute")
      order = schedule::with_recompute(schedule::gpipe_order(size), size, true);
    if (schedule == "1f1b-recompute")
      order = schedule::with_recompute(schedule::one_f_one_b_order(size), size, false);
    if (schedule == "1f1b") order = schedule::one_f_one_b_order(size);
    PipelinePlayer player(
        order, size,
        schedule == "varuna-waits" ? RecomputeStart::kWithGradient : RecomputeStart::kEarly);
    const PlayedPipeline& played = player.play(equal_times(size, {1, 1, 1, 0, 0, 1}));
    EXPECT_EQ(played.end, number("makespan")) << schedule << " line " << row.line;
    EXPECT_EQ(played.ranks[0].peak, number("peak_first_stage")) << schedule << row.line;
    EXPECT_EQ(played.ranks[size.depth / 2].peak, number("peak_middle_stage"))
        << schedule << row.line;
  }
}

TEST(Varuna, HoldsThreeInputsForEveryStageBehind) {
  for (const int p : {2, 4, 6, 8, 12, 16}) {
    const PipelineSize size{p, 1, 8 * p};
    PipelinePlayer player(schedule::varuna_order(size), size);
    const PlayedPipeline& played = player.play(equal_times(size, {1, 1, 1, 0, 0, 1}));
    for (int i = 0; i < p; ++i) EXPECT_EQ(played.ranks[i].peak, i + 1 < p ? 3 * (p - 1 - i) : 1);
  }
}

TEST(Varuna, OneRankRunsOneAfterTheOther) {
  EXPECT_EQ(text_of(schedule::varuna_order({1, 1, 3})[0]), "F0 B0 F1 B1 F2 B2");
  VarunaPlayer player({1, 1, 3});
  EXPECT_EQ(player.play(equal_times({1, 1, 3}, {1, 1, 1, 0, 0, 1})).played.end, 9);
}

// --- the run-time rule ---------------------------------------------------------------------------

struct AnyRun {
  PipelineSize size;
  PassTimes times;
  Jitter jitter;
};

AnyRun any_run() {
  AnyRun run;
  run.size = {*rc::gen::inRange(1, 7), 1, *rc::gen::inRange(1, 20)};
  const int longest = *rc::gen::element(3, 100);  // short times make ties
  for (int s = 0; s < run.size.depth; ++s)
    run.times.stages.push_back({*rc::gen::inRange(1, longest), *rc::gen::inRange(1, longest),
                                *rc::gen::inRange(0, longest), *rc::gen::inRange(0, longest),
                                *rc::gen::inRange(0, longest), *rc::gen::inRange(1, longest)});
  run.times.blocking = *rc::gen::arbitrary<bool>();
  run.times.at_once = *rc::gen::inRange(1, 5);
  if (*rc::gen::arbitrary<bool>())
    run.jitter = {{Distribution::Kind::kLogNormal, 0, 0, 0.5},
                  {Distribution::Kind::kDelay, 1},
                  {},
                  *rc::gen::arbitrary<std::uint64_t>()};
  return run;
}

// The executed order, used as a static order, gives the same times. So no pass starts before its
// input or later than it could, and every choice followed the rule.
void check_rule() {
  const AnyRun run = any_run();
  const Draws draws(run.jitter, 1, 2);
  const RecomputeStart recompute =
      *rc::gen::element(RecomputeStart::kEarly, RecomputeStart::kWithGradient);
  const PullAhead pull = *rc::gen::element(PullAhead::kAll, PullAhead::kWithinPeak);
  VarunaPlayer player(run.size, recompute, pull);
  player.play(equal_times(run.size, {5, 5, 5, 5, 5, 5}));  // leaves nothing behind
  const PlayedVaruna& step = player.play(run.times, &draws);

  PipelinePlayer again(step.order, run.size, recompute);
  const PlayedPipeline& played = again.play(run.times, &draws);
  RC_ASSERT(played.end == step.played.end);
  RC_ASSERT(played.events == step.played.events);
  // When gradients arrived: the wires once more, in the order of play.
  std::map<std::pair<int, int>, Picoseconds> arrived;  // by receiving rank and micro-batch
  for (int rank = 1; rank < run.size.depth; ++rank) {
    Wires wires;
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < step.order[r].size(); ++i) {
      const PipelineOp& op = step.order[r][i];
      if (op.pass != Pass::kBackward) continue;
      const Picoseconds time = draws.link(draw_key(op), run.times.stages[r].send_back);
      arrived[{rank - 1, op.micro_batch}] =
          wires.send(step.played.ranks[r].ops[i].end, time, run.times.at_once);
    }
  }
  for (int rank = 0; rank < run.size.depth; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const PlayedRank& own = step.played.ranks[r];
    RC_ASSERT(own.ops == played.ranks[r].ops);
    RC_ASSERT(own.busy_in == played.ranks[r].busy_in);
    RC_ASSERT(own.waited == played.ranks[r].waited);
    RC_ASSERT(own.peak == played.ranks[r].peak);
    std::vector<PipelineOp> left = schedule::varuna_order(run.size)[r];
    const int most = pull == PullAhead::kAll
                         ? run.size.micro_batches
                         : compile(schedule::varuna_order(run.size), run.size).peaks[r];
    RC_ASSERT(own.peak <= most);
    int held = 0;
    for (std::size_t i = 0; i < step.order[r].size(); ++i) {
      const auto forward = std::find_if(
          left.begin(), left.end(), [](const PipelineOp& op) { return op.pass == Pass::kForward; });
      // Free from the end of the previous pass, and of its message if it blocks: only known if it
      // does not.
      if (left.front().pass == Pass::kRecompute && forward != left.end() && held == most)
        RC_ASSERT(step.order[r][i] == left.front());
      else if (left.front().pass == Pass::kRecompute && forward != left.end() &&
               !run.times.blocking) {
        const Picoseconds now = i == 0 ? 0 : own.ops[i - 1].end;
        const bool there = arrived.at({rank, left.front().micro_batch}) <= now;
        RC_ASSERT(step.order[r][i] == (there ? left.front() : *forward));
      }
      const auto taken = std::find(left.begin(), left.end(), step.order[r][i]);
      RC_ASSERT(taken == left.begin() || taken == forward);
      held += taken->pass == Pass::kForward ? 1 : taken->pass == Pass::kBackward ? -1 : 0;
      left.erase(taken);
    }
  }
}

// Wrong choices show in one run of a hundred.
RC_GTEST_PROP(Varuna, PullsForwardPassesAheadByItsRule, ()) {
  for (int round = 0; round < 10; ++round) check_rule();
}

TEST(Varuna, RecomputesBeforeTheGradientArrivesWhereNoForwardIsLeft) {
  // One micro-batch: stage 0 recomputes while stage 1 is at work; the simulator's rule waits.
  const PipelineSize size{2, 1, 1};
  const PassTimes times = equal_times(size, {10, 10, 10, 0, 0, 10});
  EXPECT_EQ(VarunaPlayer(size).play(times).played.end, 10 + 10 + 20 + 20);
  VarunaPlayer waits(size, RecomputeStart::kWithGradient);
  EXPECT_EQ(waits.play(times).played.end, 10 + 10 + 20 + 10 + 20);
}

}  // namespace
}  // namespace nereus::simulate::varuna_play_test
