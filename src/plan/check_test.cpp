#include "plan/check.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::plan::check_test {
namespace {

using testing::make_cluster;
using testing::make_dense;
using testing::make_experts;

std::string first_code(const Placement& p, const model::Model& model, int num_ranks) {
  const std::vector<Error> errors = check(p, model, make_cluster(num_ranks));
  return errors.empty() ? "" : errors[0].code;
}

StateShare whole(StateKind kind, RankSet ranks, int pieces = 1) {
  StateShare share;
  share.kind = kind;
  share.ranks = std::move(ranks);
  share.pieces = pieces;
  return share;
}

void hold_everywhere(LayerRun& run, const RankSet& ranks) {
  for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer})
    run.state.push_back(whole(kind, ranks));
}

constexpr std::int64_t part(double share) {
  return static_cast<std::int64_t>(share * static_cast<double>(kStateUnits));
}

// Cephalo: 5, 2 and 1 samples; 60, 30 and 10 % of the state; rank 3 stores and computes nothing,
// rank 4 computes and stores nothing.
Placement uneven_plan() {
  Placement p;
  p.global_batch = 9;
  p.gather = Gather::kPerPass;
  LayerRun run;
  run.num_layers = 4;
  run.replicas = {{.first = 0, .micro_batch = 5},
                  {.first = 1, .micro_batch = 1, .num_micro_batches = 2, .first_sample = 5},
                  {.first = 2, .first_sample = 7, .recompute = Recompute::kFull},
                  {.first = 4, .first_sample = 8, .offload_activations = 0.5}};
  for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer}) {
    const double bounds[] = {0, 0.6, 0.9, 0.95, 1};
    for (int r = 0; r < 4; ++r) {
      StateShare share = whole(kind, {{r, 1, 1}});
      share.begin = part(bounds[r]);
      share.end = part(bounds[r + 1]);
      run.state.push_back(share);
    }
    StateShare empty = whole(kind, {{4, 1, 1}});
    empty.begin = empty.end = 0;
    run.state.push_back(empty);
  }
  p.runs = {run};
  return p;
}

TEST(Check, UnevenSamplesAndStateAreSound) {
  const Placement p = uneven_plan();
  EXPECT_EQ(first_code(p, make_dense(2), 5), "");
  Placement wrong = p;
  wrong.runs[0].replicas[0].micro_batch = 4;
  EXPECT_EQ(first_code(wrong, make_dense(2), 5), "plan.samples");
  wrong = p;
  wrong.runs[0].replicas[2].first_sample = 8;
  EXPECT_EQ(first_code(wrong, make_dense(2), 5), "plan.samples");
  wrong = p;
  wrong.runs[0].state[2].begin += 1;  // one unit of weights is lost
  EXPECT_EQ(first_code(wrong, make_dense(2), 5), "plan.state-missing");
  // Where it is lost is told, however little it is.
  const std::int64_t lost = wrong.runs[0].state[2].begin - 1;
  const std::vector<Error> errors = check(wrong, make_dense(2), make_cluster(5));
  EXPECT_NE(errors[0].message.find("no rank stores units " + std::to_string(lost) + " .. " +
                                   std::to_string(lost + 1) + " of "),
            std::string::npos)
      << errors[0].message;
  wrong = p;
  wrong.runs[0].stage = 3;
  EXPECT_EQ(check(wrong, make_dense(2), make_cluster(5))[0].message,
            "run 0, the first, is on stage 3");
}

// Burst: layers on 4, 2, 1 and 4 ranks, samples staying where they are.
Placement burst_plan() {
  Placement p;
  p.global_batch = 8;
  const int widths[] = {4, 2, 1, 4};
  for (int i = 0; i < 4; ++i) {
    LayerRun run;
    run.first_layer = i;
    run.num_layers = 1;
    run.replicas = {
        {.count = widths[i], .team_stride = 4 / widths[i], .micro_batch = 8 / widths[i]}};
    hold_everywhere(run, {{0, widths[i], 4 / widths[i]}});
    p.runs.push_back(run);
  }
  return p;
}

TEST(Check, AnotherNumberOfRanksPerLayerIsSound) {
  EXPECT_EQ(first_code(burst_plan(), make_dense(2), 4), "");
  EXPECT_EQ(first_code(burst_plan(), make_dense(2), 3), "plan.rank");
}

// A pipeline whose second stage is half as wide, with micro-batches twice as large.
Placement narrowing_pipeline() {
  Placement p;
  p.global_batch = 16;
  LayerRun wide{.first_layer = 0, .num_layers = 2, .stage = 0};
  wide.replicas = {{.count = 4,
                    .micro_batch = 1,
                    .num_micro_batches = 4,
                    .team_sample_stride = 1,
                    .micro_batch_stride = 4}};
  hold_everywhere(wide, {{0, 4, 1}});
  LayerRun narrow{.first_layer = 2, .num_layers = 2, .stage = 1};
  narrow.replicas = {{.count = 2,
                      .first = 4,
                      .micro_batch = 2,
                      .num_micro_batches = 4,
                      .team_sample_stride = 2,
                      .micro_batch_stride = 4}};
  hold_everywhere(narrow, {{4, 2, 1}});
  p.runs = {wide, narrow};
  return p;
}

TEST(Check, StagesOfDifferentWidthKeepTheOrderOfMicroBatches) {
  Placement p = narrowing_pipeline();
  EXPECT_EQ(first_code(p, make_dense(2), 6), "");
  // The same samples team by team: micro-batch 0 of team 1 would need what comes last.
  p.runs[0].replicas[0].team_sample_stride = 4;
  p.runs[0].replicas[0].micro_batch_stride = 1;
  EXPECT_EQ(first_code(p, make_dense(2), 6), "plan.micro-batch-order");
}

TEST(Check, ARankInTwoStagesNeedsAnInterleavedSchedule) {
  Placement p = narrowing_pipeline();
  p.runs[1].replicas[0].first = 3;
  EXPECT_EQ(first_code(p, make_dense(2), 6), "plan.schedule");
  p.schedule = Schedule::kLoopedBfs;
  EXPECT_EQ(first_code(p, make_dense(2), 6), "");
}

TEST(Check, TeamsOfDifferentShapeNeedWeightsInBothCuts) {
  Placement p;
  p.global_batch = 4;
  LayerRun run{.num_layers = 4};
  run.replicas = {{.first = 0, .tp = 2, .micro_batch = 3}, {.first = 2, .first_sample = 3}};
  hold_everywhere(run, {{2, 1, 1}});
  p.runs = {run};
  EXPECT_EQ(first_code(p, make_dense(2), 3), "plan.cut");
  for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer}) {
    StateShare share = whole(kind, {{0, 1, 1}});
    share.cut = share.num_slices = 2;
    p.runs[0].state.push_back(share);
  }
  EXPECT_EQ(first_code(p, make_dense(2), 3), "");
}

TEST(Check, PeerCopiesLieElsewhereAndDoNotCount) {
  Placement p = expand({.dp = 4, .global_batch = 4, .zero = 3}, make_dense(2));
  StateShare copy = p.runs[0].state[0];
  copy.peer_copy = true;
  copy.tier = Tier::kHost;
  copy.ranks = {{1, 3, 1}, {0, 1, 1}};  // rank r keeps the piece of r - 1
  p.runs[0].state.push_back(copy);
  EXPECT_EQ(first_code(p, make_dense(2), 4), "");
  p.runs[0].state.back().ranks = {{0, 4, 1}};
  EXPECT_EQ(first_code(p, make_dense(2), 4), "plan.state-twice");
  p.runs[0].state.back().ranks = {{1, 3, 1}, {0, 1, 1}};
  p.runs[0].state[0].peer_copy = true;  // now nobody holds the original
  EXPECT_EQ(first_code(p, make_dense(2), 4), "plan.state-missing");
}

TEST(Check, EveryExpertMayHaveRanksOfItsOwn) {
  // Eight experts on four ranks, by hand: the first six as they come, the last two together on 3.
  Placement p = expand({.dp = 4, .ep = 4, .global_batch = 4}, make_experts(2, 0));
  LayerRun& run = p.runs[0];
  std::erase_if(run.state, [](const StateShare& share) { return share.experts; });
  for (StateKind kind : {StateKind::kWeights, StateKind::kGradients, StateKind::kOptimizer})
    for (int expert = 0; expert < 8; ++expert) {
      StateShare share = whole(kind, {{expert < 6 ? expert % 3 : 3, 1, 1}});
      share.experts = true;
      share.cut = 8;
      share.first_slice = expert;
      run.state.push_back(share);
    }
  EXPECT_EQ(first_code(p, make_experts(2, 0), 4), "");
  run.state.pop_back();
  EXPECT_EQ(first_code(p, make_experts(2, 0), 4), "plan.state-missing");
}

TEST(Check, MemoryTiersAndPrecisionsMustExist) {
  const Placement p = expand({.offload = {.optimizer = 0.5}}, make_dense(2));
  cluster::Cluster cluster = make_cluster(1);
  EXPECT_TRUE(check(p, make_dense(2), cluster).empty());
  cluster.groups[0].node.tiers.clear();
  cluster.groups[0].node.device.peak = {};
  const auto errors = check(p, make_dense(2), cluster);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, "plan.tier");
  EXPECT_EQ(errors[1].code, "plan.no-precision");
}

TEST(Check, ActivationsWaitInATierThatExists) {
  const model::Model model = make_dense(2);
  cluster::Cluster cluster = make_cluster(1);
  Placement p = expand({.offload = {.activations = 0.5, .tier = Tier::kExpanded}}, model);
  EXPECT_TRUE(check(p, model, cluster).empty());
  cluster.groups[0].node.tiers.pop_back();  // host is left
  const auto errors = check(p, model, cluster);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "plan.tier");
  EXPECT_NE(errors[0].message.find("expanded"), std::string::npos);
  p.runs[0].replicas[0].offload_tier = Tier::kHost;
  EXPECT_TRUE(check(p, model, cluster).empty());
  p.runs[0].replicas[0].offload_tier = Tier::kDevice;
  EXPECT_EQ(first_code(p, model, 1), "plan.tier");
}

TEST(Check, TiedLayersAreCutAlike) {
  Placement p = expand({.tp = 2, .pp = 2, .global_batch = 2}, make_dense(2, true));
  EXPECT_EQ(first_code(p, make_dense(2, true), 4), "");
  p.runs[1].replicas[0].tp = 1;
  p.runs[1].state.clear();
  hold_everywhere(p.runs[1], {{2, 1, 1}});
  EXPECT_EQ(first_code(p, make_dense(2, true), 4), "plan.tied");
  EXPECT_EQ(first_code(p, make_dense(2, false), 4), "");
}

TEST(Check, TheLastMicroBatchMayBeSmaller) {
  Placement p = expand({.dp = 2, .micro_batch = 3, .global_batch = 12}, make_dense(2));
  LayerRun& run = p.runs[0];
  run.replicas = {{.first = 0, .micro_batch = 3, .num_micro_batches = 3, .last_micro_batch = 1},
                  {.first = 1,
                   .micro_batch = 3,
                   .num_micro_batches = 2,
                   .last_micro_batch = 2,
                   .first_sample = 7}};
  EXPECT_EQ(first_code(p, make_dense(2), 2), "");
  run.replicas[1].first_sample = 8;
  EXPECT_EQ(first_code(p, make_dense(2), 2), "plan.samples");
  run.replicas[1].first_sample = 7;
  run.replicas[0].last_micro_batch = 2;
  run.replicas[1].last_micro_batch = 1;  // the sum is right, sample 7 is computed twice
  EXPECT_EQ(first_code(p, make_dense(2), 2), "plan.samples");
}

TEST(Check, SplitsMustDivide) {
  model::TransformerShape shape = *make_dense(2).transformer;
  shape.heads = 12;
  shape.kv_heads = 4;
  shape.hidden = 96;
  shape.ffn = 120;
  const model::Model model = model::build_transformer(shape);
  const auto code = [&](const Degrees& d) { return first_code(expand(d, model), model, 48); };
  EXPECT_EQ(code({.tp = 4}), "");
  EXPECT_EQ(code({.tp = 12}), "");
  EXPECT_EQ(code({.tp = 3}), "plan.split");  // 4 key-value heads on 3 ranks
  EXPECT_EQ(code({.tp = 6}), "plan.split");
  EXPECT_EQ(code({.tp = 24}), "plan.split");
  EXPECT_EQ(code({.cp = 48}), "plan.split");
  EXPECT_EQ(code({.cp = 32}), "");
  EXPECT_EQ(code({.tp = 12, .sequence_parallel = true}), "plan.split");
  EXPECT_EQ(code({.tp = 1, .sequence_parallel = true}), "plan.sequence-parallel");
}

TEST(Check, StateIsCutAsSomeTeamComputes) {
  Placement p = expand({.tp = 4}, make_dense(2));
  StateShare& optimizer = p.runs[0].state[2];
  optimizer.cut = optimizer.num_slices = 2;
  EXPECT_EQ(first_code(p, make_dense(2), 4), "plan.cut");
  optimizer.cut = optimizer.num_slices = 1;
  EXPECT_EQ(first_code(p, make_dense(2), 4), "");
}

TEST(Check, ManyFaultsAreSaidAtOnceButNotWithoutEnd) {
  Placement p = expand({.pp = 16, .global_batch = 16}, make_dense(16));
  for (LayerRun& run : p.runs) {
    run.replicas[0].first = 99;
    run.state.clear();
  }
  const auto errors = check(p, make_dense(16), make_cluster(16));
  EXPECT_EQ(errors.size(), 41u);
  EXPECT_EQ(errors.back().code, "plan.more");
}

TEST(Check, NonsenseNumbersAreRefused) {
  const model::Model model = make_dense(2);
  Placement p = expand({}, model);
  p.global_batch = std::int64_t{1} << 60;
  EXPECT_EQ(first_code(p, model, 1), "plan.too-large");
  cluster::Cluster huge = make_cluster(2'000'000'000, 2'000'000'000);
  EXPECT_FALSE(check(expand({}, model), model, huge).empty());
  model::Model broken = model;
  broken.layers[0] = 77;
  EXPECT_EQ(first_code(expand({}, model), broken, 1), "plan.model");
  EXPECT_EQ(first_code({}, model, 1), "plan.samples");
  EXPECT_EQ(first_code({.runs = {}, .global_batch = 1}, model, 1), "plan.layers");
}

// 16,384 ranks x 126 blocks: as a regular plan, and with every layer a run of its own on all ranks.
TEST(Check, IsFastAtScale) {
  const model::Model model = make_dense(126);
  const cluster::Cluster cluster = make_cluster(2048, 8);
  const auto seconds = [&](const Placement& p) {
    double best = 1e9;  // of five, since others may use the machine
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_TRUE(check(p, model, cluster).empty());
      const auto end = std::chrono::steady_clock::now();
      best = std::min(best, std::chrono::duration<double>(end - start).count());
    }
    return best;
  };
  const Placement regular = expand({.tp = 8,
                                    .pp = 16,
                                    .dp = 128,
                                    .interleave = 8,
                                    .global_batch = 2048,
                                    .zero = 1,
                                    .schedule = Schedule::kInterleaved},
                                   model);
  Placement wide = expand({.tp = 8, .dp = 2048, .global_batch = 2048, .zero = 3}, model);
  const LayerRun all = wide.runs[0];
  wide.runs.assign(static_cast<std::size_t>(model.num_layers()), all);
  for (int i = 0; i < model.num_layers(); ++i) {
    wide.runs[i].first_layer = i;
    wide.runs[i].num_layers = 1;
  }
  const double regular_s = seconds(regular), wide_s = seconds(wide);
  std::printf("check of 16,384 ranks x 126 layers: regular %.2f ms, layer by layer %.2f ms\n",
              regular_s * 1e3, wide_s * 1e3);
  EXPECT_LT(regular_s, 0.1);  // far above what it takes, for sanitizers and slow machines
  EXPECT_LT(wide_s, 0.2);
}

}  // namespace
}  // namespace nereus::plan::check_test
